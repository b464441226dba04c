//! The keys of a JSON object as they come, what may be wrong with them, and the row before anything is
//! checked.

use sentinel_env::WorldName;
use sentinel_env::json::{self, Expected, Json, WrongType};
use sentinel_env::rng::Streams;
use sentinel_env::text::abbreviate;
use serde::de::{Deserialize, Deserializer, Error};

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
    #[error(
        "world {world} has no {} streams{}: use {known}",
        streams.name(),
        if *named { "" } else { ", which a row without the key means" }
    )]
    ForeignStreams {
        /// What the row says, or means without the key.
        streams: Streams,
        /// Whether the row has the key.
        named: bool,
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

impl From<WrongType> for RowError {
    fn from(wrong: WrongType) -> Self {
        let (field, found) = (wrong.field, describe(&wrong.found));
        match wrong.expected {
            Expected::Text => Self::NotText { field, found },
            Expected::Flag => Self::NotFlag { field, found },
        }
    }
}

/// The keys of an object that were not read yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(json::Fields);

impl Fields {
    /// Takes the value of a key; `None` when it is missing or null.
    pub fn take(&mut self, field: &str) -> Option<Json> {
        self.0.take(field)
    }

    /// Takes a text.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn text(&mut self, field: &'static str) -> Result<Option<String>, RowError> {
        Ok(self.0.text(field)?)
    }

    /// Returns a text without taking it; `None` when there is none.
    pub(super) fn peek_text(&self, field: &str) -> Option<String> {
        self.0.get(field)?.as_str().map(str::to_owned)
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
        Ok(self.0.flag(field)?)
    }

    /// Makes them of an object none of whose keys is there twice.
    fn new<E: Error>(json: Json, expected: &str) -> Result<Self, E> {
        let fields = json.into_object(expected)?;
        match fields.duplicate() {
            None => Ok(Self(fields)),
            Some(key) => Err(E::custom(format!("duplicate field `{}`", quoted(key)))),
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

/// Describes a value that stands where something else should.
pub(super) fn describe(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(on) => on.to_string(),
        Json::Number(number) => number.to_string(),
        Json::Text(text) => format!("the text {:?}", quoted(text)),
        Json::List(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}

/// Returns the beginning of a text that may be as long as a file.
pub(super) fn quoted(text: &str) -> String {
    abbreviate(text, QUOTED_MAX)
}
