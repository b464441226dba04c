//! Training in the page: the settings of a run, and what is known of it while it learns.

use serde::{Deserialize, Serialize};

/// The settings of a training run; everything else is the quick preset of `sentinel train`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingSpec {
    /// Name of the world.
    pub world: String,
    /// Named rule set with single changes, such as `hardened`.
    pub rules: String,
    /// Seed of fresh weights and of every sampled action.
    pub seed: u64,
    /// Learning rate at the start; `None` for the preset, like every other setting.
    pub learning_rate: Option<f64>,
    /// Number of attempts at one action, which are compared with each other.
    pub group_size: Option<u32>,
    /// Number of episodes of an update.
    pub episodes: Option<u32>,
    /// Weight of the entropy bonus.
    pub entropy: Option<f64>,
    /// Number of units of each hidden layer.
    pub hidden: Option<u32>,
}

/// What is known of a training run after an update or an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingUpdate {
    /// Number that the shell gave the run.
    pub run: u32,
    /// The settings with the values of the preset in place of `None`.
    pub spec: TrainingSpec,
    /// The command that trains the same with the command line; several lines if the run has phases.
    pub command: String,
    /// Name of the phase: `imitation` or `grpo`.
    pub phase: String,
    /// Number of updates done, over all phases.
    pub updates: u32,
    /// Number of updates of the whole run.
    pub total: u32,
    /// Number of environment steps so far.
    pub env_steps: u64,
    /// Episodes of the validation, on which other players can be compared.
    pub validation: ValidationSet,
    /// Score of the newest evaluation, which belongs to the policy after this many updates.
    pub evaluation: Option<TrainingScore>,
    /// Hash of the weights, in hexadecimal digits.
    pub digest: String,
    /// Sentence about why the run ended before its last update; empty if it did not.
    pub failure: String,
}

/// The episodes on which a run is validated: every seed on each task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidationSet {
    /// Names of the tasks.
    pub tasks: Vec<String>,
    /// Lowest seed; the others follow it without a gap.
    pub first_seed: u64,
    /// Number of seeds.
    pub seeds: u32,
    /// Players to compare with, as the address writes them.
    pub players: Vec<String>,
}

/// The mean score of a policy on the validation episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingScore {
    /// Number of updates that the policy had by then.
    pub updates: u32,
    /// Mean score.
    pub mean: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
}
