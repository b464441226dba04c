//! A run on several ranks: rank 0 runs the loop and tells the others to follow; gradients are summed.

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::Tensor;
use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files};
use sentinel_lm::{CausalLm, Grads, LmError, Parameter};
use sentinel_run::distributed::ProcessGroup;
use sentinel_run::{CHECKPOINT_FILE, Outcome};
use sentinel_tensor::{matrix, numbers};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::algorithm::{LmAlgorithm, State};
use super::checkpoint::Checkpoint;
use super::error::RunError;
use super::metadata::RunMetadata;
use crate::exchange::exchange;

/// Number of updates between two comparisons of the ranks' weights.
const UPDATES_PER_CHECK: usize = 10;

/// The next thing that all ranks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Command {
    /// Train until the run can stop.
    Update,
    /// End: all steps were taken, or enough.
    Finish,
    /// End: the run was asked to stop.
    Interrupt,
}

impl Command {
    /// Tells the other ranks what to do next.
    ///
    /// # Errors
    /// If another rank failed.
    pub(super) fn send(self, group: &ProcessGroup) -> Result<(), RunError> {
        if group.is_distributed() {
            group.broadcast::<_, RunError>(Ok(Some(self)))?;
        }
        Ok(())
    }

    fn receive(group: &ProcessGroup) -> Result<Self, RunError> {
        group.broadcast(Ok(None))
    }
}

impl From<Outcome> for Command {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Finished => Self::Finish,
            Outcome::Interrupted => Self::Interrupt,
        }
    }
}

/// Checks that all ranks have the same program, options, model and inputs, gives them the checkpoint
/// that rank 0 resumes from, and compares their weights. `base` is the digest of the base model's
/// weights.
///
/// # Errors
/// If a rank differs, or the checkpoint cannot be read.
pub(super) fn synchronize(
    group: &ProcessGroup,
    state: &mut State,
    metadata: &RunMetadata,
    base: &str,
    folder: &Path,
    resumes: bool,
) -> Result<(), RunError> {
    if !group.is_distributed() {
        return Ok(());
    }
    group.agree(&facts(group, metadata, base))?;
    let resumes = group.broadcast::<_, RunError>(Ok(group.is_main().then_some(resumes)))?;
    if resumes {
        let bytes = if group.is_main() {
            let path = folder.join(CHECKPOINT_FILE);
            std::fs::read(&path).map_err(|source| Error::Read { path, source }.into())
        } else {
            Ok(Vec::new())
        };
        let bytes = group.broadcast_bytes::<RunError>(bytes)?;
        if !group.is_main() {
            Checkpoint::parse(&bytes, folder)?.restore(state, folder)?;
        }
    }
    check_weights(group, &state.model)
}

/// Returns what must be equal on all ranks, by name.
fn facts(group: &ProcessGroup, metadata: &RunMetadata, base: &str) -> BTreeMap<String, String> {
    let program = Provenance::new();
    let mut facts = option_facts(&metadata.config);
    facts.extend(
        metadata
            .inputs
            .iter()
            .map(|(what, digest)| (what.clone(), digest.clone())),
    );
    facts.insert(
        "the number of ranks".to_owned(),
        group.share().size.to_string(),
    );
    facts.insert("the weights of the base model".to_owned(), base.to_owned());
    let version = format!("{} {}", program.version, program.commit);
    facts.insert("the program".to_owned(), version);
    facts
}

/// Returns options as facts for [`ProcessGroup::agree`].
#[must_use]
pub fn option_facts(options: &Value) -> BTreeMap<String, String> {
    let options = options.as_object().into_iter().flatten();
    let fact = |(name, value): (&String, &Value)| (format!("option {name}"), value.to_string());
    options.map(fact).collect()
}

