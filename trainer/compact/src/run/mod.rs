//! The run of an algorithm in its folder: train, evaluate, save, and resume after an interruption.
//!
//! Everything here needs files, threads or a command line, and is no part of a build for wasm32. The
//! algorithms must never use it.

pub mod checkpoint;
pub mod command;
mod error;
pub mod outputs;
mod threads;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files, provenance};
use sentinel_policy::nn::{Model, Weights};
use sentinel_rl::Metrics;
use sentinel_run::{
    CHECKPOINT_FILE, EVENTS_FILE, Evaluation, LogPosition, Outcome, Run, RunHistory, RunLock,
    RunLog, RunSchedule, TENSORBOARD_DIR, UpdateReport, run_to_end, snapshot, unix_time,
};
use serde_json::{Map, Value};

use self::checkpoint::Checkpoint;
use crate::config::TrainConfig;
use crate::evaluate::{evaluate, evaluate_baseline};
use crate::learn::{self, Learn};
use crate::run_files::{config_text, start_event};
use crate::trainer::Trainer;

pub use crate::run_files::CONFIG_FILE;
pub use error::TrainError;
pub use sentinel_play::compact_model::{MODEL_FILE, load_model, save_model};
pub use sentinel_run::{Event, RunDir};
pub use threads::Threads;

