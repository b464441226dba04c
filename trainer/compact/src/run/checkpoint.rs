//! The checkpoint of a compact policy's run as a file in its folder.

use std::path::Path;

use sentinel_base::{Error, files};
use sentinel_run::{CHECKPOINT_FILE, LogPosition, checkpoint};

use super::TrainError;
use crate::checkpoint::{Header, KEY};
use crate::config::TrainConfig;
use crate::learn::Learn;
use crate::trainer::Trainer;

pub use crate::checkpoint::Checkpoint;

/// Reads the configuration of the run in a folder, for any environment.
///
/// # Errors
/// Returns an error if there is no checkpoint, or the file is truncated or something else.
pub fn read_config(folder: &Path) -> Result<TrainConfig, TrainError> {
    let header: Header = checkpoint::read_header(&folder.join(CHECKPOINT_FILE), KEY)?;
    Ok(header.config)
}

/// Writes the state of a run into its folder.
///
/// # Errors
/// Returns an error if the file cannot be written; the previous checkpoint then stays.
pub fn save<W: Learn>(
    trainer: &Trainer<W>,
    log: LogPosition,
    folder: &Path,
) -> Result<(), TrainError> {
    let path = folder.join(CHECKPOINT_FILE);
    let bytes = Checkpoint::new(trainer, log)?.encode();
    let bytes = bytes.map_err(|reason| Error::invalid(&path, reason))?;
    Ok(files::write_atomic(&path, &bytes)?)
}

impl<W: Learn> Checkpoint<W> {
    /// Reads the checkpoint of a folder.
    ///
    /// # Errors
    /// Returns an error if there is none, or the file is truncated or something else.
    pub fn load(folder: &Path) -> Result<Self, TrainError> {
        let path = folder.join(CHECKPOINT_FILE);
        let (header, tensors) = checkpoint::read(&path, KEY)?;
        let found = Self::from_parts(header, tensors);
        found.map_err(|reason| checkpoint::no_checkpoint(&path, &reason).into())
    }

    /// Returns a trainer that continues the run, and the position of its log.
    ///
    /// # Errors
    /// Returns an error if the device is not available.
    pub fn resume(self) -> Result<(Trainer<W>, LogPosition), TrainError> {
        let device = self.config.device.open().map_err(crate::Error::from)?;
        let mut trainer = Trainer::from_state(self.config, self.state, &device)?;
        trainer.best = self.best;
        Ok((trainer, self.log))
    }
}
