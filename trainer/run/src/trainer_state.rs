//! The file `trainer_state.json`, with the keys of Hugging Face's trainer.

use std::io::Write;
#[cfg(not(target_family = "wasm"))]
use std::path::Path;

#[cfg(not(target_family = "wasm"))]
use sentinel_base::{Error, files};
use serde_json::{Map, Value, json};

use super::event::Event;
use super::history::RunHistory;
use super::names::dir_name;

/// The maximum number of training entries of a log: a curve needs no more.
const ENTRIES: usize = 150;

/// The properties of a run that its history does not hold.
#[derive(Clone, Debug)]
pub struct TrainerState {
    /// `true` if the run keeps its best checkpoint in a folder of its own.
    pub snapshots: bool,
    /// The number of steps done.
    pub step: usize,
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
}

/// Returns the default number of steps that one training entry of the log averages.
#[must_use]
pub fn default_logging_steps(max_steps: usize) -> usize {
    max_steps.div_ceil(ENTRIES).max(1)
}

impl TrainerState {
    /// Writes the file at `path`.
    ///
    /// # Errors
    /// Returns an error if it cannot be written; the earlier one then stays.
    #[cfg(not(target_family = "wasm"))]
    pub fn save(&self, history: &mut RunHistory, path: &Path) -> Result<(), Error> {
        files::write_pieces(path, true, |out| {
            let written = self.write_to(history, out);
            written.map_err(|source| Error::Write {
                path: path.to_owned(),
                source,
            })
        })?;
        history.mark_written();
        Ok(())
    }

    /// Writes the text of the file. The entries of the log, which are most of it, are copied.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written, or the entries cannot be read.
    pub fn write_to(&self, history: &mut RunHistory, out: &mut dyn Write) -> std::io::Result<()> {
        const LOG: &str = "log_history";
        let format = history.format();
        let (tokens, flops) = self.tokens.unwrap_or_default();
        let best = history.best_score();
        let checkpoint = best.filter(|_| self.snapshots);
        let checkpoint = checkpoint.map(|(step, _)| dir_name(step));
        // Without tokens the number is a count of our own, which is an integer.
        let all_flops = if self.tokens.is_some() {
            Value::from(flops)
        } else {
            Value::from(0)
        };
        let mut all = json!({
            "best_global_step": best.map(|(step, _)| step),
            "best_metric": best.map(|(_, score)| format.number(score)),
            "best_model_checkpoint": checkpoint,
            "epoch": format.epoch(self.step),
            "eval_steps": self.eval_steps,
            "global_step": self.step,
            "is_hyper_param_search": false,
            "is_local_process_zero": true,
            "is_world_process_zero": true,
            LOG: [],
            "logging_steps": format.logging_steps,
            "max_steps": format.max_steps,
            "num_input_tokens_seen": tokens,
            "num_train_epochs": format.max_steps.div_ceil(format.steps_per_epoch.max(1)),
            "save_steps": self.save_steps,
            "stateful_callbacks": {},
            "total_flos": all_flops,
            "train_batch_size": self.train_batch_size,
            "trial_name": null,
            "trial_params": null,
        });
        if let Some(all) = all.as_object_mut() {
            all.extend(self.extra.clone());
        }
        let seconds = match history.finished() {
            Some(Event::Finished { seconds, .. }) => *seconds,
            _ => None,
        };
        let summary = self.tokens.and(seconds);
        let summary = summary.map(|seconds| self.summary(history, seconds, flops));
        out.write_all(b"{")?;
        for (index, (key, value)) in all.as_object().into_iter().flatten().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(out, "{comma}\n  {}: ", serde_json::to_string(key)?)?;
            if key == LOG {
                history.write_entries(summary.as_ref(), out)?;
            } else {
                let value = serde_json::to_string_pretty(value)?;
                out.write_all(value.replace('\n', "\n  ").as_bytes())?;
            }
        }
        out.write_all(b"\n}\n")
    }

    /// Returns the last entry of a log of transformers.
    fn summary(&self, history: &RunHistory, seconds: f64, flops: f64) -> Value {
        let steps = self.step as f64 / seconds.max(1e-9);
        json!({
            "epoch": history.format().epoch(self.step),
            "step": self.step,
            "total_flos": flops,
            "train_loss": history.mean_loss(),
            "train_runtime": seconds,
            "train_samples_per_second": steps * self.train_batch_size as f64,
            "train_steps_per_second": steps,
        })
    }
}
