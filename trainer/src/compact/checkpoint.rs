//! The state of a run in one file, replaced as a whole: whenever the program is killed, the last one
//! is valid.
//!
//! It holds the parameters, the optimizer's moments, the number of updates done and how far the log
//! had come, so that every other file of the run's folder can be written again.

use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use sentinel_policy::nn::{Architecture, Shape, Weights};
use serde::{Deserialize, Serialize};

use super::TrainError;
use super::config::TrainConfig;
use super::learn::Learn;
use super::optimizer::Moments;
use super::trainer::{Best, Trainer};
use crate::run::{CHECKPOINT, LogPosition};
use crate::{Error, files};

/// The key of the file's metadata.
const KEY: &str = "sentinel-checkpoint";
/// Groups of tensors: parameters, moments, and the policy that training started from.
const FIRST: &str = "adam.first.";
const SECOND: &str = "adam.second.";
const REFERENCE: &str = "reference.";
const BEST: &str = "best.";

/// The metadata of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    config: TrainConfig,
    done: usize,
    env_steps: u64,
    /// Optimizer steps.
    time: usize,
    /// The step and the score of the best policy.
    best: Option<(usize, f64)>,
    /// In checkpoints of earlier versions, the events themselves.
    #[serde(alias = "history")]
    log: LogPosition,
}

/// A run as it was saved.
pub struct Checkpoint<W: Learn> {
    header: Header,
    weights: Weights<W::Net>,
    moments: Vec<Option<Moments>>,
    reference: Option<Weights<W::Net>>,
    best: Option<Best<W::Net>>,
}

/// Reads the configuration of the run in a folder, whatever its environment.
///
/// # Errors
/// If there is no checkpoint, or it is cut off or something else.
pub fn config(folder: &Path) -> Result<TrainConfig, TrainError> {
    let path = folder.join(CHECKPOINT);
    let bytes = read(&path)?;
    let header = header(&bytes).map_err(|reason| no_checkpoint(&path, &reason))?;
    Ok(header.config)
}

fn read(path: &Path) -> Result<Vec<u8>, TrainError> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    Ok(std::fs::read(path).map_err(failed)?)
}

fn no_checkpoint(path: &Path, reason: &str) -> TrainError {
    let reason =
        format!("no checkpoint, or cut off ({reason}): start again with --overwrite-output-dir");
    wrong(path, reason)
}

fn header(bytes: &[u8]) -> Result<Header, String> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| e.to_string())?;
    let text = metadata.metadata().as_ref().and_then(|all| all.get(KEY));
    let text = text.ok_or("it says nothing of a run")?;
    serde_json::from_str(text).map_err(|e| e.to_string())
}

/// Writes the state of a run into its folder.
///
/// # Errors
/// If it cannot be written; the checkpoint before it stays then.
pub fn save<W: Learn>(
    trainer: &Trainer<W>,
    log: LogPosition,
    folder: &Path,
) -> Result<(), TrainError> {
    let moments = trainer.optimizer.moments()?;
    let header = Header {
        config: trainer.config.clone(),
        done: trainer.done,
        env_steps: trainer.env_steps,
        time: moments.iter().flatten().map(|m| m.time).max().unwrap_or(0),
        best: trainer.best.as_ref().map(|best| (best.step, best.score)),
        log,
    };
    let text = serde_json::to_string(&header).map_err(Error::from)?;
    let mut tensors: Vec<(String, [usize; 2], Vec<u8>)> = Vec::new();
    let mut add = |prefix: &str, name: &str, shape, values: &[f32]| {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        tensors.push((format!("{prefix}{name}"), shape, bytes));
    };
    for ((shape, values), moments) in trainer.weights.iter().zip(&moments) {
        let size = [shape.rows, shape.columns];
        add("", shape.name, size, values);
        if let Some(moments) = moments {
            add(FIRST, shape.name, size, &moments.first);
            add(SECOND, shape.name, size, &moments.second);
        }
    }
    for (shape, values) in trainer.reference.iter().flat_map(Weights::iter) {
        add(REFERENCE, shape.name, [shape.rows, shape.columns], values);
    }
    let best = trainer.best.iter().flat_map(|best| best.weights.iter());
    for (shape, values) in best {
        add(BEST, shape.name, [shape.rows, shape.columns], values);
    }
    let path = folder.join(CHECKPOINT);
    let failed = |error: safetensors::SafeTensorError| wrong(&path, error.to_string());
    let mut views = Vec::new();
    for (name, shape, bytes) in &tensors {
        let view = TensorView::new(Dtype::F32, shape.to_vec(), bytes).map_err(failed)?;
        views.push((name, view));
    }
    let metadata = [(KEY.to_owned(), text)].into_iter().collect();
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(failed)?;
    Ok(files::write(&path, &bytes)?)
}

