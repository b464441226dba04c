//! Playing many episodes in parallel.
//!
//! A sample that is aborted (see [`InvalidActionPolicy::EndSample`]) earns the invalid reward for
//! this row and for every event that its budget still had room for, the end included. Any action
//! instead would have earned more in each of at most as many events, so aborting never pays, at any
//! step.

use sentinel_env::World;
use sentinel_policy::text::{
    InvalidActionPolicy, InvalidReward, ParseError, ParseErrorKind, ParsedAction, ParserStrictness,
    PromptState, PromptStyle, TextWorld,
};

use serde::{Deserialize, Serialize};

use super::generator::{EpisodeSlot, Generator, RolloutError, run_batched};
use crate::eval::task_of;
use crate::trainable::Trainable;
use crate::{Progress, arg_parsers};

/// The options of every command in which a language model plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
pub struct PromptArgs {
    /// Style of the prompts
    #[arg(long, value_name = "STYLE", default_value_t, value_parser = arg_parsers::named_enum_parser::<PromptStyle>())]
    pub prompt: PromptStyle,
    /// Parser of completions; repair ignores text around the action
    #[arg(long = "parser", alias = "reader", value_name = "PARSER", default_value_t, value_parser = arg_parsers::named_enum_parser::<ParserStrictness>())]
    pub reader: ParserStrictness,
}

impl PromptArgs {
    /// Returns the configuration in which an invalid completion has this reward.
    #[must_use]
    pub const fn rollout_config(self, invalid: InvalidReward) -> RolloutConfig {
        RolloutConfig {
            style: self.prompt,
            reader: self.reader,
            invalid,
        }
    }
}

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

/// One completion with its action and rewards.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionRow<W: TextWorld> {
    /// The observation's step count before the completion.
    pub step: u32,
    /// The prompt of the step.
    pub prompt: String,
    /// The text of the completion.
    pub completion: String,
    /// The parsed action, or the reason why there is none.
    pub parsed: Result<ParsedAction<W::Action>, ParseError>,
    /// The action that was taken; `None` if the completion aborted the sample.
    pub action: Option<W::Action>,
    /// The reward of the step itself; the invalid reward if the completion aborted the sample.
    pub reward: f64,
    /// The terminal reward, if the step ended the episode and the world has one.
    pub terminal: Option<f64>,
    /// The mean reward of the events from this one to the last. A sum would reward repeating a
    /// subtask after doing it wrong.
    pub reward_to_go: f64,
}

/// The way in which a sample ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The episode reached its end.
    Done,
    /// A completion was not an action, in a world without an action for that case.
    Aborted,
}

/// An episode, or the rest of one, played by prompts and completions.
#[derive(Clone, Debug)]
pub struct Trajectory<W: TextWorld> {
    start: PromptState<W>,
    /// The rows, one for each completion.
    pub rows: Vec<CompletionRow<W>>,
    /// The way in which the episode ended.
    pub ending: Ending,
    /// The score of the episode in `[0, 1]`; an aborted one includes the missing events.
    pub score: f64,
}

impl<W: TextWorld> Trajectory<W> {
    /// Returns a copy of the state in which row `index` was prompted; the final state for one past
    /// the last.
    #[must_use]
    pub fn state(&self, index: usize) -> PromptState<W> {
        let mut state = self.start.clone();
        for action in self.rows.iter().take(index).filter_map(|row| row.action) {
            // The same state accepted the same action before.
            if state.step(action).is_err() {
                break;
            }
        }
        state
    }

    /// Returns the details of each step that was taken, by playing the episode again, and the task
    /// that it is of.
    #[must_use]
    pub fn steps(&self) -> (W::Task, Vec<W::Info>) {
        let mut state = self.start.clone();
        let actions = self.rows.iter().filter_map(|row| row.action);
        // The same state accepted the same actions before.
        let taken = actions.map_while(|action| Some(state.step(action).ok()?.info));
        let steps = taken.collect();
        (task_of(state.episode()), steps)
    }
}

