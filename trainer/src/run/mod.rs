//! Training runs: their folder, its lock, the loop, the checkpoints, and the log. They are the same
//! for every algorithm, which implements [`Training`].
//!
//! A run appends each event to `events.jsonl` and each number to TensorBoard's file at once, so
//! that both can be watched. A checkpoint stores the length of the list of events; a resumed run
//! cuts off all later events.

use std::time::{SystemTime, UNIX_EPOCH};

mod args;
#[cfg(feature = "burn")]
pub mod checkpoint;
mod dir;
mod event;
mod history;
mod log;
pub mod model_card;
mod schedule;
pub mod snapshot;
pub mod tensorboard;
mod trainer_state;
mod training;

pub use args::RunDirArgs;
pub use dir::{CHECKPOINT_FILE, LOCK_FILE, RunDir, RunLock, TRAINER_STATE_FILE};
pub use event::{Event, Scores};
pub(crate) use event::{named_scores, score_name};
pub use history::{HistoryFormat, RunHistory};
pub use log::{
    EVENTS_FILE, EventsError, LogPosition, RunLog, TENSORBOARD_DIR, TENSORBOARD_FILE, parse_events,
    read_events,
};
pub use schedule::{Schedule, ScheduleKind};
pub use tensorboard::WallTimes;
pub(crate) use trainer_state::rounded;
pub use trainer_state::{TrainerState, default_logging_steps};
pub use training::{Evaluation, RunSchedule, SAVE_TOTAL_LIMIT, Training, Update, run};

/// The way in which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps were taken.
    Finished,
    /// The run was asked to stop and can be resumed.
    Interrupted,
}

/// Returns the time in whole seconds since 1970, which are exact; earlier times count as 0.
pub(crate) fn unix_time() -> f64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0.0, |passed| passed.as_secs() as f64)
}
