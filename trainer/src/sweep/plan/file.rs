//! The manifest of a sweep: models, and options of every stage by the names of the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::Error;
use serde_json::{Map, Value};

use super::super::stage_options::{Table, with_dashes};

/// The stages whose options a manifest can have.
const STAGES: [&str; 9] = [
    "corpus",
    "init",
    "base",
    "sft",
    "grpo",
    "postsave",
    "eval",
    "improvement",
    "ablate",
];
/// The options that several stages share.
const SHARED: [&str; 11] = [
    "world",
    "task",
    "rules",
    "prompt",
    "parser",
    "reader",
    "sub-environment",
    "difficulty",
    "formulary",
    "split",
    "device",
];

/// A manifest as it is written.
#[derive(Debug, Default)]
pub(super) struct ManifestFile {
    pub(super) models: Option<Vec<String>>,
    pub(super) data: Option<PathBuf>,
    pub(super) shared: Shared,
    pub(super) stages: BTreeMap<String, Table>,
    pub(super) entry: Vec<EntryFile>,
}

/// An entry of a manifest.
#[derive(Debug)]
pub(super) struct EntryFile {
    pub(super) id: Option<String>,
    pub(super) model: String,
    pub(super) stages: BTreeMap<String, Table>,
}

/// The options that several stages share, by the names of the command line.
#[derive(Debug, Default)]
pub(super) struct Shared(Table);

impl EntryFile {
    /// Creates an entry without options of its own.
    pub(super) fn new(model: String) -> Self {
        Self {
            id: None,
            model,
            stages: BTreeMap::new(),
        }
    }
}

impl Shared {
    /// Overrides the options with those that are given.
    pub(super) fn override_with(&mut self, given: [(&str, Option<String>); 3]) {
        for (name, value) in given {
            if let Some(value) = value {
                self.0.insert(name.to_owned(), value.into());
            }
        }
    }

    /// Returns the shared options that a stage has, by the names that it has for them.
    pub(super) fn options_of(&self, stage: &str) -> Table {
        let named = |name: &str| -> Option<String> {
            let renamed = match (stage, name) {
                // The evaluations of fine-tuning are played in the world that is learned.
                ("base" | "sft", "world" | "task" | "rules" | "prompt") => format!("eval-{name}"),
                ("base" | "sft", "device") => name.to_owned(),
                ("corpus", "parser" | "reader" | "device") | ("base" | "sft" | "init", _) => {
                    return None;
                }
                // The run itself knows them.
                ("postsave" | "improvement", _) => return None,
                ("ablate", "world" | "parser" | "reader") => return None,
                _ => name.to_owned(),
            };
            Some(renamed)
        };
        let options = self.0.iter();
        options
            .filter_map(|(name, value)| Some((named(name)?, value.clone())))
            .collect()
    }
}

impl ManifestFile {
    /// Reads a manifest: TOML if its name ends in `.toml`, else JSON.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, has an unknown key, or a value of another type.
    pub(super) fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        let invalid = |reason: String| Error::invalid(path, reason);
        let value: Value = if path.extension().is_some_and(|ending| ending == "toml") {
            let table: toml::Table = toml::from_str(&text).map_err(|error| {
                let place = error.span().map_or(0, |span| span.start);
                let line = text[..place.min(text.len())].lines().count().max(1);
                invalid(format!("not a manifest (line {line}: {})", error.message()))
            })?;
            serde_json::to_value(table).map_err(|error| invalid(error.to_string()))?
        } else {
            serde_json::from_str(&text)
                .map_err(|error| invalid(format!("not a manifest in JSON ({error})")))?
        };
        Self::from_value(value).map_err(invalid)
    }

    fn from_value(value: Value) -> Result<Self, String> {
        let mut file = Self::default();
        for (key, value) in with_dashes(&object("the manifest", value)?) {
            match key.as_str() {
                "models" => file.models = Some(strings(&key, value)?),
                "data" => file.data = Some(string(&key, &value)?.into()),
                "entry" => {
                    let Value::Array(all) = value else {
                        return Err("entry is not a list: write [[entry]]".to_owned());
                    };
                    file.entry = all.into_iter().map(entry).collect::<Result<_, _>>()?;
                }
                _ if SHARED.contains(&key.as_str()) => {
                    file.shared.0.insert(key, value);
                }
                _ => stage(&mut file.stages, key, value)?,
            }
        }
        Ok(file)
    }
}

fn entry(value: Value) -> Result<EntryFile, String> {
    let mut found = EntryFile::new(String::new());
    for (key, value) in object("an entry", value)? {
        match key.as_str() {
            "id" => found.id = Some(string(&key, &value)?),
            "model" => found.model = string(&key, &value)?,
            _ => stage(&mut found.stages, key, value)?,
        }
    }
    if found.model.is_empty() {
        return Err("an entry has no model".to_owned());
    }
    Ok(found)
}

/// Adds the options of a stage.
fn stage(stages: &mut BTreeMap<String, Table>, key: String, value: Value) -> Result<(), String> {
    if !STAGES.contains(&key.as_str()) {
        return Err(format!(
            "there is no key {key}: use models, data, entry, {}, or a stage ({})",
            SHARED.join(", "),
            STAGES.join(", ")
        ));
    }
    let table = object(&key, value)?;
    stages.insert(key, table);
    Ok(())
}

fn object(what: &str, value: Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(format!("{what} is not a table of options")),
    }
}

fn string(what: &str, value: &Value) -> Result<String, String> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| format!("{what} is not a text"))
}

fn strings(what: &str, value: Value) -> Result<Vec<String>, String> {
    let Value::Array(all) = value else {
        return Err(format!("{what} is not a list of texts"));
    };
    all.iter().map(|one| string(what, one)).collect()
}
