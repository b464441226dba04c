//! Why the training of a language model stopped.

use std::path::PathBuf;

use crate::Error;
use crate::compact::device::DeviceError;
use crate::corpus::rollout::RolloutError;
use crate::lm::LmError;
use crate::rl::RlError;

/// What can go wrong in a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Files, text, device, or model.
    #[error(transparent)]
    Model(#[from] LmError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// Episodes could not be played.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// An option of a loss, or an input that it needs.
    #[error(transparent)]
    Loss(#[from] RlError),
    /// No such device.
    #[error(transparent)]
    NoDevice(#[from] DeviceError),
    /// An option alone.
    #[error("option {option} should be {allowed}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
    /// A folder that the run reads from.
    #[error("--output-dir {} is the folder of {option}, which the run would write over: name another folder", folder.display())]
    Input {
        /// The folder.
        folder: PathBuf,
        /// The option that names it as well.
        option: &'static str,
    },
    /// Rows that the model has no positions for.
    #[error(
        "the longest row has {longest} tokens, but the model reads {positions} (max_position_embeddings in its \
         config.json): lower --max-length from {asked} to {positions}, with --too-long drop or cut"
    )]
    Positions {
        /// Tokens of the longest row.
        longest: usize,
        /// Most tokens of a row that the model reads.
        positions: usize,
        /// `--max-length`.
        asked: usize,
    },
    /// Nothing can be learned from such a number.
    #[error("step {step}: the {what} is not finite; {saved}")]
    NotFinite {
        /// The optimizer step.
        step: usize,
        /// What was not.
        what: &'static str,
        /// Where training can go on from.
        saved: String,
    },
}

impl RunError {
    pub(crate) const fn option(option: &'static str, allowed: &'static str) -> Self {
        Self::Option { option, allowed }
    }

    /// Adds to a number that was not finite where training can go on from.
    pub(super) fn saved(self, folder: &std::path::Path, at: Option<usize>) -> Self {
        let Self::NotFinite { step, what, .. } = self else {
            return self;
        };
        let saved = match at {
            None => "nothing was saved yet".to_owned(),
            Some(at) => format!(
                "the last good checkpoint is {}, after step {at}",
                folder.join(crate::run::CHECKPOINT).display()
            ),
        };
        Self::NotFinite { step, what, saved }
    }
}
