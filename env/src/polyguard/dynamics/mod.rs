//! The dynamics: generation of patients, effects of acts, selection of candidates, and the end of
//! an episode. These are pure functions of the state, and a step does not allocate.

mod candidates;
mod effects;
mod ending;
mod estimates;
mod legality;
mod patient;
mod predict;
mod risk;
mod truth;

pub(crate) use candidates::refresh_observation;
pub use effects::{SUSPECTS_MAX, SYMPTOM_START, next_symptom, symptom_likelihood};
pub use ending::{REFUSALS_MAX, REVIEW_UNCERTAINTY};
pub(crate) use ending::{StepFacts, justifies_review, termination};
pub(crate) use patient::{generate_patient, sample_patient};
