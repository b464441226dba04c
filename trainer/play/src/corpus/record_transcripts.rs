//! Replay rows with prompts and completions of a language model.
//!
//! An episode must continue after a completion that is not an action, even in a world without an
//! action for that case: the replay's own fallback then acts, and the row says so beside the
//! completion.

use sentinel_base::Progress;
use sentinel_env::World;
use sentinel_policy::replay::{LmTranscript, ReplayRow};
use sentinel_policy::text::{PromptState, PromptStyle, TextWorld};

use crate::rollout::{EpisodeSlot, RolloutConfig, RolloutError, TextAgent, run_batched};

/// The result of recording episodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording<W: World> {
    /// The rows in the order of the setups, step by step.
    pub rows: Vec<ReplayRow<W>>,
    /// The score of each episode.
    pub scores: Vec<f64>,
    /// The number of rows whose completion was parsed only after a repair.
    pub repaired: usize,
    /// The number of rows whose completion was not an action, so that the fallback acted.
    pub fallbacks: usize,
}

/// Plays episodes in parallel and records prompts, completions and actions.
///
/// # Errors
/// Returns an error if the generator does not complete every prompt, or the world refuses a step.
pub fn record_transcripts<W: TextWorld>(
    setups: &[W::Setup],
    rollout_config: RolloutConfig,
    model_source: &str,
    generator: &mut dyn TextAgent<W>,
    progress: Progress<'_>,
) -> Result<Recording<W>, RolloutError> {
    let slot = |setup| Recorded {
        prompt_state: PromptState::new(setup),
        rows: Vec::new(),
        rollout_config,
        model_source,
    };
    let mut slots: Vec<Recorded<'_, W>> = setups.iter().map(slot).collect();
    run_batched(&mut slots, rollout_config.style, generator, progress)?;
    let score = |slot: &Recorded<'_, W>| W::score(slot.prompt_state.episode());
    let scores = slots.iter().map(score).collect();
    let rows: Vec<ReplayRow<W>> = slots.into_iter().flat_map(|slot| slot.rows).collect();
    let count = |is: fn(&LmTranscript) -> bool| {
        rows.iter()
            .filter(|row| row.transcript.as_deref().is_some_and(is))
            .count()
    };
    Ok(Recording {
        repaired: count(|text| text.repaired),
        fallbacks: count(|text| text.fallback),
        scores,
        rows,
    })
}

/// An episode with the rows that were recorded so far.
struct Recorded<'a, W: TextWorld> {
    prompt_state: PromptState<W>,
    rows: Vec<ReplayRow<W>>,
    rollout_config: RolloutConfig,
    model_source: &'a str,
}

impl<W: TextWorld> EpisodeSlot<W> for Recorded<'_, W> {
    fn next_prompt(&mut self, style: PromptStyle) -> Option<String> {
        (!self.prompt_state.done()).then(|| self.prompt_state.prompt(style))
    }

    fn prompt_state(&self) -> &PromptState<W> {
        &self.prompt_state
    }

    fn apply_completion(&mut self, prompt: String, said: String) -> Result<bool, RolloutError> {
        let (state, reader) = (&self.prompt_state, self.rollout_config.reader);
        let row = ReplayRow::from_completion(state, reader, self.model_source, prompt, said);
        let action = row.action.action;
        self.rows.push(row);
        let refused = |error: W::StepError| RolloutError::Refused(error.to_string());
        self.prompt_state.step(action).map_err(refused)?;
        Ok(self.prompt_state.done())
    }
}
