//! The four scripted policies of the reference (spec cluster §11).

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::cluster::{Action, ActionType, ClusterEnv, Episode, Observation};
use sentinel_env::rng::{PyRandom, Streams};
use sentinel_env::slot::{SLOTS, Slot, argmax};

use super::complete_action::{any_queued, any_running, complete_action};
use super::{Policy, PrivilegedPolicy};
use crate::policy::POLICY_STREAM;

/// Anomaly score above which the trust policy verifies, in `[0, 1]`.
const SUSPICIOUS: f64 = 0.55;

/// Kinds of action that the random policy draws from; allocation is listed twice.
const KINDS: [ActionType; 6] = [
    ActionType::Allocate,
    ActionType::Allocate,
    ActionType::RequestInfo,
    ActionType::Verify,
    ActionType::Preempt,
    ActionType::Tick,
];

/// A policy that takes a random kind of action with a random worker.
pub struct Random(PyRandom);

impl Random {
    /// Creates the policy with its own random stream of the episode `seed`.
    #[must_use]
    pub fn new(seed: u64, streams: Streams) -> Self {
        Self(PyRandom::new(streams.seed(seed, POLICY_STREAM)))
    }
}

impl Policy<ClusterEnv> for Random {
    fn choose(&mut self, observation: &Observation) -> Action {
        // Both numbers are drawn on every step, in this order.
        let kind = KINDS[self.0.below(KINDS.len() as u32) as usize];
        let worker = Slot::ALL[self.0.below(SLOTS as u32) as usize];
        complete_action(observation, kind, Some(worker))
    }

    fn peek_draw(&self) -> Option<f64> {
        Some(self.0.clone().random())
    }
}

/// A policy that allocates every job to the first worker, and ticks if no job is queued.
pub struct Blind;

impl Policy<ClusterEnv> for Blind {
    fn choose(&mut self, observation: &Observation) -> Action {
        complete_action(observation, ActionType::Allocate, Some(Slot::ALL[0]))
    }
}

/// A policy that verifies every fourth step or on a high anomaly score, and allocates by trust.
pub struct Trust;

impl Policy<ClusterEnv> for Trust {
    fn choose(&mut self, o: &Observation) -> Action {
        let due = o.step_count.is_multiple_of(4) || o.anomalies.max() > SUSPICIOUS;
        let kind = if any_running(o) && due {
            ActionType::Verify
        } else if any_queued(o) {
            ActionType::Allocate
        } else {
            ActionType::RequestInfo
        };
        complete_action(o, kind, None)
    }
}

/// A privileged policy that allocates every job to the most reliable worker, and verifies while
/// attacks outnumber detections.
pub struct OracleLite;

impl PrivilegedPolicy<ClusterEnv> for OracleLite {
    fn choose(&mut self, episode: &Episode) -> Action {
        let (o, hidden) = (episode.observation(), episode.hidden());
        let best = Some(argmax(&hidden.reliability()));
        if any_running(o) && o.counters.attempts > o.counters.detections {
            complete_action(o, ActionType::Verify, None)
        } else if any_queued(o) {
            complete_action(o, ActionType::Allocate, best)
        } else {
            complete_action(o, ActionType::RequestInfo, best)
        }
    }
}
