//! A request, the token that it may carry, and the answer.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use url::{Host, Url};

use super::error::{HttpError, TokenFault};

/// The environment variable of the Hugging Face Hub's token.
pub const HF_TOKEN: &str = "HF_TOKEN";

/// A secret that identifies the user to a server. It is displayed as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Returns the token in the environment variable `name`; `None` if the variable is unset or
    /// empty.
    ///
    /// # Errors
    /// Returns an error if the value is not one line of visible ASCII characters.
    pub fn from_environment(name: &str) -> Result<Option<Self>, HttpError> {
        let text = std::env::var_os(name).unwrap_or_default();
        let text = text.to_string_lossy().trim().to_owned();
        if text.is_empty() {
            return Ok(None);
        }
        let refused = |_| TokenFault::NotAToken(name.to_owned());
        Ok(Self::new(text).map(Some).map_err(refused)?)
    }

    /// Returns a token.
    ///
    /// # Errors
    /// Returns an error if the text is not one line of visible ASCII characters.
    pub fn new(text: impl Into<String>) -> Result<Self, TokenFault> {
        let text = text.into();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err(TokenFault::NotAToken("the text".to_owned()))
        }
    }

    /// Returns the secret, for the header of a request.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Returns a text with `***` in place of the secret.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "***")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads the data of a resource.
    Get,
    /// Reads the headers of a resource.
    Head,
    /// Sends data whose effect the server decides.
    Post,
    /// Creates or replaces a resource.
    Put,
    /// Removes the resource for good.
    Delete,
}

impl Method {
    /// Returns the name of the method.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// The data that a request sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// No data at all.
    None,
    /// Bytes that are in memory.
    Bytes(Vec<u8>),
    /// A part of a file, which each attempt reads anew.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The first byte to send.
        offset: u64,
        /// The number of bytes to send.
        length: u64,
    },
}

/// A request to a server.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: Vec<(String, String)>,
    pub(super) content: Content,
    pub(super) is_repeatable: bool,
    pub(super) with_token: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) max_bytes: Option<u64>,
}

impl Request {
    /// Returns a request without data.
    ///
    /// # Errors
    /// Returns an error if `url` is not an http or https address.
    pub fn new(method: Method, url: &str) -> Result<Self, HttpError> {
        let refused = |reason: String| HttpError::Address {
            url: without_secrets(url).to_owned(),
            reason,
        };
        let parsed = Url::parse(url).map_err(|error| refused(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(refused("it must begin with https:// or http://".to_owned()));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            let refused = HttpError::Address {
                url: redact_url(&parsed),
                reason: "it holds a user name or a password".to_owned(),
            };
            return Err(refused);
        }
        Ok(Self {
            method,
            url: parsed,
            headers: Vec::new(),
            content: Content::None,
            is_repeatable: method != Method::Post,
            with_token: true,
            timeout: None,
            max_bytes: None,
        })
    }

    /// Returns a GET request.
    ///
    /// # Errors
    /// Returns an error if `url` is not an http or https address.
    pub fn get(url: &str) -> Result<Self, HttpError> {
        Self::new(Method::Get, url)
    }

    /// Returns a POST request. It is only repeated when the server did not process it, unless it is
    /// marked as [`repeatable`](Self::repeatable).
    ///
    /// # Errors
    /// Returns an error if `url` is not an http or https address.
    pub fn post(url: &str) -> Result<Self, HttpError> {
        Self::new(Method::Post, url)
    }

    /// Returns a PUT request.
    ///
    /// # Errors
    /// Returns an error if `url` is not an http or https address.
    pub fn put(url: &str) -> Result<Self, HttpError> {
        Self::new(Method::Put, url)
    }

    /// Adds parameters to the query of the address.
    #[must_use]
    pub fn query(mut self, parameters: &[(&str, &str)]) -> Self {
        self.url.query_pairs_mut().extend_pairs(parameters);
        self
    }

    /// Adds a header of any name.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends a value as JSON.
    ///
    /// # Errors
    /// Returns an error if the value cannot be expressed as JSON.
    pub fn json(self, value: &impl Serialize) -> Result<Self, HttpError> {
        let bytes = serde_json::to_vec(value).map_err(|error| HttpError::Json {
            url: redact_url(&self.url),
            reason: error.to_string(),
        })?;
        Ok(self.content("application/json", Content::Bytes(bytes)))
    }

    /// Sends data of the given content type, such as `application/octet-stream`.
    #[must_use]
    pub fn content(self, content_type: &str, content: Content) -> Self {
        let mut request = self.header("content-type", content_type);
        request.content = content;
        request
    }

    /// Marks a POST request as one that may be repeated after any failure.
    #[must_use]
    pub const fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// Leaves out the client's token, for an address that is signed or of another server.
    #[must_use]
    pub const fn without_token(mut self) -> Self {
        self.with_token = false;
        self
    }

    /// Sets the time limit of one attempt, in place of the client's.
    #[must_use]
    pub const fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Sets the maximum size of the answer, in place of the client's.
    #[must_use]
    pub const fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = Some(limit);
        self
    }

    /// Returns the address without its query, as messages show it.
    #[must_use]
    pub fn address(&self) -> String {
        redact_url(&self.url)
    }

    /// Returns `true` if nobody else can read what is sent: over https, or to this machine.
    pub(super) fn is_private(&self) -> bool {
        let is_local = match self.url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        is_local || self.url.scheme() == "https"
    }
}

/// Returns a text that is no address, or `***` if it may hold a user name, password, query or fragment.
pub fn without_secrets(text: &str) -> &str {
    if text.contains(['@', '?', '#']) {
        "***"
    } else {
        text
    }
}

/// Returns an address without user name, password, query and fragment.
pub(super) fn redact_url(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}"));
    format!(
        "{}://{}{}{}",
        url.scheme(),
        url.host_str().unwrap_or_default(),
        port.unwrap_or_default(),
        url.path()
    )
}

/// The answer of a server, with a status below 400.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, such as 200.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The data; empty if it was written to a file.
    pub body: Vec<u8>,
    pub(super) address: String,
}

impl Response {
    /// Returns the first header of this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// Parses the data as JSON.
    ///
    /// # Errors
    /// Returns an error if it is not JSON of this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| self.json_error(error.to_string()))
    }

    /// Returns the error of an answer that is not of the expected form.
    #[must_use]
    pub fn json_error(&self, reason: impl Into<String>) -> HttpError {
        HttpError::Json {
            url: self.address.clone(),
            reason: reason.into(),
        }
    }
}
