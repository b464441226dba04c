//! The failures of requests. No message holds a token, or the query of an address, which may be a
//! signature.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The reason why a request has no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The text is not the address of a server.
    #[error("{url:?} is not the address of a server: {reason}")]
    Address {
        /// The text, without its query.
        url: String,
        /// The fault of the text.
        reason: String,
    },
    /// The address in `HF_ENDPOINT` is not one, or holds more than an address.
    #[error(
        "HF_ENDPOINT {url:?} is not the address of a Hub: {reason}: write the address alone, and a token in HF_TOKEN"
    )]
    Endpoint {
        /// The text of the variable without user name, password, query and fragment.
        url: String,
        /// The fault of the text.
        reason: String,
    },
    /// There is no token where there should be one.
    #[error(transparent)]
    Token(#[from] TokenFault),
    /// The token would travel unencrypted.
    #[error("{url}: a token is only sent over https or to this machine: use an https address")]
    Insecure {
        /// The address without its query.
        url: String,
    },
    /// The server answered with a status of 400 or more.
    #[error("{method} {url}: the server answered {status}{}{}", times(*attempts), after_colon(body))]
    Status {
        /// The method of the request.
        method: &'static str,
        /// The address without its query.
        url: String,
        /// The status of the answer.
        status: u16,
        /// The beginning of the answer's text, on one line and without the token.
        body: String,
        /// The number of attempts.
        attempts: u32,
    },
    /// The server did not answer in time.
    #[error("{method} {url}: no complete answer within {} s{}", limit.as_secs_f64(), times(*attempts))]
    Timeout {
        /// The method of the request.
        method: &'static str,
        /// The address without its query.
        url: String,
        /// The time limit of the last attempt.
        limit: Duration,
        /// The number of attempts.
        attempts: u32,
    },
    /// The server cannot be reached, or the connection broke.
    #[error("{method} {url}: {reason}{}", times(*attempts))]
    Connection {
        /// The method of the request.
        method: &'static str,
        /// The address without its query.
        url: String,
        /// The error of the connection.
        reason: String,
        /// The number of attempts.
        attempts: u32,
    },
    /// The server asks to wait longer than the deadline allows.
    #[error("{method} {url}: the server answered {status} and asks to wait {} s, of which {} s are left: try again later",
        wait.as_secs(), left.as_secs())]
    Busy {
        /// The method of the request.
        method: &'static str,
        /// The address without its query.
        url: String,
        /// The status of the answer.
        status: u16,
        /// The time to wait.
        wait: Duration,
        /// The time that is left until the deadline.
        left: Duration,
    },
    /// The answer is larger than allowed.
    #[error("{url}: the answer has more than {limit} bytes")]
    TooLarge {
        /// The address without its query.
        url: String,
        /// The maximum number of bytes.
        limit: u64,
    },
    /// The answer is not JSON of the expected form.
    #[error("{url}: the answer is not the expected JSON: {reason}")]
    Json {
        /// The address without its query.
        url: String,
        /// The fault of the answer.
        reason: String,
    },
    /// A file cannot be sent, or an answer cannot be written to its file.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The user stopped the program.
    #[error("interrupted")]
    Interrupted,
}

/// The reason why a text or a file gives no token. It does not hold the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// The text of this variable or file is not one line of visible ASCII characters.
    #[error("{0} is not a token: use one line of visible ASCII characters")]
    NotAToken(String),
    /// The file of the saved token cannot be read.
    #[error("cannot read the token in {}: {reason}", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
}

impl HttpError {
    /// Returns the status of the server's answer; `None` if there was no answer.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } | Self::Busy { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns the error with the number of attempts that were made.
    pub(super) fn with_attempts(mut self, made: u32) -> Self {
        match &mut self {
            Self::Status { attempts, .. }
            | Self::Timeout { attempts, .. }
            | Self::Connection { attempts, .. } => *attempts = made,
            _ => {}
        }
        self
    }
}

fn times(attempts: u32) -> String {
    if attempts > 1 {
        format!(", {attempts} times")
    } else {
        String::new()
    }
}

fn after_colon(body: &str) -> String {
    if body.is_empty() {
        String::new()
    } else {
        format!(": {body}")
    }
}
