//! The options that name a run's folder and the source of its other options.

use std::path::PathBuf;

use sentinel_base::Error;

use super::{CHECKPOINT_FILE, RunDir, snapshot};

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
    /// options of that run; without any checkpoint there, begin
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

    /// Returns the folder of the run, and the checkpoint from which it is resumed: the one that is named, else
    /// the last one, else the latest whole `checkpoint-N`. Without any, the run begins. Changes nothing.
    ///
    /// # Errors
    /// Returns an error if the folder that is named is not a checkpoint of the run in `--output-dir`, or if
    /// no checkpoint of the run is whole.
    pub fn run_dir(&self) -> Result<RunDir, Error> {
        let path = self.output_dir.clone();
        let mut dir = RunDir {
            resume: self.resumes(),
            force: self.overwrite_output_dir,
            ..RunDir::new(path)
        };
        match &self.resume_from_checkpoint {
            None => {}
            Some(Some(named)) => {
                snapshot::step_of(&dir.path, named)?;
                dir.from = Some(named.clone());
            }
            Some(None) => dir.find_checkpoint()?,
        }
        Ok(dir)
    }

    /// Returns a note if the run begins anew although it should be resumed, or is resumed from an older
    /// checkpoint than its last one.
    #[must_use]
    pub fn describe_start(&self, dir: &RunDir) -> Option<String> {
        let folder = dir.path.display();
        match (&self.resume_from_checkpoint, &dir.from) {
            (Some(_), _) if !dir.resume => {
                Some(format!("no checkpoint in {folder} yet: the run begins"))
            }
            (Some(None), Some(from)) => Some(format!(
                "{CHECKPOINT_FILE} in {folder} is missing or cut off: the run is resumed from {}",
                from.display()
            )),
            _ => None,
        }
    }
}
