//! A whole run in a folder: step, log, save, stop when asked, go on after an interruption.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;

use super::about::{About, changed};
use super::checkpoint::{self, Checkpoint, Header};
use super::dir::{check_again, clear};
use super::error::RunError;
use super::job::{Job, Update};
use super::outputs;
use super::state::State;
use crate::run::{CHECKPOINT, Event, Outcome, RunDir, RunLog, unix_time};

/// Whose options may differ when a run goes on: they do not change what is learned.
const FREE: [&str; 3] = ["logging_steps", "save_steps", "allow_fallback"];

/// Trains to the end, or until `stop` is set; tells `listen` what happens.
///
/// # Errors
/// If the folder holds another run, a file cannot be written, or a number is not finite. The last
/// checkpoint stays valid whatever goes wrong.
pub fn run(
    job: &mut dyn Job,
    mut state: State,
    about: &About,
    dir: &RunDir,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, RunError> {
    let base = state.model.base_digest()?;
    let mut log = open(job, &mut state, about, dir, &base, listen)?;
    let begun = started(job, &state, about);
    let finished = |event: &Event| matches!(event, Event::Finished { .. });
    let over = log.events().iter().any(finished);
    let mut run = Run {
        job,
        about,
        dir,
        base,
        saved: dir.resume.then_some(state.done),
    };
    if over {
        // A kill after the last checkpoint may have come before the other files.
        log.announce(&begun);
        run.write_outputs(&state, &log)?;
        return Ok(Outcome::Finished);
    }
    log.emit(begun)?;
    if state.done == 0 {
        let counts = run.job.data();
        log.emit(Event::Data { counts })?;
        for text in about.warnings.iter().cloned().chain(run.job.warnings()) {
            log.emit(Event::Warning { step: 0, text })?;
        }
    }
    while !state.finished() {
        if stop.load(Ordering::Relaxed) {
            log.emit(Event::Interrupted { step: state.done })?;
            run.save(&state, &mut log)?;
            return Ok(Outcome::Interrupted);
        }
        let (start, before, tokens) = (Instant::now(), state.done, state.tokens);
        let update = match run.job.update(&mut state) {
            Ok(update) => update,
            Err(error) => {
                // What was learned until here is not lost to a prompt that is too long, or the like.
                let whole = state.done == before && !matches!(error, RunError::NotFinite { .. });
                if whole && before > 0 && run.saved != Some(before) {
                    run.save(&state, &mut log)?;
                }
                return Err(error.saved(&dir.path, run.saved));
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let read = (state.tokens - tokens) as f64;
        run.log_update(&mut log, update, before, seconds, read)?;
        let (step, every) = (state.done, about.save_steps);
        if step / every > before / every && !state.finished() {
            run.save(&state, &mut log)?;
        }
    }
    log.emit(Event::Finished {
        step: state.done,
        seconds: Some(log.seconds()),
        scores: None,
        baselines: Vec::new(),
    })?;
    run.save(&state, &mut log)?;
    Ok(Outcome::Finished)
}

fn started(job: &dyn Job, state: &State, about: &About) -> Event {
    let all = state.model.parameters();
    let sizes = all.iter().map(|p| p.shape().iter().product::<usize>());
    Event::Started {
        method: job.method().to_owned(),
        config: about.config.clone(),
        resumed_at: state.done,
        total: state.schedule.total,
        parameters: sizes.sum(),
        trained: state.model.trainable_count(),
        fallback: about.fallback,
        unix_time: unix_time(),
    }
}

/// What stays the same while a run goes on, and the step of its last checkpoint.
struct Run<'a> {
    job: &'a mut dyn Job,
    about: &'a About,
    dir: &'a RunDir,
    /// Digest of the model's weights before the run.
    base: String,
    saved: Option<usize>,
}

impl Run<'_> {
    fn log_update(
        &self,
        log: &mut RunLog<'_>,
        update: Update,
        before: usize,
        seconds: f64,
        read: f64,
    ) -> Result<(), RunError> {
        let each = update.steps.len().max(1) as f64;
        for text in update.warnings {
            log.emit(Event::Warning { step: before, text })?;
        }
        for (step, mut metrics) in (before + 1..).zip(update.steps) {
            metrics.insert("step_time".into(), seconds / each);
            metrics.insert("tokens_per_second".into(), read / seconds.max(1e-9));
            // JSON has no other numbers, and a deviation of nothing is none.
            metrics.retain(|_, value| value.is_finite());
            let epoch = step as f64 / self.job.steps_per_epoch().max(1) as f64;
            log.emit(Event::Step {
                step,
                epoch: Some(epoch),
                metrics,
            })?;
        }
        Ok(())
    }

    /// Saves the run: the checkpoint first, from which all else could be written again.
    fn save(&mut self, state: &State, log: &mut RunLog<'_>) -> Result<(), RunError> {
        let folder = &self.dir.path;
        log.emit(Event::Saved { step: state.done })?;
        let header = Header {
            method: self.job.method().to_owned(),
            config: self.about.config.clone(),
            base: self.base.clone(),
            inputs: self.about.inputs.clone(),
            done: 0,
            tokens: 0,
            times: std::collections::BTreeMap::new(),
            log: log.sync()?,
        };
        checkpoint::save(state, header, folder).map_err(|error| error.saved(folder, self.saved))?;
        self.saved = Some(state.done);
        self.write_outputs(state, log)
    }

    fn write_outputs(&self, state: &State, log: &RunLog<'_>) -> Result<(), RunError> {
        let (folder, job) = (&self.dir.path, &*self.job);
        outputs::write_all(folder, job, state, self.about, &self.base, log.events())
    }
}

/// Checks the folder and brings the state to where its checkpoint stands; returns the log.
fn open<'a>(
    job: &dyn Job,
    state: &mut State,
    about: &About,
    dir: &RunDir,
    base: &str,
    listen: &'a mut dyn FnMut(&Event),
) -> Result<RunLog<'a>, RunError> {
    let folder = &dir.path;
    let path = folder.join(CHECKPOINT);
    if dir.resume {
        let found = Checkpoint::read(folder)?;
        let differs = |reason: String| RunError::Checkpoint {
            path: path.clone(),
            reason,
        };
        if found.header.method != job.method() {
            let reason = format!(
                "it is a run of {}, not {}",
                found.header.method,
                job.method()
            );
            return Err(differs(reason));
        }
        if found.header.base != base {
            return Err(differs(
                "the model has other weights than the run began with".to_owned(),
            ));
        }
        let then = &found.header;
        let config = (about.upgrade)(&then.config);
        let reason = other(&config, &about.config, job.free());
        if let Some(reason) = reason.or_else(|| changed(&then.inputs, &about.inputs)) {
            return Err(differs(reason));
        }
        let position = found.restore(state, folder)?;
        let log = RunLog::resume(folder, Vec::new(), position, state.done, listen);
        return Ok(log?);
    }
    check_again(dir, &about.source, about.adapter())?;
    clear(dir, state.model.adapter().is_some(), &about.source)?;
    Ok(RunLog::create(folder, Vec::new(), listen)?)
}

/// The first option that a run began with and that is another now.
fn other(then: &Value, now: &Value, of_job: &[&str]) -> Option<String> {
    let (then, now) = (then.as_object()?, now.as_object()?);
    // An adapter that is gone on with has options of its own, whatever is said of a new one.
    let adapter = now.get("adapter").is_some_and(|folder| !folder.is_null());
    let free = |name: &str| {
        let named = FREE.contains(&name) || of_job.contains(&name);
        named || adapter && name.starts_with("lora_")
    };
    let mut names = then.keys().chain(now.keys());
    let name = names.find(|name| !free(name) && then.get(*name) != now.get(*name))?;
    let said = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), Value::to_string);
    Some(format!(
        "the run began with {name} {}, not {}: leave the option out to go on",
        said(then.get(name)),
        said(now.get(name))
    ))
}
