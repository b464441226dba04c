//! A training run in its folder: train, evaluate, save, and resume after an interruption.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sentinel_policy::nn::{Model, Weights};

use super::TrainError;
use super::checkpoint::{self, Checkpoint};
use super::config::{Method, TrainConfig};
use super::evaluate::{evaluate, evaluate_baseline};
use super::learn::{self, Learn};
use super::outputs;
use super::trainer::Trainer;
pub use crate::compact_model::MODEL;
use crate::compact_model::{load_model, save_model};
use crate::provenance::{self, Provenance};
use crate::run::{
    CHECKPOINT, EVENTS, Event, LogPosition, Outcome, RUNS, RunDir, RunLock, RunLog, unix_time,
};
use crate::{Error, files};

/// The configuration's file in a run's folder.
pub const CONFIG: &str = "config.json";

/// Trains to the end; `listen` is called with every event. The model is the policy that scored best
/// on the validation seeds (Hugging Face's `load_best_model_at_end`).
///
/// # Errors
/// If the configuration is invalid or for another environment, the folder holds another run, a file
/// cannot be written, or a number is not finite. The last checkpoint stays valid whatever goes wrong.
pub fn train<W: Learn>(
    config: &TrainConfig,
    run_dir: &RunDir,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, TrainError> {
    train_until::<W>(config, run_dir, &AtomicBool::new(false), listen)
}

/// The same as [`train`], until `stop` is set: the run is saved then and can be resumed.
///
/// # Errors
/// As [`train`].
pub fn train_until<W: Learn>(
    config: &TrainConfig,
    run_dir: &RunDir,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, TrainError> {
    let Opened {
        mut trainer,
        position,
        lock: _lock,
    } = open::<W>(config, run_dir)?;
    let names = config.task_names::<W>()?.into_iter().map(str::to_owned);
    let (names, folder) = (names.collect(), &run_dir.path);
    let mut log = match position {
        None => RunLog::create(folder, names, listen),
        Some(position) => RunLog::resume(folder, names, position, trainer.done(), listen),
    }?;
    let started = started(&trainer, folder)?;
    let is_end = |event: &&Event| matches!(event, Event::Finished { .. });
    if let Some(over) = log.events().iter().find(is_end).cloned() {
        // Nothing is left to do: the result is reported again.
        log.announce(&started);
        log.announce(&over);
        return Ok(Outcome::Finished);
    }
    log.emit(started)?;
    if trainer.done() == 0 {
        validate(&mut trainer, &mut log)?;
        save(&trainer, &mut log, folder)?;
    }
    let mut saved = trainer.done();
    while !trainer.finished() {
        if stop.load(Ordering::Relaxed) {
            log.emit(Event::Interrupted {
                step: trainer.done(),
            })?;
            save(&trainer, &mut log, folder)?;
            return Ok(Outcome::Interrupted);
        }
        let start = Instant::now();
        let updated = trainer.update();
        let mut metrics = updated.map_err(|error| error.saved(folder, saved))?;
        metrics.insert("step_time".into(), start.elapsed().as_secs_f64());
        let (step, last) = (trainer.done(), trainer.finished());
        log.emit(Event::Step {
            step,
            epoch: None,
            metrics,
        })?;
        if step.is_multiple_of(config.eval_steps) || last {
            validate(&mut trainer, &mut log)?;
        }
        if step.is_multiple_of(config.save_steps) || last {
            save(&trainer, &mut log, folder)?;
            saved = step;
        }
    }
    log.emit(finished(&trainer)?)?;
    save(&trainer, &mut log, folder)?;
    Ok(Outcome::Finished)
}

fn started<W: Learn>(trainer: &Trainer<W>, folder: &Path) -> Result<Event, Error> {
    let (config, parameters) = (trainer.config(), trainer.weights().count());
    // Through text: a value would hold an f32 with the digits of an f64.
    let text = serde_json::to_string(config)?;
    Ok(Event::Started {
        method: match config.method {
            Method::Grpo => "grpo".to_owned(),
            Method::Sft => "sft".to_owned(),
        },
        config: serde_json::from_str(&text)?,
        resumed_at: trainer.done(),
        total: config.max_steps,
        parameters,
        trained: parameters,
        fallback: Provenance::is_fallback_model(folder)?,
        unix_time: unix_time(),
    })
}

/// Evaluates the best policy and the baselines on the test seeds.
fn finished<W: Learn>(trainer: &Trainer<W>) -> Result<Event, TrainError> {
    let config = trainer.config();
    let (rules, tasks) = (config.rules::<W>()?, config.selected::<W>()?);
    let baselines = W::baselines().map(|policy| {
        let scores = evaluate_baseline::<W>(&policy, rules, &tasks, config.test_seeds);
        (policy.name().to_owned(), scores)
    });
    let scores = evaluate::<W>(trainer.best(), rules, &tasks, config.test_seeds);
    Ok(Event::Finished {
        step: trainer.done(),
        seconds: None,
        baselines: baselines.collect(),
        scores: Some(scores),
    })
}

/// A trainer at its start or at a checkpoint.
struct Opened<W: Learn> {
    trainer: Trainer<W>,
    /// How far the log of the run had come; `None` for a new run.
    position: Option<LogPosition>,
    lock: RunLock,
}

fn open<W: Learn>(config: &TrainConfig, run_dir: &RunDir) -> Result<Opened<W>, TrainError> {
    config.check::<W>()?;
    if run_dir.resume {
        let lock = run_dir.lock()?;
        let checkpoint = Checkpoint::<W>::read(&run_dir.path)?;
        if let Some(reason) = config.differs_from(checkpoint.config()) {
            let path = run_dir.path.join(CHECKPOINT);
            return Err(TrainError::Checkpoint { path, reason });
        }
        let (trainer, position) = checkpoint.resume()?;
        Provenance::go_on(&run_dir.path)?;
        return Ok(Opened {
            trainer,
            position: Some(position),
            lock,
        });
    }
    // A run that was killed before its first checkpoint left only its options and its log.
    run_dir.check_free(CHECKPOINT, &[CONFIG, provenance::FILE, EVENTS, RUNS])?;
    let start = match config.init.as_str() {
        "" => Weights::init(W::net(config), config.seed),
        folder => start_from::<W>(config, Path::new(folder))?,
    };
    // The device is opened before anything is written.
    let trainer = Trainer::new(config.clone(), start)?;
    let lock = run_dir.lock()?;
    let text = serde_json::to_string_pretty(config).map_err(Error::from)? + "\n";
    files::write(&run_dir.path.join(CONFIG), text.as_bytes())?;
    let mut provenance = Provenance::new();
    if !config.init.is_empty() {
        provenance.add_model("initial model", Path::new(&config.init))?;
    }
    provenance.write(&run_dir.path)?;
    Ok(Opened {
        trainer,
        position: None,
        lock,
    })
}

/// Returns the weights of an earlier run with a network of the same shape.
fn start_from<W: Learn>(
    config: &TrainConfig,
    folder: &Path,
) -> Result<Weights<W::Net>, TrainError> {
    let model = load_model::<W::Net>(folder)?;
    if model.config.net == W::net(config) {
        return Ok(model.weights);
    }
    let shape = |net: &W::Net| serde_json::to_string(net).unwrap_or_default();
    Err(TrainError::Checkpoint {
        path: folder.join(MODEL),
        reason: format!(
            "its network is {}, and the run's is {}: give the run the same options",
            shape(&model.config.net),
            shape(&W::net(config))
        ),
    })
}

fn model<W: Learn>(trainer: &Trainer<W>) -> Model<W::Net> {
    Model {
        config: learn::model_config::<W>(trainer.config()),
        weights: trainer.best().clone(),
    }
}

/// Evaluates the policy on the validation seeds; the best one becomes the model.
fn validate<W: Learn>(trainer: &mut Trainer<W>, log: &mut RunLog<'_>) -> Result<(), TrainError> {
    let (step, seeds) = (trainer.done(), trainer.config().validation_seeds);
    let rules = trainer.config().rules::<W>()?;
    let tasks = trainer.config().selected::<W>()?;
    let scores = evaluate::<W>(trainer.weights(), rules, &tasks, seeds);
    trainer.consider(scores.overall);
    Ok(log.emit(Event::Eval { step, scores })?)
}

/// Saves a run: the checkpoint first, from which all else could be written again.
fn save<W: Learn>(
    trainer: &Trainer<W>,
    log: &mut RunLog<'_>,
    folder: &Path,
) -> Result<(), TrainError> {
    checkpoint::save(trainer, log.sync()?, folder)?;
    save_model(&model(trainer), folder)?;
    outputs::write_all::<W>(folder, trainer.config(), log.events())?;
    let step = trainer.done();
    log.announce(&Event::Saved { step });
    Ok(())
}
