//! Parses the single JSON object that a completion should consist of.

use sentinel_env::named_enum;
use sentinel_env::strict_json::{FieldFault, Json, JsonFields, WrongType, object_ranges};
use serde::de::IgnoredAny;

use super::parse_error::excerpt;
use super::{COMPLETION_BYTES, ParseError, ParseErrorKind};

named_enum! {
    /// Strictness of the parser of completions.
    #[derive(Default)]
    pub enum ParserStrictness {
        /// Accepts one JSON object with optional white space around it, and nothing else.
        #[default]
        Strict = "strict",
        /// Ignores text and code fences around the object if there is only one, and reports that it
        /// did. The object itself is parsed as strictly.
        Repair = "repair",
    }
}

/// The fields of a completion's JSON object that have not been read yet. The worlds of this crate
/// parse their actions with it, and any other [`TextWorld`](super::TextWorld) can do the same.
#[derive(Clone, Debug)]
pub struct CompletionObject {
    fields: JsonFields,
    /// `true` if text around the object was ignored.
    repaired: bool,
}

impl CompletionObject {
    /// Parses the only object of a completion. All of its fields must be among `known`.
    ///
    /// # Errors
    /// If the completion is empty, too long or not one JSON object, or if it has an unknown or a
    /// duplicate field.
    pub fn parse(reader: ParserStrictness, text: &str, known: &[&str]) -> Result<Self, ParseError> {
        if text.len() > COMPLETION_BYTES {
            let detail = format!(
                "{} bytes, at most {COMPLETION_BYTES} are allowed",
                text.len()
            );
            return Err(ParseError::new(ParseErrorKind::TooLong, detail));
        }
        let text = text.trim();
        if text.is_empty() {
            return Err(ParseError::new(
                ParseErrorKind::Empty,
                "the completion is empty",
            ));
        }
        let (fields, repaired) = match (whole(text), reader) {
            (Ok(fields), _) => (fields, false),
            (Err(error), ParserStrictness::Strict) => return Err(error),
            (Err(error), ParserStrictness::Repair) => (only(text, error)?, true),
        };
        check(&fields, known)?;
        Ok(Self { fields, repaired })
    }

    /// Removes a field and returns its text; `None` if it is missing or null.
    ///
    /// # Errors
    /// If the field has another type.
    pub fn take_string(&mut self, name: &'static str) -> Result<Option<String>, ParseError> {
        self.fields.take_string(name).map_err(wrong_type)
    }

    /// Removes a required field and returns its text.
    ///
    /// # Errors
    /// If the field is missing, null or of another type.
    pub fn take_required_string(&mut self, name: &'static str) -> Result<String, ParseError> {
        self.take_string(name)?
            .ok_or_else(|| ParseError::missing(name))
    }

    /// Removes a field and returns its value as `true` or `false`; `None` if it is missing or null.
    ///
    /// # Errors
    /// If the field has another type.
    pub fn take_bool(&mut self, name: &'static str) -> Result<Option<bool>, ParseError> {
        self.fields.take_bool(name).map_err(wrong_type)
    }

    /// Removes a field and returns what `parse` makes of its text; `None` if the field is missing
    /// or null.
    ///
    /// # Errors
    /// If the field has another type, or `parse` returns `None`.
    pub fn take_parsed<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ParseError> {
        let Some(text) = self.take_string(name)? else {
            return Ok(None);
        };
        let unknown = || {
            let detail = format!("there is no {name} {:?}", excerpt(&text));
            ParseError::new(ParseErrorKind::UnknownName, detail)
        };
        parse(&text).map(Some).ok_or_else(unknown)
    }

    /// Checks that no field is left that `action` does not use, and returns `true` if text around
    /// the object was ignored. Fields that are null do not count.
    ///
    /// # Errors
    /// If a field is left.
    pub fn finish(self, action: &str) -> Result<bool, ParseError> {
        let left = self.fields.iter().find(|(_, value)| **value != Json::Null);
        match left {
            None => Ok(self.repaired),
            Some((name, _)) => {
                let detail = format!("{action} does not use {name}");
                Err(ParseError::new(ParseErrorKind::UnusedField, detail))
            }
        }
    }
}

fn wrong_type(wrong: WrongType) -> ParseError {
    let (field, expected) = (wrong.field, wrong.expected.describe());
    let found = excerpt(&wrong.found.to_string());
    let detail = format!("{field} should be {expected}, not {found}");
    ParseError::new(ParseErrorKind::WrongType, detail)
}

/// Returns the fields of a text that consists of one JSON object.
fn whole(text: &str) -> Result<JsonFields, ParseError> {
    let fault = |reason, detail: String| Err(ParseError::new(reason, detail));
    if text.contains("```") && !text.starts_with('{') {
        return fault(
            ParseErrorKind::CodeFence,
            "a code fence around the object".to_owned(),
        );
    }
    if !text.starts_with('{') {
        return if serde_json::from_str::<IgnoredAny>(text).is_ok() {
            fault(
                ParseErrorKind::NotAnObject,
                format!("{} is not an object", excerpt(text)),
            )
        } else if object_ranges(text).next().is_some() {
            fault(
                ParseErrorKind::TextAround,
                "text before the object".to_owned(),
            )
        } else {
            fault(
                ParseErrorKind::NotJson,
                format!("{:?} is not JSON", excerpt(text)),
            )
        };
    }
    let mut reader = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    let fields = match reader.next() {
        Some(Ok(Json::Object(fields))) => fields,
        Some(Err(error)) => return fault(ParseErrorKind::NotJson, error.to_string()),
        _ => return fault(ParseErrorKind::Empty, "the completion is empty".to_owned()),
    };
    let rest = text[reader.byte_offset()..].trim_start();
    if rest.is_empty() {
        Ok(fields)
    } else if object_ranges(rest).next().is_some() {
        fault(
            ParseErrorKind::SeveralObjects,
            "more than one object".to_owned(),
        )
    } else {
        let rest = excerpt(rest);
        fault(
            ParseErrorKind::TextAround,
            format!("{rest:?} after the object"),
        )
    }
}

/// Returns the fields of the only JSON object within a text. `error` describes why the text as a
/// whole is not valid; it is returned if there is no object.
fn only(text: &str, error: ParseError) -> Result<JsonFields, ParseError> {
    let mut found = object_ranges(text);
    match (found.next(), found.next()) {
        (Some(object), None) => whole(&text[object]),
        (Some(_), Some(_)) => Err(ParseError::new(
            ParseErrorKind::SeveralObjects,
            "more than one object",
        )),
        (None, _) => Err(error),
    }
}

/// Checks that every field is known and occurs once.
fn check(fields: &JsonFields, known: &[&str]) -> Result<(), ParseError> {
    Err(match fields.first_fault(known) {
        None => return Ok(()),
        Some(FieldFault::Unknown(name)) => {
            let (name, known) = (excerpt(name), known.join(", "));
            let detail = format!("there is no field {name:?}: use {known}");
            ParseError::new(ParseErrorKind::UnknownField, detail)
        }
        Some(FieldFault::Duplicate(name)) => ParseError::new(
            ParseErrorKind::DuplicateField,
            format!("field {name} occurs twice"),
        ),
    })
}
