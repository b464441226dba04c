//! Episodes played by completions whose texts are not kept, so that the memory of many episodes is small.

use sentinel_base::Progress;
use sentinel_policy::text::{
    ParseError, ParseErrorKind, ParsedAction, PromptState, PromptStyle, RolloutConfig, TextEpisode,
    TextWorld,
};

use super::play::Ending;
use super::text_agent::{EpisodeSlot, RolloutError, TextAgent, run_batched};
use crate::eval::task_of;

/// One completion without its text and its prompt; `A` is the type of actions.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepSummary<A> {
    /// The reason why the completion is not an action, or `true` if it was parsed only after a
    /// repair.
    pub(super) repaired: Result<bool, ParseErrorKind>,
    /// The action that was taken; `None` if the completion aborted the episode.
    pub(super) action: Option<A>,
    /// The reward of the step itself.
    pub(super) reward: f64,
    /// The number of characters of the completion.
    pub(super) characters: usize,
}

impl<A> StepSummary<A> {
    pub(super) fn new(
        completion: &str,
        parsed: &Result<ParsedAction<A>, ParseError>,
        action: Option<A>,
        reward: f64,
    ) -> Self {
        Self {
            repaired: match parsed {
                Ok(parsed) => Ok(parsed.repaired),
                Err(error) => Err(error.reason),
            },
            action,
            reward,
            characters: completion.chars().count(),
        }
    }
}

/// A played episode without its texts: what statistics and scores need of it.
#[derive(Clone, Debug)]
pub struct EpisodeSummary<W: TextWorld> {
    start: PromptState<W>,
    /// The steps, one for each completion.
    pub(super) steps: Vec<StepSummary<W::Action>>,
    /// The way in which the episode ended.
    pub ending: Ending,
    /// The score of the episode in `[0, 1]`; an aborted one includes the missing events.
    pub score: f64,
}

impl<W: TextWorld> EpisodeSummary<W> {
    /// Returns the details of each step that was taken, by playing the episode again, and the task
    /// that it is of.
    #[must_use]
    pub fn details(&self) -> (W::Task, Vec<W::Info>) {
        let mut state = self.start.clone();
        let actions = self.steps.iter().filter_map(|step| step.action);
        // The same state accepted the same actions before.
        let taken = actions.map_while(|action| Some(state.step(action).ok()?.info));
        let details = taken.collect();
        (task_of(state.episode()), details)
    }
}

/// Plays episodes from `starts` to their ends as [`rollout`](super::rollout) does, and keeps no
/// prompt and no completion.
///
/// # Errors
/// Returns an error if the generator does not complete every prompt.
pub fn rollout_summaries<W: TextWorld>(
    starts: Vec<PromptState<W>>,
    rollout_config: RolloutConfig,
    generator: &mut dyn TextAgent<W>,
    progress: Progress<'_>,
) -> Result<Vec<EpisodeSummary<W>>, RolloutError> {
    let slot = |start: PromptState<W>| Summarized {
        episode: TextEpisode::new(start.clone()),
        start,
        steps: Vec::new(),
        rollout_config,
    };
    let mut slots: Vec<Summarized<W>> = starts.into_iter().map(slot).collect();
    run_batched(&mut slots, rollout_config.style, generator, progress)?;
    Ok(slots.into_iter().map(Summarized::finish).collect())
}

/// An episode that is being played.
struct Summarized<W: TextWorld> {
    start: PromptState<W>,
    episode: TextEpisode<W>,
    steps: Vec<StepSummary<W::Action>>,
    rollout_config: RolloutConfig,
}

impl<W: TextWorld> Summarized<W> {
    fn finish(self) -> EpisodeSummary<W> {
        EpisodeSummary {
            score: self.episode.score(self.rollout_config),
            ending: if self.episode.is_aborted() {
                Ending::Aborted
            } else {
                Ending::Done
            },
            start: self.start,
            steps: self.steps,
        }
    }
}

impl<W: TextWorld> EpisodeSlot<W> for Summarized<W> {
    fn next_prompt(&mut self, style: PromptStyle) -> Option<String> {
        (!self.episode.is_over()).then(|| self.episode.state().prompt(style))
    }

    fn prompt_state(&self) -> &PromptState<W> {
        self.episode.state()
    }

    fn apply_completion(&mut self, _prompt: String, said: String) -> Result<bool, RolloutError> {
        if let Some(step) = self.episode.step(self.rollout_config, &said) {
            let step = StepSummary::new(&said, &step.parsed, step.action, step.reward);
            self.steps.push(step);
        }
        Ok(self.episode.is_over())
    }
}
