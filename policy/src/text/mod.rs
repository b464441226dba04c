//! Worlds played in words: an observation becomes a prompt, a completion becomes an action.
//!
//! * [`TextWorld`]: what a world brings along; every world of this crate is one, in its own folder.
//! * [`Object`]: reads the JSON object that a completion should be.
//! * [`Situation`]: an episode with what its prompts remember, which can be copied at any step.
//! * [`Unreadable`]: why a completion is no action. It never becomes another one.
//! * [`Consequence`]: what such a completion does to the episode.
//! * [`check_transcripts`]: whether the prompts and completions of a replay fit it.
//!
//! Nothing here needs a tensor: a language model is whoever answers a prompt with a text.

mod consequence;
mod object;
mod situation;
mod transcript;
mod unreadable;

pub use consequence::{Consequence, InvalidReward, InvalidRewardError};
pub use object::{Object, Reader};
pub use situation::Situation;
pub use transcript::check_transcripts;
pub use unreadable::{Reason, Unreadable};

use sentinel_env::named_enum;

use crate::Playable;

/// Most bytes of a completion; of a longer one nothing is looked at.
pub const COMPLETION_BYTES: usize = 4096;

named_enum! {
    /// How an observation is put into words.
    #[derive(Default)]
    pub enum PromptStyle {
        /// A few hundred characters without instructions, for small models that learn the form: the
        /// public numbers that the learned policies get as features, and what they remember.
        #[default]
        Compact = "compact",
        /// The long prompt of the reference, with instructions and examples, for models that can read.
        Reference = "reference",
    }
}

/// An action as a completion names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard<A> {
    /// The action.
    pub action: A,
    /// Whether something around it had to be left out for it to be read.
    pub repaired: bool,
}

/// A world that can be played in words.
pub trait TextWorld: Playable {
    /// What prompts remember of earlier observations; public, as all that a policy knows.
    type Memory: Clone + std::fmt::Debug + Default + Send + Sync;
    /// The least reward that an action of the world can earn.
    const LEAST_REWARD: f64;

    /// Takes in an observation: each one of an episode once, in order.
    fn remember(memory: &mut Self::Memory, observation: &Self::Observation);

    /// The prompt for the observation taken in last. Of the episode it reads what the world's
    /// payload shows to everybody, and never hidden state.
    fn prompt(style: PromptStyle, memory: &Self::Memory, episode: &Self) -> String;

    /// What a model is to say for an action: a completion that [`TextWorld::hear`] reads back, in
    /// the form that the prompt of this style asks for.
    fn say(style: PromptStyle, observation: &Self::Observation, action: Self::Action) -> String;

    /// Reads a completion.
    ///
    /// # Errors
    /// Names why it is no action here.
    fn hear(
        reader: Reader,
        completion: &str,
        observation: &Self::Observation,
    ) -> Result<Heard<Self::Action>, Unreadable>;

    /// What a completion that could not be read does to the episode.
    fn consequence(completion: &str, observation: &Self::Observation) -> Consequence<Self::Action>;
}
