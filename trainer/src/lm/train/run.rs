//! A whole run in a folder: step, log, save, stop when asked, go on after an interruption.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::about::{About, changed};
use super::checkpoint::{self, Checkpoint, Header};
use super::error::RunError;
use super::event::Event;
use super::outputs;
use super::place::Place;
use super::state::State;
use crate::lm::LmError;
use crate::rl::Metrics;

/// What one update gave: one or several optimizer steps.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// What is logged about each step.
    pub steps: Vec<Metrics>,
    /// What a person should know about.
    pub warnings: Vec<String>,
}

/// A way to train.
pub trait Job {
    /// `sft` or `grpo`.
    fn method(&self) -> &'static str;
    /// Rows that one optimizer step learns from.
    fn batch_size(&self) -> usize;
    /// Optimizer steps of a pass over the data.
    fn steps_per_epoch(&self) -> usize;
    /// What there is to learn from.
    fn data(&self) -> Metrics;
    /// What a person should know before the first step.
    fn warnings(&self) -> Vec<String>;
    /// Further options that may differ when a run goes on.
    fn free(&self) -> &'static [&'static str] {
        &[]
    }
    /// Learns until the next point at which a run can stop and go on. All that it draws follows
    /// from the seed and `state.done`.
    ///
    /// # Errors
    /// If a number is not finite, or the device or an episode fails.
    fn update(&mut self, state: &mut State) -> Result<Update, RunError>;
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps were taken.
    Finished,
    /// It was asked to stop, and can go on.
    Interrupted,
}

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
    place: &Place,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, RunError> {
    let base = state.model.base_digest()?;
    let history = open(job, &mut state, about, place, &base)?;
    let header = Header {
        method: job.method().to_owned(),
        config: about.config.clone(),
        base,
        inputs: about.inputs.clone(),
        done: 0,
        tokens: 0,
        times: std::collections::BTreeMap::new(),
        history: Vec::new(),
    };
    let mut log = Log {
        history,
        listen,
        header,
    };
    if log.over() {
        // Whoever killed it after its last checkpoint may have done so before the other files.
        (log.listen)(&started(job, &state, about));
        let base = &log.header.base;
        outputs::write_all(&place.folder, job, &state, about, base, &log.history)?;
        return Ok(Outcome::Finished);
    }
    log.begin(job, &state, about);
    let mut saved = place.resume.then_some(state.done);
    while !state.finished() {
        if stop.load(Ordering::Relaxed) {
            log.note(Event::Interrupted { step: state.done });
            log.keep(job, &state, about, &place.folder, saved)?;
            return Ok(Outcome::Interrupted);
        }
        let (start, before, tokens) = (Instant::now(), state.done, state.tokens);
        let update = match job.update(&mut state) {
            Ok(update) => update,
            Err(error) => {
                // What was learned until here is not lost to a prompt that is too long, or the like.
                let whole = state.done == before && !matches!(error, RunError::NotFinite { .. });
                if whole && before > 0 && saved != Some(before) {
                    log.keep(job, &state, about, &place.folder, saved)?;
                    saved = Some(before);
                }
                return Err(error.saved(&place.folder, saved));
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let read = (state.tokens - tokens) as f64;
        log.updated(job, update, before, seconds, read);
        let (step, every) = (state.done, about.save_steps);
        if step / every > before / every && !state.finished() {
            log.keep(job, &state, about, &place.folder, saved)?;
            saved = Some(step);
        }
    }
    let seconds = log.seconds();
    log.note(Event::Finished {
        step: state.done,
        seconds,
    });
    log.keep(job, &state, about, &place.folder, saved)?;
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

/// What happened, and who is told.
struct Log<'a> {
    history: Vec<Event>,
    listen: &'a mut dyn FnMut(&Event),
    header: Header,
}

impl Log<'_> {
    fn note(&mut self, event: Event) {
        (self.listen)(&event);
        self.history.push(event);
    }

    /// Whether the run had ended before.
    fn over(&self) -> bool {
        let over = |event: &Event| matches!(event, Event::Finished { .. });
        self.history.iter().any(over)
    }

    fn begin(&mut self, job: &dyn Job, state: &State, about: &About) {
        self.note(started(job, state, about));
        if state.done > 0 {
            return;
        }
        let counts = job.data();
        self.note(Event::Data { counts });
        for text in about.warnings.iter().cloned().chain(job.warnings()) {
            self.note(Event::Warning { step: 0, text });
        }
    }

    fn updated(&mut self, job: &dyn Job, update: Update, before: usize, seconds: f64, read: f64) {
        let each = update.steps.len().max(1) as f64;
        for text in update.warnings {
            self.note(Event::Warning { step: before, text });
        }
        for (step, mut metrics) in (before + 1..).zip(update.steps) {
            metrics.insert("step_time".into(), seconds / each);
            metrics.insert("tokens_per_second".into(), read / seconds.max(1e-9));
            // JSON has no other numbers, and a deviation of nothing is none.
            metrics.retain(|_, value| value.is_finite());
            let epoch = step as f64 / job.steps_per_epoch().max(1) as f64;
            self.note(Event::Step {
                step,
                epoch,
                metrics,
            });
        }
    }

    fn seconds(&self) -> f64 {
        let time = |event: &Event| match event {
            Event::Step { metrics, .. } => metrics.get("step_time").copied(),
            _ => None,
        };
        self.history.iter().filter_map(time).sum()
    }

    /// Saves a run: the checkpoint first, from which all else could be written again. `saved` is the
    /// step of the one before it.
    fn keep(
        &mut self,
        job: &dyn Job,
        state: &State,
        about: &About,
        folder: &Path,
        saved: Option<usize>,
    ) -> Result<(), RunError> {
        self.note(Event::Saved { step: state.done });
        let header = Header {
            history: self.history.clone(),
            ..self.header.clone()
        };
        checkpoint::save(state, header, folder).map_err(|error| error.saved(folder, saved))?;
        let base = &self.header.base;
        outputs::write_all(folder, job, state, about, base, &self.history)
    }
}

/// Checks the folder; brings the state to where its checkpoint stands.
fn open(
    job: &dyn Job,
    state: &mut State,
    about: &About,
    place: &Place,
    base: &str,
) -> Result<Vec<Event>, RunError> {
    let folder = &place.folder;
    let path = folder.join(checkpoint::NAME);
    if place.resume {
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
        let reason = other(&then.config, &about.config, job.free());
        if let Some(reason) = reason.or_else(|| changed(&then.inputs, &about.inputs)) {
            return Err(differs(reason));
        }
        return found.restore(state, folder);
    }
    place.check_again(&about.source, about.adapter())?;
    std::fs::create_dir_all(folder).map_err(|error| LmError::write(folder, error))?;
    place.clear(state.model.adapter().is_some(), &about.source)?;
    Ok(Vec::new())
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

fn unix_time() -> f64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    // Whole seconds are exact; a clock before 1970 counts as 1970.
    passed.map_or(0.0, |passed| passed.as_secs() as f64)
}
