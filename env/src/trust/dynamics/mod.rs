//! The effects of an action on the state, computed without allocation (spec trust §1, §3 to §8).

mod belief;
mod outcome;
mod reset;

pub use belief::Hypothesis;
pub use outcome::{Answer, ExecutionParams, Outcome, action_outcome};
