//! The messages of a WebSocket: parsing, and the form of errors.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::envelope::{Envelope, EnvelopeError, parse_object, strict_value};
use crate::environment::Failure;
use crate::validation::FieldError;

/// A message of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientMessage<'a> {
    /// Start an episode with these fields.
    Reset(Map<String, Value>),
    /// Take the action with this text in the episode.
    Step(&'a str),
    /// Send the state of the episode.
    State,
    /// End the session and its connection.
    Close,
    /// Answer a JSON-RPC request.
    Mcp(Value),
    /// Send the action that the server's policy would take; an extension of this server.
    Act,
}

/// The code of an error message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// The frame is not JSON.
    InvalidJson,
    /// The type of the message is unknown.
    UnknownType,
    /// The message does not have the form that its type asks for.
    Validation,
    /// The environment refused the message.
    Execution,
    /// There is no room for another session; the connection is closed.
    Capacity,
    /// The session cannot go on; the connection is closed.
    Session,
}

impl ErrorCode {
    /// Returns the code as the protocol writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidJson => "INVALID_JSON",
            Self::UnknownType => "UNKNOWN_TYPE",
            Self::Validation => "VALIDATION_ERROR",
            Self::Execution => "EXECUTION_ERROR",
            Self::Capacity => "CAPACITY_REACHED",
            Self::Session => "SESSION_ERROR",
        }
    }
}

/// An error message of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorMessage {
    /// The code that programs read.
    pub code: ErrorCode,
    /// The message for a reader.
    pub message: String,
    /// Further fields beside code and message.
    pub fields: Map<String, Value>,
}

impl ErrorMessage {
    /// Creates an error message without further fields.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            fields: Map::new(),
        }
    }

    /// Creates the error message for a message of the wrong form.
    #[must_use]
    pub fn invalid(errors: &[FieldError]) -> Self {
        let mut message = Self::new(ErrorCode::Validation, "Invalid message");
        message.fields.insert("errors".to_owned(), json!(errors));
        message
    }

    /// Returns the text frame of the message.
    #[must_use]
    pub fn to_frame(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Frame<'a> {
            r#type: &'static str,
            data: Data<'a>,
        }
        #[derive(Serialize)]
        struct Data<'a> {
            message: &'a str,
            code: &'static str,
            #[serde(flatten)]
            fields: &'a Map<String, Value>,
        }
        let data = Data {
            message: &self.message,
            code: self.code.name(),
            fields: &self.fields,
        };
        // Writing to memory cannot fail, and every key is a text.
        serde_json::to_vec(&Frame {
            r#type: "error",
            data,
        })
        .unwrap_or_default()
    }
}

impl From<Failure> for ErrorMessage {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotJson(reason) => Self::new(ErrorCode::InvalidJson, invalid_json(&reason)),
            Failure::Invalid(errors) => Self::invalid(&errors),
            Failure::Execution(message) => Self::new(ErrorCode::Execution, message),
        }
    }
}

/// Returns the error message for a broken envelope whose object is at `loc`.
fn broken(error: &EnvelopeError, loc: &[&str]) -> ErrorMessage {
    match (error, error.to_field_error(loc)) {
        (EnvelopeError::NotJson(error), _) => {
            ErrorMessage::new(ErrorCode::InvalidJson, invalid_json(error))
        }
        (_, errors) => ErrorMessage::invalid(errors.as_slice()),
    }
}

fn invalid_json(reason: impl std::fmt::Display) -> String {
    format!("Invalid JSON: {reason}")
}

