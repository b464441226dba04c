//! The log of a training run: its `trainer_state.json`.

use sentinel_env::strict_json::{Json, JsonFields};
use sentinel_policy::python_json;
use serde::Deserialize;

use crate::format::grouped;

/// The log of a training run.
#[derive(Debug)]
pub(super) struct TrainingLog {
    /// Number of optimizer steps taken.
    steps: u64,
    /// Number of optimizer steps of the whole run; `None` if the file does not say.
    planned: Option<u64>,
    /// Best validation score; `None` if the file has none.
    best: Option<f64>,
    /// Entries in the order of their steps.
    entries: Vec<Entry>,
}

/// One entry of the training log.
#[derive(Debug)]
struct Entry {
    /// Number of optimizer steps taken.
    step: u64,
    /// All keys of the entry with their values; `null` is a number that is not finite.
    values: JsonFields,
}

/// The parts of Hugging Face's `TrainerState` that the curves need.
#[derive(Deserialize)]
struct TrainerState {
    global_step: u64,
    #[serde(default)]
    max_steps: Option<i64>,
    #[serde(default)]
    best_metric: Option<f64>,
    log_history: Vec<Json>,
}

impl TrainingLog {
    /// Parses the training log that lies at `address`.
    ///
    /// # Errors
    /// Returns a sentence that names the file and says what is missing or wrong.
    pub(super) fn parse(address: &str, text: &str) -> Result<Self, String> {
        parse(text).map_err(|reason| format!("{address} is not a trainer state: {reason}"))
    }

    /// Returns step and value of one metric; NaN for a value that is not finite. If a resumed run
    /// logged a step twice, the last value counts.
    #[must_use]
    pub(super) fn series(&self, name: &str) -> Vec<(u64, f64)> {
        let mut points: Vec<(u64, f64)> = Vec::new();
        for entry in &self.entries {
            let value = match entry.values.get(name) {
                Some(value) => value.as_f64(),
                None => entry.values.contains(name).then_some(f64::NAN),
            };
            let Some(value) = value else { continue };
            if points.last().is_some_and(|last| last.0 == entry.step) {
                points.pop();
            }
            points.push((entry.step, value));
        }
        points
    }

    /// Returns a sentence about the length of the run, as far as the file says, and its best
    /// validation score.
    #[must_use]
    pub(super) fn summary(&self) -> String {
        let count = |n: u64| grouped(usize::try_from(n).unwrap_or(usize::MAX));
        let planned = self.planned.filter(|planned| *planned > self.steps);
        let planned = planned.map_or_else(String::new, |steps| format!(" of {}", count(steps)));
        let mut text = format!("{}{planned} optimizer steps", count(self.steps));
        let played = self.series("num_env_steps");
        if let Some((_, steps)) = played.iter().rfind(|point| point.1 >= 0.0) {
            text += &format!(", {} environment steps", count(*steps as u64));
        }
        // A best value that no evaluation reached is not mentioned.
        let scores = self.series("eval_reward");
        let reached = |best: &f64| scores.iter().find(|(_, v)| (v - best).abs() < 1e-6);
        if let Some((step, best)) = self.best.as_ref().and_then(reached) {
            text += &format!(", best validation score {best:.3} at step {}", count(*step));
        }
        text
    }
}

fn parse(text: &str) -> Result<TrainingLog, String> {
    let state: TrainerState = python_json::from_str(text).map_err(|e| e.to_string())?;
    let entries = state.log_history.into_iter().enumerate();
    let entries = entries.map(|(index, entry)| read_entry(index + 1, entry));
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    if entries.is_empty() {
        return Err("its log_history is empty, so there is nothing to draw".to_owned());
    }
    entries.sort_by_key(|entry| entry.step);
    Ok(TrainingLog {
        steps: state.global_step,
        planned: state.max_steps.and_then(|steps| u64::try_from(steps).ok()),
        best: state.best_metric,
        entries,
    })
}

fn read_entry(number: usize, values: Json) -> Result<Entry, String> {
    let step = values.get("step").and_then(Json::as_u64);
    match (step, values) {
        (Some(step), Json::Object(values)) => Ok(Entry { step, values }),
        _ => Err(format!(
            "entry {number} of log_history has no `step` that is a whole number"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_has_the_logged_values_in_order() {
        let log = TrainingLog::parse(
            "a.json",
            r#"{"global_step": 4, "max_steps": 2000, "best_metric": 0.8, "log_history": [
            {"step": 2, "reward": 0.5, "loss": 1}, {"step": 4, "reward": 0.7}, {"step": 4, "reward": 0.75},
            {"step": 2, "eval_reward": 0.8, "num_env_steps": 1e6}]}"#,
        )
        .expect("a trainer state");
        assert_eq!(log.series("reward"), [(2, 0.5), (4, 0.75)]);
        assert_eq!(log.series("entropy"), []);
        let summary = log.summary().replace('\u{202f}', " ");
        assert_eq!(
            summary,
            "4 of 2 000 optimizer steps, 1 000 000 environment steps, best validation score 0.800 at step 2"
        );
    }

    #[test]
    fn values_that_are_not_finite_are_gaps() {
        let log = TrainingLog::parse(
            "a.json",
            "\u{feff}{\"global_step\": 3, \"best_metric\": -Infinity, \"log_history\": [
            {\"step\": 1, \"reward\": 0.5, \"grad_norm\": NaN, \"num_env_steps\": 40},
            {\"step\": 2, \"reward\": Infinity, \"grad_norm\": 1.5, \"num_env_steps\": NaN},
            {\"step\": 2, \"eval_reward\": NaN},
            {\"step\": 3, \"reward\": 0.7, \"grad_norm\": 1.25}]}",
        )
        .expect("a trainer state");
        let series = |name: &str| -> Vec<(u64, Option<f64>)> {
            let points = log.series(name).into_iter();
            points
                .map(|(step, value)| (step, value.is_finite().then_some(value)))
                .collect()
        };
        assert_eq!(
            series("reward"),
            [(1, Some(0.5)), (2, None), (3, Some(0.7))]
        );
        assert_eq!(
            series("grad_norm"),
            [(1, None), (2, Some(1.5)), (3, Some(1.25))]
        );
        assert_eq!(
            log.summary().replace('\u{202f}', " "),
            "3 optimizer steps, 40 environment steps"
        );
    }

    #[test]
    fn unreadable_file_is_named_with_the_reason() {
        for (text, reason) in [
            ("<!doctype html>", "line 1"),
            (r#"{"global_step": 1, "log_history": []}"#, "is empty"),
            ("{\"best_metric\": NaN,\n\"log_history\": [", "line 2"),
            (
                r#"{"global_step": 1, "log_history": [{"loss": 1}]}"#,
                "entry 1",
            ),
        ] {
            let error = TrainingLog::parse("a.json", text).expect_err("no trainer state");
            assert!(
                error.contains("a.json") && error.contains(reason),
                "{error}"
            );
        }
    }
}
