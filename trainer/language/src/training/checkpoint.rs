//! Checkpoints of a language model's run.
//!
//! A checkpoint holds the trained parameters, the optimizer's moments and the position of the run
//! and of its log, from which every other file of the run's folder can be written again. Random
//! streams and the order of the data follow from the seed and the step, so they are not stored.

use std::collections::BTreeMap;
use std::path::Path;

use sentinel_base::Error;
use sentinel_lm::{CausalLm, Moments};
use sentinel_run::checkpoint::Tensors;
use sentinel_run::{CHECKPOINT_FILE, LogPosition, checkpoint};
use sentinel_tensor::matrix;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::algorithm::{Best, State};
use super::error::RunError;

const KEY: &str = "sentinel-lm-checkpoint";
const VALUE: &str = "value.";
const FIRST: &str = "adam.first.";
const SECOND: &str = "adam.second.";
const BEST: &str = "best.";

/// The metadata of a checkpoint beside its tensors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Name of the method: `sft` or `grpo`.
    pub method: String,
    /// All options of the run.
    pub config: Value,
    /// Digest of the model's weights before the run.
    pub base: String,
    /// Digests of the files that the run reads, keyed by a description; empty in older checkpoints.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// Number of optimizer steps taken.
    pub done: usize,
    /// Number of tokens read in training.
    pub tokens: u64,
    /// Number of AdamW steps of each parameter.
    pub times: BTreeMap<String, usize>,
    /// Step and score of the best model so far. Its weights are stored separately unless it is the
    /// current model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<(usize, f64)>,
    /// Position of the log. Checkpoints of earlier versions hold the events themselves.
    #[serde(alias = "history")]
    pub log: LogPosition,
}

impl Header {
    /// Reads the metadata of the checkpoint in a folder, without its tensors, which are not
    /// checked.
    ///
    /// # Errors
    /// If there is no checkpoint, or its header is truncated or invalid.
    pub fn load(folder: &Path) -> Result<Self, RunError> {
        Ok(checkpoint::read_header(&folder.join(CHECKPOINT_FILE), KEY)?)
    }
}

/// A checkpoint that was read from a file.
pub struct Checkpoint {
    /// Metadata of the checkpoint.
    pub header: Header,
    tensors: Tensors,
}

/// Writes the checkpoint of a run into its folder. The fields `done`, `tokens`, `times` and `best`
/// of `header` are filled in from `state`.
///
/// # Errors
/// If a weight is not finite, or the file cannot be written; the previous checkpoint then remains.
pub fn save(state: &State, mut header: Header, folder: &Path) -> Result<(), RunError> {
    let moments = state.optimizer.moments()?;
    header.done = state.done;
    header.tokens = state.tokens;
    header.times = (moments.iter())
        .map(|(name, moments)| (name.clone(), moments.time))
        .collect();
    header.best = state.best.as_ref().map(|best| (best.step, best.score));
    let mut tensors = Tensors::default();
    add_trained(&mut tensors, VALUE, &state.model, state.done)?;
    if let Some(best) = state.best.as_ref().filter(|best| best.step != state.done) {
        add_trained(&mut tensors, BEST, &best.model, state.done)?;
    }
    for (name, moments) in moments {
        let count = moments.first.len();
        tensors.insert(format!("{FIRST}{name}"), vec![count], moments.first);
        tensors.insert(format!("{SECOND}{name}"), vec![count], moments.second);
    }
    Ok(checkpoint::write(
        &folder.join(CHECKPOINT_FILE),
        KEY,
        &header,
        &tensors,
    )?)
}

/// Adds the trained parameters of a model.
fn add_trained(
    tensors: &mut Tensors,
    prefix: &str,
    model: &CausalLm,
    step: usize,
) -> Result<(), RunError> {
    for parameter in model.parameters() {
        if parameter.is_trainable() {
            let values = parameter.values()?;
            if !values.iter().all(|value| value.is_finite()) {
                return Err(RunError::NotFinite {
                    step,
                    what: "largest weight",
                    saved: String::new(),
                });
            }
            let name = format!("{prefix}{}", parameter.name());
            tensors.insert(name, vec![values.len()], values);
        }
    }
    Ok(())
}

impl Checkpoint {
    /// Reads the checkpoint of a folder.
    ///
    /// # Errors
    /// If there is none, or it is truncated or invalid.
    pub fn load(folder: &Path) -> Result<Self, RunError> {
        let (header, tensors) = checkpoint::read(&folder.join(CHECKPOINT_FILE), KEY)?;
        Ok(Self { header, tensors })
    }

    /// Parses the content of the checkpoint file of a folder.
    ///
    /// # Errors
    /// If it is truncated or invalid.
    pub fn parse(bytes: &[u8], folder: &Path) -> Result<Self, RunError> {
        let (header, tensors) = checkpoint::parse(bytes, &folder.join(CHECKPOINT_FILE), KEY)?;
        Ok(Self { header, tensors })
    }

    /// Restores `state`, whose model must be as it was before the run, and returns the position of
    /// the log.
    ///
    /// # Errors
    /// If the checkpoint belongs to another model.
    pub fn restore(mut self, state: &mut State, folder: &Path) -> Result<LogPosition, RunError> {
        let path = folder.join(CHECKPOINT_FILE);
        let best = match self.header.best {
            Some((step, score)) if step != self.header.done => {
                let mut model = state.model.clone();
                self.take_trained(&mut model, BEST, &path)?;
                Some(Best { step, score, model })
            }
            _ => None,
        };
        self.take_trained(&mut state.model, VALUE, &path)?;
        state.best = match self.header.best {
            Some((step, score)) if best.is_none() => Some(Best {
                step,
                score,
                model: state.model.clone(),
            }),
            _ => best,
        };
        let mut moments = BTreeMap::new();
        for (name, time) in self.header.times {
            let mut take = |prefix: &str| self.tensors.take_or_empty(&format!("{prefix}{name}"));
            let (first, second) = (take(FIRST), take(SECOND));
            moments.insert(
                name,
                Moments {
                    time,
                    first,
                    second,
                },
            );
        }
        state.optimizer.restore(moments, &state.model)?;
        state.done = self.header.done;
        state.tokens = self.header.tokens;
        Ok(self.header.log)
    }

    /// Restores the trained parameters of a model.
    fn take_trained(
        &mut self,
        model: &mut CausalLm,
        prefix: &str,
        path: &Path,
    ) -> Result<(), RunError> {
        let device = model.device().clone();
        for parameter in model.parameters_mut() {
            if !parameter.is_trainable() {
                continue;
            }
            let name = format!("{prefix}{}", parameter.name());
            let shape = parameter.get(false).dims();
            let Some(values) = self.tensors.take(&name, shape[0] * shape[1]) else {
                let reason =
                    format!("{name} is missing or has another shape: it belongs to another model");
                return Err(Error::invalid(path, reason).into());
            };
            parameter.set(matrix(values, shape, &device));
        }
        Ok(())
    }
}