/// Plays episodes from `starts` to their ends.
///
/// # Errors
/// Returns an error if the generator does not complete every prompt.
pub fn rollout<W: TextWorld + Trainable>(
    starts: Vec<PromptState<W>>,
    rollout_config: RolloutConfig,
    generator: &mut dyn Generator<W>,
    progress: Progress<'_>,
) -> Result<Vec<Trajectory<W>>, RolloutError> {
    let slot = |start| Playing {
        sample: Sample::new(start),
        rollout_config,
    };
    let mut slots: Vec<Playing<W>> = starts.into_iter().map(slot).collect();
    run_batched(&mut slots, rollout_config.style, generator, progress)?;
    let finish = |slot: Playing<W>| slot.sample.finish(rollout_config);
    Ok(slots.into_iter().map(finish).collect())
}

/// A sample with the configuration under which it is played.
struct Playing<W: TextWorld> {
    sample: Sample<W>,
    rollout_config: RolloutConfig,
}

impl<W: TextWorld + Trainable> EpisodeSlot<W> for Playing<W> {
    fn next_prompt(&mut self, style: PromptStyle) -> Option<String> {
        (!self.sample.is_over()).then(|| self.sample.now.prompt(style))
    }

    fn prompt_state(&self) -> &PromptState<W> {
        &self.sample.now
    }

    fn apply_completion(&mut self, prompt: String, said: String) -> Result<bool, RolloutError> {
        self.sample.take(self.rollout_config, prompt, said);
        Ok(self.sample.is_over())
    }
}

/// A sample that is being played.
pub(super) struct Sample<W: TextWorld> {
    start: PromptState<W>,
    pub(super) now: PromptState<W>,
    pub(super) rows: Vec<CompletionRow<W>>,
    aborted: bool,
}

impl<W: TextWorld + Trainable> Sample<W> {
    pub(super) fn new(start: PromptState<W>) -> Self {
        Self {
            now: start.clone(),
            start,
            rows: Vec::new(),
            aborted: false,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.aborted || self.now.done()
    }

    /// Applies a completion and appends its row.
    pub(super) fn take(
        &mut self,
        rollout_config: RolloutConfig,
        prompt: String,
        completion: String,
    ) {
        let observation = self.now.observation();
        let step = W::step_count(observation);
        let mut parsed = W::parse_action(rollout_config.reader, &completion, observation);
        let action = match &parsed {
            Ok(parsed) => Some(parsed.action),
            Err(_) => match W::invalid_action_policy(&completion, observation) {
                InvalidActionPolicy::Step(action) => Some(action),
                InvalidActionPolicy::EndSample => None,
            },
        };
        let taken = action.map(|action| self.now.step(action));
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
                (None, rollout_config.invalid.value(), None)
            }
            None => (None, rollout_config.invalid.value(), None),
        };
        self.aborted = action.is_none();
        self.rows.push(CompletionRow {
            step,
            prompt,
            completion,
            parsed,
            action,
            reward,
            terminal,
            reward_to_go: 0.0,
        });
    }

    /// Returns the score of the episode so far; an aborted one includes the missing events.
    pub(super) fn score(&self, rollout_config: RolloutConfig) -> f64 {
        let episode = self.now.episode();
        if !self.aborted {
            return W::score(episode);
        }
        let missing = f64::from(missing::<W>(episode));
        let events = episode.reward_count() + missing;
        (episode.total_reward() + rollout_config.invalid.value() * missing) / events
    }

    pub(super) fn finish(mut self, rollout_config: RolloutConfig) -> Trajectory<W> {
        let score = self.score(rollout_config);
        // The row that aborted the sample is one of the missing events.
        let after = if self.aborted {
            missing::<W>(self.now.episode()) - 1
        } else {
            0
        };
        let mut events = f64::from(after);
        let mut sum = rollout_config.invalid.value() * events;
        for row in self.rows.iter_mut().rev() {
            sum += row.reward + row.terminal.unwrap_or(0.0);
            events += 1.0 + f64::from(u8::from(row.terminal.is_some()));
            row.reward_to_go = sum / events;
        }
        Trajectory {
            start: self.start,
            rows: self.rows,
            ending: if self.aborted {
                Ending::Aborted
            } else {
                Ending::Done
            },
            score,
        }
    }
}

/// Returns the maximum number of events that could still come: each step uses at least one of the
/// budget, and the end is an event too.
fn missing<W: World>(episode: &W) -> u32 {
    let task = W::episode_spec(W::setup(episode)).task;
    let used = W::step_count(W::observation(episode));
    W::max_steps(task).saturating_sub(used) + 1
}
