//! Playing episodes side by side.
//!
//! A sample that breaks off (see [`InvalidActionPolicy::EndSample`]) earns the invalid reward for this row and
//! for every event that its budget still had room for, the end included. Any action instead would
//! have earned more in each of at most as many events, so breaking off never pays, at any step.

use sentinel_env::World;
use sentinel_policy::text::{
    InvalidActionPolicy, InvalidReward, ParseError, ParsedAction, PromptState, PromptStyle, Reader,
    Reason, TextWorld,
};

use super::generator::{EpisodeSlot, Generator, RolloutError, run_batched};
use crate::Progress;
use crate::trainable::Trainable;

/// How prompts are made, completions read, and unreadable ones rewarded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RolloutConfig {
    /// How an observation is put into words.
    pub style: PromptStyle,
    /// How strictly a completion is read.
    pub reader: Reader,
    /// What a completion earns that ends its sample.
    pub invalid: InvalidReward,
}

/// One completion and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<W: TextWorld> {
    /// The observation's step count before it.
    pub step: u32,
    /// What was asked.
    pub prompt: String,
    /// What was said.
    pub completion: String,
    /// The action that it names, or why it names none.
    pub parsed: Result<ParsedAction<W::Action>, ParseError>,
    /// The action that was taken; none where the sample broke off.
    pub action: Option<W::Action>,
    /// Reward of the step itself; the invalid reward where the sample broke off.
    pub reward: f64,
    /// Reward of the end, where the step ended the episode and the world rewards that.
    pub terminal: Option<f64>,
    /// Mean reward of the events from this one to the last. A mean, because a sum would pay for
    /// doing a subtask wrong and again.
    pub reward_to_go: f64,
}

/// How a sample ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The episode ended.
    Done,
    /// A completion was no action of a world that has none for that.
    Aborted,
}

/// An episode, or what was left of one, played in words.
#[derive(Clone, Debug)]
pub struct Trajectory<W: TextWorld> {
    start: PromptState<W>,
    /// One for each completion.
    pub rows: Vec<Row<W>>,
    /// How it ended.
    pub ending: Ending,
    /// Score of the episode, 0..1; where it broke off, with the events that are missing.
    pub score: f64,
}

impl<W: TextWorld> Trajectory<W> {
    /// A copy of the state in which the row `index` was asked for; the end for one past the last.
    #[must_use]
    pub fn state(&self, index: usize) -> PromptState<W> {
        let mut state = self.start.clone();
        for action in self.rows.iter().take(index).filter_map(|row| row.action) {
            // The same state took the same action before.
            if state.step(action).is_err() {
                break;
            }
        }
        state
    }
}

/// Plays situations to their ends.
///
/// # Errors
/// If a speaker does not complete each prompt.
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

/// A sample with the terms under which it is played.
struct Playing<W: TextWorld> {
    sample: Sample<W>,
    rollout_config: RolloutConfig,
}

impl<W: TextWorld + Trainable> EpisodeSlot<W> for Playing<W> {
    fn ask(&mut self, style: PromptStyle) -> Option<String> {
        (!self.sample.over()).then(|| self.sample.now.prompt(style))
    }

    fn prompt_state(&self) -> &PromptState<W> {
        &self.sample.now
    }

    fn answer(&mut self, prompt: String, said: String) -> Result<bool, RolloutError> {
        self.sample.take(self.rollout_config, prompt, said);
        Ok(self.sample.over())
    }
}

/// A sample that is being played.
pub(super) struct Sample<W: TextWorld> {
    start: PromptState<W>,
    pub(super) now: PromptState<W>,
    pub(super) rows: Vec<Row<W>>,
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

    pub(super) fn over(&self) -> bool {
        self.aborted || self.now.done()
    }

    /// Takes in what was said.
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
                // Readers know what a task has, so this is for worlds to come.
                parsed = Err(ParseError {
                    reason: Reason::NotHere,
                    detail: error.to_string(),
                });
                (None, rollout_config.invalid.value(), None)
            }
            None => (None, rollout_config.invalid.value(), None),
        };
        self.aborted = action.is_none();
        self.rows.push(Row {
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

    /// Score of the episode as it stands, with the events that are missing where it broke off.
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
        // The row that broke off is one of the events that are missing.
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

/// The most events that could still come: a step costs at least one of the budget, and the end is
/// an event too.
fn missing<W: World>(episode: &W) -> u32 {
    let task = W::origin(W::setup(episode)).task;
    let used = W::step_count(W::observation(episode));
    W::max_steps(task).saturating_sub(used) + 1
}
