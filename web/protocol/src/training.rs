//! Training in the page: the settings of a run, and what is known of it while it learns.

use serde::{Deserialize, Serialize};

use crate::Request;

/// The settings of a training run; everything else is the quick preset of `sentinel train`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingSpec {
    /// Name of the world.
    pub world: String,
    /// Named rule set with single changes, such as `hardened`.
    pub rules: String,
    /// Seed of fresh weights and of every sampled action.
    pub seed: u64,
    /// Learning rate at the start, as it is typed: the page has no parser of decimals. Empty for the
    /// preset.
    pub learning_rate: String,
    /// Number of attempts at one action, which are compared with each other; `None` for the preset, like
    /// the settings below.
    pub group_size: Option<u32>,
    /// Number of episodes of an update.
    pub episodes: Option<u32>,
    /// Weight of the entropy bonus, as it is typed; empty for the preset.
    pub entropy: String,
    /// Number of units of each hidden layer.
    pub hidden: Option<u32>,
    /// Weights to start from: `published` for those of the published policy, empty for fresh ones.
    pub start: String,
    /// Return of an action: `step` or `episode`; empty for the preset.
    pub credit: String,
    /// Name of the term that the reward leaves out, one of [`WorldInfo::reward_terms`]; empty for the
    /// whole reward. Evaluations have the whole reward.
    ///
    /// [`WorldInfo::reward_terms`]: crate::WorldInfo::reward_terms
    pub without: String,
    /// Number of helpers: workers that play episodes beside the one that learns; `None` for one less than
    /// the machine has cores. It does not change the result.
    pub workers: Option<u32>,
}

/// A message to the engine that trains. It is an enum of its own, so that no other engine contains its
/// decoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LearnerRequest {
    /// Starts a training run in place of the previous one; answered by
    /// [`DeferredReply::Training`](crate::DeferredReply::Training) after every update.
    Train {
        /// Number under which the engine reports the run.
        run: u32,
        /// Settings of the run.
        spec: Box<TrainingSpec>,
        /// Number of other engines that play parts of the episodes.
        helpers: u8,
        /// State of the same run to continue from, a
        /// [`DeferredReply::TrainingCheckpoint`](crate::DeferredReply::TrainingCheckpoint); empty to begin anew.
        #[serde(with = "crate::bytes")]
        state: Vec<u8>,
    },
    /// Lets a training run take this many further updates; 0 pauses it.
    Learn {
        /// Number of the run.
        run: u32,
        /// Number of updates from now on.
        updates: u32,
    },
    /// Asks an engine that helps to play a part of the episodes; answered by
    /// [`DeferredReply::PartPlayed`](crate::DeferredReply::PartPlayed).
    PlayPart {
        /// Number of the run.
        run: u32,
        /// The part as the engine that trains encoded it.
        #[serde(with = "crate::bytes")]
        part: Vec<u8>,
    },
    /// Delivers a part of the episodes, from [`DeferredReply::PartPlayed`](crate::DeferredReply::PartPlayed).
    PartPlayed {
        /// Number of the run.
        run: u32,
        /// Number of the engine that played it, from 0 on.
        helper: u8,
        /// Episodes as that engine encoded them.
        #[serde(with = "crate::bytes")]
        episodes: Vec<u8>,
    },
    /// Tells the engine that trains that its helpers have ended: it plays everything itself.
    PlayAlone {
        /// Number of the run.
        run: u32,
    },
    /// Asks for the newest policy of a training run,
    /// [`DeferredReply::TrainedModel`](crate::DeferredReply::TrainedModel).
    TakeModel {
        /// Number of the run.
        run: u32,
    },
    /// Asks for the folder of a training run, which the command line continues, in an archive:
    /// [`DeferredReply::Exported`](crate::DeferredReply::Exported), once its policy is evaluated.
    TakeRun {
        /// Number of the run.
        run: u32,
    },
}

impl From<LearnerRequest> for Request {
    fn from(request: LearnerRequest) -> Self {
        // Encoding fails only for sequences of unknown length, which no request has.
        Self::Learner(crate::encode(&request).unwrap_or_default())
    }
}

/// The state of a training run after an update or an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingUpdate {
    /// Number that the shell gave the run.
    pub run: u32,
    /// The settings with the values of the preset where they were open.
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
    /// Milliseconds of updates and evaluations so far.
    pub worked_ms: f64,
    /// Episodes of the validation, on which other players can be compared.
    pub validation: ValidationSet,
    /// Score of the newest evaluation, which belongs to the policy after this many updates.
    pub evaluation: Option<TrainingScore>,
    /// Rates of all episodes of that evaluation, in the world's order; empty without one.
    pub rates: Vec<Rate>,
    /// The episode that every evaluation shows, as the policy plays it now; `None` without one.
    pub attempt: Option<Attempt>,
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
    /// Number of seeds from `first_seed` on.
    pub seeds: u32,
    /// Players to compare with, as the address writes them.
    pub players: Vec<String>,
}

/// The mean score of a policy on the validation episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingScore {
    /// Number of updates that the policy had by then.
    pub updates: u32,
    /// Mean score over all validation episodes.
    pub mean: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
}

/// A rate of the validation episodes, with what it counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Name in a few words, such as `Fooled by the liar`.
    pub name: String,
    /// Plural noun for the things of which some are counted, such as `steps at high stakes`.
    pub unit: String,
    /// A sentence about what exactly is counted.
    pub help: String,
    /// Number of things counted; for a mean, the sum of its values.
    pub count: f64,
    /// Number of things that could have been counted.
    pub of: f64,
}

/// A validation episode as a policy plays it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Name of the task.
    pub task: String,
    /// Seed of the episode.
    pub seed: u64,
    /// Score of the episode.
    pub score: f64,
    /// Names of the kinds of actions.
    pub kinds: Vec<String>,
    /// The harm that a step can do, such as `fooled`.
    pub harm: String,
    /// The actions of the policy in a phrase, such as `9 delegations, 3 verifications, fooled once`.
    pub summary: String,
    /// The steps, in order.
    pub steps: Vec<AttemptStep>,
}

/// A step of an [`Attempt`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptStep {
    /// Index of the kind in [`Attempt::kinds`].
    pub kind: u8,
    /// The one that the action was about in two or three characters, such as `S2`; empty for none.
    pub label: String,
    /// The action and its result in words.
    pub text: String,
    /// Reward of the step.
    pub reward: f64,
    /// `true` if the step did the harm.
    pub is_harmful: bool,
}
