//! The options that name a run's folder and the source of its other options.

use std::path::PathBuf;

use super::{RunDir, snapshot};
use crate::Error;

/// The folder of a run, and its file of options. A flag overrides the file, and the file overrides
/// the defaults.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Run")]
pub struct RunDirArgs {
    /// The folder for the model, checkpoints and logs
    #[arg(long, value_name = "DIR", default_value = "outputs")]
    pub output_dir: PathBuf,
    /// TOML or JSON file with options, by the names of the flags with _ for -
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Resume from the last checkpoint in --output-dir, or from its folder checkpoint-N, with the
    /// options of that run
    #[arg(long, alias = "resume", value_name = "CHECKPOINT", num_args = 0..=1,
        conflicts_with = "overwrite_output_dir")]
    pub resume_from_checkpoint: Option<Option<PathBuf>>,
    /// Start a new run over the one in --output-dir
    #[arg(long, alias = "force")]
    pub overwrite_output_dir: bool,
}

impl RunDirArgs {
    /// Returns `true` if a run is resumed.
    #[must_use]
    pub const fn resumes(&self) -> bool {
        self.resume_from_checkpoint.is_some()
    }

    /// Rewinds the run to the checkpoint that is named, if any. Call this once, before anything of
    /// the run is read.
    ///
    /// # Errors
    /// Returns an error if the folder is not a checkpoint of the run in `--output-dir`, or cannot be
    /// read or written.
    pub fn rewind(&self) -> Result<(), Error> {
        match &self.resume_from_checkpoint {
            Some(Some(checkpoint)) => snapshot::rewind(&self.run_dir(), checkpoint),
            _ => Ok(()),
        }
    }

    /// Returns the folder of the run.
    #[must_use]
    pub fn run_dir(&self) -> RunDir {
        RunDir {
            path: self.output_dir.clone(),
            resume: self.resumes(),
            force: self.overwrite_output_dir,
        }
    }
}
