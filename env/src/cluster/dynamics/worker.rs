//! The reports of workers (spec cluster §6).

use Behavior::{Adversarial, Degrading, Overreporter, Reliable, Slow};

use crate::adaptive_difficulty::AdversaryProfile;
use crate::cluster::model::{Behavior, JobId, WorkerReport};
use crate::num::round_to;
use crate::slot::Slot;

/// A worker's statement before it is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerClaim {
    /// Stated progress, 0..=1, unrounded.
    pub reported: f64,
    /// Confidence stated with the report, 0..=1.
    pub confidence: f64,
    /// `true` if the stated progress is close enough to the true progress.
    pub honest: bool,
    /// `true` if the worker claims completion of a job that is not complete.
    pub false_completion: bool,
}

impl Behavior {
    /// Returns the worker's statement about a job whose true progress is `actual`, at `stakes`.
    /// `calls` is the number of reports by the degrading behavior so far, this one included.
    #[must_use]
    pub fn make_claim(
        self,
        actual: f64,
        stakes: f64,
        calls: u16,
        adversary: &AdversaryProfile,
    ) -> WorkerClaim {
        let truth = |confidence| WorkerClaim {
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
                WorkerClaim {
                    reported,
                    confidence: 0.95,
                    honest: (reported - actual).abs() <= 0.15,
                    false_completion: early(reported),
                }
            }
            Adversarial if stakes >= adversary.threshold && actual < 1.0 => WorkerClaim {
                reported: 1.0,
                confidence: adversary.poison_confidence,
                honest: false,
                false_completion: true,
            },
            Adversarial => truth(adversary.benign_confidence),
            Degrading => {
                let calls = f64::from(calls);
                let reported = (actual + degradation(calls)).min(1.0);
                WorkerClaim {
                    reported,
                    confidence: (0.86 - 0.04 * calls).max(0.35),
                    honest: (reported - actual).abs() <= 0.20,
                    false_completion: early(reported),
                }
            }
        }
    }
}

/// Returns the amount by which a degrading worker overstates progress in its `calls`-th report.
pub(crate) fn degradation(calls: f64) -> f64 {
    ((calls - 5.0) * 0.12).max(0.0)
}

impl WorkerReport {
    /// Creates the record of a worker's statement.
    pub(crate) fn new(
        (worker, job): (Slot, JobId),
        claimed: WorkerClaim,
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

    fn claim(behavior: Behavior, actual: f64, stakes: f64, calls: u16) -> WorkerClaim {
        behavior.make_claim(actual, stakes, calls, &AdversaryProfile::default())
    }

    #[test]
    fn overreporter_is_honest_only_near_completion() {
        assert!(!claim(Overreporter, 0.5, 0.5, 1).honest);
        assert!(claim(Overreporter, 0.9, 0.5, 1).honest);
        assert!(claim(Overreporter, 0.7, 0.5, 1).false_completion);
        assert!(!claim(Overreporter, 0.5, 0.5, 1).false_completion);
    }

    #[test]
    fn adversary_lies_from_stakes_threshold() {
        assert!(claim(Adversarial, 0.2, 0.69, 1).honest);
        let lie = claim(Adversarial, 0.2, 0.70, 1);
        assert!(lie.false_completion && !lie.honest);
        assert_eq!((lie.reported, lie.confidence), (1.0, 0.92));
        assert!(claim(Adversarial, 1.0, 0.99, 1).honest, "it is complete");
    }

    #[test]
    fn degrading_worker_is_dishonest_from_seventh_report() {
        assert_eq!(claim(Degrading, 0.3, 0.5, 5).reported, 0.3);
        assert!(claim(Degrading, 0.3, 0.5, 6).honest);
        assert!(!claim(Degrading, 0.3, 0.5, 7).honest);
        assert_eq!(claim(Degrading, 0.3, 0.5, 40).confidence, 0.35);
    }
}
