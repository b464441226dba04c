//! The evidence that a run is real: reports of episodes, charts, and what is checked on them.

pub mod charts;
pub mod cluster_health;
mod input;
mod ordered;
pub mod plots;
pub mod reward_report;

pub use input::EvidenceError;
