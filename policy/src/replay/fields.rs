//! The keys of an action, as they come: what each world reads its actions from.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
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

/// Takes an object; a list would otherwise pass for an object without keys.
impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("action to be an object with action_type")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields: Vec<(String, Value)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    if fields.iter().any(|(known, _)| *known == key) {
                        let key = clip(&key);
                        return Err(A::Error::custom(format!("duplicate field `{key}`")));
                    }
                    fields.push((key, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_any(Object)
    }
}
