//! Playing many episodes in parallel.
//!
//! [`TextEpisode`] defines the effect of a completion, and the rewards of a sample that an invalid
//! one aborts.

use sentinel_base::{Progress, arg_parsers};
pub use sentinel_policy::text::RolloutConfig;
use sentinel_policy::text::{
    InvalidReward, ParseError, ParsedAction, ParserStrictness, PromptState, PromptStyle,
    TextEpisode, TextWorld,
};
use serde::{Deserialize, Serialize};

use super::text_agent::{EpisodeSlot, RolloutError, TextAgent, run_batched};
use sentinel_policy::nn::NetworkWorld;

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
}

/// Plays episodes from `starts` to their ends.
///
/// # Errors
/// Returns an error if the generator does not complete every prompt.
pub fn rollout<W: TextWorld + NetworkWorld>(
    starts: Vec<PromptState<W>>,
    rollout_config: RolloutConfig,
    generator: &mut dyn TextAgent<W>,
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

impl<W: TextWorld + NetworkWorld> EpisodeSlot<W> for Playing<W> {
    fn next_prompt(&mut self, style: PromptStyle) -> Option<String> {
        (!self.sample.is_over()).then(|| self.sample.now().prompt(style))
    }

    fn prompt_state(&self) -> &PromptState<W> {
        self.sample.now()
    }

    fn apply_completion(&mut self, prompt: String, said: String) -> Result<bool, RolloutError> {
        self.sample.take(self.rollout_config, prompt, said);
        Ok(self.sample.is_over())
    }
}

/// A sample that is being played.
pub(super) struct Sample<W: TextWorld> {
    start: PromptState<W>,
    episode: TextEpisode<W>,
    pub(super) rows: Vec<CompletionRow<W>>,
}

impl<W: TextWorld> Sample<W> {
    pub(super) fn new(start: PromptState<W>) -> Self {
        Self {
            episode: TextEpisode::new(start.clone()),
            start,
            rows: Vec::new(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.episode.is_over()
    }

    /// Returns the current state.
    pub(super) const fn now(&self) -> &PromptState<W> {
        self.episode.state()
    }

    /// Applies a completion and appends its row; does nothing after the end.
    pub(super) fn take(
        &mut self,
        rollout_config: RolloutConfig,
        prompt: String,
        completion: String,
    ) {
        let step = W::step_count(self.now().observation());
        let Some(taken) = self.episode.step(rollout_config, &completion) else {
            return;
        };
        self.rows.push(CompletionRow {
            step,
            prompt,
            completion,
            parsed: taken.parsed,
            action: taken.action,
            reward: taken.reward,
            terminal: taken.terminal,
            reward_to_go: 0.0,
        });
    }

    /// Returns the score of the episode so far; an aborted one includes the missing events.
    pub(super) fn score(&self, rollout_config: RolloutConfig) -> f64 {
        self.episode.score(rollout_config)
    }

    pub(super) fn finish(mut self, rollout_config: RolloutConfig) -> Trajectory<W> {
        let score = self.score(rollout_config);
        let aborted = self.episode.is_aborted();
        // The row that aborted the sample is one of the missing events.
        let after = if aborted {
            self.episode.missing_events() - 1
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
            ending: if aborted {
                Ending::Aborted
            } else {
                Ending::Done
            },
            score,
        }
    }
}

#[cfg(test)]
mod tests {
    use sentinel_base::options_file::with_current_names;
    use serde_json::{Map, Value};

    use super::PromptArgs;

    #[test]
    fn option_is_found_by_its_command_line_name() {
        let options = |name: &str| Map::from_iter([(name.to_owned(), Value::from("repair"))]);
        for name in ["parser", "reader"] {
            let found = with_current_names::<PromptArgs>(options(name));
            assert_eq!(found, Ok(options("reader")));
        }
    }
}
