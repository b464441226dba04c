//! JSON objects of clients, read without losing a field: a field that occurs twice is refused, and
//! actions stay the text that the client sent.
//!
//! A broken envelope is an error of the protocol, which costs nothing. What an action means is for the
//! world to say, from its own text (spec api §1.1).

use std::collections::HashSet;
use std::fmt;

use sentinel_env::strict_json::{Json, JsonFields};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::validation::FieldError;

/// The reason why a text is not an object of the protocol.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvelopeError {
    /// The text is not JSON.
    #[error("{0}")]
    NotJson(#[from] serde_json::Error),
    /// The JSON value is not an object.
    #[error("the value is not an object")]
    NotAnObject(Value),
    /// A field occurs twice, at this path.
    #[error("{} occurs twice", .0.join("."))]
    Twice(Vec<String>, Value),
}

impl EnvelopeError {
    /// Returns the error of a field for JSON of the wrong form; `None` for a text that is not JSON.
    pub(crate) fn to_field_error(&self, loc: &[&str]) -> Option<FieldError> {
        match self {
            Self::NotJson(_) => None,
            Self::NotAnObject(found) => Some(FieldError::not_an_object(loc, found)),
            Self::Twice(path, found) => {
                let path = path.iter().map(String::as_str);
                let loc: Vec<&str> = loc.iter().copied().chain(path).collect();
                let msg = "Field occurs twice";
                Some(FieldError::new("duplicate_field", &loc, msg, found))
            }
        }
    }
}

/// The fields of a JSON object as they were written.
#[derive(Debug, Default)]
pub(crate) struct Envelope<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Envelope<'a> {
    /// Parses the text of an object whose fields occur once.
    ///
    /// # Errors
    /// If the text is not JSON or no object, or if a field occurs twice.
    pub(crate) fn parse(text: &'a str) -> Result<Self, EnvelopeError> {
        let fields = Self::parse_action(text)?;
        let mut seen = HashSet::new();
        match fields.0.iter().find(|(name, _)| !seen.insert(name)) {
            None => Ok(fields),
            Some((name, value)) => {
                let found = serde_json::from_str(value.get())?;
                Err(EnvelopeError::Twice(vec![name.clone()], found))
            }
        }
    }

    /// Parses the text of an object that is itself an action, whose world judges its duplicates.
    ///
    /// # Errors
    /// If the text is not JSON or no object.
    pub(crate) fn parse_action(text: &'a str) -> Result<Self, EnvelopeError> {
        if !text.trim_start().starts_with('{') {
            return Err(EnvelopeError::NotAnObject(serde_json::from_str(text)?));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Removes a field and returns its text.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(other, _)| other == name)?;
        Some(self.0.remove(at).1.get())
    }

    /// Returns the text of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.get())
    }

    /// Returns the fields as values.
    ///
    /// # Errors
    /// If a value is not JSON after all, such as a number that is too large, or if a field of an object
    /// in it occurs twice.
    pub(crate) fn to_values(&self) -> Result<Map<String, Value>, EnvelopeError> {
        let value = |(name, raw): &(String, &RawValue)| {
            Ok((name.clone(), strict_value(raw.get(), &[name])?))
        };
        self.0.iter().map(value).collect()
    }

    /// Returns the text of the object without the fields for which `is_dropped` holds.
    pub(crate) fn text_without(&self, mut is_dropped: impl FnMut(&str, &str) -> bool) -> String {
        let mut text = String::from("{");
        for (name, raw) in &self.0 {
            if is_dropped(name, raw.get()) {
                continue;
            }
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&Value::from(name.as_str()).to_string());
            text.push(':');
            text.push_str(raw.get());
        }
        text.push('}');
        text
    }
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Envelope(fields))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

/// Parses a text as an object that holds no action.
///
/// # Errors
/// If the text is not JSON or no object, or if a field of any object in it occurs twice.
pub(crate) fn parse_object(text: &str) -> Result<Map<String, Value>, EnvelopeError> {
    match strict_value(text, &[])? {
        Value::Object(fields) => Ok(fields),
        other => Err(EnvelopeError::NotAnObject(other)),
    }
}

/// Parses a text at a path as a value.
///
/// # Errors
/// If it is not JSON, or if a field of any object in it occurs twice.
pub(crate) fn strict_value(text: &str, path: &[&str]) -> Result<Value, EnvelopeError> {
    let mut path = path.iter().map(|name| (*name).to_owned()).collect();
    to_value(serde_json::from_str(text)?, &mut path)
}

fn to_value(json: Json, path: &mut Vec<String>) -> Result<Value, EnvelopeError> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(on) => Value::Bool(on),
        Json::Number(number) => Value::Number(number),
        Json::String(text) => Value::String(text),
        Json::Array(items) => {
            let items = items.into_iter().map(|item| to_value(item, path));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Json::Object(fields) => Value::Object(to_map(fields, path)?),
    })
}

fn to_map(fields: JsonFields, path: &mut Vec<String>) -> Result<Map<String, Value>, EnvelopeError> {
    let mut map = Map::new();
    for (name, json) in fields {
        path.push(name.clone());
        let value = to_value(json, path)?;
        if map.contains_key(&name) {
            return Err(EnvelopeError::Twice(std::mem::take(path), value));
        }
        map.insert(name, value);
        path.pop();
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_stay_as_they_were_written() {
        let text = r#" {"type": "step", "d\u0061ta": {"a": 1, "a": 2}, "x": [1e400]} "#;
        let mut envelope = Envelope::parse(text).expect("an object");
        assert_eq!(envelope.take("data"), Some(r#"{"a": 1, "a": 2}"#));
        assert_eq!(envelope.take("data"), None);
        let error = envelope.to_values().expect_err("a number is too large");
        assert!(matches!(error, EnvelopeError::NotJson(_)));
        assert_eq!(envelope.take("x"), Some("[1e400]"));
        assert_eq!(
            Value::Object(envelope.to_values().expect("values")),
            json!({"type": "step"})
        );
        assert_eq!(
            envelope.text_without(|name, _| name == "none"),
            r#"{"type":"step"}"#
        );
    }

    #[test]
    fn duplicates_are_refused_at_their_path() {
        let path = |error| match error {
            EnvelopeError::Twice(path, _) => path.join("."),
            other => panic!("{other:?}"),
        };
        let twice = r#"{"a": 1, "b": 2, "\u0061": 3}"#;
        assert_eq!(path(Envelope::parse(twice).expect_err("twice")), "a");
        assert_eq!(path(parse_object(twice).expect_err("twice")), "a");
        let deep = r#"{"a": {"b": [{"c": 1, "c": 1}]}}"#;
        assert_eq!(path(parse_object(deep).expect_err("twice")), "a.b.c");
        let envelope = Envelope::parse(deep).expect("once");
        assert_eq!(path(envelope.to_values().expect_err("twice")), "a.b.c");
    }

    #[test]
    fn other_values_are_not_objects() {
        for text in ["[]", "3", "null", r#""{}""#] {
            let error = Envelope::parse(text).expect_err(text);
            assert!(matches!(error, EnvelopeError::NotAnObject(_)), "{text}");
        }
        for text in ["", "{", "{\"a\" 1}", "\u{feff}{}", "{} {}"] {
            let error = Envelope::parse(text).expect_err(text);
            assert!(matches!(error, EnvelopeError::NotJson(_)), "{text}");
        }
    }
}
