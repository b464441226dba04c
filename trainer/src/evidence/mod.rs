//! The evidence that a run is real: reports of episodes, charts, and what is checked on them.

pub mod charts;
pub mod report;
