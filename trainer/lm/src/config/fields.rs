//! Typed access to the keys of a JSON object, with errors that name file, key and remedy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use minijinja::value as ordered;
use serde_json::{Map, Value};

use crate::LmError;

/// A JSON object read from a file.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    path: PathBuf,
    /// Name of the object inside another, with a dot; empty for that of the file.
    prefix: String,
    values: Map<String, Value>,
    /// Content of the file.
    source: Arc<[u8]>,
}

impl Fields {
    /// Reads a file that holds one JSON object. `kind` names the expected content in errors.
    pub(crate) fn load(path: &Path, kind: &'static str) -> Result<Self, LmError> {
        let bytes = std::fs::read(path).map_err(|error| LmError::read(path, error))?;
        let format = |reason: String| LmError::Format {
            path: path.to_owned(),
            kind,
            reason,
        };
        if let Some(reason) = sentinel_base::files::placeholder(&bytes) {
            return Err(format(reason));
        }
        match serde_json::from_slice(&bytes).map_err(|error| format(error.to_string()))? {
            Value::Object(values) => Ok(Self {
                path: path.to_owned(),
                prefix: String::new(),
                values,
                source: bytes.into(),
            }),
            _ => Err(format("its top level is not an object".to_owned())),
        }
    }

    /// Returns a value that is present and not null.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|value| !value.is_null())
    }

    /// Returns the keys of the file's object, or of the object under `key` in it, in the order of the file.
    pub(crate) fn keys_in_order(&self, key: Option<&str>) -> Vec<String> {
        let whole: ordered::Value = serde_json::from_slice(&self.source).unwrap_or_default();
        let object = key.map_or_else(
            || whole.clone(),
            |key| whole.get_attr(key).unwrap_or_default(),
        );
        if object.kind() != ordered::ValueKind::Map {
            return Vec::new();
        }
        let keys = object.try_iter().into_iter().flatten();
        keys.filter_map(|key| key.as_str().map(str::to_owned))
            .collect()
    }

    /// Returns the content of the file.
    pub(crate) fn source(&self) -> &[u8] {
        &self.source
    }

    /// Returns all keys and values of the object.
    pub(crate) const fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Returns a nested object, or `None` if the key is missing or null.
    pub(crate) fn object(&self, key: &str) -> Result<Option<Self>, LmError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(values)) => Ok(Some(Self {
                path: self.path.clone(),
                prefix: format!("{}{key}.", self.prefix),
                values: values.clone(),
                source: Arc::clone(&self.source),
            })),
            Some(other) => Err(self.invalid(key, &format!("is {other}"), "write an object")),
        }
    }

    /// Returns an integer of at least 1.
    pub(crate) fn count(&self, key: &str) -> Result<usize, LmError> {
        self.optional_count(key)?
            .ok_or_else(|| self.invalid(key, "is missing", "write a whole number of at least 1"))
    }

    /// Returns an integer of at least 1, or `None` if the key is missing or null.
    pub(crate) fn optional_count(&self, key: &str) -> Result<Option<usize>, LmError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        // Python's tools write whole numbers as floats, too.
        let whole = |number: f64| (number.fract() == 0.0 && number < 1e15).then_some(number as i64);
        let number = value.as_i64().or_else(|| value.as_f64().and_then(whole));
        let number = number.filter(|number| *number > 0);
        let number = number.and_then(|number| usize::try_from(number).ok());
        let wrong = || {
            self.invalid(
                key,
                &format!("is {value}"),
                "write a whole number of at least 1",
            )
        };
        number.map(Some).ok_or_else(wrong)
    }

    /// Returns a finite number, or `None` if the key is missing or null.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, LmError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let number = value.as_f64().filter(|number| number.is_finite());
        let wrong = || self.invalid(key, &format!("is {value}"), "write a number");
        number.map(Some).ok_or_else(wrong)
    }

    /// Returns a boolean; `false` if the key is missing or null.
    pub(crate) fn flag(&self, key: &str) -> Result<bool, LmError> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(value) => Err(self.invalid(key, &format!("is {value}"), "write true or false")),
        }
    }

    /// Returns a string, or `None` if the key is missing or null.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&str>, LmError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value) => Err(self.invalid(key, &format!("is {value}"), "write a text in quotes")),
        }
    }

    /// Returns token ids from a single id or a list; empty if the key is missing, null or -1, with which
    /// conversions of old models say that there is no such token.
    pub(crate) fn tokens(&self, key: &str) -> Result<Vec<u32>, LmError> {
        if self.get(key).is_some_and(|value| *value == -1) {
            return Ok(Vec::new());
        }
        let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        self.list(key, id, "write a token id or a list of token ids")
    }

    /// Returns values from a single one or a list; empty if the key is missing or null. `read` returns `None`
    /// for a value of another kind.
    pub(crate) fn list<T>(
        &self,
        key: &str,
        read: impl Fn(&Value) -> Option<T>,
        remedy: &str,
    ) -> Result<Vec<T>, LmError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let values = match value {
            Value::Array(values) => values.iter().map(read).collect(),
            single => read(single).map(|value| vec![value]),
        };
        values.ok_or_else(|| self.invalid(key, &format!("is {value}"), remedy))
    }

    /// Creates an error about a key.
    pub(crate) fn invalid(&self, key: &str, problem: &str, remedy: &str) -> LmError {
        LmError::Key {
            path: self.path.clone(),
            key: format!("{}{key}", self.prefix),
            problem: problem.to_owned(),
            remedy: remedy.to_owned(),
        }
    }
}

/// Returns a number above 0, or `None` if the key is missing or null.
pub(super) fn positive(fields: &Fields, key: &str) -> Result<Option<f64>, LmError> {
    match fields.number(key)? {
        Some(number) if number <= 0.0 => {
            Err(fields.invalid(key, &format!("is {number}"), "write a number above 0"))
        }
        number => Ok(number),
    }
}
