//! One line of a replay file, typed by its world.

use std::fmt::Debug;

use sentinel_env::json::Json;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::task::{TaskName, known};
use sentinel_env::{Origin, World, WorldName};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use serde_json::Value;

use super::fields::{Fields, RawRow, RowError, describe, quoted};
use super::{Diagnostic, EpisodeRows};
use crate::SEED_MAX;

/// A world whose actions can be written to a replay file and read back.
pub trait Recordable: World {
    /// Number of kinds of action that a policy weighs: the length of its probabilities.
    const ACTION_DIM: usize;
    /// Rows and classes of a policy's belief, where the world's policies have one.
    const BELIEF_SHAPE: Option<[usize; 2]> = None;
    /// The key of an action's free text, where its actions have one.
    const TEXT_KEY: Option<&'static str> = None;

    /// Returns the identifier of what the episode was drawn: tells a recording of another build or
    /// stream mode.
    fn scenario_id(&self) -> String;

    /// Returns the action that a replay takes where it has no row.
    fn fallback(observation: &Self::Observation) -> Self::Action;

    /// Returns the action that a file keeps in place of one that was taken at `observation`. It must
    /// have the same effect there. Worlds override it where actions have details that no file holds.
    fn to_recorded(_observation: &Self::Observation, action: Self::Action) -> Self::Action {
        action
    }

    /// Returns the keys of an action in a file, in their order.
    fn write_action(action: Self::Action) -> Vec<(&'static str, Value)>;

    /// Reads what [`Recordable::write_action`] wrote, and the text under [`Recordable::TEXT_KEY`] where an
    /// action needs one.
    ///
    /// # Errors
    /// Names what is no action of the world.
    fn read_action(fields: &mut Fields) -> Result<Self::Action, RowError>;

    /// Checks that a task has what an action names.
    ///
    /// # Errors
    /// Names what the task lacks.
    fn check_action(_action: Self::Action, _task: Self::Task) -> Result<(), RowError> {
        Ok(())
    }

    /// Returns the free text that stands beside an action of a policy that writes none.
    fn default_text(_action: Self::Action) -> Option<&'static str> {
        None
    }

    /// Checks prompts and completions of an episode's rows against the episode. Worlds that are played
    /// in text override it with [`check_transcripts`](crate::text::check_transcripts).
    fn check_transcripts(_rows: &EpisodeRows<Self>, _setup: &Self::Setup) -> Vec<Diagnostic> {
        Vec::new()
    }
}

/// What was done at one step of an episode, and by whom.
///
/// Read with `serde_json::from_str`; the error says which field is wrong and what it may be. Unknown
/// keys are passed over, so that files of later versions load.
pub struct ReplayRow<W: World> {
    /// The episode. In a file, the world is left out for the first world of the registry, streams and
    /// rules for the reference's.
    pub origin: Origin<W>,
    /// Steps of the budget used before the action, see [`sentinel_env::Environment::step_count`].
    pub step: u32,
    /// The action.
    pub action: RecordedAction<W>,
    /// The scenario that was played; tells a recording of another build or stream mode.
    pub scenario_id: String,
    /// Who acted.
    pub model_source: String,
    /// Probability of each kind of action, from a learned policy.
    pub probabilities: Option<Vec<f64>>,
    /// Posterior over what is hidden, one row per hidden variable, from a learned policy.
    pub belief: Option<Vec<Vec<f64>>>,
    /// Prompt and completion, from a language model.
    pub transcript: Option<Box<LmTranscript>>,
}

/// A typed action with the texts that came with it.
pub struct RecordedAction<W: World> {
    /// What was done.
    pub action: W::Action,
    /// The action's own text, under [`Recordable::TEXT_KEY`].
    pub text: Option<String>,
    /// Why; free text.
    pub reasoning: Option<String>,
}

/// What a language model was prompted with and generated. In a file these are keys of the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LmTranscript {
    /// The prompt.
    pub prompt: Option<String>,
    /// The completion, as generated.
    pub completion: Option<String>,
    /// Whether text around the action was left out to read it.
    pub repaired: bool,
    /// Whether the completion was no action, and the action is [`Recordable::fallback`]'s.
    pub fallback: bool,
}

