//! The parts shared by all trainers of language models: options, learning rate, the run in its
//! folder with checkpoints, and its output files.

mod algorithm;
pub mod checkpoint;
mod data_parallel;
mod error;
mod metadata;
mod options;
mod outputs;
mod prepared_model;
mod run;

pub use algorithm::{Best, LmAlgorithm, LoggedCompletion, LoggedTokens, State, Update};
pub use data_parallel::{option_facts, sum_gradients};
pub use error::RunError;
pub use metadata::RunMetadata;
pub use options::RunOptions;
pub use prepared_model::{PreparedModel, merge_options, options_file, write_options};
pub use run::run;

pub use sentinel_run::{Event, Outcome, RunDir};
