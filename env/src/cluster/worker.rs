//! Workers with hidden behaviours, and what they report (spec cluster §6).

use serde::{Serialize, Serializer};

use super::{JobId, Task};
use crate::num::round_to;
use crate::slot::{SLOTS, Slot};
use crate::trust::Adversary;

/// What a worker is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Behaviour {
    /// Says what is.
    Reliable,
    /// Says 40 points more than there is.
    Overreporter,
    /// Says what is, and works at half speed.
    Slow,
    /// Claims completion when stakes are high.
    Adversarial,
    /// Starts honest; from the sixth report on each one is further off.
    Degrading,
}

use Behaviour::{Adversarial, Degrading, Overreporter, Reliable, Slow};

impl Behaviour {
    /// All behaviours.
    pub const ALL: [Self; 5] = [Reliable, Overreporter, Slow, Adversarial, Degrading];

    /// The word that payloads use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reliable => "reliable",
            Overreporter => "overreporter",
            Slow => "slow",
            Adversarial => "adversarial",
            Degrading => "degrading",
        }
    }

    /// The reliability that calibration is measured against.
    #[must_use]
    pub const fn reliability(self) -> f64 {
        match self {
            Reliable => 0.93,
            Overreporter => 0.45,
            Slow => 0.78,
            Adversarial => 0.18,
            Degrading => 0.62,
        }
    }

    /// Share of a job's step that it gets done per step.
    #[must_use]
    pub const fn speed(self) -> f64 {
        if matches!(self, Slow) { 0.5 } else { 1.0 }
    }

    /// Who works in `task`, before the slots are shuffled.
    #[must_use]
    pub const fn cast(task: Task) -> [Self; SLOTS] {
        match task {
            Task::Task1 => [Reliable; SLOTS],
            Task::Task2 => [Reliable, Overreporter, Slow, Reliable, Degrading],
            Task::Task3 => [Reliable, Overreporter, Slow, Adversarial, Degrading],
        }
    }

    /// What the worker says of a job whose true progress is `actual`, at `stakes`, as the
    /// `calls`-th report of a degrading worker in the episode.
    #[must_use]
    pub fn claim(self, actual: f64, stakes: f64, calls: u16, adversary: &Adversary) -> Claimed {
        let truth = |confidence| Claimed {
            reported: actual,
            confidence,
            honest: true,
            false_completion: false,
        };
        let early = |reported: f64| reported >= 1.0 && actual < 0.95;
        match self {
            Reliable => truth(0.82),
            Slow => truth(0.78),
            Overreporter => {
                let reported = (actual + 0.40).min(1.0);
                Claimed {
                    reported,
                    confidence: 0.95,
                    honest: (reported - actual).abs() <= 0.15,
                    false_completion: early(reported),
                }
            }
            Adversarial if stakes >= adversary.threshold && actual < 1.0 => Claimed {
                reported: 1.0,
                confidence: adversary.poison_confidence,
                honest: false,
                false_completion: true,
            },
            Adversarial => truth(adversary.benign_confidence),
            Degrading => {
                let calls = f64::from(calls);
                let reported = (actual + degradation(calls)).min(1.0);
                Claimed {
                    reported,
                    confidence: (0.86 - 0.04 * calls).max(0.35),
                    honest: (reported - actual).abs() <= 0.20,
                    false_completion: early(reported),
                }
            }
        }
    }
}

/// How far off a degrading worker is at its `calls`-th report.
pub(super) fn degradation(calls: f64) -> f64 {
    ((calls - 5.0) * 0.12).max(0.0)
}

impl Serialize for Behaviour {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What a worker says, before it is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claimed {
    /// Stated progress, 0..1, unrounded.
    pub reported: f64,
    /// Stated confidence, 0..1.
    pub confidence: f64,
    /// Whether the statement is near enough to the truth.
    pub honest: bool,
    /// Whether completion is claimed of a job that is not complete.
    pub false_completion: bool,
}

/// A recorded report, truth included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerReport {
    /// Who reports.
    pub worker: Slot,
    /// Of which job.
    pub job: JobId,
    /// Stated progress to three decimals.
    pub reported: f64,
    /// True progress to three decimals.
    pub actual: f64,
    /// Stated confidence.
    pub confidence: f64,
    /// Whether the statement is near enough to the truth.
    pub honest: bool,
    /// Whether completion is claimed of a job that is not complete.
    pub false_completion: bool,
    /// Stakes of the job at this step, three decimals.
    pub stakes: f64,
    /// The degrading behaviour's reports so far, this one included when it is one.
    pub calls: u16,
}

impl WorkerReport {
    pub(super) fn new(
        (worker, job): (Slot, JobId),
        claimed: Claimed,
        actual: f64,
        stakes: f64,
        calls: u16,
    ) -> Self {
        Self {
            worker,
            job,
            reported: round_to(claimed.reported, 3),
            actual: round_to(actual, 3),
            confidence: claimed.confidence,
            honest: claimed.honest,
            false_completion: claimed.false_completion,
            stakes,
            calls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(behaviour: Behaviour, actual: f64, stakes: f64, calls: u16) -> Claimed {
        behaviour.claim(actual, stakes, calls, &Adversary::default())
    }

    #[test]
    fn the_overreporter_is_honest_only_near_the_end() {
        assert!(!claim(Overreporter, 0.5, 0.5, 1).honest);
        assert!(claim(Overreporter, 0.9, 0.5, 1).honest);
        assert!(claim(Overreporter, 0.7, 0.5, 1).false_completion);
        assert!(!claim(Overreporter, 0.5, 0.5, 1).false_completion);
    }

    #[test]
    fn the_adversary_lies_from_its_threshold_on() {
        assert!(claim(Adversarial, 0.2, 0.69, 1).honest);
        let lie = claim(Adversarial, 0.2, 0.70, 1);
        assert!(lie.false_completion && !lie.honest);
        assert_eq!((lie.reported, lie.confidence), (1.0, 0.92));
        assert!(claim(Adversarial, 1.0, 0.99, 1).honest, "it is complete");
    }

    #[test]
    fn the_degrading_worker_is_off_from_its_sixth_report() {
        assert_eq!(claim(Degrading, 0.3, 0.5, 5).reported, 0.3);
        assert!(claim(Degrading, 0.3, 0.5, 6).honest);
        assert!(!claim(Degrading, 0.3, 0.5, 7).honest);
        assert_eq!(claim(Degrading, 0.3, 0.5, 40).confidence, 0.35);
    }
}