/// Compares the trained parameters of all ranks, bit for bit.
///
/// # Errors
/// If they differ, or cannot be read.
fn check_weights(group: &ProcessGroup, model: &CausalLm) -> Result<(), RunError> {
    let digest = group.join(trained_digest(model))?;
    let fact = ("the trained weights".to_owned(), digest);
    Ok(group.agree(&[fact].into())?)
}

fn trained_digest(model: &CausalLm) -> Result<String, RunError> {
    let mut digest = Sha256::new();
    for parameter in model.parameters() {
        if parameter.is_trainable() {
            for value in parameter.values()? {
                digest.update(value.to_le_bytes());
            }
        }
    }
    Ok(files::hex(&digest.finalize()))
}

/// Runs an update on this rank, while all others run theirs. The weights are compared after the first
/// update, the last, and some between.
///
/// # Errors
/// If the update fails on any rank, or the ranks have different weights after it.
pub(super) fn update_on_rank(
    algorithm: &mut dyn LmAlgorithm,
    state: &mut State,
    group: &ProcessGroup,
    done: &mut usize,
) -> Result<super::Update, RunError> {
    let mut update = algorithm.update(state)?;
    if group.is_distributed() {
        if done.is_multiple_of(UPDATES_PER_CHECK) || state.is_finished() {
            check_weights(group, &state.model)?;
        }
        if let Some(last) = update.steps.last_mut() {
            last.extend(group.take_metrics());
        }
    }
    *done += 1;
    Ok(update)
}

/// Trains on a rank other than 0, as rank 0 says.
///
/// # Errors
/// If the ranks differ, or an update fails on any of them.
pub(super) fn follow(
    algorithm: &mut dyn LmAlgorithm,
    mut state: State,
    metadata: &RunMetadata,
    base: &str,
    folder: &Path,
) -> Result<Outcome, RunError> {
    let group = algorithm.process_group();
    synchronize(&group, &mut state, metadata, base, folder, false)?;
    let mut done = 0;
    loop {
        match Command::receive(&group)? {
            Command::Update => drop(update_on_rank(algorithm, &mut state, &group, &mut done)?),
            Command::Finish => return Ok(Outcome::Finished),
            Command::Interrupt => return Ok(Outcome::Interrupted),
        }
    }
}

/// Returns the sums of the gradients of all ranks, in rank order: the same bits on every rank.
///
/// # Errors
/// If a device cannot be read, or another rank failed.
pub fn sum_gradients(
    group: &ProcessGroup,
    model: &CausalLm,
    grads: Grads,
) -> Result<Grads, LmError> {
    if !group.is_distributed() {
        return Ok(grads);
    }
    let parameters = model.parameters();
    let read = |index: usize| grads.get(index).cloned().map(numbers).transpose();
    let own: Result<Vec<Option<Vec<f32>>>, _> = (0..parameters.len()).map(read).collect();
    let (own, has) = match own {
        Ok(own) => {
            let has: Vec<bool> = own.iter().map(Option::is_some).collect();
            (own, Ok(has))
        }
        Err(error) => (Vec::new(), Err(LmError::from(error))),
    };
    let has = exchange(group, has)?;
    // A parameter without any gradient keeps its moments, as in a single process.
    let is_trained = |index: usize| has.iter().any(|has| has.get(index) == Some(&true));
    let mut values = Vec::new();
    for ((index, parameter), own) in parameters.iter().enumerate().zip(own) {
        if is_trained(index) {
            let count = parameter.shape().iter().product();
            values.extend(own.unwrap_or_else(|| vec![0.0; count]));
        }
    }
    group.sum(&mut values).map_err(LmError::backend)?;
    let mut rest = values.into_iter();
    let sum = |(index, parameter): (usize, &&Parameter)| -> Option<Tensor<2>> {
        let shape = parameter.get(false).dims();
        let own = is_trained(index).then(|| rest.by_ref().take(shape[0] * shape[1]).collect())?;
        Some(matrix(own, shape, model.device()))
    };
    Ok(Grads::new(parameters.iter().enumerate().map(sum).collect()))
}
