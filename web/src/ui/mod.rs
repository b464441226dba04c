//! The components. Each reads the page's signals and draws; none computes an episode.

mod chart;
mod controls;
mod curve;
mod frame;
pub mod keys;
mod league;
mod log;
mod model;
mod pane;
mod probability;
mod reward;
mod scene;
mod situation;
mod specialists;
mod tip;
mod training;
mod transport;

pub use controls::{Controls, listen_for_drops};
pub use frame::{Footer, Header, Help, Notices};
pub use league::Standings;
pub use pane::Pane;
pub use scene::{Scene, Which};
pub use training::Training;
pub use transport::Transport;

/// Three decimals, as the observation shows numbers.
fn three(value: f64) -> String {
    format!("{value:.3}")
}
