//! Summary of an episode in the form of the reference's evaluation.

use sentinel_env::Environment;
use serde::Serialize;

use sentinel_env::adaptive_difficulty::DifficultyProfile;
use sentinel_env::num::round_to;
use sentinel_env::trust::{Event, Status, Task, TrustEnv};

use crate::rollout::EpisodeRun;

/// One row of the evaluation's `episodes`, with the keys in the reference's order (spec
/// evaluation §1.3).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeRow {
    /// Name of the policy that acted.
    pub policy: String,
    /// Task of the episode.
    pub task_type: Task,
    /// Seed of the episode.
    pub seed: u64,
    /// Number of steps of the budget used, which may differ from the number of actions.
    pub steps: u8,
    /// Mean reward per event, rounded to four decimals.
    pub score: f64,
    /// Sum of all rewards, rounded to four decimals.
    pub total_reward: f64,
    /// Share of completed subtasks, rounded to three decimals.
    pub completion_rate: f64,
    /// Detections divided by encounters, 1 if there were none; rounded to four decimals.
    pub detection_rate: f64,
    /// Calibration of the ledger at the end, rounded to four decimals; 0 for task1, which does not
    /// grade it.
    pub trust_calibration: f64,
    /// Number of poisoned answers that were detected.
    pub adversarial_detections: u16,
    /// Number of poisoned answers that were accepted.
    pub adversarial_poisonings: u16,
    /// Status at the end: `completed`, or `failed` if a poisoned answer ended the episode.
    pub status: Status,
    /// Difficulty at which the episode was played.
    pub difficulty_profile: DifficultyProfile,
    /// Reward returned by each action; the last is the terminal reward.
    pub rewards: Vec<f64>,
}

impl EpisodeRow {
    /// Creates the row of an episode that has ended.
    #[must_use]
    pub fn from_run(policy: &str, run: &EpisodeRun<TrustEnv>) -> Self {
        let episode = run.episode();
        let (o, tally) = (episode.observation(), episode.tally());
        let end = run
            .last_step()
            .and_then(|step| Event::from_terminal(episode, step));
        let breakdown = end.map(|end| end.signal_breakdown).unwrap_or_default();
        let encounters = tally.detections + tally.poisonings;
        let detection_rate = if encounters > 0 {
            f64::from(tally.detections) / f64::from(encounters)
        } else {
            breakdown.get("detection_rate").unwrap_or(1.0)
        };
        Self {
            policy: policy.to_owned(),
            task_type: o.task,
            seed: episode.setup().seed,
            steps: o.step_count,
            score: round_to(tally.score(), 4),
            total_reward: round_to(tally.total_reward, 4),
            completion_rate: round_to(round_to(o.progress.completion_rate(), 3), 4),
            detection_rate: round_to(detection_rate, 4),
            trust_calibration: round_to(breakdown.get("trust_calibration").unwrap_or(0.0), 4),
            adversarial_detections: tally.detections,
            adversarial_poisonings: tally.poisonings,
            status: o.status,
            difficulty_profile: episode.setup().profile,
            rewards: run.rewards().to_vec(),
        }
    }
}
