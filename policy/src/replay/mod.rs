//! Replays: recorded actions, one JSON object per line, from which episodes are played again.
//!
//! A replay holds seeds and actions. Every reward, trust value and score is recomputed by running
//! the environment, never read from the file. Differences are reported and counted.
//!
//! * [`Recordable`]: what a world implements so that its actions can be stored in a file.
//! * [`ReplayRow`]: one line, typed by its world. It has the six keys of the reference format and
//!   optional keys of this project.
//! * [`Replay`]: the rows of one world; [`ReplayFile`]: the rows of several. Text is parsed line by
//!   line, and an invalid line does not affect the others.
//! * [`ReplayEpisode`]: plays one episode of a replay. A missing row is replaced by a fallback
//!   action and counted.
//! * [`verify()`]: plays every episode again and reports what does not fit.
//! * [`record_episode`]: runs a player and records its actions.

mod diagnostic;
mod fields;
mod file;
mod parse;
mod player;
mod record;
mod recordable;
mod row;
mod row_format;
mod row_index;
mod verify;

pub use diagnostic::{Diagnostic, PROBLEMS_KEPT};
pub use fields::{Fields, RawRow, RowError};
pub use file::{AnyReplay, PendingCheck, ReplayFile};
pub use player::{ReplayEpisode, ReplayedEpisode, play_replay};
pub use record::{record_episode, to_lines};
pub use recordable::Recordable;
pub use row::{LmTranscript, RecordedAction, ReplayRow};
pub use row_index::{EpisodeId, EpisodeRows, LocatedRow, Replay};
pub use verify::{EpisodeCheck, TaskMean, Verification, verify, verify_episode};
