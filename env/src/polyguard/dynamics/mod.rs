//! Dynamics: how a patient is drawn, what an act does, what can be chosen, and when the episode
//! ends. Pure functions of the state; a step allocates nothing.

mod candidates;
mod effects;
mod ending;
mod estimates;
mod legality;
mod patient;
mod risk;
mod simulate;
mod truth;

pub(crate) use candidates::refresh_observation;
pub(crate) use ending::{Closing, justifies_review, termination};
pub use ending::{REFUSALS, UNSURE};
pub(crate) use patient::draw;
