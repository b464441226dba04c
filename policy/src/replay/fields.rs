//! The keys of a JSON object as they come, what may be wrong with them, and the row before anything is
//! checked.

use std::collections::BTreeSet;

use sentinel_env::WorldName;
use sentinel_env::rng::Streams;
use sentinel_env::text::abbreviate;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::SEED_MAX;

/// Longest piece of a file that an error repeats, in characters.
pub(super) const QUOTED_MAX: usize = 40;

/// Why a JSON object is not a replay row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// A key that must be there is missing or null.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// Another type where text must be.
    #[error("{field} is {found}: it must be text")]
    NotText {
        /// The key.
        field: &'static str,
        /// Its value.
        found: String,
    },
    /// Another type where true or false must be.
    #[error("{field} is {found}: it must be true or false")]
    NotFlag {
        /// The key.
        field: &'static str,
        /// Its value.
        found: String,
    },
    /// No such task.
    #[error("unknown task_type {found:?}: use {known}")]
    Task {
        /// The value.
        found: String,
        /// The tasks of the row's world.
        known: String,
    },
    /// No such world.
    #[error(
        "unknown world {found:?}: use {} (which a row without the key means){known}",
        WorldName::UNNAMED
    )]
    World {
        /// The value.
        found: String,
        /// The other worlds.
        known: String,
    },
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
        found: String,
        /// The world that is read.
        played: &'static str,
    },
    /// Not a seed.
    #[error("seed is {0}: seeds are integers from 0 to {SEED_MAX}")]
    Seed(String),
    /// Not a step of that task.
    #[error("step is {found}: steps of {task} are integers from 0 to {last}")]
    Step {
        /// The value.
        found: String,
        /// The row's task.
        task: &'static str,
        /// The last step before which that task can ask for an action.
        last: u32,
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
    /// Wraps a world's own error about something that is none of its actions.
    #[must_use]
    pub fn action(error: impl std::error::Error) -> Self {
        Self::Action(error.to_string())
    }
}

/// The keys of an object that were not read yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(Vec<(String, Value)>);

impl Fields {
    /// Takes the value of a key; `None` when it is missing or null.
    pub fn take(&mut self, field: &str) -> Option<Value> {
        let place = self.0.iter().position(|(key, _)| key == field)?;
        Some(self.0.swap_remove(place).1).filter(|value| !value.is_null())
    }

    /// Takes a text.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn text(&mut self, field: &'static str) -> Result<Option<String>, RowError> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(RowError::NotText {
                field,
                found: describe(&other),
            }),
        }
    }

    /// Returns a text without taking it; `None` when there is none.
    pub(super) fn peek_text(&self, field: &str) -> Option<String> {
        let (_, value) = self.0.iter().find(|(key, _)| key == field)?;
        value.as_str().map(str::to_owned)
    }

    /// Takes a text that must be there.
    ///
    /// # Errors
    /// If it is missing or has another type.
    pub fn required_text(&mut self, field: &'static str) -> Result<String, RowError> {
        self.text(field)?.ok_or(RowError::Missing(field))
    }

    /// Takes a word that is looked up among known ones. Of a longer text it is the beginning with an
    /// ellipsis, which no known word is, so that an error can repeat it.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn word(&mut self, field: &'static str) -> Result<Option<String>, RowError> {
        Ok(self.text(field)?.map(|text| quoted(&text)))
    }

    /// Takes a word that must be there.
    ///
    /// # Errors
    /// If it is missing or has another type.
    pub fn required_word(&mut self, field: &'static str) -> Result<String, RowError> {
        self.word(field)?.ok_or(RowError::Missing(field))
    }

    /// Takes `true` or `false`.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn flag(&mut self, field: &'static str) -> Result<Option<bool>, RowError> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(RowError::NotFlag {
                field,
                found: describe(&other),
            }),
        }
    }
}

/// The keys of a row that mean something. Others are passed over, however often they come.
const ROW: [&str; 15] = [
    "task_type",
    "seed",
    "step",
    ACTION,
    "scenario_id",
    "model_source",
    "world",
    "streams",
    "rules",
    "probabilities",
    "belief",
    "prompt",
    "completion",
    "repaired",
    "fallback",
];
/// The key of a row under which an object of its own stands.
const ACTION: &str = "action";

/// The keys of a row before anything is checked.
#[derive(Debug, Default)]
pub struct RawRow {
    /// All but the action.
    pub(super) fields: Fields,
    /// Those of the action.
    pub(super) action: Option<Fields>,
}

/// Reads rows and their actions with one piece of code, which the page loads.
struct Object {
    /// Whether it is a row.
    row: bool,
}

impl<'de> Visitor<'de> for Object {
    type Value = RawRow;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.row {
            "a row to be an object"
        } else {
            "action to be an object with action_type"
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawRow, A::Error> {
        let mut found = RawRow::default();
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if self.row && !ROW.contains(&key.as_str()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if keys.contains(&key) {
                let key = quoted(&key);
                return Err(A::Error::custom(format!("duplicate field `{key}`")));
            }
            if self.row && key == ACTION {
                found.action = map.next_value()?;
            } else {
                found.fields.0.push((key.clone(), map.next_value()?));
            }
            keys.insert(key);
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for RawRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Object { row: true })
    }
}

/// Takes an object; a list would otherwise pass for an object without keys.
impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = deserializer.deserialize_any(Object { row: false })?;
        Ok(found.fields)
    }
}

/// Describes a value that stands where something else should.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the text {:?}", quoted(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Returns the beginning of a text that may be as long as a file.
pub(super) fn quoted(text: &str) -> String {
    abbreviate(text, QUOTED_MAX)
}
