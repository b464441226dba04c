//! An agent's message: a completion, or an action as a JSON object.

use serde::Deserialize;

use super::parse::{ANSWER_FIELDS, COMPLETION_MAX, ParsedCompletion};
use crate::polyguard::model::action::Action;
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::step::StepError;
use crate::strict_json::{Json, JsonFields, WrongType};
use crate::truncate::truncate_chars;

/// Maximum length, in characters, of a field name that an error quotes.
const QUOTED_MAX: usize = 40;

/// An answer as it arrives in JSON.
///
/// It is either `{"completion": "candidate_id=cand_03; rationale=…"}`, or the JSON object that a
/// completion may consist of: `{"candidate_id": "cand_03", "rationale": "…"}`. Both may also have a
/// `session_id`. An unreadable answer is a wasted step, not an error.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Json")]
pub struct Message {
    /// The session's id, if given.
    pub(super) session_id: Option<String>,
    pub(super) said: MessageContent,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MessageContent {
    /// The completion of a language model, or a JSON object in its text form.
    Text(String),
    /// An action from code.
    Action(Action),
}

/// The reason why JSON is not a valid message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The JSON value is not an object.
    #[error("a message is an object with completion or candidate_id, not {0}")]
    NotAnObject(&'static str),
    /// The object has neither `completion` nor `candidate_id`.
    #[error("a message needs completion or candidate_id")]
    NoAnswer,
    /// The object has an unknown field, or another field beside a completion.
    #[error("unknown field {0:?}: a message has completion and session_id, or is an action")]
    UnknownField(String),
    /// The field has the wrong type.
    #[error("{0} should be a text, not {1}")]
    IllTyped(&'static str, &'static str),
    /// The field occurs twice.
    #[error("{0} twice")]
    Twice(&'static str),
}

/// The reason why a message was refused. The episode is unchanged.
pub type MessageError = crate::protocol::MessageError<std::convert::Infallible, StepError>;

impl Message {
    /// Creates a message from a completion.
    #[must_use]
    pub const fn completion(text: String) -> Self {
        Self {
            session_id: None,
            said: MessageContent::Text(text),
        }
    }

    /// Returns the text, truncated to the length that decides how it is parsed.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.said {
            MessageContent::Text(text) => {
                let end = text.char_indices().nth(COMPLETION_MAX + 1);
                Some(end.map_or(text.as_str(), |(end, _)| &text[..end]))
            }
            MessageContent::Action(_) => None,
        }
    }

    /// Parses the message into an action.
    #[must_use]
    pub fn parse(&self, formulary: &Formulary) -> ParsedCompletion {
        match &self.said {
            MessageContent::Text(text) => ParsedCompletion::parse(text, formulary),
            MessageContent::Action(action) => ParsedCompletion {
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
            said: MessageContent::Action(action),
        }
    }
}

impl TryFrom<Json> for Message {
    type Error = ShapeError;

    fn try_from(json: Json) -> Result<Self, ShapeError> {
        let Json::Object(mut fields) = json else {
            return Err(ShapeError::NotAnObject(json.type_name()));
        };
        let session_id = text(&mut fields, "session_id")?;
        let said = match text(&mut fields, "completion")? {
            Some(completion) => match fields.iter().next() {
                Some((name, _)) => return Err(unknown_field(name)),
                None => completion,
            },
            None if fields.contains("candidate_id") => {
                // Parsed like any completion, so that no rule can be bypassed this way.
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
            said: MessageContent::Text(said),
        })
    }
}

fn unknown_field(name: &str) -> ShapeError {
    ShapeError::UnknownField(truncate_chars(name, QUOTED_MAX).to_owned())
}

fn is_field(name: &str) -> bool {
    ANSWER_FIELDS.contains(&name)
}

/// Removes a field that must be a string and occur only once.
fn text(fields: &mut JsonFields, name: &'static str) -> Result<Option<String>, ShapeError> {
    let taken = fields.take_string(name);
    if fields.contains(name) {
        return Err(ShapeError::Twice(name));
    }
    taken.map_err(|WrongType { found, .. }| ShapeError::IllTyped(name, found.type_name()))
}
