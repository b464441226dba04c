//! Hugging Face's `TrainerState` as JSON, as far as curves need it.

use std::collections::BTreeMap;

use sentinel_env::json::Json;
use sentinel_policy::insertion_sort::sort;
use serde::Deserialize;

/// One entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Optimiser steps taken.
    pub step: u64,
    /// Its numbers by name.
    pub values: BTreeMap<String, f64>,
}

/// A run, as its trainer wrote it down.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainerState {
    /// Optimiser steps taken in all.
    pub global_step: u64,
    /// Optimiser steps that were planned, where the file says.
    pub max_steps: Option<u64>,
    /// The best value of the metric that chose the weights, where the file says.
    pub best_metric: Option<f64>,
    /// The log, in the order of its steps.
    pub entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Raw {
    global_step: u64,
    #[serde(default)]
    max_steps: Option<i64>,
    #[serde(default)]
    best_metric: Option<f64>,
    log_history: Vec<Json>,
}

impl TrainerState {
    /// The points of one metric: step and value.
    #[must_use]
    pub fn series(&self, name: &str) -> Vec<(u64, f64)> {
        let point = |entry: &Entry| Some((entry.step, *entry.values.get(name)?));
        self.entries.iter().filter_map(point).collect()
    }

    /// The last value of one metric.
    #[must_use]
    pub fn last(&self, name: &str) -> Option<f64> {
        let mut newest = self.entries.iter().rev();
        newest.find_map(|entry| entry.values.get(name).copied())
    }
}

/// Reads a trainer state. Text and flags in the log are passed over; no number is made up.
///
/// # Errors
/// Says what is missing or wrong, and where.
pub fn parse(text: &str) -> Result<TrainerState, String> {
    let raw: Raw = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let entries = raw.log_history.into_iter().enumerate();
    let entries = entries.map(|(index, entry)| read(index + 1, entry));
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    if entries.is_empty() {
        return Err("its log_history is empty, so there is nothing to draw".to_owned());
    }
    sort(&mut entries, |a, b| a.step < b.step);
    Ok(TrainerState {
        global_step: raw.global_step,
        max_steps: raw.max_steps.and_then(|steps| u64::try_from(steps).ok()),
        best_metric: raw.best_metric,
        entries,
    })
}

fn read(number: usize, entry: Json) -> Result<Entry, String> {
    let entry = entry.into_object::<serde_json::Error>("an entry to be an object");
    let entry = entry.map_err(|e| format!("entry {number} of log_history: {e}"))?;
    let step = entry.get("step").and_then(Json::as_u64);
    let step = step.ok_or_else(|| {
        format!("entry {number} of log_history has no `step` that is a whole number")
    })?;
    let values = entry.iter().filter(|(name, _)| *name != "step");
    let values = values.filter_map(|(name, value)| Some((name.to_owned(), value.as_f64()?)));
    Ok(Entry {
        step,
        values: values.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"best_metric": 0.84, "best_model_checkpoint": null, "global_step": 20, "max_steps": 40,
        "is_world_process_zero": true, "log_history": [
        {"step": 10, "loss": -0.01, "reward": 0.7, "entropy": 2.4, "kl": null, "note": "warm"},
        {"step": 20, "loss": 1e-3, "reward": 0.8, "num_env_steps": 4096},
        {"step": 0, "eval_reward": 0.61, "eval_rewards/task1/mean": 0.7}]}"#;

    #[test]
    fn a_log_becomes_series_in_the_order_of_steps() {
        let state = parse(GOOD).expect("a trainer state");
        assert_eq!((state.global_step, state.max_steps), (20, Some(40)));
        assert_eq!(state.best_metric, Some(0.84));
        assert_eq!(state.series("reward"), [(10, 0.7), (20, 0.8)]);
        assert_eq!(state.series("eval_reward"), [(0, 0.61)]);
        assert_eq!(state.entries[0].step, 0);
        assert_eq!(state.last("num_env_steps"), Some(4096.0));
        assert_eq!(state.last("entropy"), Some(2.4));
        for none in ["kl", "note", "step", "grad_norm"] {
            assert!(state.series(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn what_is_no_trainer_state_is_told() {
        let log = |log: &str| format!("{{\"global_step\": 1, \"log_history\": {log}}}");
        for (text, part) in [
            (String::new(), "EOF"),
            ("<!doctype html>".to_owned(), "line 1"),
            ("{\"log_history\": []}".to_owned(), "global_step"),
            ("{\"global_step\": 1}".to_owned(), "log_history"),
            (log("[]"), "empty"),
            (log("[{\"step\": 1}, {\"loss\": 2}]"), "entry 2"),
            (log("[{\"step\": 1.5}]"), "entry 1"),
            (log("[{\"step\": 1, \"loss\": NaN}]"), "line 1"),
            (log("[3]"), "invalid type"),
        ] {
            let error = parse(&text).expect_err("nonsense");
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(parse(&log("[{\"step\": 1, \"loss\": 2}]")).is_ok());
    }
}
