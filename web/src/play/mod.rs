//! An episode as the page needs it: every frame computed at once, pure and testable without a
//! browser.

mod acting;
mod chart;
mod drawing;
mod frames;
mod league;
mod marks;
mod said;
mod terms;

pub use acting::Acting;
pub use chart::{Frame2d, polyline, tick_positions};
pub use drawing::{Bar, Drawing, Line, Shape, Strip};
pub use frames::{Frame, Frames, Playing, Recording, play};
pub use league::{Bout, League, SEEDS, Standing};
pub use marks::Mark;
pub use said::{Said, said};
pub use terms::{Term, total};