impl<W: Recordable> RecordedAction<W> {
    /// Creates the record of an action that was taken at `observation`, without reasoning and with
    /// its world's default text.
    #[must_use]
    pub fn new(observation: &W::Observation, action: W::Action) -> Self {
        let action = W::to_recorded(observation, action);
        Self {
            action,
            text: W::default_text(action).map(str::to_owned),
            reasoning: None,
        }
    }
}

// Derives would ask the same of `W`.
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

impl<W: Recordable> Serialize for RecordedAction<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in W::write_action(self.action) {
            map.serialize_entry(key, &value)?;
        }
        if let Some(key) = W::TEXT_KEY {
            map.serialize_entry(key, &self.text)?;
        }
        map.serialize_entry("reasoning", &self.reasoning)?;
        map.end()
    }
}

impl<W: Recordable> Serialize for ReplayRow<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let origin = &self.origin;
        let mut s = serializer.serialize_struct("ReplayRow", 15)?;
        s.serialize_field("task_type", origin.task.name())?;
        s.serialize_field("seed", &origin.seed)?;
        s.serialize_field("step", &self.step)?;
        s.serialize_field("action", &self.action)?;
        s.serialize_field("scenario_id", &self.scenario_id)?;
        s.serialize_field("model_source", &self.model_source)?;
        if W::NAME != WorldName::UNNAMED.name() {
            s.serialize_field("world", W::NAME)?;
        }
        if origin.streams != Streams::Reference {
            s.serialize_field("streams", &origin.streams)?;
        }
        if origin.rules != Rules::REFERENCE {
            s.serialize_field("rules", &origin.rules)?;
        }
        if let Some(probabilities) = &self.probabilities {
            s.serialize_field("probabilities", probabilities)?;
        }
        if let Some(belief) = &self.belief {
            s.serialize_field("belief", belief)?;
        }
        if let Some(transcript) = &self.transcript {
            if let Some(prompt) = &transcript.prompt {
                s.serialize_field("prompt", prompt)?;
            }
            if let Some(completion) = &transcript.completion {
                s.serialize_field("completion", completion)?;
            }
            let flags = [
                ("repaired", transcript.repaired),
                ("fallback", transcript.fallback),
            ];
            for (name, on) in flags {
                if on {
                    s.serialize_field(name, &on)?;
                }
            }
        }
        s.end()
    }
}

impl<'de, W: Recordable> serde::Deserialize<'de> for ReplayRow<W> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawRow::deserialize(deserializer)?;
        Self::try_from(raw).map_err(serde::de::Error::custom)
    }
}

impl RawRow {
    /// Takes the name of the row's world.
    pub(super) fn take_world(&mut self) -> Result<String, RowError> {
        let named = self.fields.text("world")?;
        Ok(named.unwrap_or_else(|| WorldName::UNNAMED.name().to_owned()))
    }
}

impl<W: Recordable> TryFrom<RawRow> for ReplayRow<W> {
    type Error = RowError;

    fn try_from(mut raw: RawRow) -> Result<Self, RowError> {
        let task = raw.fields.required_text("task_type")?;
        let world = raw.take_world()?;
        if world != W::NAME {
            let (found, played) = (quoted(&world), W::NAME);
            return Err(RowError::OtherWorld { found, played });
        }
        Self::read(raw, &task)
    }
}

impl<W: Recordable> ReplayRow<W> {
    /// Reads a row whose world is known.
    pub(super) fn read(raw: RawRow, task: &str) -> Result<Self, RowError> {
        let RawRow { mut fields, action } = raw;
        let transcript = transcript(&mut fields)?;
        let task = W::Task::parse(task).ok_or_else(|| RowError::Task {
            found: quoted(task),
            known: known::<W::Task>(" or "),
        })?;
        let seed = seed(fields.take("seed"))?;
        let last = W::max_steps(task) - 1;
        let step = step(fields.take("step"), task.name(), last)?;
        let action = recorded::<W>(action.ok_or(RowError::Missing("action"))?, task)?;
        Ok(Self {
            step,
            action,
            scenario_id: fields.required_text("scenario_id")?,
            model_source: fields.required_text("model_source")?,
            origin: Origin {
                task,
                seed,
                streams: streams::<W>(&mut fields)?,
                rules: rules::<W>(&mut fields)?,
            },
            probabilities: fields
                .take("probabilities")
                .map(|value| probabilities(&value, W::ACTION_DIM))
                .transpose()?,
            belief: fields
                .take("belief")
                .map(|value| belief::<W>(&value))
                .transpose()?,
            transcript: transcript.map(Box::new),
        })
    }
}

