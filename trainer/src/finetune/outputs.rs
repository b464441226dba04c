//! The model, the card and the summaries in a run's folder, each written anew at every checkpoint: a reader sees
//! an old file or a new one.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value};

use super::about::About;
use super::job::{Job, State};
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
    let text = card(job, state, about, events);
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

/// Returns the card.
fn card(job: &dyn Job, state: &State, about: &About, events: &[Event]) -> String {
    let adapter = state.model.adapter().is_some();
    let asked = about.config.get("model").and_then(Value::as_str);
    let asked = asked.unwrap_or_default();
    let stand_in = about.source.display().to_string();
    let base = if about.fallback {
        stand_in.as_str()
    } else {
        asked
    };
    let library = if adapter { "peft" } else { "transformers" };
    let method = job.method();
    // A YAML string in JSON's form.
    let quoted = Value::from(base).to_string();
    let mut text = format!(
        "---\nlibrary_name: {library}\nbase_model: {quoted}\ntags:\n- {method}\n- sentinel\n---\n# {}\n\n",
        if adapter { "LoRA adapter" } else { "Model" }
    );
    if about.fallback {
        let _ = writeln!(
            text,
            "**Fallback: the model that was asked for, `{asked}`, could not be found; a tiny new model was \
             trained in its place.**\n"
        );
    }
    // The stand-in of this run, which comes first, has just been named.
    let inherited = about.provenance.fallbacks.iter();
    for fallback in inherited.skip(usize::from(about.fallback)) {
        let _ = writeln!(text, "**The model rests on a {fallback}.**\n");
    }
    let what = if adapter {
        "An adapter for"
    } else {
        "All weights of"
    };
    let _ = writeln!(text, "{what} `{base}`, trained by Sentinel ({method}).\n");
    let of = state.schedule.total;
    let _ = writeln!(
        text,
        "{} of {of} optimizer steps, {} tokens, {} numbers trained.\n",
        state.done,
        state.tokens,
        state.model.trainable_count()
    );
    if let Some(best) = &state.best {
        let _ = writeln!(
            text,
            "The model is that of step {}, which scored best on the validation seeds: {:.4}.\n",
            best.step, best.score
        );
    }
    text.push_str(&metrics(events));
    text.push_str(&options(about));
    text
}

/// Returns a table of the first and the last step; nothing before the first one.
fn metrics(events: &[Event]) -> String {
    let mut text = String::new();
    let steps: Vec<_> = (events.iter())
        .filter_map(|event| match event {
            Event::Step { metrics, .. } => Some(metrics),
            _ => None,
        })
        .collect();
    if let (Some(first), Some(last)) = (steps.first(), steps.last()) {
        text.push_str("| | first step | last step |\n|---|---|---|\n");
        for name in [
            "loss",
            "reward",
            "rollout/score",
            "rollout/invalid_rate",
            "mean_token_accuracy",
        ] {
            if let (Some(a), Some(b)) = (first.get(name), last.get(name)) {
                let _ = writeln!(text, "| {name} | {a:.4} | {b:.4} |");
            }
        }
        text.push('\n');
    }
    text
}

/// Returns a table of all options.
fn options(about: &About) -> String {
    let mut text = "Options:\n\n| option | value |\n|---|---|\n".to_owned();
    for (name, value) in about.config.as_object().into_iter().flatten() {
        let value = value.to_string().replace('|', "\\|");
        let _ = writeln!(text, "| `{name}` | {value} |");
    }
    text
}
