//! The model and the summaries in a run's folder, each written anew at every checkpoint: a reader sees
//! an old file or a new one.

mod card;

use std::path::Path;

use serde_json::Map;

use super::about::About;
use super::job::Job;
use super::state::State;
use crate::lm::config::special_tokens;
use crate::lm::lora::{COMPANIONS, Lora};
use crate::lm::{LmError, Qwen2};
use crate::run::{Event, TRAINER_STATE, TrainerState};
use crate::{Error, files};

const CARD: &str = "README.md";
/// Operations of a training step per token and number of the model: forward 2, backward 4.
const FLOPS: f64 = 6.0;

/// Writes a model or its adapter into a folder that exists, with the files that belong to its base
/// model. `base` is the digest of the base model's weights.
pub(super) fn write_model(
    folder: &Path,
    model: &Qwen2,
    about: &About,
    base: &str,
) -> Result<(), super::RunError> {
    if model.adapter().is_some() {
        Lora::save(model, folder, base)?;
    } else {
        let tokens = special_tokens(&about.source)?;
        model.save_with(folder, tokens)?;
    }
    for name in COMPANIONS {
        let from = about.source.join(name);
        if from.is_file() {
            let bytes = std::fs::read(&from).map_err(|error| LmError::read(&from, error))?;
            files::write(&folder.join(name), &bytes)?;
        }
    }
    Ok(())
}

/// Writes the model card.
pub(super) fn write_card(
    folder: &Path,
    job: &dyn Job,
    state: &State,
    about: &About,
    events: &[Event],
) -> Result<(), Error> {
    let text = card::text(job, state, about, events);
    files::write(&folder.join(CARD), text.as_bytes())
}

/// Writes `trainer_state.json`.
pub(super) fn write_trainer_state(
    folder: &Path,
    job: &dyn Job,
    state: &State,
    about: &About,
    tasks: &[String],
    events: &[Event],
) -> Result<(), Error> {
    let is_fallback = about.provenance.is_fallback();
    let backend = if is_fallback {
        "fallback_tiny"
    } else {
        "sentinel"
    };
    let extra: Map<_, _> = [
        ("backend".to_owned(), backend.into()),
        ("fallback".to_owned(), is_fallback.into()),
    ]
    .into_iter()
    .collect();
    let summary = TrainerState {
        snapshots: about.cadence.save_total_limit > 0,
        tasks,
        step: state.done,
        max_steps: state.schedule.total,
        steps_per_epoch: job.steps_per_epoch(),
        logging_steps: about.logging_steps,
        eval_steps: about.cadence.eval_steps,
        save_steps: about.cadence.save_steps,
        train_batch_size: job.batch_size(),
        tokens: Some((state.tokens, flops(state))),
        extra,
        rounded: false,
    };
    let text = summary.to_json(events)?;
    files::write(&folder.join(TRAINER_STATE), text.as_bytes())
}

/// Without the embedding, as transformers counts them.
fn flops(state: &State) -> f64 {
    let all = state.model.parameters();
    let counted = all.iter().skip(1);
    let numbers: usize = counted.map(|p| p.shape().iter().product::<usize>()).sum();
    FLOPS * state.tokens as f64 * numbers as f64
}
