//! An episode that is played by completions.

use sentinel_env::World;

use super::{
    InvalidActionPolicy, InvalidReward, ParseError, ParseErrorKind, ParsedAction, ParserStrictness,
    PromptState, PromptStyle, TextWorld,
};
use crate::replay::{LmTranscript, ReplayRow};

/// The prompt style, the parser of completions, and the reward of invalid ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RolloutConfig {
    /// The prompt style of observations.
    pub style: PromptStyle,
    /// The strictness with which a completion is parsed.
    pub reader: ParserStrictness,
    /// The reward of a completion that ends its sample.
    pub invalid: InvalidReward,
}

/// The effect of one completion on an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionStep<W: TextWorld> {
    /// The parsed action, or the reason why there is none.
    pub parsed: Result<ParsedAction<W::Action>, ParseError>,
    /// The action that was taken; `None` if the completion aborted the episode.
    pub action: Option<W::Action>,
    /// The reward of the step itself; the invalid reward if the completion aborted the episode.
    pub reward: f64,
    /// The terminal reward, if the step ended the episode and the world has one.
    pub terminal: Option<f64>,
}

/// An episode that is played by completions, and that an invalid completion may abort.
///
/// An episode that is aborted (see [`InvalidActionPolicy::EndSample`]) earns the invalid reward for
/// this completion and for every event that its budget still had room for, the end included. Any
/// action instead would have earned more in each of at most as many events, so aborting never pays,
/// at any step.
///
/// ```
/// use sentinel_env::{rng::Streams, trust::{Setup, Task, TrustEnv}};
/// use sentinel_policy::text::{PromptState, RolloutConfig, TextEpisode};
///
/// let config = RolloutConfig::default();
/// let setup = Setup::new(Task::Task1, 7, Streams::Independent);
/// let mut episode = TextEpisode::<TrustEnv>::new(PromptState::new(&setup));
/// let step = episode.step(config, r#"{"action_type": "verify", "specialist_id": "S2"}"#);
/// assert!(step.is_some_and(|step| step.parsed.is_ok()));
/// let step = episode.step(config, "S2, please");
/// assert!(step.is_some_and(|step| step.action.is_none() && step.reward == 0.0));
/// assert!(episode.is_over() && episode.step(config, "again").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct TextEpisode<W: TextWorld> {
    state: PromptState<W>,
    aborted: bool,
}

impl<W: TextWorld> TextEpisode<W> {
    /// Creates the episode, which continues from `state`.
    #[must_use]
    pub const fn new(state: PromptState<W>) -> Self {
        Self {
            state,
            aborted: false,
        }
    }

    /// Returns the state of the episode with the memory of its prompts.
    #[must_use]
    pub const fn state(&self) -> &PromptState<W> {
        &self.state
    }

    /// Returns `true` if a completion was not an action, in a world without an action for that case.
    #[must_use]
    pub const fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// Returns `true` if the episode has ended or was aborted.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.aborted || self.state.done()
    }

    /// Applies a completion; `None` if the episode is over.
    pub fn step(&mut self, config: RolloutConfig, completion: &str) -> Option<CompletionStep<W>> {
        self.step_or(config, completion, |_| None)
    }

    /// Applies a completion like [`TextEpisode::step`], but where that would abort the episode, takes
    /// the action of [`Recordable::fallback`] instead, so that the episode goes on. The step still
    /// holds the error of the completion.
    ///
    /// [`Recordable::fallback`]: crate::replay::Recordable::fallback
    pub fn step_with_fallback(
        &mut self,
        config: RolloutConfig,
        completion: &str,
    ) -> Option<CompletionStep<W>> {
        self.step_or(config, completion, |observation| {
            Some(W::fallback(observation))
        })
    }

    fn step_or(
        &mut self,
        config: RolloutConfig,
        completion: &str,
        fallback: impl FnOnce(&W::Observation) -> Option<W::Action>,
    ) -> Option<CompletionStep<W>> {
        if self.is_over() {
            return None;
        }
        let observation = self.state.observation();
        let mut parsed = W::parse_action(config.reader, completion, observation);
        let action = match &parsed {
            Ok(parsed) => Some(parsed.action),
            Err(_) => match W::invalid_action_policy(completion, observation) {
                InvalidActionPolicy::Step(action) => Some(action),
                InvalidActionPolicy::EndSample => fallback(observation),
            },
        };
        let taken = action.map(|action| self.state.step(action));
        let (action, reward, terminal) = match taken {
            Some(Ok(step)) => {
                let (reward, terminal) = <W as World>::reward_events(&step);
                (action, reward, terminal)
            }
            Some(Err(error)) => {
                // Parsers know the actions of a task, so only a future world can get here.
                parsed = Err(ParseError {
                    reason: ParseErrorKind::NotHere,
                    detail: error.to_string(),
                });
                (None, config.invalid.value(), None)
            }
            None => (None, config.invalid.value(), None),
        };
        self.aborted = action.is_none();
        Some(CompletionStep {
            parsed,
            action,
            reward,
            terminal,
        })
    }

    /// Aborts the episode as an invalid completion does, for callers that stop before its end. Does
    /// nothing after the end.
    pub fn abort(&mut self) {
        self.aborted |= !self.is_over();
    }

    /// Returns the score of the episode so far; an aborted one includes the missing events.
    #[must_use]
    pub fn score(&self, config: RolloutConfig) -> f64 {
        let episode = self.state.episode();
        if !self.aborted {
            return W::score(episode);
        }
        let missing = f64::from(self.missing_events());
        let events = episode.reward_count() + missing;
        (episode.total_reward() + config.invalid.value() * missing) / events
    }

    /// Returns the maximum number of reward events that could still come: each step uses at least
    /// one of the budget, and the end is an event too.
    #[must_use]
    pub fn missing_events(&self) -> u32 {
        let episode = self.state.episode();
        let task = W::episode_spec(W::setup(episode)).task;
        let used = W::step_count(W::observation(episode));
        W::max_steps(task).saturating_sub(used) + 1
    }
}

impl<W: TextWorld> ReplayRow<W> {
    /// Creates the row of a completion that was generated for `prompt` in the state `state`. An
    /// episode in a file must continue after a completion that is not an action: where the world has
    /// no action for that case, the row holds [`Recordable::fallback`] and says so.
    ///
    /// [`Recordable::fallback`]: crate::replay::Recordable::fallback
    #[must_use]
    pub fn from_completion(
        state: &PromptState<W>,
        reader: ParserStrictness,
        model_source: &str,
        prompt: String,
        completion: String,
    ) -> Self {
        let observation = state.observation();
        let (action, repaired, fallback) = match W::parse_action(reader, &completion, observation) {
            Ok(parsed) => (parsed.action, parsed.repaired, false),
            Err(_) => match W::invalid_action_policy(&completion, observation) {
                InvalidActionPolicy::Step(action) => (action, false, false),
                InvalidActionPolicy::EndSample => (W::fallback(observation), false, true),
            },
        };
        let transcript = LmTranscript {
            prompt: Some(prompt),
            completion: Some(completion),
            repaired,
            fallback,
        };
        Self {
            transcript: Some(Box::new(transcript)),
            ..Self::new(state.episode(), action, model_source)
        }
    }
}
