//! The checkpoint of a compact policy's run: parameters, optimizer moments, number of updates and
//! position in the log, from which every other file of the run's folder can be written again. Its content
//! needs no files; `run/checkpoint.rs` reads and writes them.

use sentinel_policy::nn::Architecture as _;
#[cfg(all(feature = "burn", not(target_family = "wasm")))]
use sentinel_policy::nn::{Shape, Weights};
use sentinel_run::LogPosition;
use sentinel_run::tensors::{Tensors, encode};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::config::TrainConfig;
use crate::learn::Learn;
use crate::tensor::Tensor;
use crate::trainer::{Best, Trainer, TrainerState};

/// The key of the file's metadata.
pub(crate) const KEY: &str = "sentinel-checkpoint";
/// Prefixes of tensor names: moments, the policy that training started from, the best policy.
/// Parameters have none.
const FIRST: &str = "adam.first.";
const SECOND: &str = "adam.second.";
const REFERENCE: &str = "reference.";
const BEST: &str = "best.";

/// The metadata of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) config: TrainConfig,
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
#[derive(Clone, Debug)]
pub struct Checkpoint<W: Learn> {
    pub(crate) config: TrainConfig,
    pub(crate) log: LogPosition,
    pub(crate) state: TrainerState,
    pub(crate) best: Option<Best<W::Net>>,
}

impl<W: Learn> Checkpoint<W> {
    /// Returns the state of a run whose log has the length `log`.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn new<T: Tensor>(trainer: &Trainer<W, T>, log: LogPosition) -> Result<Self, Error> {
        Ok(Self {
            config: trainer.config.clone(),
            log,
            state: trainer.state()?,
            best: trainer.best.clone(),
        })
    }

    /// Returns the bytes of the checkpoint file.
    ///
    /// # Errors
    /// Returns a phrase if the configuration cannot be written, or the network has other parameters.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        let Self { state, best, .. } = self;
        let header = Header {
            config: self.config.clone(),
            done: state.done as usize,
            env_steps: state.env_steps,
            time: state.time as usize,
            best: best.as_ref().map(|best| (best.step, best.score)),
            log: self.log.clone(),
        };
        let mut tensors = Tensors::default();
        let shapes = W::net(&self.config).shapes();
        let mut add = |prefix: &str, index: usize, values: &[f32]| {
            let shape = &shapes[index];
            let size = vec![shape.rows, shape.columns];
            tensors.insert(format!("{prefix}{}", shape.name), size, values.to_vec());
        };
        for (index, values) in state.weights.iter().enumerate() {
            add("", index, values);
        }
        // A parameter without a gradient so far has no moments.
        let moments = state.moments.iter().enumerate();
        for (index, (first, second)) in moments.filter(|(_, (first, _))| !first.is_empty()) {
            add(FIRST, index, first);
            add(SECOND, index, second);
        }
        for (index, values) in state.reference.iter().flatten().enumerate() {
            add(REFERENCE, index, values);
        }
        let best = best.iter().flat_map(|best| best.weights.iter());
        for (index, (_, values)) in best.enumerate() {
            add(BEST, index, values);
        }
        encode(KEY, &header, &tensors)
    }

    /// Returns the checkpoint of a parsed file.
    #[cfg(all(feature = "burn", not(target_family = "wasm")))]
    pub(crate) fn from_parts(header: Header, mut tensors: Tensors) -> Result<Self, String> {
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
        let weights = group("")?;
        let moments = match header.time {
            0 => Vec::new(),
            _ => group(FIRST)?.into_iter().zip(group(SECOND)?).collect(),
        };
        let reference = match header.config.beta > 0.0 {
            true => Some(group(REFERENCE)?),
            false => None,
        };
        let best = match header.best {
            Some((step, score)) => Some(Best {
                step,
                score,
                weights: Weights::from_tensors(net, group(BEST)?).ok_or("lengths differ")?,
            }),
            None => None,
        };
        let state = TrainerState {
            done: header.done as u64,
            env_steps: header.env_steps,
            time: header.time as u64,
            weights,
            moments,
            reference,
        };
        Ok(Self {
            config: header.config,
            log: header.log,
            state,
            best,
        })
    }

    /// Returns the configuration of the run.
    #[must_use]
    pub const fn config(&self) -> &TrainConfig {
        &self.config
    }
}
