//! A training run whose world is not known to the caller, and the state from which it continues.

use sentinel_compact::TrainConfig;
use sentinel_compact::trainer::{Best, TrainerState};
use sentinel_page_protocol::{ExportedFile, TrainingUpdate};
use sentinel_policy::nn::{Architecture, Weights};
use serde::{Deserialize, Serialize};

use crate::part::weights_from;
use crate::run_log::PhaseLog;

/// Progress that a run has made by itself.
pub(crate) enum Progress {
    /// The state has changed.
    Update(Box<TrainingUpdate>),
    /// A part was played.
    Part,
    /// Nothing can be done before other engines have sent their parts.
    Waiting,
}

/// A training run whose world is not known to the caller.
pub(crate) trait TrainingRun {
    /// Returns `true` if the run has updates left to begin.
    fn has_updates(&self) -> bool;
    /// Returns `true` while an update is under way.
    fn is_updating(&self) -> bool;
    /// Returns `true` while an evaluation is under way.
    fn is_evaluating(&self) -> bool;
    /// Begins the next update.
    ///
    /// # Errors
    /// Returns a phrase about why the next phase cannot begin.
    fn begin_update(&mut self) -> Result<(), String>;
    /// Takes a part for another engine, encoded; `None` if none is left.
    fn take_part(&mut self) -> Option<Vec<u8>>;
    /// Takes a part that another engine has played.
    ///
    /// # Errors
    /// Returns a sentence if it cannot be read.
    fn put_part(&mut self, episodes: &[u8]) -> Result<(), String>;
    /// Plays all parts that other engines have taken.
    fn play_alone(&mut self);
    /// Plays a part, or takes the step for which all parts are there.
    fn advance(&mut self) -> Progress;
    /// Returns the state of the run, without an evaluation.
    fn state(&self) -> TrainingUpdate;
    /// Returns the newest policy as a model file.
    fn model(&self) -> Result<Vec<u8>, String>;
    /// Returns the folder of the run of the current phase in an archive; `None` before an evaluation that is
    /// due or under way has ended.
    ///
    /// # Errors
    /// Returns a sentence if the run has failed, or a file cannot be written.
    fn archive(&self) -> Option<Result<ExportedFile, String>>;
    /// Returns the state from which the run can be continued, after `worked_ms` milliseconds of work.
    fn saved(&self, worked_ms: f64) -> Option<Vec<u8>>;
    /// Returns the milliseconds of work before the saved state from which it continues.
    fn worked_before(&self) -> f64;
    /// Ends the run for a reason.
    fn fail(&mut self, reason: &str);
}

/// A state from which a run continues.
#[derive(Serialize, Deserialize)]
pub(crate) struct RunCheckpoint {
    /// Hash of the configurations of all phases: other presets would continue with the weights of
    /// neither run.
    pub configs: u64,
    pub phase: u32,
    pub before: u32,
    /// Number of updates at the newest evaluation.
    pub evaluated: Option<u32>,
    pub steps_before: u64,
    pub worked_ms: f64,
    pub trainer: TrainerState,
    /// The best policy of the phase: its number of updates, its score and the values of its parameters.
    pub best: Option<(usize, f64, Vec<f32>)>,
    /// Log of the phase.
    pub log: PhaseLog,
}

impl RunCheckpoint {
    /// Returns the best policy of the phase; `None` before the first evaluation.
    ///
    /// # Errors
    /// Returns a phrase if it is of another network.
    pub(crate) fn best<A: Architecture>(&self, net: A) -> Result<Option<Best<A>>, String> {
        let Some((step, score, values)) = &self.best else {
            return Ok(None);
        };
        let weights = weights_from(net, values).ok_or("the saved state cannot be read")?;
        let (step, score) = (*step, *score);
        Ok(Some(Best {
            step,
            score,
            weights,
        }))
    }
}

/// Returns the hash of weights, in hexadecimal digits.
pub(crate) fn digest<A: Architecture>(weights: &Weights<A>) -> String {
    let mut digest = sentinel_env::digest::Digest::default();
    for (_, values) in weights.iter() {
        for value in values {
            digest.write_bytes(&value.to_bits().to_le_bytes());
        }
    }
    format!("{:016x}", digest.hash)
}

/// Returns the hash of the configurations of all phases.
pub(crate) fn hash_of(phases: &[TrainConfig]) -> u64 {
    let mut digest = sentinel_env::digest::Digest::default();
    for phase in phases {
        digest.write_bytes(format!("{phase:?}").as_bytes());
    }
    digest.hash
}
