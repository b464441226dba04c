//! Why a completion is no action.

use sentinel_env::text::abbreviate;

/// Longest piece of a completion that is repeated, in characters.
const QUOTED: usize = 40;

/// What is wrong with a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Nothing but white space.
    Empty,
    /// More than [`super::COMPLETION_BYTES`].
    TooLong,
    /// No JSON: also `NaN`, and an object that is not closed.
    NotJson,
    /// JSON, but no object.
    NotAnObject,
    /// A code fence around it.
    CodeFence,
    /// Other text around the object.
    TextAround,
    /// More than one object.
    SeveralObjects,
    /// A field twice.
    DuplicateField,
    /// A field that no action has.
    UnknownField,
    /// A field that this action does not use.
    UnusedField,
    /// A field that this action needs.
    MissingField,
    /// A field that holds something else than it should.
    WrongType,
    /// A word that is no action.
    UnknownAction,
    /// A name that nothing has: `S7`, `JOB-1`.
    UnknownName,
    /// A name of something that this task lacks.
    NotHere,
    /// The world's own reader refused it, under this word.
    Refused(&'static str),
}

impl Reason {
    /// The word under which it is counted.
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

/// A completion that is no action, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", reason.name())]
pub struct Unreadable {
    /// The kind of fault, for counts.
    pub reason: Reason,
    /// The fault, for a person.
    pub detail: String,
}

impl Unreadable {
    /// A fault of this kind.
    #[must_use]
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }

    /// A word that is no action.
    #[must_use]
    pub fn unknown_action(word: &str) -> Self {
        let detail = format!("there is no action {:?}", clip(word));
        Self::new(Reason::UnknownAction, detail)
    }

    /// A field that must be there and is not.
    #[must_use]
    pub fn missing(field: &str) -> Self {
        Self::new(Reason::MissingField, format!("{field} is missing"))
    }
}

/// Returns the beginning of a text that may be as long as a completion.
pub(super) fn clip(text: &str) -> String {
    abbreviate(text, QUOTED)
}
