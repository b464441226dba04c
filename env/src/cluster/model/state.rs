//! The complete state of an episode.

use super::attack::AttackType;
use super::audit::{Agent, Audit, ClaimKind};
use super::hidden::Hidden;
use super::observation::Observation;
use super::setup::{Change, Rules};
use crate::num::mean_reward;

/// The observation, the hidden state and the totals: everything that a step reads and changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) observation: Observation,
    pub(crate) hidden: Hidden,
    pub(crate) audit: Audit,
    pub(crate) tally: Tally,
}

impl State {
    /// Returns the rules in force.
    #[inline]
    pub(crate) const fn rules(&self) -> Rules {
        self.observation.rules
    }

    /// Updates the public view of the pool.
    #[inline]
    pub(crate) fn refresh_observation(&mut self) {
        // Under `Change::Escalation`, forged views carry no mark that would give them away.
        let marked = !self.rules().has(Change::Escalation);
        let gpus = self.hidden.pool.gpus();
        for (view, gpu) in self.observation.gpus.iter_mut().zip(gpus) {
            *view = gpu.view(marked);
        }
    }

    /// Records a claim of an agent in the audit ledger.
    #[inline]
    pub(crate) fn record_claim(&mut self, agent: Agent, kind: ClaimKind) {
        let scores = &mut self.observation.anomalies;
        self.audit.record_claim(agent, kind, scores);
    }

    /// Records an action of an agent in the audit ledger.
    #[inline]
    pub(crate) fn record_action(&mut self, agent: Agent) {
        self.audit
            .record_action(agent, &mut self.observation.anomalies);
    }
}

/// The running totals, and the history that only the episode itself needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sum of all reward events, terminal included.
    pub total_reward: f64,
    /// Number of reward events so far.
    pub reward_events: u16,
    /// Sum of the health values of all steps.
    pub(crate) health_sum: f64,
    /// Sum of the utilization values of all steps.
    pub(crate) utilization_sum: f64,
    /// Bit mask of the attack types seen, with the lowest level in bit 0.
    pub(crate) attacks_seen: u8,
    /// Number of placements so far.
    pub(crate) placements: u8,
    /// Signatures of the last six actions plus 1, the latest first; 0 stands for no action.
    recent: [u32; 6],
}

impl Tally {
    /// Returns the mean reward per event, 0..=1, which is the episode's score.
    #[must_use]
    pub fn score(&self) -> f64 {
        mean_reward(self.total_reward, self.reward_events)
    }

    /// Returns the sum of the health values of all steps so far.
    #[must_use]
    pub const fn health_sum(&self) -> f64 {
        self.health_sum
    }

    /// Returns the sum of the utilization values of all steps so far.
    #[must_use]
    pub const fn utilization_sum(&self) -> f64 {
        self.utilization_sum
    }

    /// Returns the number of attack types seen, 0..=5.
    #[must_use]
    pub const fn attack_types(&self) -> u8 {
        self.attacks_seen.count_ones() as u8
    }

    /// Iterates over the attack types seen, by level.
    pub fn attacks_seen(&self) -> impl Iterator<Item = AttackType> {
        let seen = self.attacks_seen;
        AttackType::ALL
            .into_iter()
            .filter(move |kind| seen >> (*kind as u8) & 1 == 1)
    }

    /// Records an action. Returns `true` if it occurred at least twice among the previous six.
    pub(crate) fn record_and_detect_loop(&mut self, signature: u32) -> bool {
        let signature = signature + 1;
        let times = self.recent.iter().filter(|s| **s == signature).count();
        self.recent.rotate_right(1);
        self.recent[0] = signature;
        times >= 2
    }
}
