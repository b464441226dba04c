//! What all trainers of language models share.

mod schedule;

pub use schedule::{Schedule, ScheduleKind};
