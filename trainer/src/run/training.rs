//! The loop of a training run, the same for every algorithm: update, log, evaluate, save, stop when
//! asked, resume after an interruption.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::Outcome;
use super::dir::RunDir;
use super::event::{Event, Scores};
use super::log::{LogPosition, RunLog};
use super::snapshot;
use crate::Error;
use crate::rl::Metrics;

/// Folders `checkpoint-N` that a run keeps where nobody says how many.
pub const SAVE_TOTAL_LIMIT: usize = 2;

/// What one update gave: one or several optimizer steps.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// The metrics of each step.
    pub steps: Vec<Metrics>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Tokens that were read, for models that read tokens.
    pub tokens: Option<u64>,
}

/// Scores on the validation seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Greedy scores.
    pub scores: Scores,
    /// What else was measured.
    pub metrics: Metrics,
}

/// When a run evaluates and saves, and when it stops early. Steps are those of [`Training::done`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// Steps between two evaluations; `None` for a run without any.
    pub eval_steps: Option<usize>,
    /// Steps between two checkpoints.
    pub save_steps: usize,
    /// Most `checkpoint-N` folders that are kept, the best one not counted; 0 for none at all.
    pub save_total_limit: usize,
    /// Evaluations without a better score after which the run ends; `None` to run to the end.
    pub early_stopping_patience: Option<usize>,
}

/// A training run as the loop sees it. Every random number follows from the seed and the number of
/// steps done, so that a resumed run equals one that was never interrupted.
pub trait Training {
    /// Why it can stop.
    type Error: From<Error>;

    /// Returns the event that announces the run.
    ///
    /// # Errors
    /// If the options have no form as JSON.
    fn started(&self) -> Result<Event, Self::Error>;

    /// Returns what is logged once, before the first step.
    fn introduction(&self) -> Vec<Event> {
        Vec::new()
    }

    /// Returns the number of steps done.
    fn done(&self) -> usize;

    /// Returns whether all steps are done.
    fn is_finished(&self) -> bool;

    /// Returns the passes over the data after a step, where there is such a thing.
    fn epoch(&self, _step: usize) -> Option<f64> {
        None
    }

    /// Learns until the next point at which the run can stop and be resumed.
    ///
    /// # Errors
    /// If a number is not finite, or an episode, a device or a file fails.
    fn update(&mut self) -> Result<Update, Self::Error>;

    /// Evaluates the current policy on the validation seeds. Only called where
    /// [`Cadence::eval_steps`] is set.
    ///
    /// # Errors
    /// As [`Training::update`].
    fn evaluate(&mut self) -> Result<Evaluation, Self::Error>;

    /// Returns the step and the score of the best policy so far.
    fn best(&self) -> Option<(usize, f64)>;

    /// Keeps the current policy as the best one so far.
    ///
    /// # Errors
    /// If it cannot be read from the device.
    fn keep_best(&mut self, score: f64) -> Result<(), Self::Error>;

    /// Returns the event that ends the run, which took so many seconds.
    ///
    /// # Errors
    /// If the last evaluation fails.
    fn finish(&mut self, seconds: f64) -> Result<Event, Self::Error>;

    /// Writes the checkpoint, from which everything else can be written again.
    ///
    /// # Errors
    /// If it cannot be written; the checkpoint before it stays then.
    fn save_checkpoint(&self, folder: &Path, position: LogPosition) -> Result<(), Self::Error>;

    /// Writes the model, as its users load it: the best one so far where the run evaluates, with
    /// `current` the one that is trained.
    ///
    /// # Errors
    /// If it cannot be written.
    fn save_model(&self, folder: &Path, current: bool) -> Result<(), Self::Error>;

    /// Writes the summaries of the run: `trainer_state.json`, the model card and the provenance.
    ///
    /// # Errors
    /// If they cannot be written.
    fn save_summaries(&self, folder: &Path, events: &[Event]) -> Result<(), Self::Error>;

    /// Returns whether an error left the state as it was before the update, so that it can be saved.
    fn is_unharmed(&self, _error: &Self::Error) -> bool {
        false
    }

    /// Adds to an error where training can resume from: the step of the last checkpoint.
    fn with_checkpoint(error: Self::Error, _folder: &Path, _step: Option<usize>) -> Self::Error {
        error
    }
}

