//! A run folder: `trainer_state.json`, `events.jsonl` and `sentinel.json`.

use std::collections::BTreeMap;
use std::path::Path;

use sentinel_base::provenance;
use sentinel_base::provenance::Provenance;
use sentinel_policy::python_json;
use sentinel_run::model_card::CARD_FILE;
use sentinel_run::{EVENTS_FILE, Event, TRAINER_STATE_FILE, parse_events};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::source::{Sources, read_json};
use crate::report::error::ReportError;
use crate::report::results::{BestScore, RunStatus, TestScores, TrainingRun};

/// The metrics of a log that a report draws or tabulates; the others are in the copied log.
pub(super) const METRICS: [&str; 12] = [
    "loss",
    "reward",
    "eval_reward",
    "rollout/score",
    "reward_std",
    "entropy",
    "kl",
    "grad_norm",
    "learning_rate",
    "mean_token_accuracy",
    "completions/invalid_rate",
    "eval_completions/invalid_rate",
];

/// The remedy for a file of a run that cannot be read.
const REMEDY: &str = "continue the run with --resume-from-checkpoint, which writes it again";

/// The parts of `trainer_state.json` that a report needs.
#[derive(Debug, Deserialize)]
pub(super) struct TrainerLog {
    #[serde(default)]
    global_step: usize,
    #[serde(default)]
    max_steps: usize,
    #[serde(default)]
    best_global_step: Option<usize>,
    #[serde(default)]
    best_metric: Option<f64>,
    #[serde(default)]
    best_model_checkpoint: Option<String>,
    log_history: Vec<Map<String, Value>>,
}

impl TrainerLog {
    /// Returns the finite values of each metric in [`METRICS`] that was logged.
    pub(super) fn series(&self) -> BTreeMap<String, Vec<[f64; 2]>> {
        let mut all = BTreeMap::<String, Vec<[f64; 2]>>::new();
        for entry in &self.log_history {
            let Some(step) = entry.get("step").and_then(Value::as_f64) else {
                continue;
            };
            for name in METRICS {
                if let Some(value) = entry.get(name).and_then(Value::as_f64) {
                    all.entry(name.to_owned()).or_default().push([step, value]);
                }
            }
        }
        all
    }
}

/// The parts of a run that only its events hold.
#[derive(Default)]
struct Logged {
    method: String,
    options: Map<String, Value>,
    parameters: usize,
    trained: usize,
    seconds: Option<f64>,
    test: Option<TestScores>,
    warnings: Vec<String>,
    status: Option<RunStatus>,
}

impl Logged {
    fn new(events: Vec<Event>) -> Self {
        let mut found = Self::default();
        for event in events {
            match event {
                Event::Started {
                    method,
                    config,
                    parameters,
                    trained,
                    ..
                } => {
                    found.method = method;
                    if let Value::Object(options) = config {
                        found.options = options;
                    }
                    found.parameters = parameters;
                    found.trained = trained;
                    found.status = None;
                }
                Event::Warning { text, .. } => found.warnings.push(text),
                Event::Interrupted { .. } => found.status = Some(RunStatus::Interrupted),
                Event::Finished {
                    seconds,
                    scores,
                    baselines,
                    ..
                } => {
                    found.status = Some(RunStatus::Finished);
                    found.seconds = seconds;
                    found.test = scores.map(|scores| TestScores {
                        seeds: None,
                        overall: scores.overall,
                        tasks: scores.tasks,
                        baselines: baselines
                            .into_iter()
                            .map(|(name, scores)| (name, scores.overall))
                            .collect(),
                    });
                }
                Event::Data { .. }
                | Event::Step { .. }
                | Event::Eval { .. }
                | Event::Saved { .. } => {}
            }
        }
        found
    }

    fn text(&self, option: &str) -> Option<String> {
        let text = self.options.get(option)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// Reads a run folder.
///
/// # Errors
/// Returns an error if one of its files cannot be read, or is truncated.
pub(super) fn read(
    folder: &Path,
    id: String,
    sources: &mut Sources,
) -> Result<TrainingRun, ReportError> {
    let log = read_log(&folder.join(TRAINER_STATE_FILE), sources)?;
    let path = folder.join(EVENTS_FILE);
    let events = parse_events(&path, &sources.read(&path)?)?;
    let path = folder.join(provenance::PROVENANCE_FILE);
    let provenance = if path.is_file() {
        read_json(&path, "a provenance file", REMEDY, sources)?
    } else {
        // Runs of versions before this file existed count as unmarked.
        Provenance {
            version: "unknown".to_owned(),
            commit: "unknown".to_owned(),
            ..Provenance::new()
        }
    };
    sources.copy_if_there(&folder.join(CARD_FILE))?;
    let found = Logged::new(events);
    let best = log.best_global_step.zip(log.best_metric);
    let test = found.test.clone().map(|test| TestScores {
        seeds: found.text("test_seeds"),
        ..test
    });
    Ok(TrainingRun {
        id,
        path: folder.display().to_string(),
        status: found.status.unwrap_or(RunStatus::Unfinished),
        world: found.text("world").or_else(|| found.text("eval_world")),
        task: found.text("task").or_else(|| found.text("eval_task")),
        rules: found.text("rules"),
        model: found.text("model").or_else(|| found.text("init")),
        seed: found.options.get("seed").and_then(Value::as_u64),
        parameters: found.parameters,
        trained: found.trained,
        steps: log.global_step,
        max_steps: log.max_steps,
        seconds: found.seconds,
        best: best.map(|(step, score)| BestScore {
            step,
            score,
            checkpoint: log.best_model_checkpoint.clone(),
        }),
        test,
        series: log.series(),
        warnings: found.warnings,
        method: found.method,
        options: found.options,
        provenance,
    })
}

/// Reads a file `trainer_state.json`. Numbers that are not finite are read as `null`.
pub(super) fn read_log(path: &Path, sources: &mut Sources) -> Result<TrainerLog, ReportError> {
    let bytes = sources.read(path)?;
    python_json::from_slice(&bytes)
        .map_err(|error| ReportError::from_json(path, "the log of a run", &error, REMEDY))
}
