//! Access to a server: its names, the bearer token, the rate of requests of an address, and the form of bodies.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::Router;
use axum::body::HttpBody as _;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use sha2::{Digest as _, Sha256};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::errors::{error_response, is_json, too_large};
use crate::hosts::AllowedNames;
use crate::options::Limits;

/// The path that a container's platform asks for: under any name, and without a token.
pub(crate) const HEALTH: &str = "/health";

/// The checks before a request is answered.
#[derive(Debug)]
pub(crate) struct Access {
    /// The digest of the token. Digests are compared, so that the time tells nothing of the token.
    token: Option<[u8; 32]>,
    rate: Option<DefaultKeyedRateLimiter<IpAddr>>,
    names: AllowedNames,
    max_body: usize,
}

impl Access {
    /// Creates the checks for a token, for names, and for the rate and the sizes of the limits.
    pub(crate) fn new(token: Option<&str>, names: AllowedNames, limits: &Limits) -> Self {
        let rate = NonZeroU32::new(limits.rate);
        Self {
            token: token.map(|token| Sha256::digest(token.as_bytes()).into()),
            rate: rate.map(|rate| RateLimiter::keyed(Quota::per_second(rate))),
            names,
            max_body: limits.max_message,
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

/// Puts a router behind the checks of the names of a request, and lets pages of allowed origins read the
/// answers.
pub(crate) fn guard_names<S>(router: Router<S>, access: &Arc<Access>) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let origins: Vec<HeaderValue> = access.names.origins().collect();
    let router = if origins.is_empty() {
        router
    } else {
        let cors = CorsLayer::new()
            .allow_origin(AllowOrigin::list(origins))
            .allow_methods([Method::GET, Method::POST])
            .allow_headers([header::CONTENT_TYPE, header::AUTHORIZATION]);
        router.layer(cors)
    };
    let check = middleware::from_fn_with_state(Arc::clone(access), check_names);
    router.layer(check)
}

/// Refuses requests under a foreign name, and those of pages of other sites.
async fn check_names(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if path != HEALTH
        && let Some((status, words)) = access.names.refusal(&request)
    {
        return error_response(path, status, &words);
    }
    next.run(request).await
}

/// Refuses addresses that make too many requests, requests without the token, and bodies that are too
/// large or not marked as JSON. A wrong token counts as a request, so that tokens cannot be guessed
/// faster.
pub(crate) async fn check(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    match access.refusal(&request) {
        Some(response) => response,
        None => next.run(request).await,
    }
}

impl Access {
    fn refusal(&self, request: &Request) -> Option<Response> {
        let (path, headers) = (request.uri().path(), request.headers());
        let refuse = |status, words: &str| Some(error_response(path, status, words));
        let address = request.extensions().get::<ConnectInfo<SocketAddr>>();
        if let (Some(rate), Some(ConnectInfo(address))) = (&self.rate, address)
            && rate.check_key(&address.ip()).is_err()
        {
            let words = "too many requests: wait a second";
            let mut response = error_response(path, StatusCode::TOO_MANY_REQUESTS, words);
            let second = HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, second);
            return Some(response);
        }
        if !self.is_authorized(headers.get(header::AUTHORIZATION)) {
            let words = "a token is needed: send the header Authorization: Bearer TOKEN";
            let mut response = error_response(path, StatusCode::UNAUTHORIZED, words);
            let bearer = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, bearer);
            return Some(response);
        }
        let body = request.body();
        if body.size_hint().lower() > self.max_body as u64 {
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, &too_large(self.max_body));
        }
        let has_body = request.method() == Method::POST && !body.is_end_stream();
        let is_typed =
            || is_json(headers) || !is_from_browser(headers) && has_default_type(headers);
        // A page of another site may send texts and forms without a question, but no JSON.
        if has_body && !is_typed() {
            let words = "a body is JSON: send the header Content-Type: application/json";
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, words);
        }
        None
    }
}

/// Returns `true` if a browser sent the request. No page can leave out all of these headers with a `POST`.
fn is_from_browser(headers: &HeaderMap) -> bool {
    let known = [header::ORIGIN, header::REFERER, header::COOKIE];
    known.iter().any(|name| headers.contains_key(name))
        || headers.keys().any(|name| name.as_str().starts_with("sec-"))
}

/// Returns `true` if a body has no type, or the one that curl and Python's urllib give to every body
/// whose sender names none.
fn has_default_type(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_none_or(|kind| kind == "application/x-www-form-urlencoded")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ServeOptions;

    fn access(token: Option<&str>) -> Access {
        let names = AllowedNames::new(true, &[], &[]).expect("no names");
        Access::new(token, names, &ServeOptions::default().limits())
    }

    #[test]
    fn only_the_exact_token_is_accepted() {
        let access = access(Some("secret"));
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
        assert!(self::access(None).is_authorized(None));
    }
}
