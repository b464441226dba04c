//! Replay rows of what was asked and said.
//!
//! An episode must go on after a completion that is no action, where the world has none for that:
//! the replay's own fallback acts then, and the row says so with the completion that it stands for.

use sentinel_env::World;
use sentinel_policy::replay::{LmTranscript, RecordedAction, ReplayRow};
use sentinel_policy::text::{Consequence, PromptStyle, Situation, TextWorld};

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
pub fn record_spoken<W: TextWorld>(
    setups: &[W::Setup],
    rollout_config: RolloutConfig,
    model_source: &str,
    generator: &mut dyn Generator<W>,
    progress: Progress<'_>,
) -> Result<Recording<W>, RolloutError> {
    let slot = |setup| Recorded {
        situation: Situation::new(setup),
        rows: Vec::new(),
        rollout_config,
        model_source,
    };
    let mut slots: Vec<Recorded<'_, W>> = setups.iter().map(slot).collect();
    run_batched(&mut slots, rollout_config.style, generator, progress)?;
    let score = |slot: &Recorded<'_, W>| W::score(slot.situation.episode());
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
    situation: Situation<W>,
    rows: Vec<ReplayRow<W>>,
    rollout_config: RolloutConfig,
    model_source: &'a str,
}

impl<W: TextWorld> EpisodeSlot<W> for Recorded<'_, W> {
    fn ask(&mut self, style: PromptStyle) -> Option<String> {
        (!self.situation.done()).then(|| self.situation.prompt(style))
    }

    fn situation(&self) -> &Situation<W> {
        &self.situation
    }

    fn answer(&mut self, prompt: String, said: String) -> Result<bool, RolloutError> {
        let (action, text) = heard(&self.situation, self.rollout_config, prompt, said);
        self.rows
            .push(row(&self.situation, self.model_source, action, text));
        let refused = |error: W::StepError| RolloutError::Refused(error.to_string());
        self.situation.step(action).map_err(refused)?;
        Ok(self.situation.done())
    }
}

/// The action that a completion stands for, and how it came to it.
fn heard<W: TextWorld>(
    situation: &Situation<W>,
    rollout_config: RolloutConfig,
    prompt: String,
    completion: String,
) -> (W::Action, Box<LmTranscript>) {
    let observation = situation.observation();
    let (action, repaired, fallback) =
        match W::hear(rollout_config.reader, &completion, observation) {
            Ok(heard) => (heard.action, heard.repaired, false),
            Err(_) => match W::consequence(&completion, observation) {
                Consequence::Step(action) => (action, false, false),
                Consequence::Ends => (W::fallback(observation), false, true),
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
    situation: &Situation<W>,
    model_source: &str,
    action: W::Action,
    text: Box<LmTranscript>,
) -> ReplayRow<W> {
    let episode = situation.episode();
    ReplayRow {
        origin: W::origin(episode.setup()),
        step: W::step_count(situation.observation()),
        action: RecordedAction::new(situation.observation(), action),
        scenario_id: episode.scenario_id(),
        model_source: model_source.to_owned(),
        probabilities: None,
        belief: None,
        transcript: Some(text),
    }
}
