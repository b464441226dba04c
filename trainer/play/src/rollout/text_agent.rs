//! The generator of completions, and the loop in which many episodes request them as one batch.

use std::sync::atomic::{AtomicBool, Ordering};

use sentinel_base::Progress;
use sentinel_policy::text::{PromptState, PromptStyle, TextWorld};

/// The reason why a rollout stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RolloutError {
    /// The number of completions differs from the number of prompts.
    #[error("{prompts} prompts got {completions} completions: there must be one for each")]
    Count {
        /// The number of prompts.
        prompts: usize,
        /// The number of completions.
        completions: usize,
    },
    /// The world refused an action that it parsed or proposed itself, which no current world does.
    #[error("the world refuses its own fallback: {0}")]
    Refused(String),
    /// The rollout was asked to stop before its end.
    #[error("interrupted before the end of the episodes")]
    Interrupted,
    /// A group with fewer than two members.
    #[error("a group of {0}: it needs at least 2 members, as it is its own baseline")]
    Group(usize),
}

impl RolloutError {
    /// Checks a request to stop.
    ///
    /// # Errors
    /// Returns [`Self::Interrupted`] if `stop` is set.
    pub fn check_stop(stop: &AtomicBool) -> Result<(), Self> {
        if stop.load(Ordering::Relaxed) {
            Err(Self::Interrupted)
        } else {
            Ok(())
        }
    }
}

/// One prompt's origin: the episode and its state.
#[derive(Debug)]
pub struct GenerationRequest<'a, W: TextWorld> {
    /// The index of the episode, by the order at the start.
    pub episode: usize,
    /// The state of the episode, which scripts read. A model must not, except for the actions that are
    /// legal, which its completions can be limited to.
    pub prompt_state: &'a PromptState<W>,
    /// The style of the prompt.
    pub style: PromptStyle,
}

/// A generator of completions.
pub trait TextAgent<W: TextWorld> {
    /// Returns one completion for each prompt, in their order.
    fn generate(
        &mut self,
        prompts: &[String],
        requests: &[GenerationRequest<'_, W>],
    ) -> Vec<String>;

    /// Switches between greedy decoding (`true`) and sampling; a generator that never samples
    /// ignores it.
    fn set_greedy(&mut self, _on: bool) {}
}

/// A script in a model's place: it chooses an action and formats it as a completion.
#[derive(Debug)]
pub struct Script<F> {
    /// The style in which actions are formatted.
    pub style: PromptStyle,
    /// The function that chooses an action, by the episode's index and its state.
    pub choose: F,
}

impl<W: TextWorld, F: FnMut(usize, &PromptState<W>) -> W::Action> TextAgent<W> for Script<F> {
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

/// An episode that is played by prompts and completions.
pub trait EpisodeSlot<W: TextWorld> {
    /// Returns the next prompt; `None` after the end.
    fn next_prompt(&mut self, style: PromptStyle) -> Option<String>;

    /// Returns the state of the episode.
    fn prompt_state(&self) -> &PromptState<W>;

    /// Applies the completion of the last prompt and returns `true` if the episode is over.
    ///
    /// # Errors
    /// Returns an error if the world refuses the action that replaces an unreadable completion.
    fn apply_completion(&mut self, prompt: String, said: String) -> Result<bool, RolloutError>;
}

/// Plays all episodes to their ends, one prompt of each at a time, so that a model completes them
/// as one batch.
///
/// # Errors
/// Returns an error if the generator does not complete every prompt, or an episode fails.
pub fn run_batched<W: TextWorld, S: EpisodeSlot<W>>(
    slots: &mut [S],
    style: PromptStyle,
    generator: &mut dyn TextAgent<W>,
    progress: Progress<'_>,
) -> Result<(), RolloutError> {
    loop {
        let (open, prompts): (Vec<usize>, Vec<String>) = (slots.iter_mut().enumerate())
            .filter_map(|(at, slot)| Some((at, slot.next_prompt(style)?)))
            .unzip();
        if open.is_empty() {
            return Ok(());
        }
        let requests: Vec<GenerationRequest<'_, W>> = (open.iter())
            .map(|at| GenerationRequest {
                episode: *at,
                prompt_state: slots[*at].prompt_state(),
                style,
            })
            .collect();
        let said = generate_completions(generator, &prompts, &requests)?;
        for (at, (prompt, said)) in open.into_iter().zip(prompts.into_iter().zip(said)) {
            if slots[at].apply_completion(prompt, said)? {
                progress();
            }
        }
    }
}

/// Requests completions and checks that there is one for each prompt.
pub(crate) fn generate_completions<W: TextWorld>(
    generator: &mut dyn TextAgent<W>,
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
