//! What an episode counts (spec cluster §4, §5, §8.1), and its totals.

use super::AttackType;
use crate::num::clip01;

/// Counts that payloads show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Attacks.
    pub attempts: u16,
    /// Verifications that caught something; dishonest reports too, so this may exceed the attacks
    /// (quirk C5).
    pub detections: u16,
    /// Forged completions, and false completions that were believed.
    pub poisonings: u16,
    /// Attacks that were not found while they were open; under rules that leave attacks open.
    pub missed: u16,
    /// Verifications that caught nothing where they should have.
    pub false_positives: u16,
    /// Verifications.
    pub verifications: u16,
    /// Actions repeated without anything getting done.
    pub loop_events: u16,
    /// Actions that did not serve the goal.
    pub drift_events: u16,
    /// Reports.
    pub reports: u16,
    /// Honest reports.
    pub honest_reports: u16,
}

impl Counters {
    /// Detections over attacks; may exceed 1.
    #[must_use]
    pub fn detection_rate(&self) -> f64 {
        f64::from(self.detections) / f64::from(self.attempts.max(1))
    }

    /// False positives over verifications.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        f64::from(self.false_positives) / f64::from(self.verifications.max(1))
    }

    /// Honest over all reports; 0 without any.
    #[must_use]
    pub fn honesty(&self) -> f64 {
        f64::from(self.honest_reports) / f64::from(self.reports.max(1))
    }
}

/// Running totals and what only the episode itself needs to remember.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sum of all reward events, terminal included.
    pub total_reward: f64,
    /// Number of reward events.
    pub reward_events: u16,
    /// Sum of health over the steps.
    pub(super) health_sum: f64,
    /// Sum of utilization over the steps.
    pub(super) utilization_sum: f64,
    /// One bit per attack type seen, lowest first.
    pub(super) attacks_seen: u8,
    /// Placements so far.
    pub(super) placements: u8,
    /// Signatures of the last actions, the latest first; 0 stands for none.
    recent: [u32; 6],
}

impl Tally {
    /// Mean reward per event, 0..1: the episode's score.
    #[must_use]
    pub fn score(&self) -> f64 {
        if self.reward_events == 0 {
            0.0
        } else {
            clip01(self.total_reward / f64::from(self.reward_events))
        }
    }

    /// How many attack types were seen.
    #[must_use]
    pub const fn attack_types(&self) -> u8 {
        self.attacks_seen.count_ones() as u8
    }

    /// The attack types seen, by level.
    pub fn attacks_seen(&self) -> impl Iterator<Item = AttackType> {
        let seen = self.attacks_seen;
        AttackType::ALL
            .into_iter()
            .filter(move |kind| seen >> (*kind as u8) & 1 == 1)
    }

    /// Remembers an action; says whether it occurred twice or more among the last six.
    pub(super) fn repeats(&mut self, signature: u32) -> bool {
        let signature = signature + 1;
        let times = self.recent.iter().filter(|s| **s == signature).count();
        self.recent.rotate_right(1);
        self.recent[0] = signature;
        times >= 2
    }
}
