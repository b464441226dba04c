//! Errors of rollouts on an engine. All stop the run; its last checkpoint stays whole.

use std::path::PathBuf;

use sentinel_http::HttpError;

/// The reason why an engine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RolloutEngineError {
    /// An option is invalid.
    #[error("option --{option} {reason}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// The fault of its value.
        reason: String,
    },
    /// A server does not answer, or refuses.
    #[error("rollout server {replica}: {source}")]
    Http {
        /// Address of the server.
        replica: String,
        /// The failure of the request.
        source: HttpError,
    },
    /// A server lacks something that the run needs.
    #[error("rollout server {replica}: {reason}")]
    Unfit {
        /// Address of the server.
        replica: String,
        /// Description of what is missing, and the way out.
        reason: String,
    },
    /// An answer cannot be trained on.
    #[error(
        "rollout server {replica} gave an answer that cannot be trained on: {reason}; the run stops, see \
         docs/how-to/rollouts-on-vllm.md"
    )]
    Answer {
        /// Address of the server.
        replica: String,
        /// The fault of the answer.
        reason: String,
    },
    /// The log-probabilities of the servers are not those of the policy.
    #[error(
        "update {update}: the log-probabilities of the rollout servers differ from the policy by {mean:.4} a token on \
         average, directly after adapter {adapter} was loaded; at most {bound} is allowed: they serve other weights, \
         or not the log-probabilities at the temperature (vLLM needs --logprobs-mode processed_logprobs); \
         --rollout-max-logp-difference changes the bound"
    )]
    LogpDifference {
        /// Number of the update.
        update: usize,
        /// Name of the adapter.
        adapter: String,
        /// Mean absolute difference of the log-probability of a token.
        mean: f64,
        /// Largest difference that is allowed.
        bound: f64,
    },
    /// The file with the id of the run cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    RunId {
        /// Path of the file.
        path: PathBuf,
        /// The failure to read or write it.
        source: std::io::Error,
    },
    /// An adapter was not loaded everywhere.
    #[error(
        "adapter {adapter} was not loaded on every rollout server, and was unloaded from those that had it: {source}; \
         every server must see {} under this path",
        folder.display()
    )]
    Load {
        /// Name of the adapter.
        adapter: String,
        /// Folder of the adapter.
        folder: PathBuf,
        /// Failure of the first server that refused.
        source: Box<Self>,
    },
}
