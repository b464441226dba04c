//! The events of a run, reduced to what its summaries need. Their memory does not grow with the number of
//! steps: the entries of the log wait in a temporary file.

use std::collections::BTreeMap;
use std::io::{Result, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sentinel_rl::{Metrics, Scores};
use serde_json::{Map, Value};

use super::event::{Event, named_scores};

/// Metrics that grow or follow a schedule, so that their last value is logged instead of a mean.
const LAST: [&str; 3] = ["learning_rate", "num_env_steps", "num_tokens"];

/// Largest size of the entries that are held in memory, in bytes.
#[cfg(not(target_family = "wasm"))]
const IN_MEMORY: usize = 1 << 20;

/// The place where the entries wait: a browser, which has no files, trains for few steps.
#[cfg(not(target_family = "wasm"))]
type Entries = tempfile::SpooledTempFile;
#[cfg(target_family = "wasm")]
type Entries = std::io::Cursor<Vec<u8>>;

/// The indentation of an entry in `trainer_state.json`.
const INDENT: &str = "    ";

/// The properties of a run that the entries of its log depend on.
#[derive(Clone, Debug)]
pub struct HistoryFormat {
    /// The names of the tasks that scores are of.
    pub tasks: Vec<String>,
    /// The number of steps of the whole run.
    pub max_steps: usize,
    /// The number of steps of a pass over the data.
    pub steps_per_epoch: usize,
    /// The number of steps that one training entry of the log averages. A window is logged once it
    /// is full, or at the last step.
    pub logging_steps: usize,
    /// `true` to round numbers to six significant digits.
    pub rounded: bool,
}

impl HistoryFormat {
    /// Returns a number as it is written.
    pub(super) fn number(&self, value: f64) -> f64 {
        if self.rounded { rounded(value) } else { value }
    }

    /// Returns the number of passes over the data after a step.
    pub(super) fn epoch(&self, step: usize) -> f64 {
        self.number(step as f64 / self.steps_per_epoch.max(1) as f64)
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

    fn prefixed(&self, prefix: &str, scores: &Scores) -> Metrics {
        let named = named_scores(&self.tasks, scores).into_iter();
        named
            .map(|(name, score)| (format!("{prefix}_{name}"), score))
            .collect()
    }
}

/// Rounds to six significant digits; counts stay exact.
pub fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The events of a run so far, reduced to what its summaries need.
pub struct RunHistory {
    format: HistoryFormat,
    folder: PathBuf,
    /// The entries of `log_history` as they are written, with the commas between them.
    entries: Entries,
    /// The number of bytes of `entries`.
    bytes: u64,
    /// The number of bytes of `entries` when `trainer_state.json` was written last.
    written: Option<u64>,
    window: Window,
    first: Option<Metrics>,
    last: Option<(usize, Metrics)>,
    losses: Losses,
    evaluations: Vec<usize>,
    best: Option<(usize, f64)>,
    parameters: Option<usize>,
    finished: Option<Event>,
}

/// The sum of the losses of all steps that have one.
#[derive(Clone, Copy)]
struct Losses {
    sum: f64,
    count: usize,
}

impl RunHistory {
    /// Creates the history of a run without events. Its entries wait in a temporary file in `folder`,
    /// which has no name, once there are many.
    #[must_use]
    pub fn new(folder: &Path, format: HistoryFormat) -> Self {
        Self {
            format,
            folder: folder.to_owned(),
            #[cfg(not(target_family = "wasm"))]
            entries: Entries::new_in(IN_MEMORY, folder),
            #[cfg(target_family = "wasm")]
            entries: Entries::default(),
            bytes: 0,
            written: None,
            window: Window::default(),
            first: None,
            last: None,
            losses: Losses {
                // As the sum of an empty list.
                sum: std::iter::empty::<f64>().sum(),
                count: 0,
            },
            evaluations: Vec::new(),
            best: None,
            parameters: None,
            finished: None,
        }
    }

    /// Adds an event.
    ///
    /// # Errors
    /// Returns an error if the temporary file cannot be written.
    pub fn add(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Started { parameters, .. } => self.parameters = Some(parameters),
            Event::Step { step, metrics, .. } => {
                if let Some(loss) = metrics.get("loss") {
                    self.losses.sum += loss;
                    self.losses.count += 1;
                }
                self.window.add(&metrics);
                if step.is_multiple_of(self.format.logging_steps) || step == self.format.max_steps {
                    let means = std::mem::take(&mut self.window).means();
                    self.push(step, means)?;
                }
                if self.first.is_none() {
                    self.first = Some(metrics.clone());
                }
                self.last = Some((step, metrics));
            }
            Event::Eval {
                step,
                scores,
                metrics,
            } => {
                let mut all = self.format.prefixed("eval", &scores);
                let named = metrics.into_iter().filter(|(_, value)| value.is_finite());
                all.extend(named.map(|(name, value)| (format!("eval_{name}"), value)));
                self.push(step, all)?;
                self.evaluations.push(step);
                let (score, best) = (scores.overall, self.best);
                if score.is_finite() && best.is_none_or(|(_, best)| score > best) {
                    self.best = Some((step, score));
                }
            }
            Event::Finished { step, .. } => {
                if let Event::Finished {
                    scores: Some(scores),
                    ..
                } = &event
                {
                    self.push(step, self.format.prefixed("test", scores))?;
                }
                self.finished = Some(event);
            }
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, step: usize, metrics: Metrics) -> Result<()> {
        let mut text = String::new();
        if self.bytes > 0 {
            text.push_str(",\n");
        }
        text.push_str(&indented(&self.format.entry(step, metrics))?);
        self.entries.seek(SeekFrom::End(0))?;
        self.entries.write_all(text.as_bytes())?;
        self.bytes += text.len() as u64;
        Ok(())
    }

    /// Returns the folder with the temporary file.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the properties of the run that the entries depend on.
    #[must_use]
    pub const fn format(&self) -> &HistoryFormat {
        &self.format
    }

    /// Returns the metrics of the first step.
    #[must_use]
    pub const fn first_metrics(&self) -> Option<&Metrics> {
        self.first.as_ref()
    }

    /// Returns the metrics of the last step, with its number.
    #[must_use]
    pub fn last_metrics(&self) -> Option<(usize, &Metrics)> {
        self.last.as_ref().map(|(step, metrics)| (*step, metrics))
    }

    /// Returns the mean loss of all steps that have one; 0 without any.
    pub(super) fn mean_loss(&self) -> f64 {
        self.losses.sum / self.losses.count.max(1) as f64
    }

    /// Returns the step and the score of the best evaluation, the first one of equals.
    #[must_use]
    pub const fn best_score(&self) -> Option<(usize, f64)> {
        self.best
    }

    /// Returns the number of evaluations after a step.
    #[must_use]
    pub fn evaluations_after(&self, step: usize) -> usize {
        let latest = self.evaluations.iter().rev();
        latest.take_while(|later| **later > step).count()
    }

    /// Returns the number of parameters of the model, once the run has started.
    #[must_use]
    pub const fn parameters(&self) -> Option<usize> {
        self.parameters
    }

    /// Returns the event that ended the run.
    #[must_use]
    pub const fn finished(&self) -> Option<&Event> {
        self.finished.as_ref()
    }

    /// Returns `true` if the entries have grown by an eighth since they were written. A file that is
    /// written only then costs at most nine times its last size in the whole run.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.written
            .is_none_or(|written| self.bytes > written + written / 8)
    }

    /// Remembers that the entries were written.
    pub const fn mark_written(&mut self) {
        self.written = Some(self.bytes);
    }

    /// Writes the entries as a list in JSON, with `last` as the last one.
    pub(super) fn write_entries(
        &mut self,
        last: Option<&Value>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let last = last.map(indented).transpose()?;
        if self.bytes == 0 && last.is_none() {
            return out.write_all(b"[]");
        }
        out.write_all(b"[\n")?;
        self.entries.rewind()?;
        std::io::copy(&mut self.entries, out)?;
        if let Some(last) = last {
            let comma = if self.bytes > 0 { ",\n" } else { "" };
            out.write_all(comma.as_bytes())?;
            out.write_all(last.as_bytes())?;
        }
        out.write_all(b"\n  ]")
    }
}

/// Returns an entry as it stands in the file.
fn indented(entry: &Value) -> serde_json::Result<String> {
    // A line break in a text is escaped in JSON.
    let text = serde_json::to_string_pretty(entry)?;
    Ok(format!("{INDENT}{}", text.replace('\n', "\n    ")))
}

/// The sums of the metrics of some steps, with the numbers of their values.
#[derive(Default)]
struct Window(BTreeMap<String, (f64, f64)>);

impl Window {
    /// Adds the finite metrics of a step.
    fn add(&mut self, metrics: &Metrics) {
        for (name, value) in metrics.iter().filter(|(_, value)| value.is_finite()) {
            let (sum, count) = self.0.entry(name.clone()).or_default();
            if LAST.contains(&name.as_str()) {
                (*sum, *count) = (*value, 1.0);
            } else {
                *sum += value;
                *count += 1.0;
            }
        }
    }

    /// Returns the mean of each metric over its finite values; a metric without any is left out.
    fn means(self) -> Metrics {
        let means = self.0.into_iter();
        means
            .map(|(name, (sum, count))| (name, sum / count))
            .filter(|(_, mean)| mean.is_finite())
            .collect()
    }
}
