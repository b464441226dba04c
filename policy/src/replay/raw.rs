//! A line as it comes, and what may be wrong with it.

use sentinel_env::rng::Streams;
use sentinel_env::rules::{RuleBits, Rules};
use sentinel_env::task::{TaskName, known};
use sentinel_env::{SLOTS, World};
use serde_json::Value;

use super::fields::RawRow;
use super::{Fields, RecordedAction, ReplayRow, Spoken};
use crate::{Playable, SEED_MAX, WorldName, in_world};

/// Longest piece of a file that an error repeats, in characters.
const QUOTED_MAX: usize = 40;

/// Why a JSON object is not a replay row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// A key that must be there is not, or is null.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// Something else where text must be.
    #[error("{field} is {found}: it must be text")]
    NotText {
        /// The key.
        field: &'static str,
        /// What stands there.
        found: String,
    },
    /// Something else where true or false must be.
    #[error("{field} is {found}: it must be true or false")]
    NotFlag {
        /// The key.
        field: &'static str,
        /// What stands there.
        found: String,
    },
    /// No such task.
    #[error("unknown task_type {found:?}: use {known}")]
    Task {
        /// What stands there.
        found: String,
        /// The tasks of the row's world.
        known: String,
    },
    /// No such world.
    #[error(
        "unknown world {0:?}: use trust (which a row without the key means), cluster or polyguard"
    )]
    World(String),
    /// No such stream mode.
    #[error(
        "unknown streams {0:?}: use reference (which a row without the key means) or independent"
    )]
    Streams(String),
    /// Not a stream mode of that world.
    #[error("world {world} has no {} streams: use {known}", streams.name())]
    ForeignStreams {
        /// What the row says, or means without the key.
        streams: Streams,
        /// The row's world.
        world: &'static str,
        /// What the world has.
        known: String,
    },
    /// A row of another world than the one that is read.
    #[error("the row is of world {found}, and world {played} is played")]
    OtherWorld {
        /// The row's world.
        found: &'static str,
        /// The world that is read.
        played: &'static str,
    },
    /// Not a seed.
    #[error("seed is {0}: seeds are integers from 0 to {SEED_MAX}")]
    Seed(String),
    /// Not a step of that task.
    #[error("step is {found}: steps of {task} are integers from 0 to {last}")]
    Step {
        /// What stands there.
        found: String,
        /// The row's task.
        task: &'static str,
        /// The last step before which that task can ask for an action.
        last: u8,
    },
    /// No such rules.
    #[error("{0}")]
    Rules(String),
    /// Not an action.
    #[error("{0}")]
    Action(String),
    /// Not probabilities.
    #[error("{0}, each from 0 to 1")]
    Numbers(String),
}

impl RowError {
    /// What a world says of something that is none of its actions.
    #[must_use]
    pub fn action(error: impl std::error::Error) -> Self {
        Self::Action(error.to_string())
    }
}

impl TryFrom<RawRow> for ReplayRow {
    type Error = RowError;

    fn try_from(raw: RawRow) -> Result<Self, RowError> {
        of_any(raw)
    }
}

/// Makes a row of the keys of a line.
pub(super) type Reader = fn(RawRow) -> Result<ReplayRow, RowError>;

/// A row of any world.
pub(super) fn of_any(mut raw: RawRow) -> Result<ReplayRow, RowError> {
    let (task, world) = raw.place()?;
    in_world!(world, W => of_world::<W>(raw, &task))
}

/// A row of one world; one of another is named as such. A program that plays one world needs the code of no other
/// for this.
pub(super) fn of_one<W: Playable>(mut raw: RawRow) -> Result<ReplayRow, RowError> {
    let (task, world) = raw.place()?;
    if world != W::WORLD {
        return Err(RowError::OtherWorld {
            found: world.name(),
            played: W::NAME,
        });
    }
    of_world::<W>(raw, &task)
}

impl RawRow {
    /// The word for the task, and the world.
    fn place(&mut self) -> Result<(String, WorldName), RowError> {
        let task = text("task_type", &mut self.fields)?;
        let world = named("world", &mut self.fields, WorldName::parse, RowError::World)?;
        Ok((task, world.unwrap_or_default()))
    }
}

/// The row of a world that is known.
fn of_world<W: Playable>(raw: RawRow, task: &str) -> Result<ReplayRow, RowError> {
    let RawRow { mut fields, action } = raw;
    let said = spoken(&mut fields)?;
    let task = W::Task::parse(task).ok_or_else(|| RowError::Task {
        found: clip(task),
        known: known::<W::Task>(" or "),
    })?;
    Ok(ReplayRow {
        task_type: task.bits(),
        seed: seed(fields.take("seed"))?,
        step: step(fields.take("step"), task.name(), W::max_steps(task) - 1)?,
        action: recorded::<W>(action.ok_or(RowError::Missing("action"))?, task)?,
        scenario_id: text("scenario_id", &mut fields)?,
        model_source: text("model_source", &mut fields)?,
        world: W::WORLD,
        streams: streams::<W>(&mut fields)?,
        rules: rule_bits::<W>(&mut fields)?,
        probabilities: fields
            .take("probabilities")
            .map(|value| probabilities(&value, W::KINDS))
            .transpose()?,
        belief: fields.take("belief").map(belief).transpose()?.map(Box::new),
        text: said.map(Box::new),
    })
}

