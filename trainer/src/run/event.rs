//! Events of a run. A trainer prints nothing: progress bars, logs and files read its events.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rl::Metrics;

/// Mean scores over a range of seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Of each task, in the order of the run's tasks.
    pub tasks: Vec<f64>,
    /// The mean of these.
    pub overall: f64,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Training began or resumed.
    Started {
        /// `sft` or `grpo`. Empty in files of earlier versions.
        #[serde(default)]
        method: String,
        /// All options by name.
        config: Value,
        /// Steps that were done before.
        resumed_at: usize,
        /// Steps of the whole run. 0 in files of earlier versions.
        #[serde(default)]
        total: usize,
        /// Number of parameters of the model.
        parameters: usize,
        /// Number of parameters that are trained. 0 in files of earlier versions.
        #[serde(default)]
        trained: usize,
        /// Whether a tiny new model stands in for one that could not be found.
        #[serde(default)]
        fallback: bool,
        /// Time in seconds since 1970.
        unix_time: f64,
    },
    /// What there is to learn from.
    Data {
        /// Counts by name.
        counts: Metrics,
    },
    /// Something that a person should know about.
    Warning {
        /// Steps done.
        step: usize,
        /// The warning.
        text: String,
    },
    /// A step was done.
    Step {
        /// Steps done.
        step: usize,
        /// Passes over the data, where there is such a thing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<f64>,
        /// Its metrics.
        metrics: Metrics,
    },
    /// The policy was evaluated on the validation seeds.
    Eval {
        /// Steps done.
        step: usize,
        /// Greedy scores.
        scores: Scores,
        /// What else was measured.
        #[serde(default, skip_serializing_if = "Metrics::is_empty")]
        metrics: Metrics,
    },
    /// A checkpoint was written.
    Saved {
        /// Steps done.
        step: usize,
    },
    /// The run was asked to stop; a checkpoint was written.
    Interrupted {
        /// Steps done.
        step: usize,
    },
    /// Training is over.
    Finished {
        /// Steps done.
        step: usize,
        /// Seconds of all steps together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
        /// Greedy scores of the best policy on the test seeds, where it was evaluated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scores: Option<Scores>,
        /// Scripted policies on the same seeds, by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        baselines: Vec<(String, Scores)>,
    },
}

impl Event {
    /// Returns the event as a line of JSON. A metric that is not finite is left out: JSON cannot hold
    /// it.
    ///
    /// # Errors
    /// If another number of the event is not finite, so that the line could not be read again.
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
        let line = serde_json::to_string(finite.as_ref().unwrap_or(self))?;
        // NaN has become null, which is seen only by reading it.
        serde_json::from_str::<Self>(&line)?;
        Ok(line + "\n")
    }
}

/// Returns TRL's name for the reward of one task.
pub(crate) fn score_name(task: &str) -> String {
    format!("rewards/{task}/mean")
}

/// Returns scores under TRL's names for rewards; a score that is not finite is left out.
pub(crate) fn named_scores<T: AsRef<str>>(tasks: &[T], scores: &Scores) -> Vec<(String, f64)> {
    let tasks = tasks.iter().zip(scores.tasks.iter().copied());
    std::iter::once(("reward".to_owned(), scores.overall))
        .chain(tasks.map(|(task, score)| (score_name(task.as_ref()), score)))
        .filter(|(_, score)| score.is_finite())
        .collect()
}
