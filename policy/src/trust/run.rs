//! Sums up an episode as the reference's evaluation does.

use sentinel_env::Environment;
use serde::Serialize;

use sentinel_env::controller::DifficultyProfile;
use sentinel_env::num::round_to;
use sentinel_env::trust::{Event, Status, Task, TrustEnv};

use crate::rollout::Run;

/// One row of the evaluation's `episodes` (spec training-eval §1), in the reference's order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeRow {
    /// Who played.
    pub policy: String,
    /// The task.
    pub task_type: Task,
    /// The seed.
    pub seed: u64,
    /// Steps of the budget used, not actions.
    pub steps: u8,
    /// Mean reward per event, four decimals.
    pub score: f64,
    /// Four decimals.
    pub total_reward: f64,
    /// Completed over all subtasks, three decimals.
    pub completion_rate: f64,
    /// Detections over encounters, 1 without any.
    pub detection_rate: f64,
    /// 0 for task1, which has none.
    pub trust_calibration: f64,
    /// Poisonings kept out.
    pub adversarial_detections: u16,
    /// Poisonings let in.
    pub adversarial_poisonings: u16,
    /// `completed`, or `failed` when poison ended it.
    pub status: Status,
    /// Difficulty that was played.
    pub difficulty_profile: DifficultyProfile,
    /// Reward returned by each action; the last is the terminal reward.
    pub rewards: Vec<f64>,
}

impl EpisodeRow {
    /// Sums up an episode that has ended.
    #[must_use]
    pub fn of(policy: &str, run: &Run<TrustEnv>) -> Self {
        let episode = run.episode();
        let (o, tally) = (episode.observation(), episode.tally());
        let end = run
            .last_step()
            .and_then(|step| Event::of_terminal(episode, step));
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
            completion_rate: round_to(round_to(o.progress.completion(), 3), 4),
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
