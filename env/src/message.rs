//! The form of agents' messages, which is the same in all worlds: one JSON object, read from its text
//! so that no field is lost.
//!
//! Every interface (sessions, command line, server, Python) reads an action with
//! [`parse_message`] from the text that the client sent. A JSON map in between would keep one of two
//! equal keys, and the worlds' rules about duplicate fields would not hold (spec api §1.1).

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::strict_json::{Json, JsonFields, WrongType};
use crate::truncate::truncate_chars;

/// Maximum length, in characters, of a field name or a value that an error quotes.
const QUOTED_MAX: usize = 40;

/// The field that clients of OpenEnv add to every action.
const METADATA: &str = "metadata";

/// The reason why a text is not a message. The episode is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// The JSON value does not have the form of a message.
    #[error("{0}")]
    Form(String),
}

/// Parses the text of a message of a world.
///
/// # Errors
/// Returns an error if the text is not JSON or does not have the form of a message.
pub fn parse_message<M: DeserializeOwned>(text: &str) -> Result<M, ParseError> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Data => {
            let said = error.to_string();
            // The place that serde adds is the end of the text.
            let what = said
                .rsplit_once(" at line ")
                .map_or(&*said, |(what, _)| what);
            ParseError::Form(what.to_owned())
        }
        _ => ParseError::NotJson(error.to_string()),
    })
}

/// The reason why JSON does not have the form of a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// The value is not an object.
    #[error("a message is an object, not {0}")]
    NotAnObject(&'static str),
    /// The object has a field that no message has.
    #[error("unknown field {name:?}: {known}")]
    UnknownField {
        /// Name of the field, shortened.
        name: String,
        /// The fields that a message has, in words.
        known: &'static str,
    },
    /// A field has the wrong type.
    #[error("{field} should be {expected}, not {found}")]
    IllTyped {
        /// Name of the field.
        field: &'static str,
        /// The type that the field should have.
        expected: &'static str,
        /// The value that was found, as JSON, shortened.
        found: String,
    },
    /// A field occurs twice.
    #[error("{0} twice")]
    Twice(&'static str),
    /// The object has none of the fields that make it an action.
    #[error("a message needs {0}")]
    NoAction(&'static str),
}

impl FormError {
    /// Creates the error for an unknown field.
    pub(crate) fn unknown(name: &str, known: &'static str) -> Self {
        let name = truncate_chars(name, QUOTED_MAX).to_owned();
        Self::UnknownField { name, known }
    }
}

impl From<WrongType> for FormError {
    fn from(wrong: WrongType) -> Self {
        let found = wrong.found.to_string();
        Self::IllTyped {
            field: wrong.field,
            expected: wrong.expected.describe(),
            found: truncate_chars(&found, QUOTED_MAX).to_owned(),
        }
    }
}

/// Returns the fields of a message without an empty `metadata`, which belongs to the envelope of
/// OpenEnv's clients. One that is not empty is a field of the action like any other.
///
/// # Errors
/// Returns an error if the value is not an object, or has two empty `metadata`.
pub(crate) fn message_fields(json: Json) -> Result<JsonFields, FormError> {
    let Json::Object(mut fields) = json else {
        return Err(FormError::NotAnObject(json.type_name()));
    };
    let is_empty = |value: &Json| match value {
        Json::Null => true,
        Json::Object(fields) => fields.iter().len() == 0,
        _ => false,
    };
    let metadata = || fields.iter().filter(|(name, _)| *name == METADATA);
    if metadata().all(|(_, value)| is_empty(value)) {
        if metadata().count() > 1 {
            return Err(FormError::Twice(METADATA));
        }
        fields.take(METADATA);
    }
    Ok(fields)
}

/// Removes the first field of the name and returns its string.
///
/// # Errors
/// Returns an error if the field occurs twice or holds another type.
pub(crate) fn take_once(
    fields: &mut JsonFields,
    name: &'static str,
) -> Result<Option<String>, FormError> {
    let taken = fields.take_string(name);
    if fields.contains(name) {
        return Err(FormError::Twice(name));
    }
    Ok(taken?)
}
