//! All that a policy gets.
//!
//! Every field is a function of the public payloads so far. The reference's payload also holds the
//! hidden worker profile in clear text (quirk C7); this type does not.

use super::action::Action;
use super::audit::Anomalies;
use super::jobs::{JobStatus, Jobs};
use super::pool::{GpuState, GpuView};
use super::setup::{Change, Rules};
use super::task::{GPUS_MAX, GpuId, JobId};
use crate::controller::DifficultyProfile;
use crate::ledger::Ledger;
use crate::slot::{SLOTS, Slot, argmax};
use crate::task::Task;

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
    /// Returns detections over attacks; may exceed 1.
    #[must_use]
    pub fn detection_rate(&self) -> f64 {
        f64::from(self.detections) / f64::from(self.attempts.max(1))
    }

    /// Returns false positives over verifications.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        f64::from(self.false_positives) / f64::from(self.verifications.max(1))
    }

    /// Returns honest over all reports; 0 without any.
    #[must_use]
    pub fn honesty(&self) -> f64 {
        f64::from(self.honest_reports) / f64::from(self.reports.max(1))
    }
}

/// What a worker said, without what is true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statement {
    /// Who.
    pub worker: Slot,
    /// Of which job.
    pub job: JobId,
    /// Stated progress, three decimals.
    pub reported: f64,
}

/// The public consequence of the last action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastStep {
    /// What was done.
    pub action: Action,
    /// Whether it did what it was meant to.
    pub success: bool,
    /// What a worker said, when one was asked.
    pub statement: Option<Statement>,
    /// Reward of the step itself.
    pub reward: f64,
}

/// What a policy sees before it acts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The task.
    pub task: Task,
    /// Steps taken.
    pub step_count: u8,
    /// The most steps there can be.
    pub max_steps: u8,
    /// The queue.
    pub jobs: Jobs,
    /// Health of the pool: 0, one half or 1.
    pub health: f64,
    /// Share of operational memory in use, four decimals.
    pub utilization: f64,
    /// Evidence about the workers.
    pub ledger: Ledger<1>,
    /// How odd the claims of each agent look.
    pub anomalies: Anomalies,
    /// What was counted.
    pub counters: Counters,
    /// How many types of attack were seen.
    pub attack_types: u8,
    /// The difficulty that is played; after the end of an adaptive episode, still that one.
    pub profile: DifficultyProfile,
    /// What differs from the reference's rules.
    pub rules: Rules,
    /// The last action and what came of it.
    pub last: Option<LastStep>,
    /// Whether the episode has ended.
    pub done: bool,
    pub(crate) gpus: [GpuView; GPUS_MAX],
    pub(crate) gpu_count: u8,
}

impl Observation {
    /// Returns the GPUs as they are shown, in the order of their names.
    #[must_use]
    pub fn gpus(&self) -> &[GpuView] {
        &self.gpus[..usize::from(self.gpu_count)]
    }

    /// Returns whether no further step can be taken.
    #[must_use]
    pub const fn done(&self) -> bool {
        self.done
    }

    /// Returns attacks found over attacks whose time is over, 1 before the first; under the reference's rules
    /// whatever was caught over all attacks, which may exceed 1.
    #[must_use]
    pub fn detection_rate(&self) -> f64 {
        let c = &self.counters;
        if !self.rules.has(Change::Detections) {
            return c.detection_rate();
        }
        match c.detections + c.missed {
            0 => 1.0,
            over => f64::from(c.detections) / f64::from(over),
        }
    }

    /// Returns whether a job waits and a GPU is shown as idle.
    #[must_use]
    pub fn can_place(&self) -> bool {
        self.jobs.count(JobStatus::Queued) > 0
            && self.gpus().iter().any(|gpu| gpu.state == GpuState::Idle)
    }

    /// Returns the first GPU with most free memory as shown, whatever its state.
    #[must_use]
    pub fn most_free(&self) -> Option<GpuId> {
        let mut best: Option<(GpuId, u16)> = None;
        for (id, gpu) in (0..).map(GpuId).zip(self.gpus()) {
            if best.is_none_or(|(_, free)| gpu.free > free) {
                best = Some((id, gpu.free));
            }
        }
        best.map(|(id, _)| id)
    }

    /// Returns whether the GPU is shown as one that takes jobs.
    #[must_use]
    pub fn looks_open(&self, gpu: GpuId) -> bool {
        let state = self.gpus().get(gpu.index()).map(|gpu| gpu.state);
        state.is_some_and(GpuState::operational)
    }

    /// Returns the worker that the environment would pick, given trust per slot.
    #[must_use]
    pub fn calibrated_worker(&self, trust: &[f64; SLOTS]) -> Slot {
        calibrated_worker(&self.ledger, trust)
    }
}

/// Returns the worker with the best mix of trust, novelty and small overconfidence. While somebody was
/// called less than twice, only those called least are candidates (spec cluster §4.1).
fn calibrated_worker(ledger: &Ledger<1>, trust: &[f64; SLOTS]) -> Slot {
    let calls = Slot::ALL.map(|slot| ledger[slot].calls);
    let fewest = calls.iter().copied().min().unwrap_or(0);
    let mut scores = [f64::NEG_INFINITY; SLOTS];
    for slot in Slot::ALL {
        let i = slot.index();
        if fewest >= 2 || calls[i] == fewest {
            let novelty = 0.25 / (1.0 + f64::from(calls[i]));
            scores[i] = trust[i] + novelty - 0.20 * ledger[slot].confidence_gap();
        }
    }
    argmax(&scores)
}
