//! The parts shared by all trainers of language models: options, learning rate, the run in its
//! folder with checkpoints, and its output files.

pub mod checkpoint;
mod error;
mod job;
mod metadata;
mod options;
mod outputs;
mod run;
mod start;

pub use error::RunError;
pub use job::{Best, Job, LoggedCompletion, LoggedTokens, State, Update};
pub use metadata::RunMetadata;
pub use options::RunOptions;
pub use run::run;
pub use start::{PreparedModel, merge_options, options_file, write_options};

pub use crate::run::{Event, Outcome, RunDir};
