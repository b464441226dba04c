//! Validation of messages against a schema, with the errors of the OpenEnv protocol: a type, the
//! location, a message and the input (as pydantic words them).

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

/// Checks the fields of an object that a schema has in its `properties`, and returns one error for each
/// broken rule. Other fields are not checked.
///
/// The keywords of values are `type` (`string`, `number`, `boolean` or `null`), `enum`, `exclusiveMinimum`,
/// `maxLength` and `anyOf`.
#[must_use]
pub fn check_object(schema: &Value, object: &Map<String, Value>, loc: &[&str]) -> Vec<FieldError> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut errors = Vec::new();
    for (name, property) in properties.into_iter().flatten() {
        if let Some(value) = object.get(name) {
            errors.extend(check_value(
                property,
                value,
                &[loc, &[name.as_str()]].concat(),
            ));
        }
    }
    errors
}

fn check_value(schema: &Value, value: &Value, loc: &[&str]) -> Vec<FieldError> {
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        let mut first = None;
        for option in options {
            let errors = check_value(option, value, loc);
            if errors.is_empty() {
                return errors;
            }
            first = first.or(Some(errors));
        }
        return first.unwrap_or_default();
    }
    if let Some(error) = check_type(schema, value, loc) {
        return vec![error];
    }
    if let Some(error) = check_choices(schema, value, loc) {
        return vec![error];
    }
    check_limits(schema, value, loc).into_iter().collect()
}

fn check_type(schema: &Value, value: &Value, loc: &[&str]) -> Option<FieldError> {
    let (kind, msg) = match schema.get("type").and_then(Value::as_str)? {
        "string" if !value.is_string() => ("string_type", "Input should be a valid string"),
        "number" if !value.is_number() => ("float_type", "Input should be a valid number"),
        "boolean" if !value.is_boolean() => ("bool_type", "Input should be a valid boolean"),
        "null" if !value.is_null() => ("none_required", "Input should be None"),
        _ => return None,
    };
    Some(FieldError::new(kind, loc, msg, value))
}

fn check_choices(schema: &Value, value: &Value, loc: &[&str]) -> Option<FieldError> {
    let choices = schema.get("enum").and_then(Value::as_array)?;
    if choices.contains(value) {
        return None;
    }
    let names: Vec<String> = choices
        .iter()
        .filter_map(Value::as_str)
        .map(|name| format!("'{name}'"))
        .collect();
    let expected = match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    };
    let error = FieldError::new(
        "literal_error",
        loc,
        format!("Input should be {expected}"),
        value,
    );
    Some(error.with_context("expected", expected.into()))
}

fn check_limits(schema: &Value, value: &Value, loc: &[&str]) -> Option<FieldError> {
    if let (Some(text), Some(most)) = (
        value.as_str(),
        schema.get("maxLength").and_then(Value::as_u64),
    ) {
        let most_chars = usize::try_from(most).unwrap_or(usize::MAX);
        return text.chars().nth(most_chars).map(|_| {
            let msg = format!("String should have at most {most} characters");
            FieldError::new("string_too_long", loc, msg, value)
                .with_context("max_length", most.into())
        });
    }
    let number = value.as_f64()?;
    let limit = schema.get("exclusiveMinimum")?;
    if number > limit.as_f64()? {
        return None;
    }
    let msg = format!("Input should be greater than {limit}");
    let error = FieldError::new("greater_than", loc, msg, value);
    Some(error.with_context("gt", limit.clone()))
}

/// Reads a seed: an integer, or a number or text that is one.
pub(crate) fn parse_seed(value: &Value, loc: &[&str]) -> Result<u64, FieldError> {
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

    fn kinds(schema: &Value, object: &Value) -> Vec<(&'static str, String)> {
        let errors = check_object(schema, object.as_object().expect("an object"), &[]);
        let place = |error: &FieldError| {
            let parts: Vec<&str> = error.loc.iter().filter_map(Value::as_str).collect();
            (error.kind, parts.join("."))
        };
        errors.iter().map(place).collect()
    }

    #[test]
    fn errors_are_named_as_pydantic_names_them() {
        let schema = json!({
            "properties": {
                "wait": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]},
                "note": {"type": "string", "maxLength": 3},
                "slot": {"anyOf": [{"type": "string", "enum": ["S0", "S1"]}, {"type": "null"}]},
                "sure": {"type": "boolean"},
            },
        });
        let case = |object: Value| kinds(&schema, &object);
        assert_eq!(case(json!({"wait": 0.5, "slot": null, "extra": 1})), []);
        assert_eq!(case(json!({"wait": null, "sure": true})), []);
        assert_eq!(case(json!({"wait": 0})), [("greater_than", "wait".into())]);
        assert_eq!(case(json!({"wait": -1})), [("greater_than", "wait".into())]);
        assert_eq!(case(json!({"wait": "1"})), [("float_type", "wait".into())]);
        assert_eq!(case(json!({"sure": 1})), [("bool_type", "sure".into())]);
        assert_eq!(case(json!({"note": 1})), [("string_type", "note".into())]);
        assert_eq!(
            case(json!({"note": "long"})),
            [("string_too_long", "note".into())]
        );
        assert_eq!(
            case(json!({"slot": "S9"})),
            [("literal_error", "slot".into())]
        );
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
