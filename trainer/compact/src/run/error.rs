//! Errors of a training run.

use std::path::Path;

use sentinel_run::CHECKPOINT_FILE;

use crate::Error;

/// The reason why a run could not start or stopped.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// An option is invalid, or an update cannot be made.
    #[error(transparent)]
    Algorithm(#[from] Error),
    /// An update led to a loss or gradient that is not finite.
    #[error("{source}; {saved}")]
    Diverged {
        /// The error of the update.
        source: Error,
        /// The checkpoint from which training can resume, in words.
        saved: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] sentinel_base::Error),
}

impl TrainError {
    /// Adds the checkpoint from which training can resume to a divergence: the step of the last one in
    /// `folder`.
    pub(super) fn with_checkpoint(self, folder: &Path, step: Option<usize>) -> Self {
        match self {
            Self::Algorithm(source @ Error::Diverged { .. }) => Self::Diverged {
                source,
                saved: match step {
                    None => "nothing was saved yet".to_owned(),
                    Some(step) => format!(
                        "the last good checkpoint is {}, after update {step}",
                        folder.join(CHECKPOINT_FILE).display()
                    ),
                },
            },
            other => other,
        }
    }
}
