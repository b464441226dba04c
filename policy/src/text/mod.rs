//! Text interface of the worlds: an observation is formatted as a prompt, and a completion is
//! parsed as an action.
//!
//! * [`TextWorld`]: the interface that a world implements; every world of this crate does, in its
//!   own folder.
//! * [`CompletionObject`]: parses the JSON object that a completion should consist of.
//! * [`PromptState`]: an episode with the memory of its prompts, which can be cloned at any step.
//! * [`TextEpisode`]: an episode that is played by completions, for training and evaluation.
//! * [`ParseError`]: the error for a completion that is not a valid action. Such a completion never
//!   becomes another action.
//! * [`InvalidActionPolicy`]: the effect of such a completion on the episode.
//! * [`check_transcripts`]: checks the prompts and completions of a replay.
//!
//! This module needs no tensors: a language model is anything that answers a prompt with a text.

mod completion_object;
mod invalid_action;
mod parse_error;
mod prompt_state;
mod text_episode;
mod transcript;

pub use completion_object::{CompletionObject, ParserStrictness};
pub use invalid_action::{InvalidActionPolicy, InvalidReward, InvalidRewardError};
pub use parse_error::{ParseError, ParseErrorKind};
pub use prompt_state::PromptState;
pub use text_episode::{CompletionStep, RolloutConfig, TextEpisode};
pub use transcript::check_transcripts;

use std::fmt;

use sentinel_env::named_enum;

use crate::Playable;

/// Largest size of a completion in bytes. A longer one is refused without parsing.
pub const COMPLETION_BYTES: usize = 4096;

named_enum! {
    /// The style in which an observation is formatted as a prompt.
    #[derive(Default)]
    pub enum PromptStyle {
        /// A few hundred characters without instructions, for small models that are trained on the
        /// format: public numbers, with a memory of earlier steps.
        #[default]
        Compact = "compact",
        /// The long prompt of the reference with instructions and examples, for models that follow
        /// instructions.
        Reference = "reference",
        /// The compact prompt with the posterior over what is hidden, and in PolyGuard with the
        /// interactions and rules that each candidate takes part in.
        Detailed = "detailed",
    }
}

/// Writes the possible values of something hidden, each with its probability: ` NAME 0.40 NAME 0.60`.
/// Leaves out probabilities that round to 0.
///
/// # Errors
/// If `out` cannot be written to.
pub(crate) fn write_posterior(
    out: &mut impl fmt::Write,
    names: &[&str],
    probabilities: &[f64],
) -> fmt::Result {
    for (name, probability) in names.iter().zip(probabilities) {
        if *probability >= 0.005 {
            write!(out, " {name} {probability:.2}")?;
        }
    }
    Ok(())
}

/// An action parsed from a completion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParsedAction<A> {
    /// The action that the completion names.
    pub action: A,
    /// `true` if text around the action had to be ignored to parse it.
    pub repaired: bool,
}

/// A world that can be played in text.
pub trait TextWorld: Playable {
    /// Memory of earlier observations that prompts use. Like everything a policy knows, it is
    /// public.
    type Memory: Clone + std::fmt::Debug + Default + Send + Sync;

    /// Updates the memory with an observation. Called once for every observation of an episode, in
    /// order.
    fn update_memory(memory: &mut Self::Memory, observation: &Self::Observation);

    /// Formats the prompt for the latest observation. It reads only the parts of the episode that
    /// the world's public payload shows, never hidden state.
    fn prompt(style: PromptStyle, memory: &Self::Memory, episode: &Self) -> String;

    /// Formats an action as the completion that a model should generate. [`TextWorld::parse_action`] parses
    /// it back; the format is the one that a prompt of this style asks for.
    fn format_action(
        style: PromptStyle,
        observation: &Self::Observation,
        action: Self::Action,
    ) -> String;

    /// Returns the beginning of a formatted completion up to the end of what names the action, where it
    /// may go beyond the first token that no other completion has. Empty by default: that token is enough.
    fn decisive_prefix(_completion: &str) -> &str {
        ""
    }

    /// Returns the names that prompts of the task can contain and that a model should copy rather than
    /// know: those of things of which there may be others, such as medicines. Empty by default.
    fn names_to_copy(_task: Self::Task) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the actions that a completion can name now, as constrained decoding allows them: those
    /// that a compact policy can choose. None after the end of the episode.
    fn legal_actions(observation: &Self::Observation) -> Vec<Self::Action>;

    /// Parses a completion as an action.
    ///
    /// # Errors
    /// If it is not a valid action for this observation. The error names the reason.
    fn parse_action(
        reader: ParserStrictness,
        completion: &str,
        observation: &Self::Observation,
    ) -> Result<ParsedAction<Self::Action>, ParseError>;

    /// Returns the effect on the episode of a completion that could not be parsed.
    fn invalid_action_policy(
        completion: &str,
        observation: &Self::Observation,
    ) -> InvalidActionPolicy<Self::Action>;
}
