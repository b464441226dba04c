//! The observation: the complete input of a policy.
//!
//! Every field is a function of the public payloads so far. The reference's payload also contains
//! the hidden worker profile in clear text (quirk C7); this type does not.

use super::action::Action;
use super::audit::Anomalies;
use super::gpu_pool::{GpuState, GpuView};
use super::jobs::{JobStatus, Jobs};
use super::setup::{Change, Rules};
use super::task::{GPUS_MAX, GpuId, JobId};
use crate::adaptive_difficulty::DifficultyProfile;
use crate::ledger::TrustLedger;
use crate::slot::{SLOTS, Slot, argmax};
use crate::task::Task;

/// The counters that payloads show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of attacks so far.
    pub attempts: u16,
    /// Number of verifications that caught something. It includes dishonest reports and may
    /// therefore exceed the number of attacks (quirk C5); under [`Change::Detections`], only
    /// attacks count.
    pub detections: u16,
    /// Number of poisonings: unverified reports with a false completion, and forged completions.
    /// Under [`Change::Answers`], attacks that were not found in time count in place of forged
    /// completions.
    pub poisonings: u16,
    /// Number of attacks that were not found while they were open; 0 unless the rules keep attacks
    /// open.
    pub missed: u16,
    /// Number of verifications that could not be carried out, or that caught nothing despite
    /// `force_flag`.
    pub false_positives: u16,
    /// Number of verifications so far.
    pub verifications: u16,
    /// Number of repeated actions in steps that completed no job.
    pub loop_events: u16,
    /// Number of actions that failed or did not serve the goal.
    pub drift_events: u16,
    /// Number of worker reports so far.
    pub reports: u16,
    /// Number of honest worker reports so far.
    pub honest_reports: u16,
}

impl Counters {
    /// Returns the number of detections per attack, which may exceed 1.
    #[must_use]
    pub fn detection_rate(&self) -> f64 {
        f64::from(self.detections) / f64::from(self.attempts.max(1))
    }

    /// Returns the fraction of verifications that were false positives, 0..=1.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        f64::from(self.false_positives) / f64::from(self.verifications.max(1))
    }

    /// Returns the fraction of reports that were honest, 0..=1; 0 without any.
    #[must_use]
    pub fn honesty(&self) -> f64 {
        f64::from(self.honest_reports) / f64::from(self.reports.max(1))
    }
}

/// A worker's statement as the scheduler sees it, without the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportView {
    /// The worker that made the statement.
    pub worker: Slot,
    /// The job that the statement is about.
    pub job: JobId,
    /// Stated progress, 0..=1, three decimals.
    pub reported: f64,
}

/// The public result of the last action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastStep {
    /// The action that was taken.
    pub action: Action,
    /// `true` if the action succeeded.
    pub success: bool,
    /// The worker's statement, if the action requested one.
    pub statement: Option<ReportView>,
    /// Reward of the step, without any terminal reward.
    pub reward: f64,
}

/// The observation that a policy receives before it acts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The task of the episode.
    pub task: Task,
    /// Number of steps taken.
    pub step_count: u8,
    /// Maximum number of steps in the episode.
    pub max_steps: u8,
    /// All jobs and their public state.
    pub jobs: Jobs,
    /// Health of the pool: 0, 0.5 or 1.
    pub health: f64,
    /// Fraction of operational memory in use, 0..=1, four decimals.
    pub utilization: f64,
    /// The evidence about each worker.
    pub ledger: TrustLedger<1>,
    /// The anomaly scores of the agents' claims.
    pub anomalies: Anomalies,
    /// The counters so far.
    pub counters: Counters,
    /// Number of attack types seen so far, 0..=5.
    pub attack_types: u8,
    /// The difficulty of this episode, which does not change when it ends.
    pub profile: DifficultyProfile,
    /// The rules in force, as changes to the reference's rules.
    pub rules: Rules,
    /// The last action and its result; `None` before the first action.
    pub last: Option<LastStep>,
    /// `true` if the episode has ended.
    pub done: bool,
    pub(crate) gpus: [GpuView; GPUS_MAX],
    pub(crate) gpu_count: u8,
}

impl Observation {
    /// Returns the GPUs as they are shown, in order of their ids.
    #[must_use]
    pub fn gpus(&self) -> &[GpuView] {
        &self.gpus[..usize::from(self.gpu_count)]
    }

    /// Returns `true` if the episode has ended.
    #[must_use]
    pub const fn done(&self) -> bool {
        self.done
    }

    /// Returns the fraction of concluded attacks that were found, or 1 before the first one is
    /// concluded. Under the reference's rules, returns all detections divided by the number of
    /// attacks, which may exceed 1.
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

    /// Returns `true` if a job is queued and a GPU is shown as idle.
    #[must_use]
    pub fn can_allocate(&self) -> bool {
        self.jobs.count(JobStatus::Queued) > 0
            && self.gpus().iter().any(|gpu| gpu.state == GpuState::Idle)
    }

    /// Returns the GPU with the most free memory as shown, in any state, the first one on ties.
    #[must_use]
    pub fn most_free_gpu(&self) -> Option<GpuId> {
        let mut best: Option<(GpuId, u16)> = None;
        for (id, gpu) in (0..).map(GpuId).zip(self.gpus()) {
            if best.is_none_or(|(_, free)| gpu.free > free) {
                best = Some((id, gpu.free));
            }
        }
        best.map(|(id, _)| id)
    }

    /// Returns `true` if the GPU is shown in a state that accepts jobs.
    #[must_use]
    pub fn appears_operational(&self, gpu: GpuId) -> bool {
        let state = self.gpus().get(gpu.index()).map(|gpu| gpu.state);
        state.is_some_and(GpuState::is_operational)
    }

    /// Returns the worker that the environment would choose, given the trust in each slot.
    #[must_use]
    pub fn calibrated_worker(&self, trust: &[f64; SLOTS]) -> Slot {
        calibrated_worker(&self.ledger, trust)
    }
}

/// Returns the worker with the best combination of high trust, few calls and low overconfidence. As
/// long as a worker has been called less than twice, only the least-called workers are candidates
/// (spec cluster §4.1).
fn calibrated_worker(ledger: &TrustLedger<1>, trust: &[f64; SLOTS]) -> Slot {
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
