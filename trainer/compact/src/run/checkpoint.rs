//! The checkpoint of a compact policy's run: parameters, optimizer moments, number of updates and
//! position in the log, from which every other file of the run's folder can be written again.

use std::path::Path;

use sentinel_policy::nn::{Architecture, Shape, Weights};
use sentinel_run::checkpoint::Tensors;
use sentinel_run::{CHECKPOINT_FILE, LogPosition, checkpoint};
use sentinel_tensor::adamw::Moments;
use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::config::TrainConfig;
use crate::learn::Learn;
use crate::trainer::{Best, Trainer};

/// The key of the file's metadata.
const KEY: &str = "sentinel-checkpoint";
/// Prefixes of tensor names: moments, the policy that training started from, the best policy.
/// Parameters have none.
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
    /// The number of optimizer steps.
    time: usize,
    /// The step and the score of the best policy.
    best: Option<(usize, f64)>,
    /// The position in the log; in checkpoints of earlier versions, the events themselves.
    #[serde(alias = "history")]
    log: LogPosition,
}

/// A saved state of a run.
pub struct Checkpoint<W: Learn> {
    header: Header,
    weights: Weights<W::Net>,
    moments: Vec<Option<Moments>>,
    reference: Option<Weights<W::Net>>,
    best: Option<Best<W::Net>>,
}

/// Reads the configuration of the run in a folder, for any environment.
///
/// # Errors
/// Returns an error if there is no checkpoint, or the file is truncated or something else.
pub fn read_config(folder: &Path) -> Result<TrainConfig, TrainError> {
    let header: Header = checkpoint::read_header(&folder.join(CHECKPOINT_FILE), KEY)?;
    Ok(header.config)
}

/// Writes the state of a run into its folder.
///
/// # Errors
/// Returns an error if the file cannot be written; the previous checkpoint then stays.
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
    let mut tensors = Tensors::default();
    let mut add = |prefix: &str, shape: &Shape, values: &[f32]| {
        let size = vec![shape.rows, shape.columns];
        tensors.insert(format!("{prefix}{}", shape.name), size, values.to_vec());
    };
    for ((shape, values), moments) in trainer.weights.iter().zip(&moments) {
        add("", &shape, values);
        if let Some(moments) = moments {
            add(FIRST, &shape, &moments.first);
            add(SECOND, &shape, &moments.second);
        }
    }
    for (shape, values) in trainer.reference.iter().flat_map(Weights::iter) {
        add(REFERENCE, &shape, values);
    }
    let best = trainer.best.iter().flat_map(|best| best.weights.iter());
    for (shape, values) in best {
        add(BEST, &shape, values);
    }
    Ok(checkpoint::write(
        &folder.join(CHECKPOINT_FILE),
        KEY,
        &header,
        &tensors,
    )?)
}

impl<W: Learn> Checkpoint<W> {
    /// Reads the checkpoint of a folder.
    ///
    /// # Errors
    /// Returns an error if there is none, or the file is truncated or something else.
    pub fn load(folder: &Path) -> Result<Self, TrainError> {
        let path = folder.join(CHECKPOINT_FILE);
        let (header, tensors) = checkpoint::read(&path, KEY)?;
        let found = Self::from_parts(header, tensors);
        found.map_err(|reason| checkpoint::no_checkpoint(&path, &reason).into())
    }

    fn from_parts(header: Header, mut tensors: Tensors) -> Result<Self, String> {
        let net = W::net(&header.config);
        let shapes = net.shapes();
        let mut group = |prefix: &str| -> Result<Vec<Vec<f32>>, String> {
            let mut all = vec![Vec::new(); shapes.len()];
            // Without pooling one shape is empty: it is neither trained nor stored.
            let kept = |(shape, _): &(&Shape, _)| shape.rows * shape.columns > 0;
            for (shape, values) in shapes.iter().zip(&mut all).filter(kept) {
                let name = format!("{prefix}{}", shape.name);
                let found = tensors.take(&name, shape.rows * shape.columns);
                *values = found.ok_or_else(|| format!("{name} is missing or has another shape"))?;
            }
            Ok(all)
        };
        let weights_of = |values: Vec<Vec<f32>>| {
            Weights::from_tensors(net, values).ok_or_else(|| "lengths differ".to_owned())
        };
        let weights = weights_of(group("")?)?;
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
        let reference = match header.config.beta > 0.0 {
            true => Some(weights_of(group(REFERENCE)?)?),
            false => None,
        };
        let best = match header.best {
            Some((step, score)) => Some(Best {
                step,
                score,
                weights: weights_of(group(BEST)?)?,
            }),
            None => None,
        };
        Ok(Self {
            weights,
            moments,
            reference,
            best,
            header,
        })
    }

    /// Returns the configuration of the run.
    #[must_use]
    pub const fn config(&self) -> &TrainConfig {
        &self.header.config
    }

    /// Returns a trainer that continues the run, and the position of its log.
    ///
    /// # Errors
    /// Returns an error if the device is not available.
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
