//! Errors of training.

use sentinel_policy::nn::ModelError;

use super::device::DeviceError;
use crate::rl::RlError;
use crate::{Error, SeedRange};

/// Why training could not start or stopped.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// An option with an invalid value.
    #[error("option {option} should be {allowed}")]
    Option {
        /// Its name.
        option: &'static str,
        /// The allowed values.
        allowed: &'static str,
    },
    /// Two ranges of seeds overlap.
    #[error("{one} {a} and {other} {b} overlap: a seed must not serve both, move one of them")]
    Seeds {
        /// The name of one.
        one: &'static str,
        /// The seeds.
        a: SeedRange,
        /// The name of the other.
        other: &'static str,
        /// The seeds.
        b: SeedRange,
    },
    /// The configuration names another environment.
    #[error("the configuration is for world {found}, and this is {wanted}")]
    World {
        /// The environment of the configuration.
        found: String,
        /// The environment that is trained on.
        wanted: &'static str,
    },
    /// Rules that the world does not know.
    #[error("option rules: {0}")]
    Rules(String),
    /// A teacher that the world does not have.
    #[error("no teacher {name:?}: the world has {}", known.join(", "))]
    Teacher {
        /// The name.
        name: String,
        /// The policies that there are.
        known: Vec<String>,
    },
    /// A teacher from whose actions the network cannot learn.
    #[error(
        "teacher {0} took no action that the network has a choice for (Network::choice_of): name another teacher"
    )]
    NoLabels(String),
    /// An option of the loss, or an input of it.
    #[error(transparent)]
    Loss(#[from] RlError),
    /// A model that this build cannot run.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No such device.
    #[error(transparent)]
    NoDevice(#[from] DeviceError),
    /// The device returned something that is not a number.
    #[error("the device failed: {0}")]
    Device(String),
    /// A loss or gradient is infinite or not a number.
    #[error("the {0} is not finite")]
    NotFinite(&'static str),
    /// The same, with what is needed to reproduce it.
    #[error(
        "update {update}: {source}; it played seeds {}..{} of each task; {saved}",
        seeds.start, seeds.end
    )]
    Diverged {
        /// The update.
        update: usize,
        /// What was not finite.
        source: Box<TrainError>,
        /// The seeds of its episodes.
        seeds: std::ops::Range<u64>,
        /// Where training can resume from.
        saved: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
}

impl TrainError {
    /// Adds to a divergence where training can resume from.
    pub(super) fn saved(self, folder: &std::path::Path, step: usize) -> Self {
        match self {
            Self::Diverged {
                update,
                source,
                seeds,
                ..
            } => Self::Diverged {
                update,
                source,
                seeds,
                saved: format!(
                    "the last good checkpoint is {}, after update {step}",
                    folder.join(crate::run::CHECKPOINT).display()
                ),
            },
            other => other,
        }
    }
}
