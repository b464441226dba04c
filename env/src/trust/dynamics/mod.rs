//! What an action does to the state: pure, without allocation (spec trust §4 to §8).

mod outcome;
mod reset;

pub use outcome::{Answer, Execution, Outcome, outcome};
