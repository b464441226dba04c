//! Options of a stage from a table of a manifest, by the names of the command line.

use std::path::Path;

use clap::{Args, Command};
use sentinel_base::Error;
use sentinel_base::task_selection::shell_quote;
use serde_json::{Map, Value};

/// A table of options, by name, with `_` or `-` between the words of a name.
pub(super) type Table = Map<String, Value>;

/// The options of a stage, and the command that has them.
#[derive(Clone, Debug)]
pub(super) struct StageOptions<T> {
    /// The options of the stage.
    pub(super) options: T,
    /// The command line that means the same.
    pub(super) command: String,
}

/// Returns a table with the names of the command line, so that two spellings are the same option.
pub(super) fn with_dashes(table: &Table) -> Table {
    let entries = table.iter();
    entries
        .map(|(name, value)| (name.replace('_', "-"), value.clone()))
        .collect()
}

/// Reads the options of a stage, which runs the command `name`, from a table. `fixed` are those that the sweep sets
/// itself; `place` is the manifest, for errors.
///
/// # Errors
/// Returns an error if an option is unknown, has an invalid value, or is set by the sweep.
pub(super) fn parse<T: Args>(
    stage: &str,
    name: &str,
    table: &Table,
    fixed: &[(&str, String)],
    place: &Path,
) -> Result<StageOptions<T>, Error> {
    let invalid =
        |reason: String| Error::invalid(place, format!("the options of stage {stage}: {reason}"));
    let mut words = Vec::new();
    for (option, value) in fixed {
        if table.contains_key(*option) {
            return Err(invalid(format!(
                "the sweep sets {option} itself: leave it out"
            )));
        }
        words.extend([format!("--{option}"), value.clone()]);
    }
    for (option, value) in table {
        words.extend(words_of(option, value).map_err(invalid)?);
    }
    let mut command = T::augment_args(Command::new("stage").no_binary_name(true));
    let matches = command.try_get_matches_from_mut(&words);
    let parsed = matches.and_then(|matches| T::from_arg_matches(&matches));
    let options = parsed.map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        invalid(first.trim_start_matches("error: ").to_owned())
    })?;
    let words: Vec<String> = words.iter().map(|word| shell_quote(word)).collect();
    Ok(StageOptions {
        options,
        command: format!("sentinel {name} {}", words.join(" ")),
    })
}

/// Returns an option as words of a command line; none for a switch that is off.
fn words_of(name: &str, value: &Value) -> Result<Vec<String>, String> {
    let text = match value {
        Value::Bool(false) => return Ok(Vec::new()),
        Value::Bool(true) => return Ok(vec![format!("--{name}")]),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(_) | Value::Object(_) => {
            return Err(format!("{name} is a list or a table, which no option is"));
        }
        // A number of TOML that is not finite, too.
        Value::Null => return Err(format!("{name} has no value")),
    };
    // One word, so that a negative number is not an option.
    Ok(vec![format!("--{name}={text}")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_base::precision::Precision;
    use sentinel_language::sft::SftConfig;
    use serde_json::json;

    fn sft(table: &Value) -> Result<StageOptions<SftConfig>, String> {
        let table = with_dashes(table.as_object().expect("a table"));
        let fixed = [("model", "base".to_owned())];
        parse("sft", "lm sft", &table, &fixed, Path::new("m.toml"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn stage_options_use_command_line_names() {
        let found = sft(&json!({
            "learning_rate": 1e-3, "max-steps": 2, "full": true, "bf16": false, "epochs": 3,
        }));
        let found = found.expect("options");
        let config = found.options;
        assert_eq!((config.learning_rate, config.run.max_steps), (1e-3, 2));
        assert!(
            config.run.full
                && config.run.precision == Precision::F32
                && config.run.num_train_epochs == 3
        );
        assert_eq!(config.run.model, "base");
        assert_eq!(
            found.command,
            "sentinel lm sft --model base --epochs=3 --full --learning-rate=0.001 --max-steps=2"
        );
    }

    #[test]
    fn invalid_stage_option_error_names_option() {
        for (table, expected) in [
            (json!({"learning": 1}), "unexpected argument '--learning'"),
            (
                json!({"max_steps": "x"}),
                "invalid value 'x' for '--max-steps",
            ),
            (json!({"max_steps": [1]}), "max-steps is a list"),
            (json!({"max_steps": null}), "max-steps has no value"),
            (json!({"model": "other"}), "the sweep sets model itself"),
        ] {
            let found = sft(&table);
            let error = found.err().unwrap_or_default();
            assert!(
                error.contains("m.toml: the options of stage sft"),
                "{error}"
            );
            assert!(error.contains(expected), "{error}");
        }
    }
}
