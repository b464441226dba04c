//! The options that say where a run lives and where its other options come from.

use std::path::PathBuf;

use super::RunDir;

/// The folder of a run, and its file of options. A flag overrides the file, and the file overrides the
/// defaults.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Run")]
pub struct RunDirArgs {
    /// The folder for the model, checkpoints and logs
    #[arg(long, value_name = "DIR", default_value = "outputs")]
    pub output_dir: PathBuf,
    /// TOML or JSON file with options, by the names of the flags with _ for -
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Resume from the last checkpoint in --output-dir, with the options of that run
    #[arg(long, alias = "resume", conflicts_with = "overwrite_output_dir")]
    pub resume_from_checkpoint: bool,
    /// Start a new run over the one in --output-dir
    #[arg(long, alias = "force")]
    pub overwrite_output_dir: bool,
}

impl RunDirArgs {
    /// Returns the folder of the run.
    #[must_use]
    pub fn run_dir(&self) -> RunDir {
        RunDir {
            path: self.output_dir.clone(),
            resume: self.resume_from_checkpoint,
            force: self.overwrite_output_dir,
        }
    }
}
