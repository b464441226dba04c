//! Analysis of the decisions of an episode: the expected final score of each action, and what is
//! decision quality and what is luck (`docs/reference/analysis.md`).
//!
//! At each step, an [`Analysis`] tries every candidate action in sampled states and lets a policy
//! play on to the end (the rollout algorithm, Tesauro & Galperin 1996). All actions of a step are
//! tried in the same states with the same future draws, so that differences between actions have
//! little noise (common random numbers). States come from one of two sources:
//!
//! * [`StateSource::Belief`]: hidden states that agree with the public evidence up to the step.
//! * [`StateSource::Hindsight`]: the true hidden state, with new future draws.
//!
//! This module knows no world. What a world provides is [`Analyzable`] and [`Evidence`].

mod comparison;
mod continuation;
mod report;
mod run;
mod statistics;

pub use comparison::{ActionGain, BeliefRollouts, CompareActions};
pub use continuation::{ContinuationPolicy, RestartedPolicy};
pub use report::{EpisodeReport, StateSourceReport, StepReport};
pub use run::{Analysis, AnalysisConfig, DEFAULT_ROLLOUTS, Progress, StepEstimates, Trajectory};
pub use statistics::INTERVAL_ROLLOUTS_MIN;

use sentinel_env::{Environment, PrivilegedState};

/// A source of the states in which actions are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum StateSource {
    /// States that agree with the public evidence up to the step.
    Belief,
    /// The true hidden state, with future draws that are not those of the episode.
    Hindsight,
}

impl StateSource {
    /// Both sources, in the order of the reports.
    pub const ALL: [Self; 2] = [Self::Belief, Self::Hindsight];
}

/// A world whose episodes can be analyzed.
pub trait Analyzable: PrivilegedState {
    /// The public evidence of an episode, from which hidden states are sampled.
    type Evidence: Evidence<Self>;

    /// Creates the evidence of an episode before its first observation. The seed of `setup` is 0:
    /// an [`Analysis`] removes it, because hidden state follows from it.
    fn evidence(setup: &Self::Setup) -> Self::Evidence;

    /// Returns the same episode with new random draws from here on, those of the stream `seed`.
    #[must_use]
    fn with_outcome_seed(&self, seed: u64) -> Self;
}

/// Memory over the public part of an episode that samples states which agree with it.
pub trait Evidence<E: Environment>: Clone {
    /// Records an observation, and the action that led to it: `None` for the first one. Called once
    /// for every observation of an episode, in order.
    fn observe(&mut self, action: Option<E::Action>, observation: &E::Observation);

    /// Returns the actions to compare at the latest observation. May contain duplicates, and need
    /// not contain the action that was chosen.
    fn candidates(&self, observation: &E::Observation) -> Vec<E::Action>;

    /// Samples an episode that matches the latest observation, with its own future draws. Equal
    /// seeds give equal episodes.
    fn sample(&self, observation: &E::Observation, seed: u64) -> E;
}
