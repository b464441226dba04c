//! The return of an action and what it is compared with: options that every GRPO has.
//!
//! Each algorithm supports some of the values; its command line accepts no others.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The return that an action is credited with, and the actions that it is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Credit {
    /// Score of the episode, compared with the other episodes of the group: plain GRPO
    Episode,
    /// Mean reward from this step on, compared with episodes from the same start at that step
    #[value(alias = "reward-to-go")]
    RewardToGo,
    /// Score of the episode after a continuation, compared with other actions in the same state
    #[default]
    Step,
    /// Reward of the action's own step, compared with other actions in the same state, as in the
    /// reference
    #[value(alias = "single-step")]
    SingleStep,
    /// Expected score of every legal action, or of those that the world proposes, when another policy
    /// plays on, in hidden states sampled from what was observed
    Lookahead,
}

/// The policy that plays on after an action under [`Credit::Step`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Continuation {
    /// Another policy, by default the scripted heuristic of the world: cheap and without noise, but
    /// the values are those of that policy. With the heuristic greedy decoding became worse when it
    /// was measured (docs/log.md)
    Scripted,
    /// The trained policy, sampled: the value under the exploring policy
    #[serde(alias = "own")]
    #[value(alias = "own")]
    Sampled,
    /// The trained policy, greedy: the value under the policy that will be deployed, with no noise
    /// of sampling
    #[default]
    Greedy,
}
