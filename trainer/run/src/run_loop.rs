//! The loop of a training run, the same for every algorithm: update, log, evaluate, save, stop on
//! request, resume after an interruption.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sentinel_base::Error;
use sentinel_rl::{Metrics, Scores};

use super::dir::RunDir;
use super::event::{Event, LogPosition};
use super::history::RunHistory;
use super::log::RunLog;
use super::snapshot;

/// The way in which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps were taken.
    Finished,
    /// The run was asked to stop and can be resumed.
    Interrupted,
}

/// The result of one update: one or several optimizer steps.
#[derive(Clone, Debug, Default)]
pub struct UpdateReport {
    /// The metrics of each step.
    pub steps: Vec<Metrics>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// The number of tokens that were read, for models that read tokens.
    pub tokens: Option<u64>,
}

/// The result of an evaluation on the validation seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The scores of the greedy policy.
    pub scores: Scores,
    /// The other metrics of the evaluation.
    pub metrics: Metrics,
}

/// The intervals at which a run evaluates and saves, and its early stopping. Steps are those of
/// [`Run::steps_done`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSchedule {
    /// The number of steps between two evaluations; `None` for a run without any.
    pub eval_steps: Option<usize>,
    /// The number of steps between two checkpoints.
    pub save_steps: usize,
    /// The maximum number of `checkpoint-N` folders, the best one not counted; 0 for none at all.
    pub save_total_limit: usize,
    /// The number of evaluations without a better score after which the run ends; `None` to run to
    /// the end.
    pub early_stopping_patience: Option<usize>,
}

/// A training run as the loop [`run_to_end`] sees it. Every random number follows from the seed and
/// the number of steps done, so that a resumed run equals one that was never interrupted.
pub trait Run {
    /// The error type of the algorithm.
    type Error: From<Error>;

    /// Returns the event that announces the run.
    ///
    /// # Errors
    /// Returns an error if the options cannot be expressed as JSON.
    fn start_event(&self) -> Result<Event, Self::Error>;

    /// Returns the events that are logged once, before the first step.
    fn initial_events(&self) -> Vec<Event> {
        Vec::new()
    }

    /// Returns the number of steps done.
    fn steps_done(&self) -> usize;

    /// Returns `true` if all steps are done.
    fn is_finished(&self) -> bool;

    /// Returns the number of passes over the data after a step, if the method has such passes.
    fn epoch(&self, _step: usize) -> Option<f64> {
        None
    }

    /// Trains until the next point at which the run can stop and be resumed.
    ///
    /// # Errors
    /// Returns an error if a number is not finite, or an episode, a device or a file fails.
    fn advance(&mut self) -> Result<UpdateReport, Self::Error>;

    /// Evaluates the current policy on the validation seeds. Only called if [`RunSchedule::eval_steps`]
    /// is set.
    ///
    /// # Errors
    /// Returns the errors of [`Run::advance`].
    fn evaluate(&mut self) -> Result<Evaluation, Self::Error>;

    /// Returns the step and the score of the best policy so far.
    fn best(&self) -> Option<(usize, f64)>;

    /// Stores the current policy as the best one so far.
    ///
    /// # Errors
    /// Returns an error if it cannot be read from the device.
    fn keep_best(&mut self, score: f64) -> Result<(), Self::Error>;

    /// Returns the event that ends the run; `seconds` is the time that all steps took.
    ///
    /// # Errors
    /// Returns an error if the last evaluation fails.
    fn finish(&mut self, seconds: f64) -> Result<Event, Self::Error>;

    /// Writes the checkpoint, from which all other files can be written again.
    ///
    /// # Errors
    /// Returns an error if it cannot be written; the previous checkpoint then stays.
    fn save_checkpoint(&self, folder: &Path, position: LogPosition) -> Result<(), Self::Error>;

    /// Writes the model as its users load it: with `current` the one that is trained, else the best
    /// one so far if the run evaluates.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    fn save_model(&self, folder: &Path, current: bool) -> Result<(), Self::Error>;

    /// Writes `trainer_state.json`.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    fn save_trainer_state(
        &self,
        folder: &Path,
        history: &mut RunHistory,
    ) -> Result<(), Self::Error>;

    /// Writes the other summaries of the run: the model card and the provenance.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    fn save_summaries(&self, folder: &Path, history: &RunHistory) -> Result<(), Self::Error>;

    /// Returns `true` if an error left the state as it was before the update, so that it can be
    /// saved.
    fn is_recoverable(&self, _error: &Self::Error) -> bool {
        false
    }

    /// Adds the checkpoint from which training can resume to an error: the step of the last one.
    fn with_checkpoint(error: Self::Error, _folder: &Path, _step: Option<usize>) -> Self::Error {
        error
    }
}

