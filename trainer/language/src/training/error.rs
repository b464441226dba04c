//! Errors that stop the training of a language model.

use std::path::PathBuf;

use sentinel_base::Error;
use sentinel_lm::LmError;
use sentinel_play::rollout::RolloutError;
use sentinel_rl::RlError;
use sentinel_run::distributed::DistributedError;
use sentinel_tensor::device::DeviceError;

use crate::agent::endpoint_error::EndpointError;
use crate::rollout_engine::RolloutEngineError;

/// An error of a training run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file, text, device or model is invalid.
    #[error(transparent)]
    Model(#[from] LmError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// The episodes could not be played.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// A loss has an invalid option, or lacks an input.
    #[error(transparent)]
    Loss(#[from] RlError),
    /// The servers that generate rollouts cannot be used.
    #[error(transparent)]
    RolloutEngine(#[from] RolloutEngineError),
    /// The API of a language model cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The ranks of the run cannot go on together.
    #[error(transparent)]
    Distributed(#[from] DistributedError),
    /// The requested device does not exist.
    #[error(transparent)]
    NoDevice(#[from] DeviceError),
    /// An option has an invalid value.
    #[error("option {option} should be {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Description of the allowed values.
        allowed: &'static str,
    },
    /// An action of look-ahead has more tokens than a completion may have.
    #[error(
        "option max-completion-length should be at least {tokens}, the tokens of the longest action"
    )]
    CompletionLength {
        /// Number of tokens of the longest action, with the one that ends it.
        tokens: usize,
    },
    /// The output folder is a folder that the run reads from.
    #[error("--output-dir {} is the folder of {option}, which the run would write over: name another folder", folder.display())]
    Input {
        /// Path of the folder.
        folder: PathBuf,
        /// Option that names the same folder.
        option: &'static str,
    },
    /// Rows are longer than the model's context.
    #[error(
        "the longest row has {longest} tokens, but the model reads {positions} (max_position_embeddings in its \
         config.json): lower --max-length from {asked} to {positions}, with --too-long drop or cut"
    )]
    Positions {
        /// Number of tokens in the longest row.
        longest: usize,
        /// Context length of the model, in tokens.
        positions: usize,
        /// Value of the option `--max-length`.
        asked: usize,
    },
    /// A value is not finite, so that training cannot continue.
    #[error("step {step}: the {what} is not finite; {saved}")]
    NotFinite {
        /// Number of the optimizer step.
        step: usize,
        /// Name of the value.
        what: &'static str,
        /// Description of the last good checkpoint.
        saved: String,
    },
}

impl RunError {
    /// Returns `true` if the episodes were asked to stop before their end, so that nothing failed.
    pub const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Rollout(RolloutError::Interrupted))
    }

    /// Returns the error of an option whose value is not allowed.
    pub const fn option(option: &'static str, allowed: &'static str) -> Self {
        Self::Option { option, allowed }
    }

    /// Adds to [`Self::NotFinite`] the checkpoint from which training can resume.
    pub(super) fn with_checkpoint(self, folder: &std::path::Path, at: Option<usize>) -> Self {
        let Self::NotFinite { step, what, .. } = self else {
            return self;
        };
        let saved = match at {
            None => "nothing was saved yet".to_owned(),
            Some(at) => format!(
                "the last good checkpoint is {}, after step {at}",
                folder.join(sentinel_run::CHECKPOINT_FILE).display()
            ),
        };
        Self::NotFinite { step, what, saved }
    }
}
