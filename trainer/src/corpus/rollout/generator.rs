//! Who completes prompts, and how episodes ask side by side.

use sentinel_policy::text::{PromptState, PromptStyle, TextWorld};

use crate::Progress;

/// Why a rollout stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RolloutError {
    /// Not one completion for each prompt.
    #[error("{prompts} prompts got {completions} completions: there must be one for each")]
    Count {
        /// Number of prompts.
        prompts: usize,
        /// Number of completions.
        completions: usize,
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
pub struct GenerationRequest<'a, W: TextWorld> {
    /// Which of the episodes it belongs to, by their order at the start.
    pub episode: usize,
    /// Where that episode stands; a model has no business here, a script has.
    pub prompt_state: &'a PromptState<W>,
}

/// Completes prompts.
pub trait Generator<W: TextWorld> {
    /// One completion for each prompt, in their order.
    fn generate(
        &mut self,
        prompts: &[String],
        requests: &[GenerationRequest<'_, W>],
    ) -> Vec<String>;

    /// From now on the best answer each time, or a drawn one again. Who does not draw has one anyway.
    fn set_greedy(&mut self, _on: bool) {}
}

/// A script in a model's place: it chooses an action and says it.
#[derive(Debug)]
pub struct Script<F> {
    /// The form in which actions are said.
    pub style: PromptStyle,
    /// The action for the episode of this number.
    pub choose: F,
}

impl<W: TextWorld, F: FnMut(usize, &PromptState<W>) -> W::Action> Generator<W> for Script<F> {
    fn generate(
        &mut self,
        _prompts: &[String],
        requests: &[GenerationRequest<'_, W>],
    ) -> Vec<String> {
        let format_action = |request: &GenerationRequest<'_, W>| {
            let action = (self.choose)(request.episode, request.prompt_state);
            W::format_action(self.style, request.prompt_state.observation(), action)
        };
        requests.iter().map(format_action).collect()
    }
}

/// An episode that asks in words.
pub(crate) trait EpisodeSlot<W: TextWorld> {
    /// What it asks next; nothing once it is over.
    fn ask(&mut self, style: PromptStyle) -> Option<String>;

    /// Where it stands.
    fn prompt_state(&self) -> &PromptState<W>;

    /// Takes in the answer to what it asked, and says whether it is over.
    ///
    /// # Errors
    /// If the world refuses what stands for an unreadable answer.
    fn answer(&mut self, prompt: String, said: String) -> Result<bool, RolloutError>;
}

/// Plays all to their ends, one prompt of each at a time, so that a model completes them as one
/// batch.
///
/// # Errors
/// If a speaker does not complete each prompt, or a seat fails.
pub(crate) fn run_batched<W: TextWorld, S: EpisodeSlot<W>>(
    slots: &mut [S],
    style: PromptStyle,
    generator: &mut dyn Generator<W>,
    progress: Progress<'_>,
) -> Result<(), RolloutError> {
    loop {
        let (open, prompts): (Vec<usize>, Vec<String>) = (slots.iter_mut().enumerate())
            .filter_map(|(at, slot)| Some((at, slot.ask(style)?)))
            .unzip();
        if open.is_empty() {
            return Ok(());
        }
        let requests: Vec<GenerationRequest<'_, W>> = (open.iter())
            .map(|at| GenerationRequest {
                episode: *at,
                prompt_state: slots[*at].prompt_state(),
            })
            .collect();
        let said = ask(generator, &prompts, &requests)?;
        for (at, (prompt, said)) in open.into_iter().zip(prompts.into_iter().zip(said)) {
            if slots[at].answer(prompt, said)? {
                progress();
            }
        }
    }
}

/// Asks, and sees that everybody answered.
pub(crate) fn ask<W: TextWorld>(
    generator: &mut dyn Generator<W>,
    prompts: &[String],
    requests: &[GenerationRequest<'_, W>],
) -> Result<Vec<String>, RolloutError> {
    let said = generator.generate(prompts, requests);
    if said.len() == prompts.len() {
        Ok(said)
    } else {
        Err(RolloutError::Count {
            prompts: prompts.len(),
            completions: said.len(),
        })
    }
}
