//! Replay rows of what was asked and said.
//!
//! An episode must go on after a completion that is no action, where the world has none for that:
//! the replay's own fallback acts then, and the row says so with the completion that it stands for.

use sentinel_env::World;
use sentinel_policy::replay::{LmTranscript, RecordedAction, ReplayRow};
use sentinel_policy::text::{InvalidActionPolicy, PromptState, PromptStyle, TextWorld};

use super::rollout::{EpisodeSlot, Generator, RolloutConfig, RolloutError, run_batched};
use crate::Progress;

/// What was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording<W: World> {
    /// In the order of the setups, step by step.
    pub rows: Vec<ReplayRow<W>>,
    /// Score of each episode.
    pub scores: Vec<f64>,
    /// Rows whose completion was read only after a repair.
    pub repaired: usize,
    /// Rows whose completion was no action, so that the fallback acted.
    pub fallbacks: usize,
}

/// Plays episodes side by side and writes down what was asked, said and done.
///
/// # Errors
/// If a speaker does not complete each prompt.
pub fn record_transcripts<W: TextWorld>(
    setups: &[W::Setup],
    rollout_config: RolloutConfig,
    model_source: &str,
    generator: &mut dyn Generator<W>,
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

/// An episode with what was written down of it.
struct Recorded<'a, W: TextWorld> {
    prompt_state: PromptState<W>,
    rows: Vec<ReplayRow<W>>,
    rollout_config: RolloutConfig,
    model_source: &'a str,
}

impl<W: TextWorld> EpisodeSlot<W> for Recorded<'_, W> {
    fn ask(&mut self, style: PromptStyle) -> Option<String> {
        (!self.prompt_state.done()).then(|| self.prompt_state.prompt(style))
    }

    fn prompt_state(&self) -> &PromptState<W> {
        &self.prompt_state
    }

    fn answer(&mut self, prompt: String, said: String) -> Result<bool, RolloutError> {
        let (action, text) = parsed(&self.prompt_state, self.rollout_config, prompt, said);
        self.rows
            .push(row(&self.prompt_state, self.model_source, action, text));
        let refused = |error: W::StepError| RolloutError::Refused(error.to_string());
        self.prompt_state.step(action).map_err(refused)?;
        Ok(self.prompt_state.done())
    }
}

/// The action that a completion stands for, and how it came to it.
fn parsed<W: TextWorld>(
    prompt_state: &PromptState<W>,
    rollout_config: RolloutConfig,
    prompt: String,
    completion: String,
) -> (W::Action, Box<LmTranscript>) {
    let observation = prompt_state.observation();
    let (action, repaired, fallback) =
        match W::parse_action(rollout_config.reader, &completion, observation) {
            Ok(parsed) => (parsed.action, parsed.repaired, false),
            Err(_) => match W::invalid_action_policy(&completion, observation) {
                InvalidActionPolicy::Step(action) => (action, false, false),
                InvalidActionPolicy::EndSample => (W::fallback(observation), false, true),
            },
        };
    let text = LmTranscript {
        prompt: Some(prompt),
        completion: Some(completion),
        repaired,
        fallback,
    };
    (action, Box::new(text))
}

fn row<W: TextWorld>(
    prompt_state: &PromptState<W>,
    model_source: &str,
    action: W::Action,
    text: Box<LmTranscript>,
) -> ReplayRow<W> {
    let episode = prompt_state.episode();
    ReplayRow {
        origin: W::origin(episode.setup()),
        step: W::step_count(prompt_state.observation()),
        action: RecordedAction::new(prompt_state.observation(), action),
        scenario_id: episode.scenario_id(),
        model_source: model_source.to_owned(),
        probabilities: None,
        belief: None,
        transcript: Some(text),
    }
}
