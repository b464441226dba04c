//! A line as it comes, and what may be wrong with it.

use sentinel_env::SLOTS;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{ActionError, ActionMessage, Task};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::{RecordedAction, ReplayRow, World};
use crate::SEED_MAX;

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
    /// No such task.
    #[error("unknown task_type {0:?}: use task1, task2 or task3")]
    Task(String),
    /// No such world.
    #[error("unknown world {0:?}: this build plays trust (which a row without the key means)")]
    World(String),
    /// No such stream mode.
    #[error(
        "unknown streams {0:?}: use reference (which a row without the key means) or independent"
    )]
    Streams(String),
    /// Not a seed.
    #[error("seed is {0}: seeds are integers from 0 to {SEED_MAX}")]
    Seed(String),
    /// Not a step of that task.
    #[error("step is {found}: steps of {task} are integers from 0 to {last}")]
    Step {
        /// What stands there.
        found: String,
        /// The row's task.
        task: Task,
        /// The last step before which that task can ask for an action.
        last: u8,
    },
    /// Not an action.
    #[error(transparent)]
    Action(#[from] ActionError),
    /// Not probabilities.
    #[error("{0}, each from 0 to 1")]
    Numbers(&'static str),
}

/// The keys of a row before anything is checked.
#[derive(Deserialize)]
pub(super) struct RawRow {
    task_type: Option<Value>,
    seed: Option<Value>,
    step: Option<Value>,
    #[serde(default, deserialize_with = "object")]
    action: Option<RawAction>,
    scenario_id: Option<Value>,
    model_source: Option<Value>,
    world: Option<Value>,
    streams: Option<Value>,
    probabilities: Option<Value>,
    belief: Option<Value>,
}

#[derive(Deserialize)]
struct RawAction {
    action_type: Option<Value>,
    specialist_id: Option<Value>,
    subtask_response: Option<Value>,
    reasoning: Option<Value>,
}

impl TryFrom<RawRow> for ReplayRow {
    type Error = RowError;

    fn try_from(raw: RawRow) -> Result<Self, RowError> {
        let task = text("task_type", raw.task_type)?;
        let task_type = Task::parse(&task).ok_or_else(|| RowError::Task(clip(&task)))?;
        Ok(Self {
            task_type,
            seed: seed(raw.seed)?,
            step: step(raw.step, task_type)?,
            action: action(raw.action)?,
            scenario_id: text("scenario_id", raw.scenario_id)?,
            model_source: text("model_source", raw.model_source)?,
            world: named("world", raw.world, World::parse, RowError::World)?.unwrap_or_default(),
            streams: named("streams", raw.streams, Streams::parse, RowError::Streams)?
                .unwrap_or(Streams::Reference),
            probabilities: raw
                .probabilities
                .map(probabilities)
                .transpose()?
                .map(Box::new),
            belief: raw.belief.map(belief).transpose()?.map(Box::new),
        })
    }
}

fn text(field: &'static str, value: Option<Value>) -> Result<String, RowError> {
    optional_text(field, value)?.ok_or(RowError::Missing(field))
}

fn optional_text(field: &'static str, value: Option<Value>) -> Result<Option<String>, RowError> {
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
    value: Option<Value>,
    parse: fn(&str) -> Option<T>,
    unknown: fn(String) -> RowError,
) -> Result<Option<T>, RowError> {
    let word = optional_text(field, value)?;
    word.map(|word| parse(&word).ok_or_else(|| unknown(clip(&word))))
        .transpose()
}

fn seed(value: Option<Value>) -> Result<u64, RowError> {
    let value = value.ok_or(RowError::Missing("seed"))?;
    let seed = value.as_u64().filter(|seed| *seed <= SEED_MAX);
    seed.ok_or_else(|| RowError::Seed(describe(&value)))
}

fn step(value: Option<Value>, task: Task) -> Result<u8, RowError> {
    let value = value.ok_or(RowError::Missing("step"))?;
    // An episode asks for an action only while its budget lasts.
    let last = task.base_budget() - 1;
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

fn action(raw: Option<RawAction>) -> Result<RecordedAction, RowError> {
    let raw = raw.ok_or(RowError::Missing("action"))?;
    let kind = text("action_type", raw.action_type)?;
    let specialist = optional_text("specialist_id", raw.specialist_id)?;
    let subtask_response = optional_text("subtask_response", raw.subtask_response)?;
    let message = ActionMessage {
        action_type: Some(clip(&kind)),
        specialist_id: specialist.as_deref().map(clip),
        subtask_response,
        ..ActionMessage::default()
    };
    Ok(RecordedAction {
        action: message.parse()?,
        subtask_response: message.subtask_response,
        reasoning: optional_text("reasoning", raw.reasoning)?,
    })
}

fn probabilities(value: Value) -> Result<[f64; 12], RowError> {
    let wrong = RowError::Numbers("probabilities must be a list of 12 numbers");
    fractions(&value).ok_or(wrong)
}

fn belief(value: Value) -> Result<[[f64; SLOTS]; SLOTS], RowError> {
    let wrong = RowError::Numbers("belief must be 5 lists of 5 numbers");
    let rows: Option<Vec<[f64; SLOTS]>> = value
        .as_array()
        .and_then(|rows| rows.iter().map(fractions).collect());
    rows.and_then(|rows| rows.try_into().ok()).ok_or(wrong)
}

/// Exactly `N` numbers in `[0, 1]`.
fn fractions<const N: usize>(value: &Value) -> Option<[f64; N]> {
    let list = value.as_array()?;
    let numbers: Option<Vec<f64>> = list
        .iter()
        .map(|v| v.as_f64().filter(|x| (0.0..=1.0).contains(x)))
        .collect();
    numbers?.try_into().ok()
}

/// What stands in a place where something else should.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the text {:?}", clip(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The beginning of a text that may be as long as a file.
fn clip(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Takes an object or null; a list would otherwise pass for an object without keys.
fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawAction>, D::Error> {
    struct Object;
    impl<'de> Visitor<'de> for Object {
        type Value = Option<RawAction>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("action to be an object with action_type")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            RawAction::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }
    deserializer.deserialize_any(Object)
}
