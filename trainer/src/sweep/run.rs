//! Running the entries of a sweep: stage by stage, several at a time where the memory allows.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sentinel_base::{Error, files};
use sentinel_evidence::json_file::report_error;
use sentinel_evidence::run_report::{ReportStatus, RunReport};
use sentinel_evidence::{artifact, json_file};
use sentinel_language::training::{Event, Outcome, RunDir, RunError};

use super::memory;
use super::plan::{PlanEntry, SweepPlan};
use super::stages::{StageContext, base_of, inputs, outputs, report_of, run_folder};
use super::state::{RunState, Stage, StageRecord, StageStatus, write_sweep};

/// The options of a run of a sweep.
#[derive(Clone, Debug)]
pub struct SweepOptions {
    /// The largest number of entries that run at a time.
    pub jobs: usize,
    /// The bytes of memory that the entries may use together; `None` for no bound.
    pub memory: Option<u128>,
    /// `true` to refuse an entry that needs more than all of that; else it runs alone, because the
    /// estimate is an upper bound.
    pub refuse_too_large: bool,
    /// `true` to overwrite stages whose options or inputs are others than before.
    pub overwrite: bool,
    /// The program that checks saved artifacts: this one.
    pub program: PathBuf,
}

/// Progress of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct SweepEvent<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// The stage that it is in; `None` for the run as a whole.
    pub stage: Option<Stage>,
    /// The thing that happened.
    pub activity: SweepActivity<'a>,
}

