//! A moment of an episode: as the agent sees it, and as it is.

use serde::{Deserialize, Serialize};

use crate::{Meter, Panel, Tone};

/// Everything that may be shown of a moment without hidden state: it depends on observations, on
/// the player's own output and on the sum of rewards only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentView {
    /// One sentence about the last action and its result.
    pub headline: String,
    /// One or two sentences about where the episode stands.
    pub detail: String,
    /// Words for the state of the episode, such as `step 4 of 22`.
    pub standing: String,
    /// Mean reward so far.
    pub score: f64,
    /// Reward of the last action; `None` before the first.
    pub reward: Option<f64>,
    /// Terms of the reward that hide nothing; empty where a term would reveal hidden state.
    pub terms: Vec<RewardTerm>,
    /// The reason why terms are left out; empty if none are.
    pub terms_note: String,
    /// Progress, budget, stakes: the bars above everything.
    pub status: Vec<Meter>,
    /// The panels.
    pub panels: Vec<Panel>,
    /// `true` after the last step.
    pub done: bool,
    /// The action that the player takes next, in words; empty if there is none.
    pub next: String,
    /// What a language model was shown and answered for the next action.
    pub transcript: Option<Transcript>,
}

/// A line of the list of actions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepLine {
    /// The action as the address writes it.
    pub code: String,
    /// The action in words.
    pub label: String,
    /// A sign for the result that does not rely on color.
    pub sign: String,
    /// The result in a word or two.
    pub result: String,
    /// The color of the result.
    pub tone: Tone,
    /// `true` if a viewer may want to jump here.
    pub notable: bool,
    /// The reward.
    pub reward: f64,
    /// `true` if the visitor chose the action.
    pub own: bool,
    /// `true` if a replay has no row for the step and its fallback acted.
    pub missed: bool,
}

/// A term of a reward.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RewardTerm {
    /// The group that the term belongs to, such as `Terminal reward`; empty for the step's own.
    pub group: String,
    /// The component.
    pub name: String,
    /// What it measures.
    pub help: String,
    /// Weight in a sum; `None` for a factor of the terms before it.
    pub weight: Option<f64>,
    /// Value, 0..=1.
    pub value: f64,
}

/// What a language model was shown and answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    /// How the completion was read.
    pub reading: String,
    /// The prompt; empty if it was not recorded.
    pub prompt: String,
    /// The completion.
    pub completion: String,
    /// The action that was read, as JSON.
    pub action: String,
}

/// What is hidden from the agent at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// One sentence about what really happened in the last action; empty if there is nothing to add.
    pub headline: String,
    /// Notes on cards of the agent's view.
    pub notes: Vec<TruthNote>,
    /// Panels that the agent's view does not have.
    pub panels: Vec<Panel>,
    /// All terms of the reward.
    pub terms: Vec<RewardTerm>,
}

/// A hidden fact about a card of the agent's view.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TruthNote {
    /// The panel.
    pub panel: String,
    /// Key of the card.
    pub card: String,
    /// The fact in a few words.
    pub text: String,
    /// The explanation.
    pub help: String,
    /// The color.
    pub tone: Tone,
    /// A true value beside the first meter of the card, 0..=1.
    pub value: Option<f32>,
    /// `true` if the card is that of an adversary.
    pub unmask: bool,
}
