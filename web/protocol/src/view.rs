//! A frame of an episode: as the agent sees it, and as it truly is.

use serde::{Deserialize, Serialize};

use crate::{BoardSign, Meter, Panel, Suspect, Tone};

/// Everything that may be shown of a frame without hidden state. It depends only on observations,
/// the player's own output and the rewards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentView {
    /// One sentence about the last action and its result.
    pub headline: String,
    /// One or two sentences about where the episode stands.
    pub detail: String,
    /// Progress in a few words, such as `step 4 of 22`.
    pub standing: String,
    /// Mean reward so far.
    pub score: f64,
    /// Reward of the last action; `None` before the first action.
    pub reward: Option<f64>,
    /// Reward terms that reveal nothing hidden; empty if a term would.
    pub terms: Vec<RewardTerm>,
    /// Reason why terms are left out; empty if none are.
    pub terms_note: String,
    /// Bars at the top of the episode: progress, budget, stakes.
    pub status: Vec<Meter>,
    /// Panels in the order in which they are drawn.
    pub panels: Vec<Panel>,
    /// `true` after the last step.
    pub done: bool,
    /// The action that the player takes next, in words; empty if there is none.
    pub next: String,
    /// Prompt and completion of a language model for the next action; `None` for other players.
    pub transcript: Option<Transcript>,
    /// Suspects of the world's question, in order; empty if the episode does not pose it.
    pub suspects: Vec<Suspect>,
    /// Level on the vertical axis of the board, `0..=1`; `None` if there is none.
    pub board_level: Option<f32>,
    /// Sentence about what the last action means for the question; empty for none.
    pub remark: String,
}

/// One row of the list of actions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepLine {
    /// The action as the address writes it.
    pub code: String,
    /// The action in words.
    pub label: String,
    /// One character for the result, so that color is not the only sign of it.
    pub sign: String,
    /// The result in a word or two.
    pub result: String,
    /// Meaning of the result's color.
    pub tone: Tone,
    /// `true` if a viewer may want to jump here.
    pub notable: bool,
    /// Reward of the step.
    pub reward: f64,
    /// `true` if the visitor chose the action.
    pub own: bool,
    /// `true` if a replay has no row for the step and its fallback acted.
    pub missed: bool,
    /// Sign that the action put on the board; `None` if it showed nothing about suspects.
    pub board_sign: Option<BoardSign>,
    /// Probabilities that the player gives to the suspects after the action; empty if it has none.
    pub suspicion: Vec<f32>,
}

/// One term of a reward.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RewardTerm {
    /// Group of the term, such as `Terminal reward`; empty for terms of the step itself.
    pub group: String,
    /// Name of the component.
    pub name: String,
    /// Sentence about what the component measures.
    pub help: String,
    /// Weight in the sum; `None` for a factor that multiplies the terms before it.
    pub weight: Option<f64>,
    /// Value of the component, `0..=1`.
    pub value: f64,
}

/// Prompt and completion of a language model for one action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    /// Verdict of the parser, such as `read after a repair`.
    pub reading: String,
    /// The prompt; empty if it was not recorded.
    pub prompt: String,
    /// The completion; empty if it was not recorded.
    pub completion: String,
    /// The parsed action, as JSON.
    pub action: String,
}

/// Everything that is hidden from the agent in a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// One sentence about what really happened in the last action; empty if there is nothing to
    /// add.
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
    /// Identifier of the card's panel.
    pub panel: String,
    /// Key of the card.
    pub card: String,
    /// The fact in a few words.
    pub text: String,
    /// Explanation that opens on demand; empty for none.
    pub help: String,
    /// Meaning of the note's color.
    pub tone: Tone,
    /// True value of the quantity in the card's first meter, `0..=1`.
    pub value: Option<f32>,
    /// `true` to draw the card's face as that of an adversary.
    pub unmask: bool,
}
