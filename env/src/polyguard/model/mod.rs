//! The plain types and tables of the world: setup, observation, hidden state, and actions. This
//! module contains no rules of the dynamics or of the reward.

pub(crate) mod action;
pub(crate) mod candidate;
pub(crate) mod formulary;
pub(crate) mod hidden;
pub(crate) mod history;
pub(crate) mod observation;
pub(crate) mod patient;
pub(crate) mod rationale_terms;
pub(crate) mod regimen;
pub(crate) mod setup;
pub(crate) mod state;
pub(crate) mod step;
pub(crate) mod task_spec;