impl<'a> ClientMessage<'a> {
    /// Parses a frame.
    ///
    /// # Errors
    /// If it is not a message. After [`ErrorCode::Session`], which answers JSON that is no object, the
    /// connection is closed.
    pub fn parse(text: &'a str) -> Result<Self, ErrorMessage> {
        let mut envelope = Envelope::parse(text).map_err(|error| match error {
            EnvelopeError::NotAnObject(_) => {
                let message = "a message is a JSON object with type and data: the session ends";
                ErrorMessage::new(ErrorCode::Session, message)
            }
            error => broken(&error, &[]),
        })?;
        let data = envelope.take("data");
        let mut fields = envelope.to_values().map_err(|error| broken(&error, &[]))?;
        let kind = match fields.remove("type") {
            Some(Value::String(kind)) => kind,
            None => String::new(),
            Some(other) => other.to_string(),
        };
        // Data is required (`Some(true)`), optional or not allowed (`None`).
        let needs_data = match kind.as_str() {
            "reset" => Some(false),
            "step" | "mcp" => Some(true),
            "state" | "close" | "act" => None,
            _ => {
                let shown: String = kind.chars().take(64).collect();
                let message = format!("Unknown message type: {shown}");
                return Err(ErrorMessage::new(ErrorCode::UnknownType, message));
            }
        };
        let of_data = |error| broken(&error, &["data"]);
        let value = |data| strict_value(data, &[]).map_err(of_data);
        let mut errors: Vec<FieldError> = fields
            .iter()
            .map(|(name, value)| FieldError::extra(&[name], value))
            .collect();
        match (needs_data, data) {
            (Some(true), None) => {
                fields.insert("type".to_owned(), kind.as_str().into());
                errors.push(FieldError::missing(&["data"], &Value::Object(fields)));
            }
            (None, Some(data)) => {
                errors.push(FieldError::extra(&["data"], &value(data)?));
            }
            (Some(_), Some(data)) if !data.starts_with('{') => {
                errors.push(FieldError::not_an_object(&["data"], &value(data)?));
            }
            _ => {}
        }
        if !errors.is_empty() {
            return Err(ErrorMessage::invalid(&errors));
        }
        let data = data.unwrap_or("{}");
        Ok(match kind.as_str() {
            "reset" => Self::Reset(parse_object(data).map_err(of_data)?),
            "step" => Self::Step(data),
            "mcp" => Self::Mcp(Value::Object(parse_object(data).map_err(of_data)?)),
            "state" => Self::State,
            "act" => Self::Act,
            _ => Self::Close,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> ErrorCode {
        ClientMessage::parse(text).expect_err("no message").code
    }

    #[test]
    fn frames_are_refused_with_the_codes_of_the_protocol() {
        assert_eq!(code("{bad"), ErrorCode::InvalidJson);
        assert_eq!(code(""), ErrorCode::InvalidJson);
        assert_eq!(code("[]"), ErrorCode::Session);
        assert_eq!(code("3"), ErrorCode::Session);
        assert_eq!(code("{}"), ErrorCode::UnknownType);
        assert_eq!(code(r#"{"type": 5}"#), ErrorCode::UnknownType);
        assert_eq!(code(r#"{"type": "step"}"#), ErrorCode::Validation);
        assert_eq!(
            code(r#"{"type": "step", "data": 3}"#),
            ErrorCode::Validation
        );
        assert_eq!(
            code(r#"{"type": "state", "data": {}}"#),
            ErrorCode::Validation
        );
        assert_eq!(
            code(r#"{"type": "reset", "extra": 1}"#),
            ErrorCode::Validation
        );
        for twice in [
            r#"{"type": "step", "data": {}, "data": {}}"#,
            r#"{"type": "step", "type": "state"}"#,
            r#"{"type": "reset", "data": {"seed": 1, "seed": 2}}"#,
            r#"{"type": "mcp", "data": {"method": "a", "method": "b"}}"#,
        ] {
            assert_eq!(code(twice), ErrorCode::Validation, "{twice}");
        }
        let broken = r#"{"type": "reset", "data": {"seed": 1e400}}"#;
        assert_eq!(code(broken), ErrorCode::InvalidJson);
    }

    #[test]
    fn messages_are_parsed() {
        let parse = |text| ClientMessage::parse(text).expect("a message");
        assert_eq!(
            parse(r#"{"type": "reset"}"#),
            ClientMessage::Reset(Map::new())
        );
        assert_eq!(parse(r#"{"type": "close"}"#), ClientMessage::Close);
        let step = parse(r#"{"type": "step", "data": {"a": 1,  "a": 2}}"#);
        assert_eq!(step, ClientMessage::Step(r#"{"a": 1,  "a": 2}"#));
    }
}