/// A thing that happens in a sweep.
#[derive(Clone, Copy, Debug)]
pub enum SweepActivity<'a> {
    /// A stage began; `true` if it continues an earlier attempt.
    Started(bool),
    /// The run may need more memory than there is, so it runs alone.
    TooLarge(&'a str),
    /// A stage was finished before.
    Skipped,
    /// A training stage reports its progress.
    Training(&'a Event),
    /// A stage ended after so many seconds.
    Finished(f64),
    /// A stage, or the run, stopped with this error.
    Failed(&'a str),
    /// The run was interrupted by the user.
    Interrupted,
}

/// The result of a sweep, by the ids of its runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepOutcome {
    /// The runs all of whose stages are finished.
    pub finished: Vec<String>,
    /// The runs that stopped with an error.
    pub failed: Vec<(String, String)>,
    /// The runs that were interrupted, or had not begun then.
    pub interrupted: Vec<String>,
}

/// The entries that wait, and the memory of those that run.
struct Queue {
    waiting: VecDeque<usize>,
    used: u128,
    running: usize,
}

/// Runs the entries of a plan. The failure of one spares the others.
///
/// # Errors
/// Returns an error if `sweep.json` cannot be written. Errors of entries are in the outcome.
pub fn run(
    plan: &SweepPlan,
    options: &SweepOptions,
    stop: &AtomicBool,
    listen: &(dyn Fn(&SweepEvent<'_>) + Sync),
) -> Result<SweepOutcome, Error> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let needs: Vec<u128> = (plan.entries.iter())
        .map(|entry| need(entry, cores, options.memory))
        .collect();
    let queue = Mutex::new(Queue {
        waiting: (0..plan.entries.len()).collect(),
        used: 0,
        running: 0,
    });
    let freed = Condvar::new();
    let outcome = Mutex::new(SweepOutcome::default());
    let work = || {
        while let Some(index) = next(&queue, &freed, &needs, options.memory, stop) {
            let entry = &plan.entries[index];
            let found = guarded(entry, needs[index], options, stop, listen);
            let mut all = lock(&outcome);
            match found {
                Ok(Outcome::Finished) => all.finished.push(entry.id.clone()),
                Ok(Outcome::Interrupted) => all.interrupted.push(entry.id.clone()),
                Err(reason) => all.failed.push((entry.id.clone(), reason)),
            }
            drop(all);
            let mut queue = lock(&queue);
            queue.used -= needs[index];
            queue.running -= 1;
            freed.notify_all();
        }
    };
    std::thread::scope(|scope| {
        let others = options.jobs.min(plan.entries.len()).saturating_sub(1);
        for _ in 0..others {
            scope.spawn(work);
        }
        work();
    });
    let mut outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    let left = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    let left = left
        .waiting
        .into_iter()
        .map(|at| plan.entries[at].id.clone());
    outcome.interrupted.extend(left);
    write_sweep(&plan.reports_dir)?;
    Ok(outcome)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the memory that an entry is counted with: all of it if its model is not known yet.
fn need(entry: &PlanEntry, cores: usize, bound: Option<u128>) -> u128 {
    let bound = bound.unwrap_or(0);
    memory::needed_bytes(entry, cores).unwrap_or(bound)
}

/// Takes the next entry that fits beside those that run; waits while there is none. Returns `None`
/// if nothing is left, or the sweep was asked to stop.
fn next(
    queue: &Mutex<Queue>,
    freed: &Condvar,
    needs: &[u128],
    bound: Option<u128>,
    stop: &AtomicBool,
) -> Option<usize> {
    let mut queue = lock(queue);
    loop {
        if stop.load(Ordering::Relaxed) || queue.waiting.is_empty() {
            return None;
        }
        let fits = |index: &usize| {
            let together = queue.used + needs[*index];
            queue.running == 0 || bound.is_none_or(|bound| together <= bound)
        };
        if let Some(place) = queue.waiting.iter().position(fits) {
            let index = queue.waiting.remove(place)?;
            queue.used += needs[index];
            queue.running += 1;
            return Some(index);
        }
        queue = freed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Runs an entry; an error or a panic is returned as text.
fn guarded(
    entry: &PlanEntry,
    need: u128,
    options: &SweepOptions,
    stop: &AtomicBool,
    listen: &(dyn Fn(&SweepEvent<'_>) + Sync),
) -> Result<Outcome, String> {
    let tell = |activity: SweepActivity<'_>| {
        listen(&SweepEvent {
            run: &entry.id,
            stage: None,
            activity,
        });
    };
    let run = || -> Result<Outcome, RunError> {
        if let Some(bound) = options.memory.filter(|bound| need > *bound) {
            let error = too_large(entry, need, bound);
            if options.refuse_too_large {
                return Err(error.into());
            }
            tell(SweepActivity::TooLarge(&error.to_string()));
        }
        run_entry(entry, options, stop, listen)
    };
    let found = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(found) => found.map_err(|error| error.to_string()),
        Err(payload) => Err(format!("the program stopped: {}", message(&*payload))),
    };
    match &found {
        Err(reason) => tell(SweepActivity::Failed(reason)),
        Ok(Outcome::Interrupted) => tell(SweepActivity::Interrupted),
        Ok(Outcome::Finished) => {}
    }
    found
}

fn too_large(entry: &PlanEntry, need: u128, bound: u128) -> Error {
    const GIB: f64 = (1_u64 << 30) as f64;
    let reason = format!(
        "run {} needs up to {:.2} GiB, and {:.2} GiB may be used: lower its per_device_train_batch_size or \
         max_length, or give more",
        entry.id,
        need as f64 / GIB,
        bound as f64 / GIB
    );
    Error::argument("--memory", reason)
}

/// Returns the message of a panic.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a message".to_owned())
}

/// Runs the stages of an entry.
fn run_entry(
    entry: &PlanEntry,
    options: &SweepOptions,
    stop: &AtomicBool,
    listen: &(dyn Fn(&SweepEvent<'_>) + Sync),
) -> Result<Outcome, RunError> {
    let _lock = RunDir::new(&entry.paths.reports).lock()?;
    files::create_folder(&entry.paths.checkpoints)?;
    let mut state = RunState::load(&entry.paths, &entry.id, &entry.model)?;
    for stage in entry.stages() {
        if stop.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
        let tell = |activity: SweepActivity<'_>| {
            listen(&SweepEvent {
                run: &entry.id,
                stage: Some(stage),
                activity,
            });
        };
        let done = run_stage(entry, stage, &mut state, options, stop, &tell);
        // The error of the stage matters more than one of the list.
        let listed = write_sweep(&options_reports(entry));
        if done? == Outcome::Interrupted {
            return Ok(Outcome::Interrupted);
        }
        listed?;
    }
    Ok(Outcome::Finished)
}

/// Returns the folder of reports that holds the folder of a run.
fn options_reports(entry: &PlanEntry) -> PathBuf {
    let sweeps = files::parent_folder(&entry.paths.reports);
    files::parent_folder(sweeps).to_owned()
}

/// Runs a stage unless it is finished, and records its end.
fn run_stage(
    entry: &PlanEntry,
    stage: Stage,
    state: &mut RunState,
    options: &SweepOptions,
    stop: &AtomicBool,
    tell: &dyn Fn(SweepActivity<'_>),
) -> Result<Outcome, RunError> {
    let (command, inputs) = (entry.command(stage), inputs(entry, stage)?);
    let before = state.get(stage).cloned();
    let same = |record: &StageRecord| record.command == command && record.inputs == inputs;
    let continues = before.as_ref().is_some_and(same);
    if continues
        && let Some(record) = &before
        && record.status == StageStatus::Ok
        && outputs(entry, stage).is_ok_and(|now| now == record.outputs)
    {
        tell(SweepActivity::Skipped);
        return Ok(Outcome::Finished);
    }
    if let Some(record) = before.filter(|_| !continues && !options.overwrite) {
        check_same(entry, stage, &record, &command, &inputs)?;
    }
    let mut record = StageRecord {
        status: StageStatus::Running,
        command,
        inputs,
        outputs: artifact::NO_DIGESTS,
        seconds: None,
        error: None,
    };
    save(entry, stage, state, &record)?;
    tell(SweepActivity::Started(continues));
    let start = Instant::now();
    let work = StageContext {
        entry,
        continues,
        overwrite: options.overwrite,
        program: &options.program,
        stop,
        listen: &|event| tell(SweepActivity::Training(event)),
    };
    let done = catch_unwind(AssertUnwindSafe(|| work.run(stage)));
    let done = done.unwrap_or_else(|payload| {
        let reason = format!("the program stopped: {}", message(&*payload));
        Err(report_error(&entry.paths.checkpoints, reason, "run the sweep again").into())
    });
    let done = done.and_then(|done| match done {
        Outcome::Finished => Ok((done, outputs(entry, stage)?)),
        Outcome::Interrupted => Ok((done, artifact::NO_DIGESTS)),
    });
    let seconds = start.elapsed().as_secs_f64();
    record.seconds = Some(seconds);
    match &done {
        Ok((Outcome::Finished, outputs)) => {
            record.status = StageStatus::Ok;
            record.outputs.clone_from(outputs);
        }
        Ok((Outcome::Interrupted, _)) => record.status = StageStatus::Interrupted,
        Err(error) => {
            record.status = StageStatus::Failed;
            record.error = Some(error.to_string());
            failed_report(entry, stage, &error.to_string());
        }
    }
    let saved = save(entry, stage, state, &record);
    let (done, _) = done?;
    saved?;
    if done == Outcome::Finished {
        tell(SweepActivity::Finished(seconds));
    }
    Ok(done)
}

/// Writes the report of a training stage that failed. An error of writing it is not reported: that
/// of the stage matters more, and its record has the same text.
fn failed_report(entry: &PlanEntry, stage: Stage, error: &str) {
    if [Stage::Sft, Stage::Grpo].contains(&stage) {
        let (name, origin) = report_of(entry, stage);
        let error = Some(error.to_owned());
        let report =
            RunReport::stopped(ReportStatus::Failed, error, &origin, &base_of(entry, stage));
        let _ = json_file::write_json(&entry.paths.report(name), &report);
    }
}

fn save(
    entry: &PlanEntry,
    stage: Stage,
    state: &mut RunState,
    record: &StageRecord,
) -> Result<(), Error> {
    (state.stages).insert(stage.name().to_owned(), record.clone());
    state.write(&entry.paths)
}

/// Refuses to replace what a stage made with other options or inputs. Reports are cheap, so they are
/// replaced.
fn check_same(
    entry: &PlanEntry,
    stage: Stage,
    record: &StageRecord,
    command: &str,
    inputs: &std::collections::BTreeMap<String, String>,
) -> Result<(), Error> {
    let folder = match stage {
        Stage::Corpus => Some(entry.data.clone()),
        Stage::Init => Some(entry.init_folder()),
        _ => run_folder(entry, stage),
    };
    let Some(folder) = folder.filter(|folder| folder.exists()) else {
        return Ok(());
    };
    let what = if record.command == command {
        let change = artifact::difference(&record.inputs, inputs);
        format!("an input is another one: {}", change.unwrap_or_default())
    } else {
        format!("it was made by `{}`", record.command)
    };
    let remedy = "make it again, and all later stages, with --overwrite-output-dir, or name other \
                  folders with --reports-dir and --checkpoints-dir";
    Err(report_error(&folder, what, remedy))
}
