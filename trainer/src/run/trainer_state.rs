//! The file `trainer_state.json`, with the keys of Hugging Face's trainer.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::event::{Event, Scores, best_score, named_scores};
use super::snapshot;
use crate::Error;
use crate::rl::Metrics;

/// The maximum number of training entries of a log: a curve needs no more.
const ENTRIES: usize = 150;

/// Metrics that grow or follow a schedule, so that their last value is logged instead of a mean.
const LAST: [&str; 3] = ["learning_rate", "num_env_steps", "num_tokens"];

/// The properties of a run that its events do not hold.
#[derive(Clone, Debug)]
pub struct TrainerState<'a> {
    /// `true` if the run keeps its best checkpoint in a folder of its own.
    pub snapshots: bool,
    /// The names of the tasks that scores are of.
    pub tasks: &'a [String],
    /// The number of steps done.
    pub step: usize,
    /// The number of steps of the whole run.
    pub max_steps: usize,
    /// The number of steps of a pass over the data.
    pub steps_per_epoch: usize,
    /// The number of steps that one training entry of the log averages. A window is logged once it
    /// is full, or at the last step.
    pub logging_steps: usize,
    /// The number of steps between two evaluations; `None` for a run without any.
    pub eval_steps: Option<usize>,
    /// The number of steps between two checkpoints.
    pub save_steps: usize,
    /// The number of samples that one step trains on.
    pub train_batch_size: usize,
    /// Tokens and floating-point operations so far, of a model that reads tokens: its log then ends
    /// with a summary, as in transformers.
    pub tokens: Option<(u64, f64)>,
    /// Additional keys that Hugging Face's trainer does not have.
    pub extra: Map<String, Value>,
    /// `true` to round numbers to six significant digits.
    pub rounded: bool,
}

/// Returns the default number of steps that one training entry of the log averages.
#[must_use]
pub fn default_logging_steps(max_steps: usize) -> usize {
    max_steps.div_ceil(ENTRIES).max(1)
}

/// Rounds to six significant digits; counts stay exact.
pub(crate) fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.5e}").parse().unwrap_or(value)
}

impl TrainerState<'_> {
    /// Returns the text of the file.
    ///
    /// # Errors
    /// Returns an error if it cannot be expressed as JSON, which no list of events causes.
    pub fn to_json(&self, events: &[Event]) -> Result<String, Error> {
        let mut log = self.history(events);
        let seconds = events.iter().rev().find_map(|event| match event {
            Event::Finished { seconds, .. } => *seconds,
            _ => None,
        });
        if let (Some((_, flops)), Some(seconds)) = (self.tokens, seconds) {
            log.push(self.summary(events, seconds, flops));
        }
        let (tokens, flops) = self.tokens.unwrap_or_default();
        let best = best_score(events);
        let checkpoint = best.filter(|_| self.snapshots);
        let checkpoint = checkpoint.map(|(step, _)| snapshot::dir_name(step));
        // Without tokens the number is a count of our own, which is an integer.
        let flops = if self.tokens.is_some() {
            Value::from(flops)
        } else {
            Value::from(0)
        };
        let mut all = json!({
            "best_global_step": best.map(|(step, _)| step),
            "best_metric": best.map(|(_, score)| self.number(score)),
            "best_model_checkpoint": checkpoint,
            "epoch": self.epoch(self.step),
            "eval_steps": self.eval_steps,
            "global_step": self.step,
            "is_hyper_param_search": false,
            "is_local_process_zero": true,
            "is_world_process_zero": true,
            "log_history": log,
            "logging_steps": self.logging_steps,
            "max_steps": self.max_steps,
            "num_input_tokens_seen": tokens,
            "num_train_epochs": self.max_steps.div_ceil(self.steps_per_epoch.max(1)),
            "save_steps": self.save_steps,
            "stateful_callbacks": {},
            "total_flos": flops,
            "train_batch_size": self.train_batch_size,
            "trial_name": null,
            "trial_params": null,
        });
        if let Some(all) = all.as_object_mut() {
            all.extend(self.extra.clone());
        }
        Ok(serde_json::to_string_pretty(&all)? + "\n")
    }

    fn number(&self, value: f64) -> f64 {
        if self.rounded { rounded(value) } else { value }
    }

    fn epoch(&self, step: usize) -> f64 {
        self.number(step as f64 / self.steps_per_epoch.max(1) as f64)
    }

    fn history(&self, events: &[Event]) -> Vec<Value> {
        let (mut entries, mut window) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Step { step, metrics, .. } => {
                    window.push(metrics);
                    if step % self.logging_steps == 0 || *step == self.max_steps {
                        entries.push(self.entry(*step, means(&window)));
                        window.clear();
                    }
                }
                Event::Eval {
                    step,
                    scores,
                    metrics,
                } => {
                    let mut all = self.prefixed("eval", scores);
                    let named = metrics
                        .iter()
                        .map(|(n, value)| (format!("eval_{n}"), *value));
                    all.extend(named.filter(|(_, value)| value.is_finite()));
                    entries.push(self.entry(*step, all));
                }
                Event::Finished {
                    step,
                    scores: Some(scores),
                    ..
                } => entries.push(self.entry(*step, self.prefixed("test", scores))),
                _ => {}
            }
        }
        entries
    }

    fn prefixed(&self, prefix: &str, scores: &Scores) -> Metrics {
        let named = named_scores(self.tasks, scores).into_iter();
        named
            .map(|(name, score)| (format!("{prefix}_{name}"), score))
            .collect()
    }

    fn entry(&self, step: usize, metrics: Metrics) -> Value {
        let mut entry: Map<String, Value> = metrics
            .into_iter()
            .map(|(name, value)| (name, self.number(value).into()))
            .collect();
        entry.insert("step".into(), step.into());
        entry.insert("epoch".into(), self.epoch(step).into());
        Value::Object(entry)
    }

    /// Returns the last entry of a log of transformers.
    fn summary(&self, events: &[Event], seconds: f64, flops: f64) -> Value {
        let losses: Vec<f64> = (events.iter())
            .filter_map(|event| match event {
                Event::Step { metrics, .. } => metrics.get("loss").copied(),
                _ => None,
            })
            .collect();
        let mean = losses.iter().sum::<f64>() / losses.len().max(1) as f64;
        let steps = self.step as f64 / seconds.max(1e-9);
        json!({
            "epoch": self.epoch(self.step),
            "step": self.step,
            "total_flos": flops,
            "train_loss": mean,
            "train_runtime": seconds,
            "train_samples_per_second": steps * self.train_batch_size as f64,
            "train_steps_per_second": steps,
        })
    }
}

/// Returns the mean of each metric over its finite values; a metric without any is left out.
fn means(window: &[&Metrics]) -> Metrics {
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