/// Trains to the end and calls `listen` with every event. The resulting model is the policy that
/// scored best on the validation seeds (Hugging Face's `load_best_model_at_end`).
///
/// # Errors
/// Returns an error if the configuration is invalid or for another environment, the folder holds
/// another run, a file cannot be written, or a number is not finite. The last checkpoint stays
/// valid in any case.
pub fn train<W: Learn>(
    config: &TrainConfig,
    run_dir: &RunDir,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, TrainError> {
    train_until::<W>(config, run_dir, &AtomicBool::new(false), listen)
}

/// Trains like [`train`] until the end or until `stop` is set; a stopped run is saved and can be
/// resumed.
///
/// # Errors
/// Returns the errors of [`train`].
pub fn train_until<W: Learn>(
    config: &TrainConfig,
    run_dir: &RunDir,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, TrainError> {
    let Opened {
        trainer,
        position,
        lock: _lock,
    } = open::<W>(config, run_dir)?;
    let (format, folder) = (outputs::history_format::<W>(config)?, &run_dir.path);
    let mut log = match position {
        None => RunLog::create(folder, format, listen),
        Some(position) => RunLog::resume(folder, format, position, trainer.updates_done(), listen),
    }?;
    let mut compact_run = CompactRun {
        trainer,
        fallback: Provenance::is_fallback_model(folder)?,
    };
    run_to_end(
        &mut compact_run,
        &mut log,
        run_dir,
        &run_schedule(config),
        stop,
    )
}

/// A trainer, with a flag for a model that was trained with a fallback.
struct CompactRun<W: Learn> {
    trainer: Trainer<W>,
    fallback: bool,
}

impl<W: Learn> Run for CompactRun<W> {
    type Error = TrainError;

    fn start_event(&self) -> Result<Event, TrainError> {
        started(&self.trainer, self.fallback)
    }

    fn steps_done(&self) -> usize {
        self.trainer.updates_done()
    }

    fn is_finished(&self) -> bool {
        self.trainer.finished()
    }

    fn advance(&mut self) -> Result<UpdateReport, TrainError> {
        let metrics = self.trainer.update(&Threads)?;
        Ok(UpdateReport {
            steps: vec![metrics],
            ..UpdateReport::default()
        })
    }

    fn evaluate(&mut self) -> Result<Evaluation, TrainError> {
        let config = self.trainer.config();
        let (rules, tasks) = (config.rules::<W>()?, config.selected::<W>()?);
        let seeds = config.validation_seeds;
        Ok(Evaluation {
            scores: evaluate::<W>(&Threads, self.trainer.weights(), rules, &tasks, seeds),
            metrics: Metrics::new(),
        })
    }

    fn best(&self) -> Option<(usize, f64)> {
        let best = self.trainer.best.as_ref();
        best.map(|best| (best.step, best.score))
    }

    fn keep_best(&mut self, score: f64) -> Result<(), TrainError> {
        self.trainer.keep_best(score);
        Ok(())
    }

    fn finish(&mut self, _seconds: f64) -> Result<Event, TrainError> {
        finished(&self.trainer)
    }

    fn save_checkpoint(&self, folder: &Path, position: LogPosition) -> Result<(), TrainError> {
        checkpoint::save(&self.trainer, position, folder)
    }

    fn save_model(&self, folder: &Path, current: bool) -> Result<(), TrainError> {
        let weights = if current {
            self.trainer.weights()
        } else {
            self.trainer.best_weights()
        };
        let model = Model {
            config: learn::model_config::<W>(self.trainer.config()),
            weights: weights.clone(),
        };
        Ok(save_model(&model, folder)?)
    }

    fn save_trainer_state(
        &self,
        folder: &Path,
        history: &mut RunHistory,
    ) -> Result<(), TrainError> {
        let config = self.trainer.config();
        outputs::write_trainer_state(folder, config, history)
    }

    fn save_summaries(&self, folder: &Path, history: &RunHistory) -> Result<(), TrainError> {
        let config = self.trainer.config();
        outputs::write_card::<W>(folder, config, history)
    }

    fn with_checkpoint(error: TrainError, folder: &Path, step: Option<usize>) -> TrainError {
        error.with_checkpoint(folder, step)
    }
}

fn started<W: Learn>(trainer: &Trainer<W>, fallback: bool) -> Result<Event, TrainError> {
    let (config, parameters) = (trainer.config(), trainer.weights().count());
    let done = trainer.updates_done();
    let event = start_event(config, done, parameters, fallback, unix_time());
    Ok(event.map_err(Error::from)?)
}

/// Evaluates the best policy and the baselines on the test seeds.
fn finished<W: Learn>(trainer: &Trainer<W>) -> Result<Event, TrainError> {
    let config = trainer.config();
    let (rules, tasks) = (config.rules::<W>()?, config.selected::<W>()?);
    let baselines = W::baselines().map(|policy| {
        let scores = evaluate_baseline::<W>(&Threads, &policy, rules, &tasks, config.test_seeds);
        (policy.name().to_owned(), scores)
    });
    let scores = evaluate::<W>(
        &Threads,
        trainer.best_weights(),
        rules,
        &tasks,
        config.test_seeds,
    );
    Ok(Event::Finished {
        step: trainer.updates_done(),
        seconds: None,
        baselines: baselines.collect(),
        scores: Some(scores),
    })
}

/// Returns the steps at which a run evaluates and saves, and its early stopping.
fn run_schedule(config: &TrainConfig) -> RunSchedule {
    RunSchedule {
        eval_steps: Some(config.eval_steps),
        save_steps: config.save_steps,
        save_total_limit: config.save_total_limit,
        early_stopping_patience: Some(config.early_stopping_patience).filter(|n| *n > 0),
    }
}

/// Describes the first option that differs from those of a saved configuration, if any does.
fn difference(config: &TrainConfig, saved: &TrainConfig) -> Option<String> {
    let fields = |config: &TrainConfig| match serde_json::to_value(config) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (ours, theirs) = (fields(config), fields(saved));
    let (name, value) = ours
        .iter()
        .find(|(name, value)| theirs.get(*name) != Some(value))?;
    let other = theirs.get(name).cloned().unwrap_or_default();
    Some(format!(
        "it was made with {name} = {other}, and {value} is asked for: use the same value, or \
         start another run"
    ))
}

/// A trainer at its start or at a checkpoint.
struct Opened<W: Learn> {
    trainer: Trainer<W>,
    /// The position in the log of a resumed run; `None` for a new run.
    position: Option<LogPosition>,
    lock: RunLock,
}

fn open<W: Learn>(config: &TrainConfig, run_dir: &RunDir) -> Result<Opened<W>, TrainError> {
    config.check::<W>()?;
    if run_dir.resume {
        let lock = run_dir.lock()?;
        let checkpoint = Checkpoint::<W>::load(run_dir.checkpoint_folder())?;
        if let Some(reason) = difference(config, checkpoint.config()) {
            let path = run_dir.checkpoint_folder().join(CHECKPOINT_FILE);
            return Err(Error::invalid(&path, reason).into());
        }
        let (trainer, position) = checkpoint.resume()?;
        snapshot::rewind(run_dir)?;
        Provenance::update_program_version(&run_dir.path)?;
        return Ok(Opened {
            trainer,
            position: Some(position),
            lock,
        });
    }
    // A run that was killed before its first checkpoint left only its options and its log.
    run_dir.check_free(
        CHECKPOINT_FILE,
        &[
            CONFIG_FILE,
            provenance::PROVENANCE_FILE,
            EVENTS_FILE,
            TENSORBOARD_DIR,
        ],
    )?;
    let start = match config.init.as_str() {
        "" => Weights::init(W::net(config), config.seed),
        folder => start_from::<W>(config, Path::new(folder))?,
    };
    // Open the device before writing anything.
    let trainer = Trainer::new(config.clone(), start)?;
    let lock = run_dir.lock()?;
    let text = config_text(config).map_err(Error::from)?;
    files::write_atomic(&run_dir.path.join(CONFIG_FILE), text.as_bytes())?;
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
    let reason = format!(
        "its network is {}, and the run's is {}: give the run the same options",
        shape(&model.config.net),
        shape(&W::net(config))
    );
    Err(Error::invalid(&folder.join(MODEL_FILE), reason).into())
}
