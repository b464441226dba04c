//! An agent's message: a completion, or an action as a JSON object.

use serde::Deserialize;

use super::parse::{COMPLETION_MAX, FIELDS, Reading};
use crate::json::{Fields, Json, WrongType};
use crate::polyguard::model::action::Action;
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::step::StepError;
use crate::text::clip;

/// Longest name of a field that an error repeats, in characters.
const QUOTED_MAX: usize = 40;

/// An answer as it arrives.
///
/// `{"completion": "candidate_id=cand_03; rationale=…"}`, or the object itself that a completion
/// may be: `{"candidate_id": "cand_03", "rationale": "…"}`. Both may have a `session_id` besides.
/// What is said in an unreadable way is a wasted step, not an error.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Json")]
pub struct Message {
    /// When given, must be the session's id.
    pub(super) session_id: Option<String>,
    pub(super) said: Said,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// The text of a language model, or an object as the text that it is.
    Text(String),
    /// An action from code.
    Action(Action),
}

/// The reason why JSON is not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Not an object.
    #[error("a message is an object with completion or candidate_id, not {0}")]
    NotAnObject(&'static str),
    /// Neither of the two fields.
    #[error("a message needs completion or candidate_id")]
    NoAnswer,
    /// A field next to a completion.
    #[error("unknown field {0:?}: a message has completion and session_id, or is an action")]
    UnknownField(String),
    /// A field of another type.
    #[error("{0} should be a text, not {1}")]
    IllTyped(&'static str, &'static str),
    /// A field twice.
    #[error("{0} twice")]
    Twice(&'static str),
}

/// The reason why a message was refused. The episode is unchanged.
pub type MessageError = crate::protocol::MessageError<std::convert::Infallible, StepError>;

impl Message {
    /// Makes a completion.
    #[must_use]
    pub const fn completion(text: String) -> Self {
        Self {
            session_id: None,
            said: Said::Text(text),
        }
    }

    /// Returns the text, as much of it as decides what it says.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.said {
            Said::Text(text) => {
                let end = text.char_indices().nth(COMPLETION_MAX + 1);
                Some(end.map_or(text.as_str(), |(end, _)| &text[..end]))
            }
            Said::Action(_) => None,
        }
    }

    /// Returns what it says.
    #[must_use]
    pub fn read(&self, formulary: &Formulary) -> Reading {
        match &self.said {
            Said::Text(text) => Reading::of(text, formulary),
            Said::Action(action) => Reading {
                action: *action,
                detail: None,
            },
        }
    }
}

impl From<Action> for Message {
    fn from(action: Action) -> Self {
        Self {
            session_id: None,
            said: Said::Action(action),
        }
    }
}

impl TryFrom<Json> for Message {
    type Error = ShapeError;

    fn try_from(json: Json) -> Result<Self, ShapeError> {
        let Json::Object(mut fields) = json else {
            return Err(ShapeError::NotAnObject(json.what()));
        };
        let session_id = text(&mut fields, "session_id")?;
        let said = match text(&mut fields, "completion")? {
            Some(completion) => match fields.iter().next() {
                Some((name, _)) => return Err(unknown_field(name)),
                None => completion,
            },
            None if fields.contains("candidate_id") => {
                // Read like any completion, so that no rule can be got round this way.
                Json::Object(fields).to_string()
            }
            None => {
                return Err(match fields.iter().next() {
                    Some((name, _)) if !is_field(name) => unknown_field(name),
                    _ => ShapeError::NoAnswer,
                });
            }
        };
        Ok(Self {
            session_id,
            said: Said::Text(said),
        })
    }
}

fn unknown_field(name: &str) -> ShapeError {
    ShapeError::UnknownField(clip(name, QUOTED_MAX).to_owned())
}

fn is_field(name: &str) -> bool {
    FIELDS.contains(&name)
}

/// Takes a field that should be a text and there once.
fn text(fields: &mut Fields, name: &'static str) -> Result<Option<String>, ShapeError> {
    let taken = fields.text(name);
    if fields.contains(name) {
        return Err(ShapeError::Twice(name));
    }
    taken.map_err(|WrongType { found, .. }| ShapeError::IllTyped(name, found.what()))
}
