//! Options from a TOML or JSON file, by the names of the command line.

use std::path::Path;

use clap::Command;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Error;

/// The reason why a file holds no options.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// The file is not a table of options.
    #[error("{reason}")]
    Format {
        /// The fault of the file.
        reason: String,
    },
}

impl OptionsError {
    fn format(reason: impl Into<String>) -> Self {
        Self::Format {
            reason: reason.into(),
        }
    }
}

/// Reads options from a file: TOML if its name ends in `.toml`, else JSON.
///
/// # Errors
/// Returns an error if the file cannot be read, is not a table of options, or holds a number that is
/// not finite.
pub fn read_options(path: &Path) -> Result<Map<String, Value>, OptionsError> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let is_named = |ending: &str| path.extension().is_some_and(|found| found == ending);
    if is_named("yaml") || is_named("yml") {
        let reason = "a YAML file is not read: write the options as TOML or JSON";
        return Err(OptionsError::format(reason));
    }
    if is_named("toml") {
        let table: toml::Table = toml::from_str(text).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            let line = text[..place.min(text.len())].lines().count().max(1);
            OptionsError::format(format!(
                "not a TOML table of options (line {line}: {})",
                error.message()
            ))
        })?;
        return table.into_iter().map(as_json).collect();
    }
    serde_json::from_str(text)
        .map_err(|error| OptionsError::format(format!("not a JSON object of options ({error})")))
}

/// Converts an option of a TOML file to JSON.
fn as_json((name, value): (String, toml::Value)) -> Result<(String, Value), OptionsError> {
    let value = match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(value) => value.into(),
        toml::Value::Float(number) if number.is_finite() => number.into(),
        toml::Value::Float(number) => {
            let reason = format!("{name} is {number}, which is not a finite number");
            return Err(OptionsError::format(reason));
        }
        other => {
            let kind = other.type_str();
            let reason = format!("{name} is of type {kind}, which no option is");
            return Err(OptionsError::format(reason));
        }
    };
    Ok((name, value))
}

/// Returns options by the names of the fields of `T`: the name on the command line, and an older one
/// that is hidden there, mean the same in a file. Names that `T` does not know stay as they are.
///
/// # Errors
/// Returns an error if an option occurs under two names.
pub fn with_current_names<T: clap::Args>(
    fields: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let command = T::augment_args(Command::new("options"));
    let mut found = Map::new();
    for (name, value) in fields {
        let key = name.replace('-', "_");
        let is_alias = |arg: &&clap::Arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            let mut names = aliases.into_iter().chain(arg.get_long());
            names.any(|name| name.replace('-', "_") == key)
        };
        let is_known = command.get_arguments().any(|arg| *arg.get_id() == *key);
        let today = match command.get_arguments().find(is_alias) {
            Some(arg) if !is_known => arg.get_id().to_string(),
            _ if is_known => key,
            _ => name.clone(),
        };
        if found.insert(today.clone(), value).is_some() {
            return Err(format!("option {today} is there twice, once as {name}"));
        }
    }
    Ok(found)
}

/// Returns the options of an earlier run as a current run writes them: by current names, with the
/// defaults of options that have been added since. A value that is not a set of such options is
/// returned unchanged.
#[must_use]
pub fn to_current_form<T>(options: &Value) -> Value
where
    T: clap::Args + Serialize + DeserializeOwned,
{
    let upgrade = || {
        let command = T::augment_args(Command::new("options").no_binary_name(true));
        let matches = command.try_get_matches_from([""; 0]).ok()?;
        let defaults = T::from_arg_matches(&matches).ok()?;
        let Ok(Value::Object(mut fields)) = serde_json::to_value(defaults) else {
            return None;
        };
        let then = with_current_names::<T>(options.as_object()?.clone()).ok()?;
        // A null option gets its default.
        fields.extend(then.into_iter().filter(|(_, value)| !value.is_null()));
        let parsed: T = serde_json::from_value(Value::Object(fields)).ok()?;
        serde_json::to_value(parsed).ok()
    };
    upgrade().unwrap_or_else(|| options.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, clap::Args, serde::Serialize, serde::Deserialize)]
    struct Options {
        #[arg(long, alias = "old-name", default_value_t = 3)]
        new_name: usize,
        #[arg(long, default_value_t = 0.5)]
        added_since: f64,
    }

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn old_option_names_are_renamed() {
        for name in ["new_name", "new-name", "old_name", "old-name"] {
            let found = with_current_names::<Options>(map(json!({name: 7, "other": true})));
            assert_eq!(found, Ok(map(json!({"new_name": 7, "other": true}))));
        }
        let twice = with_current_names::<Options>(map(json!({"new_name": 7, "old_name": 7})));
        assert!(twice.is_err_and(|reason| reason.contains("new_name is there twice")));
    }

    #[test]
    fn options_of_earlier_run_are_upgraded() {
        let then = json!({"old_name": 7});
        let today = json!({"new_name": 7, "added_since": 0.5});
        assert_eq!(to_current_form::<Options>(&then), today);
        assert_eq!(to_current_form::<Options>(&today), today);
        let other = json!({"old_name": "many"});
        assert_eq!(to_current_form::<Options>(&other), other);
    }

    #[test]
    fn toml_and_json_options_are_equal() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).map(|()| path)
        };
        let toml = write(
            "a.toml",
            "seed = 7\nbeta = 0.5\nworld = \"trust\"\nfull = true\n",
        )?;
        let json = write(
            "a.json",
            r#"{"seed": 7, "beta": 0.5, "world": "trust", "full": true}"#,
        )?;
        assert_eq!(read_options(&toml)?, read_options(&json)?);
        for (text, expected) in [
            ("beta = nan", "beta is NaN, which is not a finite number"),
            ("beta = -inf", "beta is -inf"),
            ("seed = [1]", "seed is of type array"),
            ("a = 1\nseed", "not a TOML table of options (line 2"),
        ] {
            let path = write("b.toml", text)?;
            let error = read_options(&path).err().map(|error| error.to_string());
            assert!(
                error.as_ref().is_some_and(|error| error.contains(expected)),
                "{error:?}"
            );
        }
        Ok(())
    }
}
