//! Replays: recorded actions, one JSON object a line, from which episodes are played again.
//!
//! A replay is recomputed, never believed: it holds seeds and actions, and every reward, trust
//! value and score comes from running the environment. What does not fit is named and counted.
//!
//! * [`Recordable`]: what a world needs for its actions to stand in a file.
//! * [`ReplayRow`]: one line, typed by its world; the six keys of the reference, and optional keys of
//!   our own.
//! * [`Replay`]: the rows of one world; [`ReplayFile`]: those of several. Text is read line by line, and
//!   a bad line costs only itself.
//! * [`ReplayEpisode`]: plays one episode of a replay; a gap is filled by a fallback and counted.
//! * [`verify`]: plays all of them again and says what fits.
//! * [`record_episode`]: has a player act and writes down what it did.

mod fields;
mod file;
mod parse;
mod player;
mod record;
mod row;
mod rows;
mod verify;

pub use fields::{Fields, RawRow, RowError};
pub use file::{AnyReplay, ReplayFile};
pub use parse::{Diagnostic, PROBLEMS_KEPT};
pub use player::{Playback, ReplayEpisode, play};
pub use record::{record_episode, to_lines};
pub use row::{LmTranscript, Recordable, RecordedAction, ReplayRow};
pub use rows::{EpisodeId, EpisodeRows, LocatedRow, Replay};
pub use verify::{EpisodeCheck, TaskMean, Verification, verify, verify_episode};
