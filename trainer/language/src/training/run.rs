//! The training run of a language model in its folder.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use sentinel_base::Error;
use sentinel_run::distributed::ProcessGroup;
use sentinel_run::{
    CHECKPOINT_FILE, Evaluation, Event, HistoryFormat, LogPosition, Outcome, Run, RunDir,
    RunHistory, RunLog, UpdateReport, run_to_end, snapshot, unix_time,
};
use serde_json::Value;

use super::algorithm::{Best, LmAlgorithm, State};
use super::checkpoint::{self, Checkpoint, Header};
use super::data_parallel::{self, Command};
use super::error::RunError;
use super::metadata::{RunMetadata, describe_changed_input};
use super::outputs;
use super::prepared_model::{check_again, remove_earlier_files};
use crate::agent::Validation;

/// Options that may differ when a run is resumed, because they do not change what is learned.
const RESUMABLE_OPTIONS: [&str; 5] = [
    "logging_steps",
    "save_steps",
    "save_total_limit",
    "num_completions_to_log",
    "allow_fallback",
];
/// Trains to the end or until `stop` is set, and reports each event to `listen`. On a rank other than 0
/// it trains as rank 0 says, and neither writes nor reports anything.
///
/// # Errors
/// If the folder holds another run, a file cannot be written, or a value is not finite. The last
/// checkpoint stays valid after any error.
pub fn run(
    algorithm: &mut dyn LmAlgorithm,
    mut state: State,
    metadata: &RunMetadata,
    validation: Option<&Validation>,
    dir: &RunDir,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, RunError> {
    let group = algorithm.process_group();
    let base = state.model.base_digest()?;
    if !group.is_main() {
        return data_parallel::follow(algorithm, state, metadata, &base, &dir.path);
    }
    let tasks = validation.map_or(&[][..], Validation::tasks);
    let mut log = open(algorithm, &mut state, metadata, tasks, dir, &base, listen)?;
    data_parallel::synchronize(&group, &mut state, metadata, &base, &dir.path, dir.resume)?;
    let mut lm_run = LmRun {
        algorithm,
        state,
        metadata,
        validation,
        base,
        folder: &dir.path,
        group,
        updates: 0,
    };
    let outcome = run_to_end(&mut lm_run, &mut log, dir, &metadata.run_schedule, stop)?;
    Command::from(outcome).send(&lm_run.group)?;
    Ok(outcome)
}

/// A language model with the algorithm that trains it.
struct LmRun<'a> {
    algorithm: &'a mut dyn LmAlgorithm,
    state: State,
    metadata: &'a RunMetadata,
    validation: Option<&'a Validation>,
    /// Digest of the model's weights before the run.
    base: String,
    folder: &'a Path,
    group: ProcessGroup,
    /// Number of updates of this process.
    updates: usize,
}

impl Run for LmRun<'_> {
    type Error = RunError;

    fn start_event(&self) -> Result<Event, RunError> {
        let state = &self.state;
        let all = state.model.parameters();
        let sizes = all.iter().map(|p| p.shape().iter().product::<usize>());
        Ok(Event::Started {
            method: self.algorithm.method().to_owned(),
            config: self.metadata.config.clone(),
            resumed_at: state.done,
            total: state.schedule.total,
            parameters: sizes.sum(),
            trained: state.model.trainable_count(),
            fallback: self.metadata.provenance.is_fallback(),
            unix_time: unix_time(),
        })
    }

    fn initial_events(&self) -> Vec<Event> {
        let mut counts = self.algorithm.data_counts();
        if self.group.is_distributed() {
            counts.insert("ranks".to_owned(), self.group.share().size as f64);
        }
        let warnings = self.metadata.warnings.iter().cloned();
        let warnings = warnings.chain(self.algorithm.warnings());
        let warnings = warnings.map(|text| Event::Warning { step: 0, text });
        std::iter::once(Event::Data { counts })
            .chain(warnings)
            .collect()
    }

    fn steps_done(&self) -> usize {
        self.state.done
    }

    fn is_finished(&self) -> bool {
        self.state.is_finished()
    }

    fn epoch(&self, step: usize) -> Option<f64> {
        Some(step as f64 / self.algorithm.steps_per_epoch().max(1) as f64)
    }

    fn advance(&mut self) -> Result<UpdateReport, RunError> {
        let before = self.state.tokens;
        Command::Update.send(&self.group)?;
        let (group, updates) = (&self.group, &mut self.updates);
        let update =
            data_parallel::update_on_rank(self.algorithm, &mut self.state, group, updates)?;
        outputs::write_completions(self.folder, self.state.done, &update.completions)?;
        Ok(UpdateReport {
            steps: update.steps,
            warnings: update.warnings,
            tokens: Some(self.state.tokens - before),
        })
    }

    fn evaluate(&mut self) -> Result<Evaluation, RunError> {
        let missing = RunError::option("eval-steps", "0 in a run without a validation world");
        self.validation.ok_or(missing)?.evaluate(&self.state.model)
    }

    fn best(&self) -> Option<(usize, f64)> {
        let best = self.state.best.as_ref();
        best.map(|best| (best.step, best.score))
    }

    fn keep_best(&mut self, score: f64) -> Result<(), RunError> {
        self.state.best = Some(Best {
            step: self.state.done,
            score,
            model: self.state.model.clone(),
        });
        Ok(())
    }

    fn finish(&mut self, seconds: f64) -> Result<Event, RunError> {
        Ok(Event::Finished {
            step: self.state.done,
            seconds: Some(seconds),
            scores: None,
            baselines: Vec::new(),
        })
    }

    fn save_checkpoint(&self, folder: &Path, position: LogPosition) -> Result<(), RunError> {
        let header = Header {
            method: self.algorithm.method().to_owned(),
            config: self.metadata.config.clone(),
            base: self.base.clone(),
            inputs: self.metadata.inputs.clone(),
            done: 0,
            tokens: 0,
            times: std::collections::BTreeMap::new(),
            best: None,
            log: position,
        };
        checkpoint::save(&self.state, header, folder)
    }

    fn save_model(&self, folder: &Path, current: bool) -> Result<(), RunError> {
        let model = if current {
            &self.state.model
        } else {
            self.state.best_model()
        };
        outputs::write_model(folder, model, self.metadata, &self.base)
    }

    fn save_trainer_state(&self, folder: &Path, history: &mut RunHistory) -> Result<(), RunError> {
        let (algorithm, state, metadata) = (&*self.algorithm, &self.state, self.metadata);
        let written = outputs::write_trainer_state(folder, algorithm, state, metadata, history);
        Ok(written?)
    }

    fn save_summaries(&self, folder: &Path, history: &RunHistory) -> Result<(), RunError> {
        let (algorithm, state, metadata) = (&*self.algorithm, &self.state, self.metadata);
        outputs::write_card(folder, algorithm, state, metadata, history)?;
        Ok(metadata.provenance(&self.base).write(folder)?)
    }

    fn is_recoverable(&self, error: &RunError) -> bool {
        !matches!(error, RunError::NotFinite { .. })
    }

    fn with_checkpoint(error: RunError, folder: &Path, step: Option<usize>) -> RunError {
        error.with_checkpoint(folder, step)
    }
}

