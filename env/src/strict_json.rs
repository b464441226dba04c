//! Strict parsing of untrusted JSON that keeps every field, including duplicates.
//!
//! A map would keep only one of two fields with the same name, although the sender may have meant
//! the other. [`Json`] keeps both, in the order of the text, so that a reader can refuse them. It
//! is used for agents' messages in every world, completions of language models and rows of replays.
//!
//! ```
//! use sentinel_env::strict_json::{FieldFault, Json};
//!
//! let Json::Object(mut fields) = serde_json::from_str(r#"{"arm": "left", "sure": true}"#)? else {
//!     panic!("it is an object");
//! };
//! assert_eq!(fields.first_fault(&["arm"]), Some(FieldFault::Unknown("sure")));
//! assert_eq!(fields.take_bool("sure"), Ok(Some(true)));
//! assert_eq!(fields.take_bool("repaired"), Ok(None));
//! let wrong = fields.take_bool("arm").unwrap_err();
//! assert_eq!((wrong.field, wrong.found), ("arm", Json::from("left")));
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde::de::{
    Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::ser::{Serialize, Serializer};
use serde_json::Number;

/// A JSON value of any type.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// The JSON value `null`.
    Null,
    /// The JSON value `true` or `false`.
    Bool(bool),
    /// A JSON number; integers are exact.
    Number(Number),
    /// A JSON string, with escapes resolved.
    String(String),
    /// A JSON array of values.
    Array(Vec<Json>),
    /// A JSON object, including duplicate fields.
    Object(JsonFields),
}

/// The fields of an object in the order of the text. Methods that read a field by type remove it;
/// `null` is treated as missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonFields(Vec<(String, Json)>);

/// The error for a field whose value has the wrong type.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongType {
    /// Name of the field.
    pub field: &'static str,
    /// The type that the field should hold.
    pub expected: Expected,
    /// The value that the field holds.
    pub found: Json,
}

/// The types that [`JsonFields`] can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A JSON string value.
    Text,
    /// The JSON value `true` or `false`.
    Flag,
}

/// The reason why the fields of an object are not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFault<'a> {
    /// The name is not among the accepted fields.
    Unknown(&'a str),
    /// The name occurs twice in the object.
    Duplicate(&'a str),
}

impl Expected {
    /// Returns the type in words, for error messages.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Flag => "true or false",
        }
    }
}

impl Json {
    /// Deserializes a value. If it is an object, only the fields in `known` are kept; all others
    /// are skipped, whatever they hold and however often they occur.
    ///
    /// # Errors
    /// Returns an error if the input is not valid JSON.
    pub fn deserialize_known<'de, D: Deserializer<'de>>(
        from: D,
        known: &[&str],
    ) -> Result<Self, D::Error> {
        from.deserialize_any(Reader { known: Some(known) })
    }

    /// Returns the value if it is a string, else `None`.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value as a float if it is a number, else `None`.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    /// Returns the value if it is an integer from 0 to `u64::MAX`, else `None`.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// Returns the items if the value is an array, else `None`.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the value of a field if this is an object that has it; `null` is treated as missing.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.get(field),
            _ => None,
        }
    }

    /// Calls `visit` with every string in the value, including field names, with escapes resolved.
    pub(crate) fn for_each_string<'a>(&'a self, visit: &mut dyn FnMut(&'a str)) {
        match self {
            Self::String(text) => visit(text),
            Self::Array(items) => items.iter().for_each(|item| item.for_each_string(visit)),
            Self::Object(fields) => {
                for (name, value) in fields.iter() {
                    visit(name);
                    value.for_each_string(visit);
                }
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }

    /// Calls `visit` with every field name in the value, at any depth.
    pub(crate) fn for_each_field_name<'a>(&'a self, visit: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Array(items) => items
                .iter()
                .for_each(|item| item.for_each_field_name(visit)),
            Self::Object(fields) => {
                for (name, value) in fields.iter() {
                    visit(name);
                    value.for_each_field_name(visit);
                }
            }
            _ => {}
        }
    }

    /// Returns the type of the value in words, for error messages.
    pub(crate) const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::String(_) => "a text",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// Returns the fields if the value is an object.
    ///
    /// # Errors
    /// Returns serde's "invalid type" error, which names what was `expected`, if the value is not
    /// an object.
    pub fn into_object<E: Error>(self, expected: &str) -> Result<JsonFields, E> {
        match self {
            Self::Object(fields) => Ok(fields),
            other => Err(E::invalid_type(other.unexpected(), &expected)),
        }
    }

    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(on) => Unexpected::Bool(*on),
            Self::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => Unexpected::Unsigned(number),
                (_, Some(number)) => Unexpected::Signed(number),
                _ => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Self::String(text) => Unexpected::Str(text),
            Self::Array(_) => Unexpected::Seq,
            Self::Object(_) => Unexpected::Map,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl IntoIterator for JsonFields {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl JsonFields {
    /// Iterates over the names and values in the order of the text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns `true` if a field of this name exists, even if its value is `null`.
    #[must_use]
    pub fn contains(&self, field: &str) -> bool {
        self.0.iter().any(|(name, _)| name == field)
    }

    /// Returns the value of a field without removing it; `null` is treated as missing.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Json> {
        let (_, value) = self.0.iter().find(|(name, _)| name == field)?;
        Some(value).filter(|value| **value != Json::Null)
    }

    /// Removes a field and returns its value; `null` is treated as missing.
    pub fn take(&mut self, field: &str) -> Option<Json> {
        let at = self.0.iter().position(|(name, _)| name == field)?;
        Some(self.0.remove(at).1).filter(|value| *value != Json::Null)
    }

    /// Removes a field and returns its string; `None` if the field is missing or `null`.
    ///
    /// # Errors
    /// Returns an error if the field holds another type.
    pub fn take_string(&mut self, field: &'static str) -> Result<Option<String>, WrongType> {
        match self.take(field) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(found) => Err(WrongType {
                field,
                expected: Expected::Text,
                found,
            }),
        }
    }

    /// Removes a field and returns its boolean; `None` if the field is missing or `null`.
    ///
    /// # Errors
    /// Returns an error if the field holds another type.
    pub fn take_bool(&mut self, field: &'static str) -> Result<Option<bool>, WrongType> {
        match self.take(field) {
            None => Ok(None),
            Some(Json::Bool(on)) => Ok(Some(on)),
            Some(found) => Err(WrongType {
                field,
                expected: Expected::Flag,
                found,
            }),
        }
    }

    /// Returns the first field name that repeats an earlier one.
    #[must_use]
    pub fn first_duplicate(&self) -> Option<&str> {
        let mut seen = BTreeSet::new();
        let mut names = self.0.iter().map(|(name, _)| name.as_str());
        names.find(|name| !seen.insert(*name))
    }

    /// Returns the first field that is not in `known` or that repeats an earlier one.
    #[must_use]
    pub fn first_fault(&self, known: &[&str]) -> Option<FieldFault<'_>> {
        let mut names = self.0.iter().map(|(name, _)| name.as_str()).enumerate();
        names.find_map(|(at, name)| {
            if !known.contains(&name) {
                return Some(FieldFault::Unknown(name));
            }
            let twice = self.0[..at].iter().any(|(other, _)| other == name);
            twice.then_some(FieldFault::Duplicate(name))
        })
    }
}