fn wrong(path: &Path, reason: String) -> TrainError {
    TrainError::Checkpoint {
        path: path.to_owned(),
        reason,
    }
}

impl<W: Learn> Checkpoint<W> {
    /// Reads the checkpoint of a folder.
    ///
    /// # Errors
    /// If there is none, or it is cut off or something else.
    pub fn read(folder: &Path) -> Result<Self, TrainError> {
        let path = folder.join(CHECKPOINT);
        let found = Self::from_bytes(&read(&path)?);
        found.map_err(|reason| no_checkpoint(&path, &reason))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
        let header = header(bytes)?;
        let net = W::net(&header.config);
        let shapes = net.shapes();
        let group = |prefix: &str| -> Result<Vec<Vec<f32>>, String> {
            let mut all = vec![Vec::new(); shapes.len()];
            // Without pooling one shape has no number: nothing is trained there, or kept.
            let kept = |(shape, _): &(&Shape, _)| shape.rows * shape.columns > 0;
            for (shape, values) in shapes.iter().zip(&mut all).filter(kept) {
                let name = format!("{prefix}{}", shape.name);
                let view = file.tensor(&name).map_err(|e| e.to_string())?;
                if view.dtype() != Dtype::F32 || view.shape() != [shape.rows, shape.columns] {
                    return Err(format!("{name} has another shape"));
                }
                let (numbers, _) = view.data().as_chunks::<4>();
                *values = numbers.iter().map(|b| f32::from_le_bytes(*b)).collect();
            }
            Ok(all)
        };
        let weights = |prefix| -> Result<Weights<W::Net>, String> {
            Weights::from_tensors(net, group(prefix)?).ok_or_else(|| "lengths differ".to_owned())
        };
        let moments = match header.time {
            0 => vec![None; shapes.len()],
            time => {
                let pairs = group(FIRST)?.into_iter().zip(group(SECOND)?);
                let moments = pairs.map(|(first, second)| Moments {
                    time,
                    first,
                    second,
                });
                moments.map(Some).collect()
            }
        };
        let reference = header.config.beta > 0.0;
        let best = header.best.map(|(step, score)| {
            let weights = weights(BEST)?;
            Ok::<_, String>(Best {
                step,
                score,
                weights,
            })
        });
        Ok(Self {
            weights: weights("")?,
            moments,
            reference: reference.then(|| weights(REFERENCE)).transpose()?,
            best: best.transpose()?,
            header,
        })
    }

    /// Returns the configuration of the run.
    #[must_use]
    pub const fn config(&self) -> &TrainConfig {
        &self.header.config
    }

    /// Returns a trainer that continues the run, and how far its log had come.
    ///
    /// # Errors
    /// If the device is not available.
    pub fn resume(self) -> Result<(Trainer<W>, LogPosition), TrainError> {
        let mut trainer = Trainer::new(self.header.config, self.weights)?;
        trainer.done = self.header.done;
        trainer.env_steps = self.header.env_steps;
        trainer.reference = self.reference;
        trainer.best = self.best;
        trainer.optimizer.restore(self.moments, &trainer.net);
        Ok((trainer, self.header.log))
    }
}