/// Checks the run's folder, restores the state if the run is resumed, and returns the log.
fn open<'a>(
    algorithm: &dyn LmAlgorithm,
    state: &mut State,
    metadata: &RunMetadata,
    tasks: &[String],
    dir: &RunDir,
    base: &str,
    listen: &'a mut dyn FnMut(&Event),
) -> Result<RunLog<'a>, RunError> {
    let folder = &dir.path;
    let path = dir.checkpoint_folder().join(CHECKPOINT_FILE);
    let format = HistoryFormat {
        tasks: tasks.to_vec(),
        max_steps: state.schedule.total,
        steps_per_epoch: algorithm.steps_per_epoch(),
        logging_steps: metadata.logging_steps,
        rounded: false,
    };
    if dir.resume {
        let found = Checkpoint::load(dir.checkpoint_folder())?;
        let differs = |reason: String| RunError::from(Error::invalid(&path, reason));
        if found.header.method != algorithm.method() {
            let reason = format!(
                "it is a run of {}, not {}",
                found.header.method,
                algorithm.method()
            );
            return Err(differs(reason));
        }
        if found.header.base != base {
            return Err(differs(
                "the model has other weights than the run began with".to_owned(),
            ));
        }
        let then = &found.header;
        let config = (metadata.normalized)(&then.config);
        let reason =
            describe_changed_option(&config, &metadata.config, algorithm.resumable_overrides());
        if let Some(reason) =
            reason.or_else(|| describe_changed_input(&then.inputs, &metadata.inputs))
        {
            return Err(differs(reason));
        }
        let position = found.restore(state, dir.checkpoint_folder())?;
        snapshot::rewind(dir)?;
        let log = RunLog::resume(folder, format, position, state.done, listen);
        return Ok(log?);
    }
    check_again(dir, &metadata.source, metadata.adapter())?;
    let adapter = state.model.adapter().is_some();
    remove_earlier_files(dir, adapter, &metadata.source, &metadata.tokenizer)?;
    Ok(RunLog::create(folder, format, listen)?)
}

/// Describes the first option that differs from the one the run began with.
fn describe_changed_option(then: &Value, now: &Value, of_algorithm: &[&str]) -> Option<String> {
    let (then, now) = (then.as_object()?, now.as_object()?);
    // A continued adapter has its own options, so those for new adapters do not matter.
    let adapter = now.get("adapter").is_some_and(|folder| !folder.is_null());
    let free = |name: &str| {
        let named = RESUMABLE_OPTIONS.contains(&name) || of_algorithm.contains(&name);
        named || adapter && name.starts_with("lora_")
    };
    let mut names = then.keys().chain(now.keys());
    // An option that a run of an earlier version did not have counts as null.
    let given = |of: &serde_json::Map<String, Value>, name: &str| {
        of.get(name).filter(|value| !value.is_null()).cloned()
    };
    let name = names.find(|name| !free(name) && given(then, name) != given(now, name))?;
    let said = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), Value::to_string);
    Some(format!(
        "the run began with {name} {}, not {}: leave the option out to go on",
        said(then.get(name)),
        said(now.get(name))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A run of an earlier version can be resumed unless a new option is set.
    #[test]
    fn new_null_option_does_not_count_as_changed() {
        let then = json!({"a": 1});
        assert_eq!(
            describe_changed_option(&then, &json!({"a": 1, "new": null}), &[]),
            None
        );
        for now in [json!({"a": 1, "new": 2}), json!({"a": null})] {
            assert!(describe_changed_option(&then, &now, &[]).is_some(), "{now}");
        }
    }
}