/// Trains to the end, or until `stop` is set. A run whose log has ended only writes its outputs
/// again.
///
/// # Errors
/// Returns an error if a file cannot be written, or an error of `training`. The last checkpoint
/// stays valid in any case.
pub fn run_to_end<T: Run>(
    run: &mut T,
    log: &mut RunLog<'_>,
    dir: &RunDir,
    schedule: &RunSchedule,
    stop: &AtomicBool,
) -> Result<Outcome, T::Error> {
    let started = run.start_event()?;
    if let Some(end) = log.history().finished().cloned() {
        // The program may have been killed between the last checkpoint and the other files.
        log.notify(&started);
        run.save_trainer_state(&dir.path, log.history_mut())?;
        write_outputs(run, &dir.path, log.history())?;
        log.notify(&end);
        return Ok(Outcome::Finished);
    }
    log.emit(started)?;
    let resumed = run.steps_done();
    let mut saved = dir.resume.then_some(resumed);
    if !dir.resume {
        snapshot::remove_all(&dir.path)?;
        for event in run.initial_events() {
            log.emit(event)?;
        }
        if schedule.eval_steps.is_some() {
            evaluate(run, log)?;
            saved = Some(save(run, log, dir, schedule, resumed, false)?);
        }
    }
    while !run.is_finished() && !is_out_of_patience(run.best(), log.history(), schedule) {
        if stop.load(Ordering::Relaxed) {
            log.emit(Event::Interrupted {
                step: run.steps_done(),
            })?;
            save(run, log, dir, schedule, resumed, true)?;
            return Ok(Outcome::Interrupted);
        }
        let before = run.steps_done();
        if let Err(error) = advance(run, log) {
            // An error that leaves the state intact, such as a prompt that is too long, must not
            // lose the progress.
            let unharmed = run.steps_done() == before && run.is_recoverable(&error);
            if unharmed && before > 0 && saved != Some(before) {
                saved = Some(save(run, log, dir, schedule, resumed, true)?);
            }
            return Err(T::with_checkpoint(error, &dir.path, saved));
        }
        let (step, last) = (run.steps_done(), run.is_finished());
        let is_due = |every: usize| step / every > before / every;
        let evaluates = schedule.eval_steps.is_some_and(|n| is_due(n) || last);
        let is_best = evaluates && evaluate(run, log)?;
        // The end is saved below; a run that evaluates saves before it too, since the final test
        // may take long.
        let is_saved = is_best || is_due(schedule.save_steps) && !last || last && evaluates;
        if is_saved {
            let done = save(run, log, dir, schedule, resumed, false);
            saved = Some(done.map_err(|error| T::with_checkpoint(error, &dir.path, saved))?);
        }
    }
    if !run.is_finished() {
        let step = run.steps_done();
        let text = "no evaluation was better for so long that the run ends here".to_owned();
        log.emit(Event::Warning { step, text })?;
    }
    let finished = run.finish(log.seconds())?;
    log.emit(finished)?;
    let done = save(run, log, dir, schedule, resumed, true);
    done.map_err(|error| T::with_checkpoint(error, &dir.path, saved))?;
    Ok(Outcome::Finished)
}

/// Runs one update and logs its steps.
fn advance<T: Run>(run: &mut T, log: &mut RunLog<'_>) -> Result<(), T::Error> {
    let (start, before) = (Instant::now(), run.steps_done());
    let update = run.advance()?;
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
        // JSON has no infinities or nan; the deviation of an empty set is nan.
        metrics.retain(|_, value| value.is_finite());
        let epoch = run.epoch(step);
        log.emit(Event::Step {
            step,
            epoch,
            metrics,
        })?;
    }
    Ok(())
}

/// Evaluates the policy; returns `true` if it is the best one so far.
fn evaluate<T: Run>(run: &mut T, log: &mut RunLog<'_>) -> Result<bool, T::Error> {
    let Evaluation {
        scores,
        mut metrics,
    } = run.evaluate()?;
    metrics.retain(|_, value| value.is_finite());
    let before = run.best();
    let is_best = before.is_none_or(|(_, best)| scores.overall > best);
    if is_best {
        run.keep_best(scores.overall)?;
    }
    let step = run.steps_done();
    log.emit(Event::Eval {
        step,
        scores,
        metrics,
    })?;
    Ok(is_best)
}

/// Returns `true` if at least `early_stopping_patience` evaluations came after the best one.
fn is_out_of_patience(
    best: Option<(usize, f64)>,
    history: &RunHistory,
    schedule: &RunSchedule,
) -> bool {
    let (Some(patience), Some((best, _))) = (schedule.early_stopping_patience, best) else {
        return false;
    };
    history.evaluations_after(best) >= patience
}

/// Saves the run, which began at the step `resumed`: the checkpoint first, from which all other files can be
/// written again. Returns its step.
///
/// `trainer_state.json` holds the whole log, so it is written only where it is needed: for a folder
/// `checkpoint-N`, if the run stops here, and else once it has grown enough.
fn save<T: Run>(
    run: &T,
    log: &mut RunLog<'_>,
    dir: &RunDir,
    schedule: &RunSchedule,
    resumed: usize,
    stops: bool,
) -> Result<usize, T::Error> {
    let step = run.steps_done();
    log.emit(Event::Saved { step })?;
    run.save_checkpoint(&dir.path, log.sync()?)?;
    snapshot::forget_rewound(dir, resumed)?;
    if schedule.save_total_limit > 0 || stops || log.history().is_due() {
        run.save_trainer_state(&dir.path, log.history_mut())?;
    }
    write_outputs(run, &dir.path, log.history())?;
    if schedule.save_total_limit > 0 {
        let best = run.best().map(|(step, _)| step);
        snapshot::create(&dir.path, step, |folder| run.save_model(folder, true))?;
        snapshot::keep_latest(&dir.path, schedule.save_total_limit, best)?;
    }
    Ok(step)
}

fn write_outputs<T: Run>(run: &T, folder: &Path, history: &RunHistory) -> Result<(), T::Error> {
    run.save_summaries(folder, history)?;
    run.save_model(folder, false)
}
