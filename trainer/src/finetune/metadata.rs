//! What all files of a run say about it, and what it reads that must stay as it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::RunError;
use super::options::RunOptions;
use super::start::stand_in_for;
use crate::Error;
use crate::lm::lora::ADAPTER_FILES;
use crate::lm::{GenerationDefaults, LmError};
use crate::options::upgraded;
use crate::provenance::{Provenance, file_digest};
use crate::run::Cadence;

/// What a model's folder holds beside the weights, whose numbers are compared themselves, that decides
/// how it reads and where its texts end.
const READ: [&str; 5] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
];

/// What all files of a run say about it.
#[derive(Clone, Debug)]
pub struct RunMetadata {
    /// All options by name; with an adapter that is gone on with, its own in place of a new one's.
    pub config: Value,
    /// The folder of the base model.
    pub source: PathBuf,
    /// Whether a tiny new model stands in for one that could not be found.
    pub fallback: bool,
    /// Steps that one entry of the log is the mean of.
    pub logging_steps: usize,
    /// When the run evaluates and saves.
    pub cadence: Cadence,
    /// Returns options of an earlier version under the names of this one, with what they left out.
    pub normalised: fn(&Value) -> Value,
    /// SHA-256 of each file that the run reads, by what it is. A run can only go on with the same.
    pub inputs: BTreeMap<String, String>,
    /// The fallbacks that the run rests on: those of its model, adapter and data.
    pub provenance: Provenance,
    /// What a person should know about the model.
    pub warnings: Vec<String>,
}

impl RunMetadata {
    /// Of a run with these options, `run` among them, that starts from the model in `source`.
    ///
    /// # Errors
    /// If the options have no form as JSON, or a file cannot be read.
    pub fn new<C: clap::Args + Serialize + DeserializeOwned>(
        config: &C,
        run: &RunOptions,
        source: PathBuf,
        fallback: bool,
    ) -> Result<Self, RunError> {
        let mut config = serde_json::to_value(config).map_err(Error::from)?;
        if let (Value::Object(fields), Some(adapter)) = (&mut config, run.named_adapter()?) {
            fields.extend(RunOptions::of_adapter(&adapter));
        }
        let mut metadata = Self {
            config,
            source,
            fallback,
            logging_steps: run.logging_steps,
            cadence: run.cadence(),
            normalised: upgraded::<C>,
            inputs: BTreeMap::new(),
            provenance: Provenance::new(),
            warnings: Vec::new(),
        };
        metadata.provenance.inherit_model(&metadata.source)?;
        if fallback {
            // The stand-in of a run that an earlier version began says nothing.
            metadata.provenance.mark("init", stand_in_for(&run.model));
        }
        metadata.reads_folder("model", &metadata.source.clone(), &READ)?;
        if let Some(adapter) = &run.adapter {
            metadata.provenance.inherit_model(adapter)?;
            metadata.reads_folder("adapter", adapter, &ADAPTER_FILES)?;
        }
        if (GenerationDefaults::read(&metadata.source)?.eos_token_ids).is_empty() {
            let text = "the model names no token that ends a text (eos_token_id in generation_config.json or \
                        config.json): what it writes ends only where the room does";
            metadata.warnings.push(text.to_owned());
        }
        Ok(metadata)
    }

    /// Notes that the run reads a file, which is `what`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn reads(&mut self, what: &str, path: &Path) -> Result<(), RunError> {
        let digest = file_digest(path).map_err(|error| LmError::read(path, error))?;
        self.inputs.insert(what.to_owned(), digest);
        Ok(())
    }

    fn reads_folder(&mut self, what: &str, folder: &Path, names: &[&str]) -> Result<(), RunError> {
        for name in names {
            let path = folder.join(name);
            if path.is_file() {
                self.reads(&format!("{name} of the {what}"), &path)?;
            }
        }
        Ok(())
    }

    /// Where the run's model comes from, once it has learned from a base with this digest.
    pub(super) fn provenance(&self, base: &str) -> Provenance {
        let mut provenance = self.provenance.clone();
        provenance.inputs.clone_from(&self.inputs);
        let weights = "weights of the model".to_owned();
        provenance.inputs.insert(weights, base.to_owned());
        provenance
    }

    /// The folder of the adapter that the run goes on with.
    pub(super) fn adapter(&self) -> Option<&Path> {
        Some(Path::new(self.config.get("adapter")?.as_str()?))
    }
}

/// The first of its inputs that a run began with and that is another now. What was noted before there
/// were digests says nothing.
pub(super) fn changed(
    then: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Option<String> {
    if then.is_empty() {
        return None;
    }
    let mut names = then.keys().chain(now.keys());
    let name = names.find(|name| then.get(*name) != now.get(*name))?;
    Some(format!(
        "{name} is not as it was when the run began: put it back, or start anew with --overwrite-output-dir"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_is_new_gone_or_another_has_changed() {
        let of = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            let own = |(name, digest): &(&str, &str)| ((*name).to_owned(), (*digest).to_owned());
            all.iter().map(own).collect()
        };
        let then = of(&[("a", "1"), ("b", "2")]);
        assert_eq!(changed(&then, &then), None);
        for (now, name) in [
            (of(&[("a", "1"), ("b", "3")]), "b is"),
            (of(&[("b", "2")]), "a is"),
            (of(&[("a", "1"), ("b", "2"), ("c", "1")]), "c is"),
        ] {
            assert!(changed(&then, &now).is_some_and(|said| said.starts_with(name)));
        }
        assert_eq!(changed(&of(&[]), &then), None);
    }
}
