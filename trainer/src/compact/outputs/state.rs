//! `trainer_state.json`, as Hugging Face's trainer writes it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::rounded;
use crate::Error;
use crate::compact::config::TrainConfig;
use crate::rl::Metrics;
use crate::run::{Event, Scores, named_scores};

/// Most training entries of a log: a curve needs no more.
const ENTRIES: usize = 150;

/// Metrics that say where the run is, so that their mean over a window means nothing.
const LAST: [&str; 3] = ["learning_rate", "num_env_steps", "num_tokens"];

/// One entry of the log; sorted names, as Hugging Face writes them.
type Entry = BTreeMap<String, Value>;

/// Hugging Face's `TrainerState`, its fields sorted by name.
#[derive(Debug, Serialize)]
struct TrainerState {
    best_metric: Option<f64>,
    best_model_checkpoint: Option<String>,
    epoch: f64,
    eval_steps: usize,
    global_step: usize,
    is_hyper_param_search: bool,
    is_local_process_zero: bool,
    is_world_process_zero: bool,
    log_history: Vec<Entry>,
    logging_steps: usize,
    max_steps: usize,
    num_input_tokens_seen: u64,
    num_train_epochs: usize,
    save_steps: usize,
    stateful_callbacks: Entry,
    total_flos: u64,
    train_batch_size: usize,
    trial_name: Option<String>,
    trial_params: Option<Entry>,
}

/// Updates that one training entry of the log is the mean of.
#[must_use]
pub fn logging_steps(max_steps: usize) -> usize {
    max_steps.div_ceil(ENTRIES).max(1)
}

/// Returns the file. `tasks` are the names of the tasks that were played. A window of updates is
/// logged once it is full, or ends with the last update.
///
/// # Errors
/// If the state has no form as JSON, which no list of events causes.
pub fn text(config: &TrainConfig, tasks: &[&str], events: &[Event]) -> Result<String, Error> {
    let step = events.iter().rev().find_map(|event| match event {
        Event::Step { step, .. } => Some(*step),
        _ => None,
    });
    let global_step = step.unwrap_or(0);
    let state = TrainerState {
        best_metric: best(events).map(rounded),
        best_model_checkpoint: None,
        epoch: epoch(config, global_step),
        eval_steps: config.eval_steps,
        global_step,
        is_hyper_param_search: false,
        is_local_process_zero: true,
        is_world_process_zero: true,
        log_history: history(config, tasks, events),
        logging_steps: logging_steps(config.max_steps),
        max_steps: config.max_steps,
        num_input_tokens_seen: 0,
        num_train_epochs: 1,
        save_steps: config.save_steps,
        stateful_callbacks: Entry::new(),
        total_flos: 0,
        train_batch_size: config.episodes_per_update * config.num_generations,
        trial_name: None,
        trial_params: None,
    };
    Ok(serde_json::to_string_pretty(&state)? + "\n")
}

/// The greatest overall score on the validation seeds.
pub(super) fn best(events: &[Event]) -> Option<f64> {
    let scores = events.iter().filter_map(|event| match event {
        Event::Eval { scores, .. } if scores.overall.is_finite() => Some(scores.overall),
        _ => None,
    });
    scores.reduce(f64::max)
}

/// The whole run counts as one epoch.
fn epoch(config: &TrainConfig, step: usize) -> f64 {
    rounded(step as f64 / config.max_steps.max(1) as f64)
}

fn history(config: &TrainConfig, tasks: &[&str], events: &[Event]) -> Vec<Entry> {
    let every = logging_steps(config.max_steps);
    let (mut entries, mut window) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            Event::Step { step, metrics, .. } => {
                window.push(metrics);
                if step % every == 0 || *step == config.max_steps {
                    entries.push(entry(config, *step, means(&window)));
                    window.clear();
                }
            }
            Event::Eval { step, scores } => {
                entries.push(entry(config, *step, prefixed("eval", tasks, scores)));
            }
            Event::Finished {
                step,
                scores: Some(scores),
                ..
            } => {
                entries.push(entry(config, *step, prefixed("test", tasks, scores)));
            }
            _ => {}
        }
    }
    entries
}

fn prefixed(prefix: &str, tasks: &[&str], scores: &Scores) -> Metrics {
    let named = named_scores(tasks, scores).into_iter();
    named
        .map(|(name, score)| (format!("{prefix}_{name}"), score))
        .collect()
}

fn entry(config: &TrainConfig, step: usize, metrics: Metrics) -> Entry {
    let mut entry: Entry = metrics
        .into_iter()
        .map(|(name, value)| (name, rounded(value).into()))
        .collect();
    entry.insert("step".into(), step.into());
    entry.insert("epoch".into(), epoch(config, step).into());
    entry
}

/// The mean of each metric where it is a number; without any, the metric is left out.
pub(crate) fn means(window: &[&Metrics]) -> Metrics {
    let mut sums = BTreeMap::<&String, (f64, f64)>::new();
    let known = window.iter().copied().flatten();
    for (name, value) in known.filter(|(_, value)| value.is_finite()) {
        let (sum, count) = sums.entry(name).or_default();
        if LAST.contains(&name.as_str()) {
            (*sum, *count) = (*value, 1.0);
        } else {
            *sum += value;
            *count += 1.0;
        }
    }
    sums.into_iter()
        .map(|(name, (sum, count))| (name.clone(), sum / count))
        .filter(|(_, mean)| mean.is_finite())
        .collect()
}
