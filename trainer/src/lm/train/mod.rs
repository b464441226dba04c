//! What all trainers of language models share: options, the learning rate, a run in a folder with
//! checkpoints, and its files.

mod about;
pub mod checkpoint;
mod error;
mod event;
mod options;
mod outputs;
mod place;
mod run;
mod schedule;
mod start;
mod state;

pub use about::About;
pub use error::RunError;
pub use event::Event;
pub use options::RunOptions;
pub use outputs::{EVENTS, STATE};
pub use place::Place;
pub use run::{Job, Outcome, Update, run};
pub use schedule::{Schedule, ScheduleKind};
pub use start::{Start, options_file, overlaid, write_options};
pub use state::State;
