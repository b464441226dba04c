//! Validation of the fields of messages, with the errors of the OpenEnv protocol: a type, the location, a
//! message and the input (as pydantic words them).

use sentinel_policy::SEED_MAX;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// An error of a message: one entry of `errors` or of `detail`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FieldError {
    /// The kind of the error, such as `missing` or `extra_forbidden`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The path of the field.
    pub loc: Vec<Value>,
    /// The message for a reader.
    pub msg: String,
    /// The value that was refused; for a missing field, the object that lacks it.
    pub input: Value,
    /// The limit that the value exceeds, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<Value>,
}

impl FieldError {
    /// Creates an error without a limit.
    #[must_use]
    pub fn new(kind: &'static str, loc: &[&str], msg: impl Into<String>, input: &Value) -> Self {
        Self {
            kind,
            loc: loc.iter().map(|part| Value::from(*part)).collect(),
            msg: msg.into(),
            input: excerpt(input),
            ctx: None,
        }
    }

    /// Creates the error for a missing field of `object`.
    #[must_use]
    pub fn missing(loc: &[&str], object: &Value) -> Self {
        Self::new("missing", loc, "Field required", object)
    }

    /// Creates the error for a field that should not be there.
    #[must_use]
    pub fn extra(loc: &[&str], input: &Value) -> Self {
        Self::new(
            "extra_forbidden",
            loc,
            "Extra inputs are not permitted",
            input,
        )
    }

    /// Creates the error for a text that is no action of its world.
    #[must_use]
    pub fn not_an_action(loc: &[&str], reason: &str, action: &str) -> Self {
        let input = serde_json::from_str(action).unwrap_or_else(|_| Value::from(action));
        let msg = format!("Value error, {reason}");
        Self::new("value_error", loc, msg, &input)
    }

    /// Creates the error for a value that should be an object.
    #[must_use]
    pub fn not_an_object(loc: &[&str], input: &Value) -> Self {
        Self::new(
            "dict_type",
            loc,
            "Input should be a valid dictionary",
            input,
        )
    }

    fn with_context(mut self, name: &str, limit: Value) -> Self {
        self.ctx = Some(json!({ name: limit }));
        self
    }

    /// Returns the same error with `first` before its location.
    #[must_use]
    pub fn within(mut self, first: &str) -> Self {
        self.loc.insert(0, first.into());
        self
    }
}

/// Largest number of bytes of an input that an error repeats.
const EXCERPT: usize = 400;

/// Returns an input for an error: itself if it is short, else the beginning of its text.
fn excerpt(input: &Value) -> Value {
    let text = input.to_string();
    if text.len() <= EXCERPT {
        return input.clone();
    }
    let mut end = EXCERPT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Value::from(format!("{}… ({} bytes)", &text[..end], text.len()))
}

/// Reads the fields of an object, and collects an error for each that has the wrong form. A field that is
/// null counts as left out.
pub(crate) struct FieldReader<'a> {
    fields: &'a Map<String, Value>,
    loc: &'a [&'a str],
    errors: Vec<FieldError>,
}

impl<'a> FieldReader<'a> {
    /// Creates a reader of the object at `loc`.
    pub(crate) const fn new(fields: &'a Map<String, Value>, loc: &'a [&'a str]) -> Self {
        let errors = Vec::new();
        Self {
            fields,
            loc,
            errors,
        }
    }

    /// Returns the errors so far, if there are any.
    ///
    /// # Errors
    /// One error for each field that was read and has the wrong form.
    pub(crate) fn finish(self) -> Result<(), Vec<FieldError>> {
        if self.errors.is_empty() {
            Ok(())
        } else {
            Err(self.errors)
        }
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// Notes an error of a field, unless it has a value.
    fn value_or<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'a Value, &[&str]) -> Result<T, FieldError>,
    ) -> Option<T> {
        let value = self.value(name)?;
        let loc = [self.loc, &[name]].concat();
        match read(value, &loc) {
            Ok(found) => Some(found),
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }

    /// Reads a text of at most `most` characters.
    pub(crate) fn text(&mut self, name: &str, most: usize) -> Option<&'a str> {
        self.value_or(name, |value, loc| {
            let Some(text) = value.as_str() else {
                let msg = "Input should be a valid string";
                return Err(FieldError::new("string_type", loc, msg, value));
            };
            if text.chars().nth(most).is_some() {
                let msg = format!("String should have at most {most} characters");
                let error = FieldError::new("string_too_long", loc, msg, value);
                return Err(error.with_context("max_length", most.into()));
            }
            Ok(text)
        })
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&mut self, name: &str) -> Option<bool> {
        self.value_or(name, |value, loc| {
            let msg = "Input should be a valid boolean";
            let error = || FieldError::new("bool_type", loc, msg, value);
            value.as_bool().ok_or_else(error)
        })
    }

    /// Reads a number above 0.
    pub(crate) fn positive(&mut self, name: &str) -> Option<f64> {
        self.value_or(name, |value, loc| match value.as_f64() {
            None => {
                let msg = "Input should be a valid number";
                Err(FieldError::new("float_type", loc, msg, value))
            }
            Some(number) if number > 0.0 => Ok(number),
            Some(_) => {
                let msg = "Input should be greater than 0";
                let error = FieldError::new("greater_than", loc, msg, value);
                Err(error.with_context("gt", 0.into()))
            }
        })
    }

    /// Reads one of some words.
    pub(crate) fn choice(&mut self, name: &str, words: &[&str]) -> Option<&'a str> {
        self.value_or(name, |value, loc| {
            if let Some(text) = value.as_str().filter(|text| words.contains(text)) {
                return Ok(text);
            }
            let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            let expected = match words.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                _ => words.concat(),
            };
            let msg = format!("Input should be {expected}");
            let error = FieldError::new("literal_error", loc, msg, value);
            Err(error.with_context("expected", expected.into()))
        })
    }

    /// Reads a seed: an integer, or a number or text that is one.
    pub(crate) fn seed(&mut self, name: &str) -> Option<u64> {
        self.value_or(name, parse_seed)
    }
}

