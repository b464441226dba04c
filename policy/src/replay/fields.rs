//! The keys of an action, as they come: what each world reads its actions from.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::RowError;
use super::raw::{clip, describe, optional_text};

/// The keys of an object that were not read yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(Vec<(String, Value)>);

impl Fields {
    /// Takes the value of a key; none when it is missing or null.
    pub fn take(&mut self, field: &str) -> Option<Value> {
        let place = self.0.iter().position(|(key, _)| key == field)?;
        Some(self.0.swap_remove(place).1).filter(|value| !value.is_null())
    }

    /// Takes a text.
    ///
    /// # Errors
    /// If something else stands there.
    pub fn text(&mut self, field: &'static str) -> Result<Option<String>, RowError> {
        optional_text(field, self.take(field))
    }

    /// Takes a text of which an error would repeat only the beginning.
    ///
    /// # Errors
    /// If something else stands there.
    pub fn short_text(&mut self, field: &'static str) -> Result<Option<String>, RowError> {
        Ok(self.text(field)?.map(|text| clip(&text)))
    }

    /// Takes a text that must be there.
    ///
    /// # Errors
    /// If it is missing, or something else stands there.
    pub fn required(&mut self, field: &'static str) -> Result<String, RowError> {
        self.short_text(field)?.ok_or(RowError::Missing(field))
    }

    /// Takes `true` or `false`.
    ///
    /// # Errors
    /// If something else stands there.
    pub fn flag(&mut self, field: &'static str) -> Result<Option<bool>, RowError> {
        let value = self.take(field);
        let flag = |value: Value| match value {
            Value::Bool(flag) => Ok(flag),
            other => Err(RowError::NotFlag {
                field,
                found: describe(&other),
            }),
        };
        value.map(flag).transpose()
    }
}

/// The keys of a row that mean something. Others are passed over, however often they come.
const ROW: [&str; 15] = [
    "task_type",
    "seed",
    "step",
    ACTION,
    "scenario_id",
    "model_source",
    "world",
    "streams",
    "rules",
    "probabilities",
    "belief",
    "prompt",
    "completion",
    "repaired",
    "fallback",
];
/// The key of a row under which an object of its own stands.
const ACTION: &str = "action";

/// The keys of a row before anything is checked.
#[derive(Debug, Default)]
pub(super) struct RawRow {
    /// All but the action.
    pub(super) fields: Fields,
    /// Those of the action.
    pub(super) action: Option<Fields>,
}

/// Reads rows and their actions with one piece of code, which the page loads.
struct Object {
    /// Whether it is a row.
    row: bool,
}

impl<'de> Visitor<'de> for Object {
    type Value = RawRow;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.row {
            "a row to be an object"
        } else {
            "action to be an object with action_type"
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawRow, A::Error> {
        let mut found = RawRow::default();
        let mut keys: Vec<String> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if self.row && !ROW.contains(&key.as_str()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if keys.contains(&key) {
                let key = clip(&key);
                return Err(A::Error::custom(format!("duplicate field `{key}`")));
            }
            if self.row && key == ACTION {
                found.action = map.next_value()?;
            } else {
                found.fields.0.push((key.clone(), map.next_value()?));
            }
            keys.push(key);
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for RawRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Object { row: true })
    }
}

/// Takes an object; a list would otherwise pass for an object without keys.
impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = deserializer.deserialize_any(Object { row: false })?;
        Ok(found.fields)
    }
}
