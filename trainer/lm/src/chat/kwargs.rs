//! Variables of a chat template that the user sets, such as Qwen3's `enable_thinking`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use minijinja::value::{Value, ValueKind};
use sentinel_base::files;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::LmError;
use crate::config::Fields;

/// Name of the file, in the folder of a trained model or adapter, with the variables that it was
/// trained with.
pub const CHAT_TEMPLATE_KWARGS_FILE: &str = "chat_template_kwargs.json";

/// Names of the variables that come from the conversation.
const RESERVED: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];

/// Variables for the context in which a chat template is rendered: the `chat_template_kwargs` of TRL
/// and vLLM.
///
/// They are parsed from a JSON object; objects among them keep the order of their keys. They take precedence over special tokens of the same name, and
/// cannot replace the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ChatTemplateKwargs(BTreeMap<String, Value>);

impl ChatTemplateKwargs {
    /// Returns `true` if no variable is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the variables that the model or adapter in a folder was trained with; `None` if its
    /// folder names none.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a JSON object of such variables.
    pub fn load(folder: &Path) -> Result<Option<Self>, LmError> {
        let path = folder.join(CHAT_TEMPLATE_KWARGS_FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let kind = "a JSON object of variables of a chat template";
        let fields = Fields::load(&path, kind)?;
        let values = serde_json::from_slice(fields.source()).map_err(sentinel_base::Error::Json)?;
        let checked = Self::checked(values);
        checked
            .map(Some)
            .map_err(|reason| LmError::Format { path, kind, reason })
    }

    /// Returns the variables of a model with an adapter: those that are `given`, else those that the
    /// adapter was trained with, else those of the model, else none.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn resolve(
        given: Option<&Self>,
        adapter: Option<&Path>,
        model: &Path,
    ) -> Result<Self, LmError> {
        if let Some(given) = given {
            return Ok(given.clone());
        }
        let of_adapter = adapter.map(Self::load).transpose()?.flatten();
        let found = match of_adapter {
            Some(found) => Some(found),
            None => Self::load(model)?,
        };
        Ok(found.unwrap_or_default())
    }

    /// Writes the variables into the folder of a model or adapter. Without any, the file is removed,
    /// unless the model's folder `source` has variables that an adapter must not inherit.
    pub fn save(&self, folder: &Path, source: Option<&Path>) -> Result<(), LmError> {
        let path = folder.join(CHAT_TEMPLATE_KWARGS_FILE);
        let hides = source.is_some_and(|source| source.join(CHAT_TEMPLATE_KWARGS_FILE).is_file());
        if self.is_empty() && !hides {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(LmError::write(&path, error))
                }
                _ => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(self).map_err(sentinel_base::Error::Json)? + "\n";
        Ok(files::write_atomic(&path, text.as_bytes())?)
    }

    fn checked(values: BTreeMap<String, Value>) -> Result<Self, String> {
        match RESERVED.iter().find(|name| values.contains_key(**name)) {
            Some(name) => Err(format!(
                "{name:?} comes from the conversation and cannot be set"
            )),
            None => Ok(Self(values)),
        }
    }
}

impl FromStr for ChatTemplateKwargs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match serde_json::from_str(text) {
            Ok(values) => Self::checked(values),
            Err(error) => Err(format!(
                "it must be a JSON object such as {{\"enable_thinking\": false}} ({error})"
            )),
        }
    }
}

/// Accepts an object, or a text that is one, which a file in TOML can hold.
impl<'de> Deserialize<'de> for ChatTemplateKwargs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let parsed = match value.as_str() {
            Some(text) => text.parse(),
            None if value.kind() == ValueKind::Map => BTreeMap::deserialize(value)
                .map_or_else(|error| Err(error.to_string()), Self::checked),
            None => Err("it must be a JSON object".to_owned()),
        };
        parsed.map_err(|reason| D::Error::custom(format!("chat_template_kwargs: {reason}")))
    }
}

impl fmt::Display for ChatTemplateKwargs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(&self.0).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_without_reserved_names_are_read() {
        for text in [
            "{}",
            r#"{"enable_thinking":false,"more":{"b":[1,null],"a":2.5}}"#,
        ] {
            let parsed: Result<ChatTemplateKwargs, String> = text.parse();
            assert_eq!(parsed.map(|kwargs| kwargs.to_string()), Ok(text.to_owned()));
            let quoted = serde_json::to_string(text).expect("JSON");
            for form in [text, &quoted] {
                let read: ChatTemplateKwargs = serde_json::from_str(form).expect(form);
                assert_eq!(read.to_string(), text);
            }
        }
        for text in [
            "",
            "7",
            "null",
            "[]",
            "{",
            "enable_thinking=false",
            "\"{}\"",
        ] {
            let error = text.parse::<ChatTemplateKwargs>().expect_err(text);
            assert!(error.contains("must be a JSON object"), "{text}: {error}");
        }
        for name in RESERVED {
            let text = format!("{{\"{name}\": []}}");
            let error = text.parse::<ChatTemplateKwargs>().expect_err(name);
            assert!(error.contains(name), "{error}");
            let error = serde_json::from_str::<ChatTemplateKwargs>(&text).expect_err(name);
            assert!(error.to_string().contains("chat_template_kwargs"));
        }
    }
}