/// What was asked and said; none where the row says nothing of it.
fn spoken(fields: &mut Fields) -> Result<Option<Spoken>, RowError> {
    let spoken = Spoken {
        prompt: fields.text("prompt")?,
        completion: fields.text("completion")?,
        repaired: fields.flag("repaired")?.unwrap_or(false),
        fallback: fields.flag("fallback")?.unwrap_or(false),
    };
    Ok(Some(spoken).filter(|spoken| *spoken != Spoken::default()))
}

/// A stream mode that the world knows; without the key the reference's.
fn streams<W: World>(fields: &mut Fields) -> Result<Streams, RowError> {
    let named = named("streams", fields, Streams::parse, RowError::Streams)?;
    let streams = named.unwrap_or(Streams::Reference);
    if W::STREAMS.contains(&streams) {
        return Ok(streams);
    }
    let known: Vec<&str> = W::STREAMS.iter().map(|mode| mode.name()).collect();
    Err(RowError::ForeignStreams {
        streams,
        world: W::NAME,
        known: known.join(" or "),
    })
}

/// Rules as a row names them; without the key the reference's.
fn rule_bits<W: World>(fields: &mut Fields) -> Result<RuleBits, RowError> {
    let Some(text) = fields.text("rules")? else {
        return Ok(RuleBits::default());
    };
    let rules = Rules::<W::Change>::parse(&clip(&text));
    rules
        .map(Rules::bits)
        .map_err(|e| RowError::Rules(e.to_string()))
}

fn recorded<W: Playable>(mut fields: Fields, task: W::Task) -> Result<RecordedAction, RowError> {
    let (action, subtask_response) = W::read(&mut fields, task)?;
    Ok(RecordedAction {
        action: W::widen(action),
        subtask_response,
        reasoning: fields.text("reasoning")?,
    })
}

fn text(field: &'static str, fields: &mut Fields) -> Result<String, RowError> {
    fields.text(field)?.ok_or(RowError::Missing(field))
}

pub(super) fn optional_text(
    field: &'static str,
    value: Option<Value>,
) -> Result<Option<String>, RowError> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(RowError::NotText {
            field,
            found: describe(&other),
        }),
    }
}

/// One of a few words, or nothing.
fn named<T>(
    field: &'static str,
    fields: &mut Fields,
    parse: fn(&str) -> Option<T>,
    unknown: fn(String) -> RowError,
) -> Result<Option<T>, RowError> {
    let word = fields.text(field)?;
    word.map(|word| parse(&word).ok_or_else(|| unknown(clip(&word))))
        .transpose()
}

fn seed(value: Option<Value>) -> Result<u64, RowError> {
    let value = value.ok_or(RowError::Missing("seed"))?;
    let seed = value.as_u64().filter(|seed| *seed <= SEED_MAX);
    seed.ok_or_else(|| RowError::Seed(describe(&value)))
}

/// An episode asks for an action only while its budget lasts: up to `last`.
fn step(value: Option<Value>, task: &'static str, last: u8) -> Result<u8, RowError> {
    let value = value.ok_or(RowError::Missing("step"))?;
    let step = value
        .as_u64()
        .and_then(|step| u8::try_from(step).ok())
        .filter(|s| *s <= last);
    step.ok_or_else(|| RowError::Step {
        found: describe(&value),
        task,
        last,
    })
}

fn probabilities(value: &Value, kinds: usize) -> Result<Box<[f64]>, RowError> {
    let numbers = numbers(value).filter(|numbers| numbers.len() == kinds);
    let wrong = || RowError::Numbers(format!("probabilities must be a list of {kinds} numbers"));
    numbers.map(Vec::into_boxed_slice).ok_or_else(wrong)
}

fn belief(value: Value) -> Result<[[f64; SLOTS]; SLOTS], RowError> {
    let five = |row: &Value| numbers(row)?.try_into().ok();
    let rows: Option<Vec<[f64; SLOTS]>> = value
        .as_array()
        .and_then(|rows| rows.iter().map(five).collect());
    let wrong = || RowError::Numbers("belief must be 5 lists of 5 numbers".to_owned());
    rows.and_then(|rows| rows.try_into().ok()).ok_or_else(wrong)
}

/// A list of numbers in `[0, 1]`.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    let list = value.as_array()?.iter();
    list.map(|v| v.as_f64().filter(|x| (0.0..=1.0).contains(x)))
        .collect()
}

/// What stands in a place where something else should.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the text {:?}", clip(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The beginning of a text that may be as long as a file.
pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
