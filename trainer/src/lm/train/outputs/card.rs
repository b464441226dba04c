//! `README.md`: what the folder holds and how it came about. Every number comes from the run.

use std::fmt::Write;

use serde_json::Value;

use crate::lm::train::{About, Event, Job, State};

/// Returns the card.
pub(super) fn text(job: &dyn Job, state: &State, about: &About, events: &[Event]) -> String {
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
