//! The keys of a GGUF file with their values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::source::Source;
use crate::LmError;

/// Largest accepted number of keys.
const MAX_KEYS: u64 = 1 << 16;
/// Longest name of a key, in bytes, as in the specification of the format.
const LONGEST_KEY: u64 = 65_535;
/// Longest accepted text of a value, such as a chat template, in bytes.
const LONGEST_TEXT: u64 = 1 << 24;
/// Largest accepted size of a model: a larger one cannot be computed with.
const LARGEST_COUNT: u64 = i32::MAX as u64;

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Integer(i128),
    Float(f64),
    Flag(bool),
    Text(String),
    Texts(Vec<String>),
    Integers(Vec<i64>),
    /// An array of numbers that no import needs.
    Skipped,
}

/// The keys of a file.
#[derive(Debug)]
pub(super) struct Metadata {
    path: PathBuf,
    values: BTreeMap<String, Value>,
}

impl Metadata {
    /// Reads `count` keys with their values.
    pub(super) fn read(source: &mut Source, count: u64) -> Result<Self, LmError> {
        if count > MAX_KEYS {
            return Err(source.wrong(&format!("announces {count} keys, more than {MAX_KEYS}")));
        }
        let mut values = BTreeMap::new();
        for at in 0..count {
            source.enter(format!("key {} of {count}", at + 1));
            let key = source.text(LONGEST_KEY)?;
            source.enter(format!("key {key:?}"));
            let kind = source.u32()?;
            let value = read_value(source, kind)?;
            if values.insert(key, value).is_some() {
                return Err(source.wrong("is there twice"));
            }
        }
        let path = source.path().to_owned();
        Ok(Self { path, values })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the error of a key.
    pub(super) fn invalid(&self, key: &str, problem: &str, remedy: &str) -> LmError {
        LmError::Key {
            path: self.path.clone(),
            key: key.to_owned(),
            problem: problem.to_owned(),
            remedy: remedy.to_owned(),
        }
    }

    /// Returns the error of a key that is missing.
    pub(super) fn missing(&self, key: &str) -> LmError {
        self.invalid(
            key,
            "is missing",
            "convert the model again with a current converter",
        )
    }

    /// Returns a value that `read` takes out of a key; `None` if there is no such key.
    fn get<'a, T>(
        &'a self,
        key: &str,
        kind: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, LmError> {
        let Some(value) = self.values.get(key) else {
            return Ok(None);
        };
        let found = read(value);
        let wrong = || self.invalid(key, &format!("is no {kind}"), "convert the model again");
        found.map(Some).ok_or_else(wrong)
    }

    /// Returns the text of a key.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, LmError> {
        self.get(key, "text", |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns the texts of a key.
    pub(super) fn texts(&self, key: &str) -> Result<Option<&[String]>, LmError> {
        self.get(key, "list of texts", |value| match value {
            Value::Texts(texts) => Some(texts.as_slice()),
            _ => None,
        })
    }

    /// Returns the integers of a key.
    pub(super) fn integers(&self, key: &str) -> Result<Option<&[i64]>, LmError> {
        self.get(key, "list of integers", |value| match value {
            Value::Integers(integers) => Some(integers.as_slice()),
            _ => None,
        })
    }

    /// Returns the flag of a key.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, LmError> {
        self.get(key, "flag", |value| match value {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        })
    }

    /// Returns a finite number.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, LmError> {
        self.get(key, "finite number", |value| match value {
            Value::Float(number) if number.is_finite() => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        })
    }

    /// Returns a whole number from 0 on.
    pub(super) fn integer(&self, key: &str) -> Result<Option<u64>, LmError> {
        self.get(key, "whole number from 0 on", |value| match value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        })
    }

    /// Returns a size of the model, at least 1.
    pub(super) fn optional_count(&self, key: &str) -> Result<Option<usize>, LmError> {
        let Some(number) = self.integer(key)? else {
            return Ok(None);
        };
        let count = usize::try_from(number).ok();
        let count = count.filter(|_| (1..=LARGEST_COUNT).contains(&number));
        let wrong = || {
            let remedy = format!("only 1 to {LARGEST_COUNT} can be imported");
            self.invalid(key, &format!("is {number}"), &remedy)
        };
        count.map(Some).ok_or_else(wrong)
    }

    /// Returns a size of the model that must be there.
    pub(super) fn count(&self, key: &str) -> Result<usize, LmError> {
        self.optional_count(key)?.ok_or_else(|| self.missing(key))
    }
}

/// Reads a value of a kind, by its number in the format.
fn read_value(source: &mut Source, kind: u32) -> Result<Value, LmError> {
    Ok(match kind {
        4 => Value::Integer(source.u32()?.into()),
        6 => Value::Float(shortest(f32::from_le_bytes(source.array()?))),
        7 => match source.array()? {
            [0] => Value::Flag(false),
            [1] => Value::Flag(true),
            [other] => return Err(source.wrong(&format!("is a flag with the value {other}"))),
        },
        8 => Value::Text(source.text(LONGEST_TEXT)?),
        9 => read_array(source)?,
        10 => Value::Integer(source.u64()?.into()),
        11 => Value::Integer(i64::from_le_bytes(source.array()?).into()),
        12 => Value::Float(f64::from_le_bytes(source.array()?)),
        small => Value::Integer(read_small(source, small)?.into()),
    })
}

/// Reads an integer of at most four bytes.
fn read_small(source: &mut Source, kind: u32) -> Result<i64, LmError> {
    Ok(match kind {
        0 => u8::from_le_bytes(source.array()?).into(),
        1 => i8::from_le_bytes(source.array()?).into(),
        2 => u16::from_le_bytes(source.array()?).into(),
        3 => i16::from_le_bytes(source.array()?).into(),
        4 => u32::from_le_bytes(source.array()?).into(),
        5 => i32::from_le_bytes(source.array()?).into(),
        _ => return Err(source.wrong(&format!("has a value of the unknown kind {kind}"))),
    })
}

/// Reads the elements of an array.
fn read_array(source: &mut Source) -> Result<Value, LmError> {
    let kind = source.u32()?;
    let count = source.u64()?;
    let bytes = match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        8 | 10..=12 => 8,
        9 => return Err(source.wrong("has an array of arrays, which cannot be read")),
        _ => return Err(source.wrong(&format!("has an array of the unknown kind {kind}"))),
    };
    match kind {
        0..=5 => {
            source.count_elements(count, bytes)?;
            let elements = (0..count).map(|_| read_small(source, kind));
            Ok(Value::Integers(elements.collect::<Result<_, _>>()?))
        }
        8 => {
            source.count_elements(count, bytes)?;
            let elements = (0..count).map(|_| source.text(LONGEST_TEXT));
            Ok(Value::Texts(elements.collect::<Result<_, _>>()?))
        }
        _ => {
            source.skip(count.saturating_mul(bytes))?;
            Ok(Value::Skipped)
        }
    }
}

/// Returns the shortest decimal number that is this one in f32: `1e-5`, not `9.999999747378752e-6`.
fn shortest(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| number.into())
}