/// Takes prompt and completion; `None` where the row has neither.
fn transcript(fields: &mut Fields) -> Result<Option<LmTranscript>, RowError> {
    let transcript = LmTranscript {
        prompt: fields.text("prompt")?,
        completion: fields.text("completion")?,
        repaired: fields.flag("repaired")?.unwrap_or(false),
        fallback: fields.flag("fallback")?.unwrap_or(false),
    };
    Ok(Some(transcript).filter(|transcript| *transcript != LmTranscript::default()))
}

/// Takes a stream mode that the world supports; without the key the reference's.
fn streams<W: World>(fields: &mut Fields) -> Result<Streams, RowError> {
    let word = fields.text("streams")?;
    let streams = match &word {
        None => Streams::Reference,
        Some(word) => Streams::parse(word).ok_or_else(|| RowError::Streams(quoted(word)))?,
    };
    if W::STREAMS.contains(&streams) {
        return Ok(streams);
    }
    let known: Vec<&str> = W::STREAMS.iter().map(|mode| mode.name()).collect();
    Err(RowError::ForeignStreams {
        streams,
        named: word.is_some(),
        world: W::NAME,
        known: known.join(" or "),
    })
}

/// Takes rules by name; without the key the reference's.
fn rules<W: World>(fields: &mut Fields) -> Result<Rules<W::Change>, RowError> {
    let Some(text) = fields.text("rules")? else {
        return Ok(Rules::REFERENCE);
    };
    Rules::parse(&text).map_err(|e| RowError::Rules(e.to_string()))
}

fn recorded<W: Recordable>(
    mut fields: Fields,
    task: W::Task,
) -> Result<RecordedAction<W>, RowError> {
    let text = W::TEXT_KEY.and_then(|key| fields.peek_text(key));
    let action = W::read_action(&mut fields)?;
    W::check_action(action, task)?;
    Ok(RecordedAction {
        action,
        text,
        reasoning: fields.text("reasoning")?,
    })
}

fn seed(value: Option<Json>) -> Result<u64, RowError> {
    let value = value.ok_or(RowError::Missing("seed"))?;
    let seed = value.as_u64().filter(|seed| *seed <= SEED_MAX);
    seed.ok_or_else(|| RowError::Seed(describe(&value)))
}

/// An episode asks for an action only while its budget lasts: up to `last`.
fn step(value: Option<Json>, task: &'static str, last: u32) -> Result<u32, RowError> {
    let value = value.ok_or(RowError::Missing("step"))?;
    let step = value.as_u64().and_then(|step| u32::try_from(step).ok());
    step.filter(|step| *step <= last)
        .ok_or_else(|| RowError::Step {
            found: describe(&value),
            task,
            last,
        })
}

fn probabilities(value: &Json, count: usize) -> Result<Vec<f64>, RowError> {
    let numbers = numbers(value).filter(|numbers| numbers.len() == count);
    let wrong = || RowError::Numbers(format!("probabilities must be a list of {count} numbers"));
    numbers.ok_or_else(wrong)
}

fn belief<W: Recordable>(value: &Json) -> Result<Vec<Vec<f64>>, RowError> {
    let Some([count, classes]) = W::BELIEF_SHAPE else {
        let none = format!("world {} has no belief: leave out the numbers", W::NAME);
        return Err(RowError::Numbers(none));
    };
    let row = |row: &Json| numbers(row).filter(|row| row.len() == classes);
    let rows: Option<Vec<Vec<f64>>> = value
        .as_list()
        .and_then(|rows| rows.iter().map(row).collect());
    let wrong = || {
        let shape = format!("belief must be {count} lists of {classes} numbers");
        RowError::Numbers(shape)
    };
    rows.filter(|rows| rows.len() == count).ok_or_else(wrong)
}

/// Returns a list of numbers in `[0, 1]`.
fn numbers(value: &Json) -> Option<Vec<f64>> {
    let list = value.as_list()?.iter();
    list.map(|v| v.as_f64().filter(|x| (0.0..=1.0).contains(x)))
        .collect()
}
