//! Metadata that all files of a run record, and digests of the inputs that must not change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::Error;
use sentinel_base::options_file::to_current_form;
use sentinel_base::provenance::{Provenance, file_digest};
use sentinel_lm::chat::CHAT_TEMPLATE_KWARGS_FILE;
use sentinel_lm::companion_files::{GENERATION_CONFIG, TOKENIZER_FILES};
use sentinel_lm::lora::ADAPTER_FILES;
use sentinel_lm::{ChatTemplateKwargs, LmError, StopTokens, tokenizer_folder};
use sentinel_run::RunSchedule;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::RunError;
use super::options::RunOptions;

/// Files in a model's folder that, with its tokenizer, determine how it reads text and where completions end. The
/// weights are compared by their own digest.
const READ: [&str; 3] = ["config.json", GENERATION_CONFIG, CHAT_TEMPLATE_KWARGS_FILE];

/// The metadata that all files of a run record.
#[derive(Clone, Debug)]
pub struct RunMetadata {
    /// All options by name. If the run continues an existing adapter, the `lora_` options are those
    /// of that adapter.
    pub config: Value,
    /// Path of the base model's folder.
    pub source: PathBuf,
    /// `true` if a tiny new model replaces one that could not be found.
    pub fallback: bool,
    /// Number of steps averaged in one log entry.
    pub logging_steps: usize,
    /// Intervals of evaluations and checkpoints.
    pub run_schedule: RunSchedule,
    /// Function that converts options of an earlier version: it renames them and adds the defaults
    /// of new ones.
    pub normalized: fn(&Value) -> Value,
    /// SHA-256 digests of the files that the run reads, keyed by a description. A run can be
    /// resumed only if they are unchanged.
    pub inputs: BTreeMap<String, String>,
    /// Variables of the chat template, which the trained model keeps.
    pub chat_template_kwargs: ChatTemplateKwargs,
    /// Fallbacks that the run depends on: those of its model, adapter and data.
    pub provenance: Provenance,
    /// Path of the folder of the tokenizer, which the trained model keeps.
    pub tokenizer: PathBuf,
    /// Stop tokens that the trained model must name, if they are not those of the base model.
    pub stop_tokens: Option<StopTokens>,
    /// Warnings about the model to show to the user.
    pub warnings: Vec<String>,
}

impl RunMetadata {
    /// Collects the metadata of a run with these options, which include `run`, starting from the
    /// model in `source`.
    ///
    /// # Errors
    /// If the options cannot be represented as JSON, or a file cannot be read.
    pub fn new<C: clap::Args + Serialize + DeserializeOwned>(
        config: &C,
        run: &RunOptions,
        source: PathBuf,
        fallback: bool,
    ) -> Result<Self, RunError> {
        let mut config = serde_json::to_value(config).map_err(Error::from)?;
        if let (Value::Object(fields), Some(adapter)) = (&mut config, run.named_adapter()?) {
            fields.extend(RunOptions::adapter_options(&adapter));
        }
        let chat_template_kwargs = run.template_kwargs(&source)?;
        let tokenizer = tokenizer_folder(&source, run.adapter.as_deref())?.to_owned();
        let mut metadata = Self {
            config,
            source,
            fallback,
            logging_steps: run.logging_steps,
            run_schedule: run.run_schedule(),
            normalized: to_current_form::<C>,
            inputs: BTreeMap::new(),
            chat_template_kwargs,
            provenance: Provenance::new(),
            tokenizer,
            stop_tokens: None,
            warnings: Vec::new(),
        };
        metadata.provenance.add_model_fallbacks(&metadata.source)?;
        if fallback {
            // Runs begun by an earlier version did not record their fallback.
            metadata
                .provenance
                .add_fallback("init", run.fallback_note());
        }
        let model = metadata.source.clone();
        metadata.reads_folder("model", &model, &READ)?;
        metadata.reads_folder("model", &model, &TOKENIZER_FILES)?;
        if let Some(adapter) = &run.adapter {
            metadata.provenance.add_model_fallbacks(adapter)?;
            metadata.reads_folder("adapter", adapter, &ADAPTER_FILES)?;
            let own = [CHAT_TEMPLATE_KWARGS_FILE, GENERATION_CONFIG];
            metadata.reads_folder("adapter", adapter, &own)?;
            // Adapters of earlier runs hold copies of the model's files.
            if metadata.tokenizer == *adapter {
                metadata.reads_folder("adapter", adapter, &TOKENIZER_FILES)?;
            }
        }
        Ok(metadata)
    }

    /// Records the digest of a file that the run reads, under the description `what`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn record_input(&mut self, what: &str, path: &Path) -> Result<(), RunError> {
        let digest = file_digest(path).map_err(|error| LmError::read(path, error))?;
        self.inputs.insert(what.to_owned(), digest);
        Ok(())
    }

    /// Records the digests of files that were read elsewhere.
    pub fn record_inputs(&mut self, read: Provenance) {
        self.inputs.extend(read.inputs);
    }

    fn reads_folder(&mut self, what: &str, folder: &Path, names: &[&str]) -> Result<(), RunError> {
        for name in names {
            let path = folder.join(name);
            if path.is_file() {
                self.record_input(&format!("{name} of the {what}"), &path)?;
            }
        }
        Ok(())
    }

    /// Returns the provenance of the trained model, whose base weights have the digest `base`.
    pub(super) fn provenance(&self, base: &str) -> Provenance {
        let mut provenance = self.provenance.clone();
        provenance.inputs.clone_from(&self.inputs);
        let weights = "weights of the model".to_owned();
        provenance.inputs.insert(weights, base.to_owned());
        provenance
    }

    /// Returns the folder of the adapter that the run continues, if any.
    pub(super) fn adapter(&self) -> Option<&Path> {
        Some(Path::new(self.config.get("adapter")?.as_str()?))
    }
}

/// Describes the first input that differs from the one the run began with. Runs without recorded
/// digests, from before these existed, never differ.
pub(super) fn describe_changed_input(
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
    fn new_missing_or_modified_input_is_described_as_changed() {
        let of = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            let own = |(name, digest): &(&str, &str)| ((*name).to_owned(), (*digest).to_owned());
            all.iter().map(own).collect()
        };
        let then = of(&[("a", "1"), ("b", "2")]);
        assert_eq!(describe_changed_input(&then, &then), None);
        for (now, name) in [
            (of(&[("a", "1"), ("b", "3")]), "b is"),
            (of(&[("b", "2")]), "a is"),
            (of(&[("a", "1"), ("b", "2"), ("c", "1")]), "c is"),
        ] {
            assert!(
                describe_changed_input(&then, &now)
                    .is_some_and(|message| message.starts_with(name))
            );
        }
        assert_eq!(describe_changed_input(&of(&[]), &then), None);
    }
}
