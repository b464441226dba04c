//! The files in a run's folder, each written atomically: the model, the model card and the summaries
//! at every checkpoint, and the sampled completions of each update.

use std::fmt::Write;
use std::path::Path;

use sentinel_base::{Error, files};
use sentinel_lm::companion_files::copy_companions;
use sentinel_lm::config::special_tokens;
use sentinel_lm::{CausalLm, Lora};
use sentinel_run::model_card::{CARD_FILE, ModelCard, changed_options, markdown_table};
use sentinel_run::{RunHistory, TRAINER_STATE_FILE, TrainerState};
use serde_json::{Map, Value};

use super::algorithm::{LmAlgorithm, LoggedCompletion, State};
use super::metadata::RunMetadata;

/// Floating-point operations of a training step per token and parameter: 2 forward, 4 backward.
const FLOPS: f64 = 6.0;

/// Name of the folder of sampled completions, with one file per update.
pub(super) const COMPLETIONS: &str = "completions";

/// Writes a model or its adapter into an existing folder, with the companion files of its base
/// model. `base` is the digest of the base model's weights.
pub(super) fn write_model(
    folder: &Path,
    model: &CausalLm,
    metadata: &RunMetadata,
    base: &str,
) -> Result<(), super::RunError> {
    if model.adapter().is_some() {
        Lora::save(model, folder, base)?;
    } else {
        let tokens = special_tokens(&metadata.source)?;
        model.save_with(folder, tokens)?;
    }
    copy_companions(&metadata.source, &metadata.tokenizer, folder)?;
    if let Some(tokens) = &metadata.stop_tokens {
        tokens.write(folder)?;
    }
    // An adapter is used with the folder of its base model, whose variables it must not inherit.
    let base = model.adapter().map(|_| metadata.source.as_path());
    metadata.chat_template_kwargs.save(folder, base)?;
    Ok(())
}

/// Writes the completions of the update that ended with `step`, if there are any.
pub(super) fn write_completions(
    folder: &Path,
    step: usize,
    completions: &[LoggedCompletion],
) -> Result<(), Error> {
    if completions.is_empty() {
        return Ok(());
    }
    #[derive(serde::Serialize)]
    struct StepCompletion<'a> {
        step: usize,
        #[serde(flatten)]
        completion: &'a LoggedCompletion,
    }
    let folder = folder.join(COMPLETIONS);
    std::fs::create_dir_all(&folder).map_err(|source| Error::Write {
        path: folder.clone(),
        source,
    })?;
    let mut text = String::new();
    for completion in completions {
        text += &serde_json::to_string(&StepCompletion { step, completion })?;
        text.push('\n');
    }
    files::write_atomic(
        &folder.join(format!("completions_{step:05}.jsonl")),
        text.as_bytes(),
    )
}

/// Writes the model card.
pub(super) fn write_card(
    folder: &Path,
    algorithm: &dyn LmAlgorithm,
    state: &State,
    metadata: &RunMetadata,
    history: &RunHistory,
) -> Result<(), Error> {
    let text = card(algorithm, state, metadata, history);
    files::write_atomic(&folder.join(CARD_FILE), text.as_bytes())
}

/// Writes `trainer_state.json` of the run.
pub(super) fn write_trainer_state(
    folder: &Path,
    algorithm: &dyn LmAlgorithm,
    state: &State,
    metadata: &RunMetadata,
    history: &mut RunHistory,
) -> Result<(), Error> {
    let is_fallback = metadata.provenance.is_fallback();
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
        snapshots: metadata.run_schedule.save_total_limit > 0,
        step: state.done,
        eval_steps: metadata.run_schedule.eval_steps,
        save_steps: metadata.run_schedule.save_steps,
        train_batch_size: algorithm.batch_size(),
        tokens: Some((state.tokens, flops(state))),
        extra,
    };
    summary.save(history, &folder.join(TRAINER_STATE_FILE))
}

/// Returns the floating-point operations of training so far. Like transformers, it does not count
/// the embedding.
fn flops(state: &State) -> f64 {
    let all = state.model.parameters();
    let counted = all.iter().skip(1);
    let numbers: usize = counted.map(|p| p.shape().iter().product::<usize>()).sum();
    FLOPS * state.tokens as f64 * numbers as f64
}

/// Returns the text of the model card. Every number comes from the run.
fn card(
    algorithm: &dyn LmAlgorithm,
    state: &State,
    metadata: &RunMetadata,
    history: &RunHistory,
) -> String {
    let adapter = state.model.adapter().is_some();
    let requested = metadata.config.get("model").and_then(Value::as_str);
    let requested = requested.unwrap_or_default();
    let base = if metadata.fallback {
        metadata.source.display().to_string()
    } else {
        requested.to_owned()
    };
    let method = algorithm.method();
    let (what, library, title) = if adapter {
        ("An adapter for", "peft", "LoRA adapter")
    } else {
        ("All weights of", "transformers", "Model")
    };
    let mut progress = format!(
        "{} of {} optimizer steps, {} tokens, {} trained parameters.\n",
        state.done,
        state.schedule.total,
        state.tokens,
        state.model.trainable_count()
    );
    if let Some(best) = &state.best {
        let _ = write!(
            progress,
            "\nThe model is that of step {}, which scored best on the validation seeds: {:.4}.\n",
            best.step, best.score
        );
    }
    let options = metadata.config.as_object().cloned().unwrap_or_default();
    let defaults = (metadata.normalized)(&Value::Object(Map::new()));
    let defaults = defaults.as_object().cloned().unwrap_or_default();
    let card = ModelCard {
        library,
        tags: vec![method.to_owned(), "sentinel".to_owned()],
        title: title.to_owned(),
        fallbacks: fallbacks(metadata, requested),
        sections: vec![
            format!("{what} `{base}`, trained by Sentinel ({method}).\n"),
            progress,
            first_and_last(history),
            changed_options(&options, &defaults, &[], Value::to_string),
        ],
        base_model: Some(base),
        ..ModelCard::default()
    };
    card.to_markdown()
}

/// Returns a sentence for each fallback that the model depends on.
fn fallbacks(metadata: &RunMetadata, requested: &str) -> Vec<String> {
    let own = metadata.fallback.then(|| {
        format!(
            "Fallback: the model that was asked for, `{requested}`, could not be found; a tiny new model \
             was trained in its place."
        )
    });
    // The fallback of this run comes first and is already described above.
    let inherited = metadata.provenance.fallbacks.iter();
    let inherited = inherited.skip(usize::from(metadata.fallback));
    let inherited = inherited.map(|fallback| format!("The model rests on a {fallback}."));
    own.into_iter().chain(inherited).collect()
}

/// Returns a table of metrics of the first and the last step; empty before the first step.
fn first_and_last(history: &RunHistory) -> String {
    const NAMES: [&str; 5] = [
        "loss",
        "reward",
        "rollout/score",
        "rollout/invalid_rate",
        "mean_token_accuracy",
    ];
    let last = history.last_metrics();
    let (Some(first), Some((_, last))) = (history.first_metrics(), last) else {
        return String::new();
    };
    let mut rows = vec![["", "first step", "last step"].map(str::to_owned).to_vec()];
    rows.extend(NAMES.into_iter().filter_map(|name| {
        let values = [first.get(name)?, last.get(name)?].map(|value| format!("{value:.4}"));
        Some(std::iter::once(name.to_owned()).chain(values).collect())
    }));
    markdown_table(&rows)
}
