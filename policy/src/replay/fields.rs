//! The keys of a replay row as parsed from JSON, before validation, and the errors of validating
//! them.

use sentinel_env::WorldName;
use sentinel_env::rng::Streams;
use sentinel_env::strict_json::{Expected, Json, JsonFields, WrongType};
use sentinel_env::truncate::abbreviate;
use serde::de::{Deserialize, Deserializer, Error};

use crate::SEED_MAX;

/// Longest part of a file that an error message quotes, in characters.
pub(super) const QUOTED_MAX: usize = 40;

/// An error for a JSON object that is not a valid replay row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// A required key is missing or null.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The value should be text but has another type.
    #[error("{field} is {found}: it must be text")]
    NotText {
        /// Key of the value.
        field: &'static str,
        /// Description of the value that was found.
        found: String,
    },
    /// The value should be `true` or `false` but has another type.
    #[error("{field} is {found}: it must be true or false")]
    NotFlag {
        /// Key of the value.
        field: &'static str,
        /// Description of the value that was found.
        found: String,
    },
    /// The task does not exist in the row's world.
    #[error("unknown task_type {found:?}: use {known}")]
    Task {
        /// Task name that was found.
        found: String,
        /// Names of the tasks of the row's world.
        known: String,
    },
    /// The world is not registered, or the file is not read for it.
    #[error(
        "unknown world {found:?}: use {} (which a row without the key means){known}",
        WorldName::DEFAULT
    )]
    World {
        /// World name that was found.
        found: String,
        /// Names of the accepted worlds, without the default world.
        known: String,
    },
    /// The stream mode does not exist.
    #[error(
        "unknown streams {0:?}: use reference (which a row without the key means) or independent"
    )]
    Streams(String),
    /// The stream mode exists, but the row's world does not support it.
    #[error(
        "world {world} has no {} streams{}: use {known}",
        streams.name(),
        if *named { "" } else { ", which a row without the key means" }
    )]
    ForeignStreams {
        /// Stream mode of the row, given or by default.
        streams: Streams,
        /// `true` if the row has the key, `false` if the mode is the default.
        named: bool,
        /// Name of the row's world.
        world: &'static str,
        /// Names of the stream modes that the world supports.
        known: String,
    },
    /// The row belongs to another world than the one being read.
    #[error("the row is of world {found}, and world {played} is played")]
    OtherWorld {
        /// Name of the row's world.
        found: String,
        /// Name of the world being read.
        played: &'static str,
    },
    /// The value is not a seed.
    #[error("seed is {0}: seeds are integers from 0 to {SEED_MAX}")]
    Seed(String),
    /// The value is not a step of the row's task.
    #[error("step is {found}: steps of {task} are integers from 0 to {last}")]
    Step {
        /// Description of the value that was found.
        found: String,
        /// Name of the row's task.
        task: &'static str,
        /// Largest step at which an action of the task can be taken.
        last: u32,
    },
    /// The rules do not exist in the row's world.
    #[error("{0}")]
    Rules(String),
    /// The action is not valid in the row's world.
    #[error("{0}")]
    Action(String),
    /// The value is not a list of probabilities of the expected shape.
    #[error("{0}, each from 0 to 1")]
    Numbers(String),
}

impl RowError {
    /// Wraps a world's own error about an invalid action.
    #[must_use]
    pub fn invalid_action(error: impl std::error::Error) -> Self {
        Self::Action(error.to_string())
    }
}

impl From<WrongType> for RowError {
    fn from(wrong: WrongType) -> Self {
        let (field, found) = (wrong.field, describe_value(&wrong.found));
        match wrong.expected {
            Expected::Text => Self::NotText { field, found },
            Expected::Flag => Self::NotFlag { field, found },
        }
    }
}

/// The keys of an object that have not been read yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(JsonFields);

impl Fields {
    /// Removes a key and returns its value; `None` if it is missing or null.
    pub fn take(&mut self, field: &str) -> Option<Json> {
        self.0.take(field)
    }

    /// Removes a key and returns its text; `None` if it is missing or null.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn take_string(&mut self, field: &'static str) -> Result<Option<String>, RowError> {
        Ok(self.0.take_string(field)?)
    }

    /// Returns the text of a key without removing it; `None` if there is no text.
    pub(super) fn peek_string(&self, field: &str) -> Option<String> {
        self.0.get(field)?.as_str().map(str::to_owned)
    }

    /// Removes a required key and returns its text.
    ///
    /// # Errors
    /// If it is missing or has another type.
    pub fn take_required_string(&mut self, field: &'static str) -> Result<String, RowError> {
        self.take_string(field)?.ok_or(RowError::Missing(field))
    }

    /// Removes a key and returns its text for a lookup among known words.
    ///
    /// A text longer than the limit for quotes is abbreviated, so that an error can quote it; no
    /// known word is that long.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn take_word(&mut self, field: &'static str) -> Result<Option<String>, RowError> {
        Ok(self.take_string(field)?.map(|text| excerpt(&text)))
    }

    /// Removes a required key and returns its text for a lookup among known words, see
    /// [`Fields::take_word`].
    ///
    /// # Errors
    /// If it is missing or has another type.
    pub fn take_required_word(&mut self, field: &'static str) -> Result<String, RowError> {
        self.take_word(field)?.ok_or(RowError::Missing(field))
    }

    /// Removes a key and returns its value as `true` or `false`; `None` if it is missing or null.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn take_bool(&mut self, field: &'static str) -> Result<Option<bool>, RowError> {
        Ok(self.0.take_bool(field)?)
    }

    /// Converts a JSON object, which must not hold the same key twice.
    fn new<E: Error>(json: Json, expected: &str) -> Result<Self, E> {
        let fields = json.into_object(expected)?;
        match fields.first_duplicate() {
            None => Ok(Self(fields)),
            Some(key) => Err(E::custom(format!("duplicate field `{}`", excerpt(key)))),
        }
    }
}

/// The keys of a row that have a meaning. Other keys are ignored, even if they occur more than
/// once.
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
/// The key of a row whose value is itself an object.
const ACTION: &str = "action";

/// The keys of a row before validation.
#[derive(Debug, Default)]
pub struct RawRow {
    /// Every key except the action.
    pub(super) fields: Fields,
    /// Keys of the action object.
    pub(super) action: Option<Fields>,
}

impl<'de> Deserialize<'de> for RawRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = Json::deserialize_known(deserializer, &ROW)?;
        let mut fields = Fields::new(row, "a row to be an object")?;
        let expected = "action to be an object with action_type";
        let action = (fields.take(ACTION)).map(|action| Fields::new(action, expected));
        Ok(Self {
            fields,
            action: action.transpose()?,
        })
    }
}

/// Describes a value of an unexpected type for an error message.
pub(super) fn describe_value(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(on) => on.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => format!("the text {:?}", excerpt(text)),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}

/// Returns the beginning of a text that may be very long, for an error message.
pub(super) fn excerpt(text: &str) -> String {
    abbreviate(text, QUOTED_MAX)
}
