//! Errors for completions that are not a valid action.

use sentinel_env::truncate::abbreviate;

/// Longest part of a completion that an error message quotes, in characters.
const QUOTED: usize = 40;

/// The kind of error in a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseErrorKind {
    /// The completion holds nothing but white space.
    Empty,
    /// The completion has more than [`super::COMPLETION_BYTES`] bytes.
    TooLong,
    /// The completion is not JSON. This includes `NaN` and an object that is not closed.
    NotJson,
    /// The completion is valid JSON but not an object.
    NotAnObject,
    /// A code fence surrounds the object.
    CodeFence,
    /// Other text precedes or follows the object.
    TextAround,
    /// The completion holds more than one object.
    SeveralObjects,
    /// A field occurs more than once.
    DuplicateField,
    /// The object has a field that no action of the world has.
    UnknownField,
    /// The object has a field that this action does not use.
    UnusedField,
    /// A field that this action requires is missing.
    MissingField,
    /// A field has a value of the wrong type.
    WrongType,
    /// The action name does not exist in this world.
    UnknownAction,
    /// A name such as `S7` or `JOB-1` that does not exist in this world.
    UnknownName,
    /// A name that exists in this world, but not in this task.
    NotHere,
    /// The world's own parser refused the completion. Holds the word for the counts.
    Refused(&'static str),
}

impl ParseErrorKind {
    /// Returns the word under which the error is counted.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong => "too_long",
            Self::NotJson => "not_json",
            Self::NotAnObject => "not_an_object",
            Self::CodeFence => "code_fence",
            Self::TextAround => "text_around",
            Self::SeveralObjects => "several_objects",
            Self::DuplicateField => "duplicate_field",
            Self::UnknownField => "unknown_field",
            Self::UnusedField => "unused_field",
            Self::MissingField => "missing_field",
            Self::WrongType => "wrong_type",
            Self::UnknownAction => "unknown_action",
            Self::UnknownName => "unknown_name",
            Self::NotHere => "not_here",
            Self::Refused(word) => word,
        }
    }
}

/// An error for a completion that is not a valid action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", reason.name())]
pub struct ParseError {
    /// The kind of error, for counts.
    pub reason: ParseErrorKind,
    /// Description of the error for human readers.
    pub detail: String,
}

impl ParseError {
    /// Creates an error from its kind and description.
    #[must_use]
    pub fn new(reason: ParseErrorKind, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }

    /// Creates the error for an action name that does not exist.
    #[must_use]
    pub fn unknown_action(word: &str) -> Self {
        let detail = format!("there is no action {:?}", excerpt(word));
        Self::new(ParseErrorKind::UnknownAction, detail)
    }

    /// Creates the error for a required field that is missing.
    #[must_use]
    pub fn missing(field: &str) -> Self {
        Self::new(ParseErrorKind::MissingField, format!("{field} is missing"))
    }
}

/// Returns the beginning of a text that may be as long as a completion, for an error message.
pub(super) fn excerpt(text: &str) -> String {
    abbreviate(text, QUOTED)
}
