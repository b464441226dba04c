//! The tools that every part of the trainer shares and that are no part of training: files that are
//! written whole or not at all, options from files and from the command line, seeds and tasks, random
//! streams, and the provenance of a result.
//!
//! It must never compute with a tensor or know an algorithm; of the worlds it knows the names of their
//! tasks, and that a replay is a file. Everything in the trainer may use it. It prints nothing.
//!
//! Options that need no file, seeds and random streams are those of `sentinel-options`; confidence
//! intervals are those of `sentinel-policy`, which the page has too.
//!
//! Read `files.rs` first: every file that is written as a whole is written by it. Then `provenance.rs`, which
//! says where a result comes from, and `error.rs`, the errors of both.

pub mod arg_parsers;
pub mod episode_args;
mod error;
pub mod files;
pub mod options_file;
pub mod precision;
pub mod provenance;
mod staged_folder;
pub mod task_selection;

pub use arg_parsers::EvalPolicy;
pub use episode_args::{EpisodeArgs, Progress};
pub use error::Error;
pub use files::is_zero;
pub use sentinel_options::{SAVE_TOTAL_LIMIT, SeedRange, rng, seeds};
pub use sentinel_policy::interval;
pub use staged_folder::StagedFolder;
pub use task_selection::{CellArgs, selected_tasks};
