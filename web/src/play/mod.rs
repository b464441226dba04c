//! An episode as the page needs it: every frame computed at once, pure and testable without a
//! browser.

mod chart;
mod explain;
mod frames;
mod league;
mod marks;

pub use chart::{Frame2d, polyline, tick_positions};
pub use explain::{Term, explain, explain_terminal, total};
pub use frames::{Files, Frame, Frames, play};
pub use league::{Contestant, League, SEEDS, Standing};
pub use marks::{Mark, mark};
