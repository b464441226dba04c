//! Summary of an episode for an evaluation.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use serde::Serialize;

use sentinel_env::num::round_to;
use sentinel_env::polyguard::{EndReason, PastStep, PolyguardEnv};

use crate::rollout::EpisodeRun;

/// One row of an evaluation's `episodes`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeRow {
    /// Name of the policy that acted.
    pub policy: String,
    /// Name of the case that was played.
    pub task_type: &'static str,
    /// Seed of the episode.
    pub seed: u64,
    /// Number of steps taken.
    pub steps: u8,
    /// Score of the episode, rounded to three decimals.
    pub score: f64,
    /// Reason why the episode ended.
    pub termination_reason: &'static str,
    /// Share of issues that were resolved, 0..=1, rounded to four decimals.
    pub resolved_rate: f64,
    /// True risk at the start and at the end, rounded to four decimals.
    pub risk: [f64; 2],
    /// True burden at the start and at the end, rounded to four decimals.
    pub burden: [f64; 2],
    /// True control of the conditions at the end, 0..=1, rounded to four decimals.
    pub stability: f64,
    /// Share of steps that were refused, 0..=1, rounded to four decimals.
    pub invalid_rate: f64,
    /// Number of steps whose choice a critic replaced.
    pub fallbacks: u8,
    /// Reward of each step, in order.
    pub rewards: Vec<f64>,
}

impl EpisodeRow {
    /// Creates the row of an episode that has ended.
    #[must_use]
    pub fn from_run(policy: &str, run: &EpisodeRun<PolyguardEnv>) -> Self {
        let episode = run.episode();
        let (o, hidden) = (episode.observation(), episode.hidden());
        let (resolved, all) = episode.count_resolved();
        let refused = |past: &&PastStep| past.violation.is_some();
        let refused = o.history.iter().filter(refused).count();
        Self {
            policy: policy.to_owned(),
            task_type: o.task.name(),
            seed: episode.setup().seed,
            steps: o.step_count,
            score: episode.score(),
            termination_reason: o.end.map_or("running", EndReason::name),
            resolved_rate: round_to(f64::from(resolved) / f64::from(all.max(1)), 4),
            risk: [hidden.start.risk, hidden.risk].map(|value| round_to(value, 4)),
            burden: [hidden.start.burden, hidden.burden].map(|value| round_to(value, 4)),
            stability: round_to(hidden.stability, 4),
            invalid_rate: round_to(refused as f64 / o.history.len().max(1) as f64, 4),
            fallbacks: hidden.tally().vetoes,
            rewards: run.rewards().to_vec(),
        }
    }

    /// Returns `true` if the episode ended for this reason.
    #[must_use]
    pub fn ended(&self, end: EndReason) -> bool {
        self.termination_reason == end.name()
    }
}
