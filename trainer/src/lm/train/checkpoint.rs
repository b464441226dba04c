//! A run's state in one file, replaced whole: whenever the program is killed, the last one is valid.
//!
//! It holds what is trained, the optimizer's moments, how far the run and its log have come, so
//! that every other file of the run's folder can be written again from it. Random streams and the
//! order of the data follow from the seed and the step, so they have no state of their own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::RunError;
use super::state::State;
use crate::lm::parameter::matrix;
use crate::lm::{LmError, Moments};
use crate::run::{CHECKPOINT, LogPosition};
use crate::{Error, files};

const KEY: &str = "sentinel-lm-checkpoint";
const VALUE: &str = "value.";
const FIRST: &str = "adam.first.";
const SECOND: &str = "adam.second.";

/// What the file says beside its tensors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// `sft` or `grpo`.
    pub method: String,
    /// All options.
    pub config: Value,
    /// Of the model's weights before the run.
    pub base: String,
    /// Of the files that the run reads, by what they are. Older checkpoints name none.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// Optimizer steps done.
    pub done: usize,
    /// Tokens read.
    pub tokens: u64,
    /// Steps of each parameter's moments.
    pub times: BTreeMap<String, usize>,
    /// How far the log had come. In checkpoints of earlier versions, the events themselves.
    #[serde(alias = "history")]
    pub log: LogPosition,
}

/// The beginning of a safetensors file, as far as it says anything about the run.
#[derive(Deserialize)]
struct Beginning {
    #[serde(rename = "__metadata__")]
    metadata: BTreeMap<String, String>,
}

impl Header {
    /// Reads what the checkpoint of a folder says, without its tensors; whether those are whole is
    /// seen when they are read.
    ///
    /// # Errors
    /// If there is no checkpoint, or its beginning is cut off or something else.
    pub fn read(folder: &Path) -> Result<Self, RunError> {
        let path = folder.join(CHECKPOINT);
        let bytes = beginning(&path).map_err(|error| LmError::read(&path, error))?;
        let found = serde_json::from_slice::<Beginning>(&bytes).map_err(|e| e.to_string());
        let header = found.and_then(|found| Self::of(found.metadata.get(KEY)));
        header.map_err(|reason| no_checkpoint(&path, &reason))
    }

    fn of(said: Option<&String>) -> Result<Self, String> {
        let said = said.ok_or("it says nothing of a language model's run")?;
        serde_json::from_str(said).map_err(|e| e.to_string())
    }
}

/// What stands before the tensors: eight bytes say how long it is. Of a file that is shorter than it
/// says, all there is.
fn beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let (mut length, mut bytes) = (Vec::new(), Vec::new());
    file.by_ref().take(8).read_to_end(&mut length)?;
    let length = length.try_into().map_or(0, u64::from_le_bytes);
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A checkpoint that was read.
pub struct Checkpoint {
    /// What it says.
    pub header: Header,
    tensors: BTreeMap<String, Vec<f32>>,
}

/// Writes the state of a run into its folder. Steps, tokens and times of `header` are filled in.
///
/// # Errors
/// If a number is not finite, or it cannot be written; the checkpoint before it stays then.
pub fn save(state: &State, mut header: Header, folder: &Path) -> Result<(), RunError> {
    let moments = state.optimizer.moments()?;
    header.done = state.done;
    header.tokens = state.tokens;
    header.times = (moments.iter())
        .map(|(name, moments)| (name.clone(), moments.time))
        .collect();
    let mut tensors: Vec<(String, Vec<u8>)> = Vec::new();
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect();
    for parameter in state.model.parameters() {
        if parameter.is_trainable() {
            let values = parameter.numbers()?;
            if !values.iter().all(|value| value.is_finite()) {
                return Err(RunError::NotFinite {
                    step: state.done,
                    what: "largest weight",
                    saved: String::new(),
                });
            }
            tensors.push((format!("{VALUE}{}", parameter.name()), bytes(&values)));
        }
    }
    for (name, moments) in &moments {
        tensors.push((format!("{FIRST}{name}"), bytes(&moments.first)));
        tensors.push((format!("{SECOND}{name}"), bytes(&moments.second)));
    }
    let path = folder.join(CHECKPOINT);
    let failed = |error: safetensors::SafeTensorError| wrong(&path, error.to_string());
    let mut views = Vec::new();
    for (name, bytes) in &tensors {
        let view = TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes).map_err(failed)?;
        views.push((name, view));
    }
    let text = serde_json::to_string(&header).map_err(Error::from)?;
    let metadata = [(KEY.to_owned(), text)].into_iter().collect();
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(failed)?;
    Ok(files::write(&path, &bytes)?)
}

fn wrong(path: &Path, reason: String) -> RunError {
    RunError::Checkpoint {
        path: path.to_owned(),
        reason,
    }
}

fn no_checkpoint(path: &Path, reason: &str) -> RunError {
    let said =
        format!("no checkpoint, or cut off ({reason}): start again with --overwrite-output-dir");
    wrong(path, said)
}

impl Checkpoint {
    /// Reads the checkpoint of a folder.
    ///
    /// # Errors
    /// If there is none, or it is cut off or something else.
    pub fn read(folder: &Path) -> Result<Self, RunError> {
        let path = folder.join(CHECKPOINT);
        let bytes = std::fs::read(&path).map_err(|error| LmError::read(&path, error))?;
        Self::from_bytes(&bytes).map_err(|reason| no_checkpoint(&path, &reason))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| e.to_string())?;
        let said = metadata.metadata().as_ref().and_then(|all| all.get(KEY));
        let header = Header::of(said)?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
        let mut tensors = BTreeMap::new();
        for (name, view) in file.tensors() {
            if view.dtype() != Dtype::F32 {
                return Err(format!("{name} is {:?}", view.dtype()));
            }
            let words = view.data().as_chunks::<4>().0.iter();
            let values = words.map(|word| f32::from_le_bytes(*word)).collect();
            tensors.insert(name, values);
        }
        Ok(Self { header, tensors })
    }

    /// Puts a state, whose model is as it was before the run, where the run stood.
    ///
    /// # Errors
    /// If the checkpoint is of another model.
    pub fn restore(mut self, state: &mut State, folder: &Path) -> Result<LogPosition, RunError> {
        let path = folder.join(CHECKPOINT);
        let device = state.model.device().clone();
        for parameter in state.model.parameters_mut() {
            if !parameter.is_trainable() {
                continue;
            }
            let name = format!("{VALUE}{}", parameter.name());
            let values = self.tensors.remove(&name).unwrap_or_default();
            let shape = parameter.get(false).dims();
            if values.len() != shape[0] * shape[1] {
                let reason =
                    format!("{name} is missing or has another shape: it is of another model");
                return Err(wrong(&path, reason));
            }
            parameter.set(matrix(values, shape, &device));
        }
        let mut moments = BTreeMap::new();
        for (name, time) in self.header.times {
            let mut take = |prefix: &str| {
                let found = self.tensors.remove(&format!("{prefix}{name}"));
                found.unwrap_or_default()
            };
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
}
