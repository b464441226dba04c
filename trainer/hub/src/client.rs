//! Requests to the Hub, and its refusals as named errors.

use std::time::Duration;

use sentinel_http::{HfEnvironment, HttpClient, HttpConfig, HttpError, Request, Response, Token};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::HubError;

/// The time limit of a transfer of files with all its attempts.
const TRANSFER_DEADLINE: Duration = Duration::from_secs(24 * 3600);
/// The slowest accepted transfer, in bytes per second.
const SLOWEST: u64 = 50_000;
/// The time limit of a transfer besides that of its bytes, in seconds.
const TRANSFER_START: u64 = 60;

/// A client of the Hub.
#[derive(Clone, Debug)]
pub struct HubClient {
    endpoint: String,
    token: Option<Token>,
    /// For questions, which have short answers.
    questions: HttpClient,
    /// For files, which may take hours.
    transfers: HttpClient,
}

impl HubClient {
    /// Returns a client.
    ///
    /// # Errors
    /// Returns an error if the address of the Hub or the token is invalid, if the address would send the
    /// token unencrypted, or if network access is forbidden.
    pub fn new(environment: &HfEnvironment) -> Result<Self, HubError> {
        Self::with_limits(environment, HttpConfig::default())
    }

    /// Returns a client with these limits.
    pub(super) fn with_limits(
        environment: &HfEnvironment,
        limits: HttpConfig,
    ) -> Result<Self, HubError> {
        if environment.offline {
            return Err(HubError::Offline);
        }
        let token = environment.token_for_hub()?.cloned();
        let client = |limits| HttpClient::new(limits).with_token(token.clone());
        let long = HttpConfig {
            deadline: TRANSFER_DEADLINE,
            ..limits.clone()
        };
        Ok(Self {
            endpoint: environment.endpoint.clone(),
            questions: client(limits),
            transfers: client(long),
            token,
        })
    }

    /// Waits between attempts with `wait`, which returns `false` to stop.
    #[must_use]
    pub fn with_wait(
        self,
        wait: impl Fn(Duration) -> bool + Clone + Send + Sync + 'static,
    ) -> Self {
        Self {
            questions: self.questions.with_wait(wait.clone()),
            transfers: self.transfers.with_wait(wait),
            ..self
        }
    }

    /// Returns the address of the Hub.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the token.
    ///
    /// # Errors
    /// Returns an error that names `action` if there is none.
    pub(super) fn token(&self, action: &'static str) -> Result<&Token, HubError> {
        self.token.as_ref().ok_or(HubError::NoToken { action })
    }

    /// Sends a question about `what`.
    pub(super) fn send(&self, what: &str, request: &Request) -> Result<Response, HubError> {
        let answer = self.questions.send(request);
        answer.map_err(|error| self.named(what, error))
    }

    /// Reads JSON about `what` from an address.
    pub(super) fn get_json<T: DeserializeOwned>(
        &self,
        what: &str,
        url: &str,
    ) -> Result<T, HubError> {
        Ok(self.send(what, &Request::get(url)?)?.json()?)
    }

    /// Sends JSON about `what` and reads the JSON of the answer. The request must be one that may
    /// be repeated.
    pub(super) fn post_json<T: DeserializeOwned>(
        &self,
        what: &str,
        url: &str,
        body: &impl Serialize,
    ) -> Result<T, HubError> {
        let request = Request::post(url)?.json(body)?.repeatable();
        Ok(self.send(what, &request)?.json()?)
    }

    /// Reads all pages of a list about `what`.
    pub(super) fn list_pages<T: DeserializeOwned>(
        &self,
        what: &str,
        first: Request,
    ) -> Result<Vec<T>, HubError> {
        let mut all = Vec::new();
        let mut next = Some(first);
        while let Some(request) = next.take() {
            let page = self.send(what, &request)?;
            let before = all.len();
            all.extend(page.json::<Vec<T>>()?);
            let link = page.header("link").and_then(next_page);
            // An empty page with a successor would never end.
            let Some(url) = link.filter(|_| all.len() > before) else {
                break;
            };
            let request = Request::get(url)?;
            next = Some(if self.is_own(url) {
                request
            } else {
                request.without_token()
            });
        }
        Ok(all)
    }

    /// Sends or receives `bytes` bytes of a file.
    pub(super) fn transfer(
        &self,
        what: &str,
        request: Request,
        bytes: u64,
    ) -> Result<Response, HubError> {
        let request = request.timeout(transfer_limit(bytes));
        let answer = self.transfers.send(&request);
        answer.map_err(|error| self.named(what, error))
    }

    /// Downloads a file of `bytes` bytes.
    pub(super) fn download(
        &self,
        what: &str,
        request: Request,
        bytes: u64,
        path: &std::path::Path,
    ) -> Result<(), HubError> {
        let mut file =
            std::fs::File::create_new(path).map_err(|source| sentinel_base::Error::Write {
                path: path.to_owned(),
                source,
            })?;
        // One more byte than expected shows that the file is another one; its digest then differs.
        let request = request.timeout(transfer_limit(bytes)).max_bytes(bytes + 1);
        let answer = self.transfers.download(&request, path, &mut file);
        answer.map(|_| ()).map_err(|error| self.named(what, error))
    }

    /// Returns `true` if an address is one of this Hub, which may get the token.
    pub(super) fn is_own(&self, url: &str) -> bool {
        let rest = url.strip_prefix(self.endpoint.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    }

    /// Returns the named error of a refusal.
    fn named(&self, what: &str, error: HttpError) -> HubError {
        let (what, detail) = (what.to_owned(), error.to_string());
        match error.status() {
            Some(401) if self.token.is_none() => HubError::TokenNeeded { what, detail },
            Some(401) => HubError::TokenRefused { what, detail },
            Some(402) => HubError::Payment { what, detail },
            Some(403) => HubError::Forbidden { what, detail },
            Some(404) => HubError::NotFound { what, detail },
            Some(429) => HubError::RateLimited { detail },
            Some(_) => error.into(),
            None => match error {
                HttpError::Connection { .. } | HttpError::Timeout { .. } => {
                    let endpoint = self.endpoint.clone();
                    HubError::Unreachable { endpoint, detail }
                }
                error => error.into(),
            },
        }
    }
}

/// Returns the time limit of one attempt to transfer `bytes` bytes.
const fn transfer_limit(bytes: u64) -> Duration {
    Duration::from_secs(TRANSFER_START + bytes / SLOWEST)
}

/// Returns the address of the next page in a `Link` header.
fn next_page(header: &str) -> Option<&str> {
    let mut links = header.split(',');
    links.find_map(|link| {
        let (url, kind) = link.split_once(';')?;
        let is_next = kind.replace(['"', ' '], "").contains("rel=next");
        let url = url.trim().strip_prefix('<')?.strip_suffix('>')?;
        is_next.then_some(url)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_is_read_from_link_header() {
        let header = r#"<https://h/a?cursor=b>; rel="next", <https://h/z>; rel="last""#;
        assert_eq!(next_page(header), Some("https://h/a?cursor=b"));
        assert_eq!(next_page(r#"<https://h/z>; rel="last""#), None);
    }

    #[test]
    fn only_hub_urls_are_trusted_with_token() -> Result<(), HubError> {
        let environment = HfEnvironment {
            endpoint: "https://hub.test".to_owned(),
            ..HfEnvironment::default()
        };
        let client = HubClient::new(&environment)?;
        assert!(client.is_own("https://hub.test/a"));
        assert!(!client.is_own("https://hub.test.evil/a"));
        assert!(!client.is_own("https://other.test/a"));
        Ok(())
    }
}
