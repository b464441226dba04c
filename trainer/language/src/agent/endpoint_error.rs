//! Errors of a language model behind an API.

use sentinel_http::HttpError;

/// The reason why an endpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// A request failed, also after repetitions.
    #[error("endpoint: {source}{hint}")]
    Http {
        /// Error of the last attempt.
        source: HttpError,
        /// Words that follow the error: a possible remedy; empty for none.
        hint: &'static str,
    },
    /// The answer holds no completion.
    #[error("endpoint {address}: {reason}")]
    Answer {
        /// Address of the route.
        address: String,
        /// Description of the answer.
        reason: String,
    },
}
