//! Training runs: their folder, its lock, the loop, the checkpoints, the log, and the ranks that
//! share a run. They are the same for every algorithm, which implements [`Run`].
//!
//! It must never know a tensor library, a model or a world: a checkpoint is numbers by name, and
//! ranks exchange bytes. Read `run_loop.rs` first, the loop; then `dir.rs` and `log.rs`.
//! The file of a checkpoint is `checkpoint.rs`; its content is that of each kind of model, in
//! `checkpoint.rs` of `sentinel_compact::run` and of `sentinel_language::training`.
//!
//! A run appends each event to `events.jsonl` and each number to TensorBoard's file at once, so
//! that both can be watched. A checkpoint stores the length of the list of events; a resumed run
//! cuts off all later events.

mod args;
pub mod checkpoint;
mod dir;
pub mod distributed;
mod error;
mod event;
mod history;
mod log;
pub mod model_card;
mod run_loop;
pub mod snapshot;
pub mod tensorboard;
mod trainer_state;

pub use args::RunDirArgs;
pub use dir::{CHECKPOINT_FILE, LOCK_FILE, RunDir, RunLock, TRAINER_STATE_FILE};
pub use error::RunDirError;
pub use event::{Event, named_scores, score_name, unix_time};
pub use history::{HistoryFormat, RunHistory, rounded};
pub use log::{
    EVENTS_FILE, EventsError, LogPosition, RunLog, TENSORBOARD_DIR, TENSORBOARD_FILE, parse_events,
    read_events,
};
pub use run_loop::{Evaluation, Outcome, Run, RunSchedule, UpdateReport, run_to_end};
pub use tensorboard::WallTimes;
pub use trainer_state::{TrainerState, default_logging_steps};
