//! Access to a server: the bearer token, and the rate of requests of an address.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use sha2::{Digest as _, Sha256};

use crate::openenv::detail;

/// The checks before a request is answered.
#[derive(Debug)]
pub(crate) struct Access {
    /// The digest of the token. Digests are compared, so that the time tells nothing of the token.
    token: Option<[u8; 32]>,
    rate: Option<DefaultKeyedRateLimiter<IpAddr>>,
}

impl Access {
    /// Creates the checks for a token, and for a number of requests per second of an address.
    pub(crate) fn new(token: Option<&str>, rate: u32) -> Self {
        Self {
            token: token.map(|token| Sha256::digest(token.as_bytes()).into()),
            rate: NonZeroU32::new(rate).map(|rate| RateLimiter::keyed(Quota::per_second(rate))),
        }
    }

    fn is_authorized(&self, header: Option<&HeaderValue>) -> bool {
        let Some(expected) = &self.token else {
            return true;
        };
        let given = header.and_then(|value| value.to_str().ok());
        let given = given.and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        given.is_some_and(|token| {
            let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
            digest == *expected
        })
    }

    /// Forgets addresses that made no request lately.
    pub(crate) fn forget_old_addresses(&self) {
        if let Some(rate) = &self.rate {
            rate.retain_recent();
        }
    }
}

/// Creates the limiter of the messages of one WebSocket; `None` for no limit.
pub(crate) fn message_limiter(rate: u32) -> Option<DefaultDirectRateLimiter> {
    NonZeroU32::new(rate).map(|rate| RateLimiter::direct(Quota::per_second(rate)))
}

/// Refuses requests without the token, and addresses that make too many.
pub(crate) async fn check(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    if !access.is_authorized(request.headers().get(header::AUTHORIZATION)) {
        let words = "a token is needed: send the header Authorization: Bearer TOKEN";
        let mut response = detail(StatusCode::UNAUTHORIZED, words);
        let bearer = HeaderValue::from_static("Bearer");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, bearer);
        return response;
    }
    let address = request.extensions().get::<ConnectInfo<SocketAddr>>();
    if let (Some(rate), Some(ConnectInfo(address))) = (&access.rate, address)
        && rate.check_key(&address.ip()).is_err()
    {
        let mut response = detail(
            StatusCode::TOO_MANY_REQUESTS,
            "too many requests: wait a second",
        );
        let second = HeaderValue::from_static("1");
        response.headers_mut().insert(header::RETRY_AFTER, second);
        return response;
    }
    next.run(request).await.into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_token_is_accepted() {
        let access = Access::new(Some("secret"), 0);
        let given = |text: &str| {
            let value = HeaderValue::from_str(text).expect("a header");
            access.is_authorized(Some(&value))
        };
        assert!(given("Bearer secret") && given("bearer secret"));
        for wrong in [
            "secret",
            "Bearer",
            "Bearer ",
            "Bearer secre",
            "Bearer secrets",
            "Basic secret",
        ] {
            assert!(!given(wrong), "{wrong}");
        }
        assert!(!access.is_authorized(None));
        assert!(Access::new(None, 0).is_authorized(None));
    }
}
