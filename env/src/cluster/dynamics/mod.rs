//! The effects of an action on the state, computed without allocation (spec cluster §1 to §7, §8.1).

mod actions;
mod advance;
mod attack;
mod belief;
mod reset;
mod worker;

pub(crate) use actions::Outcome;
pub(crate) use attack::FORGED_JOB_MEMORY;
pub use belief::Hypothesis;
pub use worker::WorkerClaim;
pub(crate) use worker::degradation;
