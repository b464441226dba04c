//! One line of a replay file, typed by its world.

use std::fmt::Debug;

use sentinel_env::{EpisodeSpec, World};

/// The action taken at one step of an episode, with its origin and the policy that chose it.
///
/// Parse it with `serde_json::from_str`; an error names the invalid field and its accepted values.
/// Unknown keys are ignored, so that files of later versions load.
pub struct ReplayRow<W: World> {
    /// Identity of the episode. In a file, the world is omitted for the first world of the
    /// registry, and streams and rules for those of the reference.
    pub origin: EpisodeSpec<W>,
    /// Steps of the budget used before the action, see [`sentinel_env::Environment::step_count`].
    pub step: u32,
    /// The action with its texts.
    pub action: RecordedAction<W>,
    /// Identifier of the sampled scenario, see
    /// [`Recordable::scenario_id`](super::Recordable::scenario_id).
    pub scenario_id: String,
    /// Name of the policy or model that chose the action.
    pub model_source: String,
    /// Probability of each kind of action, if a learned policy chose it.
    pub probabilities: Option<Vec<f64>>,
    /// Posterior over the hidden variables, `[variables, classes]`, if a learned policy has one.
    pub belief: Option<Vec<Vec<f64>>>,
    /// Prompt and completion, if a language model chose the action.
    pub transcript: Option<Box<LmTranscript>>,
}

/// A typed action with the texts stored beside it.
pub struct RecordedAction<W: World> {
    /// The action in the form that files store.
    pub action: W::Action,
    /// Free text of the action, stored under [`Recordable::TEXT_KEY`](super::Recordable::TEXT_KEY).
    pub text: Option<String>,
    /// Explanation of the action in free text.
    pub reasoning: Option<String>,
}

/// The prompt and completion of a language model. In a file these are keys of the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LmTranscript {
    /// Prompt that the model was given.
    pub prompt: Option<String>,
    /// Completion exactly as generated.
    pub completion: Option<String>,
    /// `true` if text around the action had to be ignored to parse the completion.
    pub repaired: bool,
    /// `true` if the completion was not a valid action, so that
    /// [`Recordable::fallback`](super::Recordable::fallback) chose the action.
    pub fallback: bool,
}

// Implemented by hand because derives would require the same traits of `W`.
impl<W: World> Clone for RecordedAction<W> {
    fn clone(&self) -> Self {
        Self {
            action: self.action,
            text: self.text.clone(),
            reasoning: self.reasoning.clone(),
        }
    }
}

impl<W: World> PartialEq for RecordedAction<W> {
    fn eq(&self, other: &Self) -> bool {
        (&self.action, &self.text, &self.reasoning)
            == (&other.action, &other.text, &other.reasoning)
    }
}

impl<W: World> Debug for RecordedAction<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordedAction")
            .field("action", &self.action)
            .field("text", &self.text)
            .field("reasoning", &self.reasoning)
            .finish()
    }
}

impl<W: World> Clone for ReplayRow<W> {
    fn clone(&self) -> Self {
        Self {
            origin: self.origin,
            step: self.step,
            action: self.action.clone(),
            scenario_id: self.scenario_id.clone(),
            model_source: self.model_source.clone(),
            probabilities: self.probabilities.clone(),
            belief: self.belief.clone(),
            transcript: self.transcript.clone(),
        }
    }
}

impl<W: World> PartialEq for ReplayRow<W> {
    fn eq(&self, other: &Self) -> bool {
        let place = |row: &Self| (row.origin, row.step);
        let source = |row: &Self| (row.scenario_id.clone(), row.model_source.clone());
        place(self) == place(other)
            && self.action == other.action
            && source(self) == source(other)
            && self.probabilities == other.probabilities
            && self.belief == other.belief
            && self.transcript == other.transcript
    }
}

impl<W: World> Debug for ReplayRow<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayRow")
            .field("origin", &self.origin)
            .field("step", &self.step)
            .field("action", &self.action)
            .field("scenario_id", &self.scenario_id)
            .field("model_source", &self.model_source)
            .field("probabilities", &self.probabilities)
            .field("belief", &self.belief)
            .field("transcript", &self.transcript)
            .finish()
    }
}
