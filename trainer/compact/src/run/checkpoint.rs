//! The checkpoint of a compact policy's run: parameters, optimizer moments, number of updates and
//! position in the log, from which every other file of the run's folder can be written again.

use std::path::Path;

use sentinel_policy::nn::{Architecture, Shape, Weights};
use sentinel_run::checkpoint::Tensors;
use sentinel_run::{CHECKPOINT_FILE, LogPosition, checkpoint};
use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::Error;
use crate::config::TrainConfig;
use crate::learn::Learn;
use crate::trainer::{Best, Trainer, TrainerState};

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
    config: TrainConfig,
    log: LogPosition,
    state: TrainerState,
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
    let state = trainer.state()?;
    let header = Header {
        config: trainer.config.clone(),
        done: state.done as usize,
        env_steps: state.env_steps,
        time: state.time as usize,
        best: trainer.best.as_ref().map(|best| (best.step, best.score)),
        log,
    };
    let mut tensors = Tensors::default();
    let shapes = trainer.weights.config().shapes();
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
    let best = trainer.best.iter().flat_map(|best| best.weights.iter());
    for (index, (_, values)) in best.enumerate() {
        add(BEST, index, values);
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

    /// Returns a trainer that continues the run, and the position of its log.
    ///
    /// # Errors
    /// Returns an error if the device is not available.
    pub fn resume(self) -> Result<(Trainer<W>, LogPosition), TrainError> {
        let device = self.config.device.open().map_err(Error::from)?;
        let mut trainer = Trainer::from_state(self.config, self.state, &device)?;
        trainer.best = self.best;
        Ok((trainer, self.log))
    }
}
