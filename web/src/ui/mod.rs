//! The components. Each reads the page's signals and draws; none computes an episode.
//!
//! What is shared stands here; what a world draws of itself is its [`Stage`].

mod chart;
mod controls;
mod curve;
mod frame;
pub mod keys;
mod league;
mod log;
mod model;
mod odds;
mod pane;
mod reward;
mod scene;
mod stage;
mod switches;
mod tip;
mod training;
mod transport;
mod words;

pub use chart::Chart;
pub use controls::{Controls, listen_for_drops, option};
pub use frame::{Footer, Header, Help, Notices};
pub use league::Standings;
pub use odds::{percent, ranked};
pub use pane::Pane;
pub use reward::{Parts, Reward};
pub use scene::{Scene, Which};
pub use stage::Stage;
pub use tip::tip;
pub use training::Training;
pub use transport::Transport;
pub use words::Words;
