//! Events of a run. A trainer prints nothing: progress bars, logs and files read its events.

#[cfg(not(target_family = "wasm"))]
use std::time::{SystemTime, UNIX_EPOCH};

use sentinel_rl::{Metrics, Scores};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Training began or resumed.
    Started {
        /// `sft` or `grpo`; empty in files of earlier versions.
        #[serde(default)]
        method: String,
        /// All options by name.
        config: Value,
        /// The number of steps that were done before.
        resumed_at: usize,
        /// The number of steps of the whole run; 0 in files of earlier versions.
        #[serde(default)]
        total: usize,
        /// The number of parameters of the model.
        parameters: usize,
        /// The number of parameters that are trained; 0 in files of earlier versions.
        #[serde(default)]
        trained: usize,
        /// `true` if the model depends on a fallback, such as a tiny new model in place of one that
        /// was not found.
        #[serde(default)]
        fallback: bool,
        /// The time in seconds since 1970.
        unix_time: f64,
    },
    /// The amount of training data.
    Data {
        /// The counts by name.
        counts: Metrics,
    },
    /// A warning for the user.
    Warning {
        /// The number of steps done.
        step: usize,
        /// The text of the warning.
        text: String,
    },
    /// A training step was done.
    Step {
        /// The number of steps done.
        step: usize,
        /// The number of passes over the data, if the method has such passes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<f64>,
        /// The metrics of the step.
        metrics: Metrics,
    },
    /// The policy was evaluated on the validation seeds.
    Eval {
        /// The number of steps done.
        step: usize,
        /// The scores of the greedy policy.
        scores: Scores,
        /// The other metrics of the evaluation.
        #[serde(default, skip_serializing_if = "Metrics::is_empty")]
        metrics: Metrics,
    },
    /// A checkpoint was written.
    Saved {
        /// The number of steps done.
        step: usize,
    },
    /// The run was asked to stop, and a checkpoint was written.
    Interrupted {
        /// The number of steps done.
        step: usize,
    },
    /// The run reached its end.
    Finished {
        /// The number of steps done.
        step: usize,
        /// The seconds that all steps took together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
        /// Greedy scores of the best policy on the test seeds, if it was evaluated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scores: Option<Scores>,
        /// Scores of scripted policies on the same seeds, by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        baselines: Vec<(String, Scores)>,
    },
}

impl Event {
    /// Returns the event as a line of JSON. Metrics that are not finite are left out, since JSON
    /// cannot hold them.
    ///
    /// # Errors
    /// Returns an error if another number of the event is not finite, so that the line could not be
    /// parsed again.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        let finite = match self {
            Self::Step {
                step,
                epoch,
                metrics,
            } if metrics.values().any(|value| !value.is_finite()) => {
                let mut metrics = metrics.clone();
                metrics.retain(|_, value| value.is_finite());
                let (step, epoch) = (*step, *epoch);
                Some(Self::Step {
                    step,
                    epoch,
                    metrics,
                })
            }
            _ => None,
        };
        let event = finite.as_ref().unwrap_or(self);
        // It would become null, which is no number.
        if !event.is_finite() {
            return Err(serde_json::Error::custom("a number is not finite"));
        }
        Ok(serde_json::to_string(event)? + "\n")
    }

    /// Returns `true` if all numbers are finite that an event cannot lack.
    fn is_finite(&self) -> bool {
        let metrics = |metrics: &Metrics| metrics.values().all(|value| value.is_finite());
        let scores = |scores: &Scores| {
            let mut all = scores.tasks.iter().chain([&scores.overall]);
            all.all(|score| score.is_finite())
        };
        match self {
            Self::Started { unix_time, .. } => unix_time.is_finite(),
            Self::Data { counts } => metrics(counts),
            Self::Step { metrics: of, .. } => metrics(of),
            Self::Eval {
                scores: found,
                metrics: of,
                ..
            } => scores(found) && metrics(of),
            Self::Finished {
                scores: found,
                baselines,
                ..
            } => {
                let baselines = baselines.iter().map(|(_, found)| found);
                found.iter().chain(baselines).all(scores)
            }
            Self::Warning { .. } | Self::Saved { .. } | Self::Interrupted { .. } => true,
        }
    }
}

/// The position in a log when a checkpoint was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LogPosition {
    /// The number of bytes of `events.jsonl`.
    Bytes(u64),
    /// The events themselves, which checkpoints of earlier versions hold.
    Events(Vec<Event>),
}

/// Returns TRL's name for the reward of one task.
pub fn score_name(task: &str) -> String {
    format!("rewards/{task}/mean")
}

/// Returns scores under TRL's names for rewards; scores that are not finite are left out.
pub fn named_scores<T: AsRef<str>>(tasks: &[T], scores: &Scores) -> Vec<(String, f64)> {
    let tasks = tasks.iter().zip(scores.tasks.iter().copied());
    std::iter::once(("reward".to_owned(), scores.overall))
        .chain(tasks.map(|(task, score)| (score_name(task.as_ref()), score)))
        .filter(|(_, score)| score.is_finite())
        .collect()
}

/// Returns the time in whole seconds since 1970, which are exact; earlier times count as 0.
#[cfg(not(target_family = "wasm"))]
pub fn unix_time() -> f64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0.0, |passed| passed.as_secs() as f64)
}