/// Reads a seed: an integer, or a number or text that is one.
fn parse_seed(value: &Value, loc: &[&str]) -> Result<u64, FieldError> {
    let error = |kind, msg: &str| Err(FieldError::new(kind, loc, msg, value));
    let number = match value {
        Value::Number(number) => number.as_i128().or_else(|| {
            let float = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() < 1e15);
            float.map(|float| float as i128)
        }),
        Value::String(text) => match text.trim().parse::<i128>() {
            Ok(number) => Some(number),
            Err(_) => {
                let msg = "Input should be a valid integer, unable to parse string as an integer";
                return error("int_parsing", msg);
            }
        },
        _ => None,
    };
    match number {
        None => error("int_type", "Input should be a valid integer"),
        Some(..=-1) => error(
            "greater_than_equal",
            "Input should be greater than or equal to 0",
        ),
        Some(number) => match u64::try_from(number).ok().filter(|seed| *seed <= SEED_MAX) {
            Some(seed) => Ok(seed),
            None => error(
                "less_than_equal",
                &format!("Input should be less than or equal to {SEED_MAX}"),
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_named_as_pydantic_names_them() {
        let object = json!({
            "wait": "1", "late": 0, "sure": 1, "note": 1, "tale": "long", "slot": "S9", "seed": -1,
            "none": null, "fine": "abc", "soon": 0.5,
        });
        let mut reader = FieldReader::new(object.as_object().expect("an object"), &["body"]);
        assert_eq!(reader.positive("wait"), None);
        assert_eq!(reader.positive("late"), None);
        assert_eq!(reader.boolean("sure"), None);
        assert_eq!(reader.text("note", 3), None);
        assert_eq!(reader.text("tale", 3), None);
        assert_eq!(reader.choice("slot", &["S0", "S1", "S2"]), None);
        assert_eq!(reader.seed("seed"), None);
        assert_eq!(reader.boolean("none"), None);
        assert_eq!(reader.text("absent", 3), None);
        assert_eq!(reader.text("fine", 3), Some("abc"));
        assert_eq!(reader.positive("soon"), Some(0.5));
        let errors = reader.finish().expect_err("errors");
        let name = |error: &FieldError| error.loc[1].as_str().map(str::to_owned);
        let found: Vec<_> = errors
            .iter()
            .map(|error| (error.kind, name(error)))
            .collect();
        let expected = [
            ("float_type", "wait"),
            ("greater_than", "late"),
            ("bool_type", "sure"),
            ("string_type", "note"),
            ("string_too_long", "tale"),
            ("literal_error", "slot"),
            ("greater_than_equal", "seed"),
        ];
        let expected = expected.map(|(kind, name)| (kind, Some(name.to_owned())));
        assert_eq!(found, expected);
        assert_eq!(errors[5].msg, "Input should be 'S0', 'S1' or 'S2'");
        assert!(errors.iter().all(|error| error.loc[0] == "body"));
    }

    #[test]
    fn errors_repeat_only_the_beginning_of_long_input() {
        let long = Value::from("ä".repeat(10_000));
        let error = FieldError::extra(&["x"], &long);
        assert!(
            error.input.as_str().is_some_and(|text| text.len() < 500),
            "{error:?}"
        );
    }
}
