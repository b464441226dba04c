//! `trainer_state.json` with the keys of transformers' trainer.

use serde_json::{Map, Value, json};

use crate::Error;
use crate::compact::outputs::state::means;
use crate::lm::train::{About, Event, Job, State};
use crate::rl::Metrics;

/// Operations of a training step per token and number of the model: forward 2, backward 4.
const FLOPS: f64 = 6.0;

pub(super) fn text(
    job: &dyn Job,
    state: &State,
    about: &About,
    events: &[Event],
) -> Result<String, Error> {
    let mut log = history(state, about, events);
    let flops = flops(state);
    if let Some(seconds) = events.iter().rev().find_map(|event| match event {
        Event::Finished { seconds, .. } => *seconds,
        _ => None,
    }) {
        log.push(summary(job, state, events, seconds, flops));
    }
    let epoch = state.done as f64 / job.steps_per_epoch().max(1) as f64;
    let all = json!({
        "backend": if about.provenance.is_fallback() { "fallback_tiny" } else { "sentinel" },
        "best_global_step": null,
        "best_metric": null,
        "best_model_checkpoint": null,
        "epoch": epoch,
        "eval_steps": about.save_steps,
        "fallback": about.provenance.is_fallback(),
        "global_step": state.done,
        "is_hyper_param_search": false,
        "is_local_process_zero": true,
        "is_world_process_zero": true,
        "log_history": log,
        "logging_steps": about.logging_steps,
        "max_steps": state.schedule.total,
        "num_input_tokens_seen": state.tokens,
        "num_train_epochs": state.schedule.total.div_ceil(job.steps_per_epoch().max(1)),
        "save_steps": about.save_steps,
        "stateful_callbacks": {},
        "total_flos": flops,
        "train_batch_size": job.batch_size(),
        "trial_name": null,
        "trial_params": null,
    });
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

/// Without the embedding, as transformers counts them.
fn flops(state: &State) -> f64 {
    let all = state.model.parameters();
    let counted = all.iter().skip(1);
    let numbers: usize = counted.map(|p| p.shape().iter().product::<usize>()).sum();
    FLOPS * state.tokens as f64 * numbers as f64
}

/// Entries of so many steps each; the last one may have fewer.
fn history(state: &State, about: &About, events: &[Event]) -> Vec<Value> {
    let (mut entries, mut window) = (Vec::new(), Vec::new());
    for event in events {
        let Event::Step {
            step,
            epoch,
            metrics,
        } = event
        else {
            continue;
        };
        window.push(metrics);
        if step % about.logging_steps == 0 || *step == state.schedule.total {
            entries.push(entry(*step, epoch.unwrap_or_default(), means(&window)));
            window.clear();
        }
    }
    entries
}

fn entry(step: usize, epoch: f64, metrics: Metrics) -> Value {
    let mut entry: Map<String, Value> = (metrics.into_iter())
        .map(|(name, value)| (name, value.into()))
        .collect();
    entry.insert("step".into(), step.into());
    entry.insert("epoch".into(), epoch.into());
    Value::Object(entry)
}

fn summary(job: &dyn Job, state: &State, events: &[Event], seconds: f64, flops: f64) -> Value {
    let losses: Vec<f64> = (events.iter())
        .filter_map(|event| match event {
            Event::Step { metrics, .. } => metrics.get("loss").copied(),
            _ => None,
        })
        .collect();
    let mean = losses.iter().sum::<f64>() / losses.len().max(1) as f64;
    let steps = state.done as f64 / seconds.max(1e-9);
    json!({
        "epoch": state.done as f64 / job.steps_per_epoch().max(1) as f64,
        "step": state.done,
        "total_flos": flops,
        "train_loss": mean,
        "train_runtime": seconds,
        "train_samples_per_second": steps * job.batch_size() as f64,
        "train_steps_per_second": steps,
    })
}