/// Iterates over the byte ranges of the JSON objects in a text, in order. Objects nested in other
/// objects are not reported separately.
pub fn object_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(at) = text[from..].find('{') {
            let start = from + at;
            let rest = serde_json::Deserializer::from_str(&text[start..]);
            let mut rest = rest.into_iter::<IgnoredAny>();
            if let Some(Ok(_)) = rest.next() {
                from = start + rest.byte_offset();
                return Some(start..from);
            }
            from = start + 1;
        }
        None
    })
}

struct Reader<'a> {
    /// The fields of the outermost object to keep; `None` keeps all of them.
    known: Option<&'a [&'a str]>,
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<Json, E> {
        Ok(Json::Bool(on))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Json, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::String(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Json, E> {
        Ok(Json::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = entries.next_key::<String>()? {
            if self
                .known
                .is_none_or(|known| known.contains(&name.as_str()))
            {
                fields.push((name, entries.next_value()?));
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Json::Object(JsonFields(fields)))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader { known: None })
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(on) => serializer.serialize_bool(*on),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(fields) => serializer.collect_map(fields.iter()),
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> JsonFields {
        match serde_json::from_str(text) {
            Ok(Json::Object(fields)) => fields,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn json_roundtrip_keeps_order_duplicates_and_integers() {
        let text = r#"{"b":[1,-2,2.5,18446744073709551615],"a":null,"b":{"c":true},"d":"\""}"#;
        let json: Json = serde_json::from_str(text).expect("JSON");
        assert_eq!(json.to_string(), text);
        assert_eq!(
            json.get("b").and_then(Json::as_array).map(<[Json]>::len),
            Some(4)
        );
    }

    #[test]
    fn null_field_is_present_without_value() {
        let mut found = fields(r#"{"a":null,"b":"x"}"#);
        assert!(found.contains("a"));
        assert_eq!(found.get("a"), None);
        assert_eq!(found.take_string("a"), Ok(None));
        assert!(!found.contains("a"));
        assert_eq!(found.take_string("b"), Ok(Some("x".to_owned())));
        assert_eq!(found, JsonFields::default());
    }

    #[test]
    fn fault_returns_first_duplicate_or_unknown_field() {
        let found = fields(r#"{"a":1,"b":2,"a":3,"c":4}"#);
        assert_eq!(found.first_duplicate(), Some("a"));
        assert_eq!(
            found.first_fault(&["a", "b"]),
            Some(FieldFault::Duplicate("a"))
        );
        assert_eq!(found.first_fault(&["a"]), Some(FieldFault::Unknown("b")));
        assert_eq!(fields("{}").first_fault(&[]), None);
    }

    #[test]
    fn deserialize_known_skips_unknown_fields() {
        let text = r#"{"a":{"b":1,"c":2},"b":3,"b":4}"#;
        let mut from = serde_json::Deserializer::from_str(text);
        let json = Json::deserialize_known(&mut from, &["a"]).expect("JSON");
        assert_eq!(json.to_string(), r#"{"a":{"b":1,"c":2}}"#);
    }

    #[test]
    fn objects_in_text_are_found() {
        let text = r#"so {"a":{}} and { no, {"b":"}"}."#;
        let found: Vec<&str> = object_ranges(text).map(|place| &text[place]).collect();
        assert_eq!(found, [r#"{"a":{}}"#, r#"{"b":"}"}"#]);
    }

    #[test]
    fn wrong_type_error_matches_serde() {
        let error = |text: &str| {
            let json: Json = serde_json::from_str(text).expect("JSON");
            let error = json.into_object::<serde_json::Error>("a row");
            error.expect_err("no object").to_string()
        };
        assert_eq!(error("[]"), "invalid type: sequence, expected a row");
        assert_eq!(error("7"), "invalid type: integer `7`, expected a row");
        assert_eq!(error("null"), "invalid type: null, expected a row");
    }
}
