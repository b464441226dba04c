//! An agent's message: a completion, or an action as a JSON object.

use serde::Deserialize;

use super::parse::{ANSWER_FIELDS, COMPLETION_MAX, ParsedCompletion};
use crate::message::{FormError, message_fields, take_once};
use crate::polyguard::model::action::Action;
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::step::StepError;
use crate::strict_json::Json;

/// The fields of a message, for errors.
const KNOWN: &str = "a message has completion and session_id, or is an action";

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
    type Error = FormError;

    fn try_from(json: Json) -> Result<Self, FormError> {
        let mut fields = message_fields(json)?;
        let session_id = take_once(&mut fields, "session_id")?;
        let said = match take_once(&mut fields, "completion")? {
            Some(completion) => match fields.iter().find(|field| !is_left_out(*field)) {
                Some((name, _)) => return Err(FormError::unknown(name, KNOWN)),
                None => completion,
            },
            None if fields.contains("candidate_id") => {
                // Parsed like any completion, so that no rule can be bypassed this way.
                Json::Object(fields).to_string()
            }
            None => {
                return Err(match fields.iter().next() {
                    Some((name, _)) if !ANSWER_FIELDS.contains(&name) => {
                        FormError::unknown(name, KNOWN)
                    }
                    _ => FormError::NoAction("completion or candidate_id"),
                });
            }
        };
        Ok(Self {
            session_id,
            said: MessageContent::Text(said),
        })
    }
}

/// Returns `true` for a field of an answer that is `null`, as clients send it beside a completion.
fn is_left_out((name, value): (&str, &Json)) -> bool {
    *value == Json::Null && ANSWER_FIELDS.contains(&name)
}
