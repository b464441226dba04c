//! Summary of an episode in the form of the reference's evaluation.

use sentinel_env::Environment;
use serde::Serialize;

use sentinel_env::adaptive_difficulty::DifficultyProfile;
use sentinel_env::cluster::{ClusterEnv, JobsSummary, Task};
use sentinel_env::num::round_to;
use sentinel_env::slot::PerSlot;

use crate::rollout::EpisodeRun;

/// One row of the evaluation's `episodes`, with the keys in the reference's order (spec cluster
/// §11).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec cluster §11"
)]
pub struct EpisodeRow {
    pub policy: String,
    pub task_type: Task,
    pub seed: u64,
    pub steps: u8,
    pub score: f64,
    pub cluster_health: f64,
    pub utilization_rate: f64,
    pub completion_rate: f64,
    pub deadline_hit_rate: f64,
    pub detection_rate: f64,
    pub attack_detections: u16,
    pub attack_poisonings: u16,
    pub ai_reliability_modifier: f64,
    pub context_drift_events: u16,
    pub loop_events: u16,
    pub hallucination_confidence_score: f64,
    pub evaluation_freshness_score: f64,
    pub trust_snapshot: PerSlot<f64>,
    pub difficulty_profile: DifficultyProfile,
    pub rewards: Vec<f64>,
}

impl EpisodeRow {
    /// Creates the row of an episode that has ended.
    #[must_use]
    pub fn from_run(policy: &str, run: &EpisodeRun<ClusterEnv>) -> Self {
        let episode = run.episode();
        let (o, reliability) = (episode.observation(), episode.reliability());
        let (c, jobs) = (&o.counters, JobsSummary::from_episode(episode));
        let met = (c.detections + c.poisonings).max(1);
        Self {
            policy: policy.to_owned(),
            task_type: o.task,
            seed: episode.setup().seed,
            steps: o.step_count,
            score: round_to(episode.tally().score(), 4),
            cluster_health: o.health,
            utilization_rate: o.utilization,
            completion_rate: jobs.completion_rate,
            deadline_hit_rate: jobs.deadline_hit_rate,
            detection_rate: round_to(f64::from(c.detections) / f64::from(met), 4),
            attack_detections: c.detections,
            attack_poisonings: c.poisonings,
            ai_reliability_modifier: reliability.modifier,
            context_drift_events: c.drift_events,
            loop_events: c.loop_events,
            hallucination_confidence_score: reliability.hallucination_resistance,
            evaluation_freshness_score: reliability.freshness,
            trust_snapshot: o.ledger.rounded_trust(),
            difficulty_profile: o.profile,
            rewards: run.rewards().to_vec(),
        }
    }
}
