//! Who completes prompts.

use sentinel_policy::text::{PromptStyle, Situation, TextWorld};

/// Why a rollout stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RolloutError {
    /// Not one completion for each prompt.
    #[error("{asked} prompts were completed by {said} completions: there must be one for each")]
    Count {
        /// Prompts.
        asked: usize,
        /// Completions.
        said: usize,
    },
    /// A fallback that the episode does not take, which no world has.
    #[error("the world refuses its own fallback: {0}")]
    Refused(String),
    /// A group of one is no group.
    #[error("a group of {0}: it needs at least 2 members, as it is its own baseline")]
    Group(usize),
}

/// One prompt, and where it comes from.
#[derive(Debug)]
pub struct Asked<'a, W: TextWorld> {
    /// Which of the episodes it belongs to, by their order at the start.
    pub episode: usize,
    /// Where that episode stands; a model has no business here, a script has.
    pub situation: &'a Situation<W>,
}

/// Completes prompts.
pub trait Speaker<W: TextWorld> {
    /// One completion for each prompt, in their order.
    fn speak(&mut self, prompts: &[String], asked: &[Asked<'_, W>]) -> Vec<String>;
}

/// A model, which sees prompts and nothing else.
#[derive(Debug)]
pub struct Callback<F>(pub F);

impl<W: TextWorld, F: FnMut(&[String]) -> Vec<String>> Speaker<W> for Callback<F> {
    fn speak(&mut self, prompts: &[String], _asked: &[Asked<'_, W>]) -> Vec<String> {
        (self.0)(prompts)
    }
}

/// A script in a model's place: it chooses an action and says it.
#[derive(Debug)]
pub struct Script<F> {
    /// The form in which actions are said.
    pub style: PromptStyle,
    /// The action for the episode of this number.
    pub choose: F,
}

impl<W: TextWorld, F: FnMut(usize, &Situation<W>) -> W::Action> Speaker<W> for Script<F> {
    fn speak(&mut self, _prompts: &[String], asked: &[Asked<'_, W>]) -> Vec<String> {
        let say = |asked: &Asked<'_, W>| {
            let action = (self.choose)(asked.episode, asked.situation);
            W::say(self.style, asked.situation.observation(), action)
        };
        asked.iter().map(say).collect()
    }
}

/// Asks, and sees that everybody answered.
pub(crate) fn ask<W: TextWorld>(
    speaker: &mut dyn Speaker<W>,
    prompts: &[String],
    asked: &[Asked<'_, W>],
) -> Result<Vec<String>, RolloutError> {
    let said = speaker.speak(prompts, asked);
    if said.len() == prompts.len() {
        Ok(said)
    } else {
        Err(RolloutError::Count {
            asked: prompts.len(),
            said: said.len(),
        })
    }
}
