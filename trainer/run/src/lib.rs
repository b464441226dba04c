//! Training runs: their folder, its lock, the loop, the checkpoints, the log, and the ranks that
//! share a run. They are the same for every algorithm, which implements [`Run`].
//!
//! It must never know a tensor library, a model or a world: a checkpoint is numbers by name, and
//! ranks exchange bytes. Read `run_loop.rs` first, the loop; then `dir.rs` and `log.rs`.
//! The file of a checkpoint is `checkpoint.rs` and `tensors.rs`; its content is that of each kind of model, in
//! `checkpoint.rs` of `sentinel_compact` and of `sentinel_language::training`.
//!
//! Events, the content of a checkpoint and the text of `trainer_state.json` compile for wasm32, too: a run in a
//! page has the same. Files, folders and ranks are for native programs.
//!
//! A run appends each event to `events.jsonl` and each number to TensorBoard's file at once, so
//! that both can be watched. A checkpoint stores the length of the list of events; a resumed run
//! cuts off all later events.

#[cfg(not(target_family = "wasm"))]
mod args;
#[cfg(not(target_family = "wasm"))]
pub mod checkpoint;
#[cfg(not(target_family = "wasm"))]
mod dir;
#[cfg(not(target_family = "wasm"))]
pub mod distributed;
#[cfg(not(target_family = "wasm"))]
mod error;
mod event;
mod history;
#[cfg(not(target_family = "wasm"))]
mod log;
#[cfg(not(target_family = "wasm"))]
pub mod model_card;
mod names;
#[cfg(not(target_family = "wasm"))]
mod run_loop;
#[cfg(not(target_family = "wasm"))]
pub mod snapshot;
#[cfg(not(target_family = "wasm"))]
pub mod tensorboard;
pub mod tensors;
mod trainer_state;

pub use event::{Event, LogPosition, named_scores, score_name};
pub use history::{HistoryFormat, RunHistory, rounded};
pub use names::{CHECKPOINT_FILE, EVENTS_FILE, TRAINER_STATE_FILE};
pub use trainer_state::{TrainerState, default_logging_steps};

#[cfg(not(target_family = "wasm"))]
pub use self::{
    args::RunDirArgs,
    dir::{LOCK_FILE, RunDir, RunLock},
    error::RunDirError,
    event::unix_time,
    log::{EventsError, RunLog, TENSORBOARD_DIR, TENSORBOARD_FILE, parse_events, read_events},
    run_loop::{Evaluation, Outcome, Run, RunSchedule, UpdateReport, run_to_end},
    tensorboard::WallTimes,
};
