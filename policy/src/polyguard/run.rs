//! Sums up an episode for an evaluation.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use serde::Serialize;

use sentinel_env::num::round_to;
use sentinel_env::polyguard::{End, PastStep, PolyguardEnv};

use crate::rollout::Run;

/// One row of an evaluation's `episodes`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeRow {
    /// Who played.
    pub policy: String,
    /// What was played.
    pub task_type: &'static str,
    /// From which seed.
    pub seed: u64,
    /// Steps taken.
    pub steps: u8,
    /// Score, three decimals.
    pub score: f64,
    /// Why it ended.
    pub termination_reason: &'static str,
    /// Issues that are put right, 0..=1.
    pub resolved_rate: f64,
    /// True risk at the start and at the end.
    pub risk: [f64; 2],
    /// True burden at the start and at the end.
    pub burden: [f64; 2],
    /// True control of the conditions at the end.
    pub stability: f64,
    /// Steps that were refused, of all.
    pub invalid_rate: f64,
    /// Steps that a critic chose in another's place.
    pub fallbacks: u8,
    /// What each step earned.
    pub rewards: Vec<f64>,
}

impl EpisodeRow {
    /// Sums up an episode that has ended.
    #[must_use]
    pub fn of(policy: &str, run: &Run<PolyguardEnv>) -> Self {
        let episode = run.episode();
        let (o, hidden) = (episode.observation(), episode.hidden());
        let (resolved, all) = episode.resolved();
        let refused = |past: &&PastStep| past.violation.is_some();
        let refused = o.history.iter().filter(refused).count();
        Self {
            policy: policy.to_owned(),
            task_type: o.case.name(),
            seed: episode.setup().seed,
            steps: o.step_count,
            score: episode.score(),
            termination_reason: o.end.map_or("running", End::name),
            resolved_rate: round_to(f64::from(resolved) / f64::from(all.max(1)), 4),
            risk: [hidden.start.risk, hidden.risk].map(|value| round_to(value, 4)),
            burden: [hidden.start.burden, hidden.burden].map(|value| round_to(value, 4)),
            stability: round_to(hidden.stability, 4),
            invalid_rate: round_to(refused as f64 / o.history.len().max(1) as f64, 4),
            fallbacks: hidden.tally().vetoes,
            rewards: run.rewards().to_vec(),
        }
    }

    /// Returns whether it ended so.
    #[must_use]
    pub fn ended(&self, end: End) -> bool {
        self.termination_reason == end.name()
    }
}