/// Trains to the end, or until `stop` is set. `resumed` tells whether the training stands where a
/// checkpoint in the folder left it.
///
/// # Errors
/// If a file cannot be written, or what the training says. The last checkpoint stays valid whatever
/// goes wrong.
pub fn run<T: Training>(
    training: &mut T,
    log: &mut RunLog<'_>,
    dir: &RunDir,
    cadence: &Cadence,
    stop: &AtomicBool,
) -> Result<Outcome, T::Error> {
    let started = training.started()?;
    let is_end = |event: &&Event| matches!(event, Event::Finished { .. });
    if let Some(end) = log.events().iter().find(is_end).cloned() {
        // A kill after the last checkpoint may have come before the other files.
        log.announce(&started);
        write_outputs(training, &dir.path, log.events())?;
        log.announce(&end);
        return Ok(Outcome::Finished);
    }
    log.emit(started)?;
    let mut saved = dir.resume.then(|| training.done());
    if !dir.resume {
        snapshot::remove_all(&dir.path)?;
        for event in training.introduction() {
            log.emit(event)?;
        }
        if cadence.eval_steps.is_some() {
            evaluate(training, log)?;
            saved = Some(save(training, log, dir, cadence)?);
        }
    }
    while !training.is_finished() && !is_out_of_patience(training.best(), log.events(), cadence) {
        if stop.load(Ordering::Relaxed) {
            log.emit(Event::Interrupted {
                step: training.done(),
            })?;
            save(training, log, dir, cadence)?;
            return Ok(Outcome::Interrupted);
        }
        let before = training.done();
        if let Err(error) = update(training, log) {
            // What was learned until here is not lost to a prompt that is too long, or the like.
            let unharmed = training.done() == before && training.is_unharmed(&error);
            if unharmed && before > 0 && saved != Some(before) {
                saved = Some(save(training, log, dir, cadence)?);
            }
            return Err(T::with_checkpoint(error, &dir.path, saved));
        }
        let (step, last) = (training.done(), training.is_finished());
        let is_due = |every: usize| step / every > before / every;
        let evaluates = cadence.eval_steps.is_some_and(|n| is_due(n) || last);
        let is_best = evaluates && evaluate(training, log)?;
        // The end is saved below; what comes before it may take long where the run evaluates.
        let is_saved = is_best || is_due(cadence.save_steps) && !last || last && evaluates;
        if is_saved {
            let done = save(training, log, dir, cadence);
            saved = Some(done.map_err(|error| T::with_checkpoint(error, &dir.path, saved))?);
        }
    }
    if !training.is_finished() {
        let step = training.done();
        let text = "no evaluation was better for so long that the run ends here".to_owned();
        log.emit(Event::Warning { step, text })?;
    }
    let finished = training.finish(log.seconds())?;
    log.emit(finished)?;
    let done = save(training, log, dir, cadence);
    done.map_err(|error| T::with_checkpoint(error, &dir.path, saved))?;
    Ok(Outcome::Finished)
}

/// Learns from one update and logs its steps.
fn update<T: Training>(training: &mut T, log: &mut RunLog<'_>) -> Result<(), T::Error> {
    let (start, before) = (Instant::now(), training.done());
    let update = training.update()?;
    let seconds = start.elapsed().as_secs_f64();
    let each = update.steps.len().max(1) as f64;
    for text in update.warnings {
        log.emit(Event::Warning { step: before, text })?;
    }
    for (step, mut metrics) in (before + 1..).zip(update.steps) {
        metrics.insert("step_time".into(), seconds / each);
        if let Some(tokens) = update.tokens {
            let rate = tokens as f64 / seconds.max(1e-9);
            metrics.insert("tokens_per_second".into(), rate);
        }
        // JSON has no other numbers, and a deviation of nothing is none.
        metrics.retain(|_, value| value.is_finite());
        let epoch = training.epoch(step);
        log.emit(Event::Step {
            step,
            epoch,
            metrics,
        })?;
    }
    Ok(())
}

/// Evaluates the policy; returns whether it is the best one so far.
fn evaluate<T: Training>(training: &mut T, log: &mut RunLog<'_>) -> Result<bool, T::Error> {
    let Evaluation {
        scores,
        mut metrics,
    } = training.evaluate()?;
    metrics.retain(|_, value| value.is_finite());
    let before = training.best();
    let is_best = before.is_none_or(|(_, best)| scores.overall > best);
    if is_best {
        training.keep_best(scores.overall)?;
    }
    let step = training.done();
    log.emit(Event::Eval {
        step,
        scores,
        metrics,
    })?;
    Ok(is_best)
}

/// Returns the step and the score of the best evaluation, the first one of equals.
pub(crate) fn best_score(events: &[Event]) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for (step, score) in evaluations(events) {
        if score.is_finite() && best.is_none_or(|(_, best)| score > best) {
            best = Some((step, score));
        }
    }
    best
}

fn evaluations(events: &[Event]) -> impl Iterator<Item = (usize, f64)> {
    events.iter().filter_map(|event| match event {
        Event::Eval { step, scores, .. } => Some((*step, scores.overall)),
        _ => None,
    })
}

/// Returns whether so many evaluations came after the best one.
fn is_out_of_patience(best: Option<(usize, f64)>, events: &[Event], cadence: &Cadence) -> bool {
    let (Some(patience), Some((best, _))) = (cadence.early_stopping_patience, best) else {
        return false;
    };
    evaluations(events).filter(|(step, _)| *step > best).count() >= patience
}

/// Saves the run: the checkpoint first, from which everything else could be written again. Returns its
/// step.
fn save<T: Training>(
    training: &T,
    log: &mut RunLog<'_>,
    dir: &RunDir,
    cadence: &Cadence,
) -> Result<usize, T::Error> {
    let step = training.done();
    log.emit(Event::Saved { step })?;
    training.save_checkpoint(&dir.path, log.sync()?)?;
    write_outputs(training, &dir.path, log.events())?;
    if cadence.save_total_limit > 0 {
        let best = training.best().map(|(step, _)| step);
        snapshot::create(&dir.path, step, |folder| training.save_model(folder, true))?;
        snapshot::keep_latest(&dir.path, cadence.save_total_limit, best)?;
    }
    Ok(step)
}

fn write_outputs<T: Training>(
    training: &T,
    folder: &Path,
    events: &[Event],
) -> Result<(), T::Error> {
    training.save_summaries(folder, events)?;
    training.save_model(folder, false)
}
