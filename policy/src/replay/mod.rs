//! Replays: recorded actions, one JSON object a line, from which episodes are played again.
//!
//! A replay is recomputed, never believed: it holds seeds and actions, and every reward, trust
//! value and score comes from running the world. What does not fit is named and counted.
//!
//! * [`ReplayRow`]: one line; the six keys of the reference, and optional keys of our own.
//! * [`parse`], [`Parser`]: text to [`Replay`], line by line; a bad line costs only itself. [`parse_world`] reads one
//!   world's rows, for the page, which has a module for each world.
//! * [`ReplayEpisode`]: plays one episode of a replay; a gap is filled by a heuristic and counted.
//! * [`verify`]: plays all of them again and says what fits.
//! * [`record_episode`]: has a player act and writes down what it did.

mod fields;
mod parse;
mod player;
mod raw;
mod record;
mod row;
mod spoken;
mod table;
mod verify;

pub use crate::WorldName;
pub use fields::Fields;
pub use parse::{PROBLEMS_KEPT, Parser, Problem, parse, parse_world};
pub use player::{Playback, ReplayEpisode, play};
pub use raw::RowError;
pub use record::{record_episode, to_lines};
pub use row::{RecordedAction, ReplayRow, Spoken};
pub use table::{EpisodeKey, EpisodeRows, Replay, Row};
pub use verify::{EpisodeCheck, TaskMean, Verification, verify, verify_episode};
