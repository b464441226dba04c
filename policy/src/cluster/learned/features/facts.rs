//! Facts of an observation that the features of several rows need.

use sentinel_env::cluster::{Behavior, GPUS_MAX, JobId, Observation};
use sentinel_env::slot::SLOTS;

use super::super::history::History;
use crate::cluster::lookahead::Belief;

/// The facts of an observation that the features of its rows share, computed once.
pub(super) struct ObservationFacts<'a> {
    pub(super) o: &'a Observation,
    pub(super) history: &'a History,
    pub(super) belief: &'a Belief,
    /// Probability of each behavior for each worker, `[workers, behaviors]`.
    pub(super) posterior: [[f64; Behavior::ALL.len()]; SLOTS],
    /// `true` for each GPU whose row is inconsistent.
    pub(super) odd: [bool; GPUS_MAX],
    /// The running job with a visible sign of an attack.
    pub(super) attacked: Option<JobId>,
    /// The queued job that the planner would start next.
    pub(super) next: Option<JobId>,
}
