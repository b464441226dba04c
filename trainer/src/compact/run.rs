//! A training run in its folder: train, evaluate, save, and resume after an interruption.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use sentinel_policy::nn::{Architecture, Model, Weights};

use super::TrainError;
use super::checkpoint::{self, Checkpoint};
use super::config::{Method, TrainConfig};
use super::evaluate::{evaluate, evaluate_baseline};
use super::learn::{self, Learn};
use super::outputs;
use super::trainer::Trainer;
use crate::provenance::{self, Provenance};
use crate::rl::Metrics;
use crate::run::{
    CHECKPOINT, EVENTS, Evaluation, Event, LogPosition, Outcome, RUNS, RunDir, RunLock, RunLog,
    Training, Update, run, unix_time,
};
use crate::{Error, files};

/// The model's file in its folder.
pub const MODEL: &str = "model.safetensors";
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
    run(&mut trainer, &mut log, run_dir, &config.cadence(), stop)
}

impl<W: Learn> Training for Trainer<W> {
    type Error = TrainError;

    fn started(&self, folder: &Path) -> Result<Event, TrainError> {
        Ok(started(self, folder)?)
    }

    fn done(&self) -> usize {
        self.done
    }

    fn is_finished(&self) -> bool {
        self.finished()
    }

    fn update(&mut self) -> Result<Update, TrainError> {
        let metrics = Trainer::update(self)?;
        Ok(Update {
            steps: vec![metrics],
            ..Update::default()
        })
    }

    fn evaluate(&mut self) -> Result<Evaluation, TrainError> {
        let config = self.config();
        let (rules, tasks) = (config.rules::<W>()?, config.selected::<W>()?);
        let seeds = config.validation_seeds;
        Ok(Evaluation {
            scores: evaluate::<W>(self.weights(), rules, &tasks, seeds),
            metrics: Metrics::new(),
        })
    }

    fn best(&self) -> Option<(usize, f64)> {
        self.best.as_ref().map(|best| (best.step, best.score))
    }

    fn keep_best(&mut self, score: f64) -> Result<(), TrainError> {
        Trainer::keep_best(self, score);
        Ok(())
    }

    fn finish(&mut self, _seconds: f64) -> Result<Event, TrainError> {
        finished(self)
    }

    fn save_checkpoint(&self, folder: &Path, position: LogPosition) -> Result<(), TrainError> {
        checkpoint::save(self, position, folder)
    }

    fn save_model(&self, folder: &Path, current: bool) -> Result<(), TrainError> {
        let weights = if current {
            self.weights()
        } else {
            self.best_weights()
        };
        let model = Model {
            config: learn::model_config::<W>(self.config()),
            weights: weights.clone(),
        };
        save_model(&model, folder)
    }

    fn trainer_state(&self, events: &[Event]) -> Result<String, TrainError> {
        Ok(outputs::trainer_state::<W>(self.config(), events)?)
    }

    fn save_summaries(&self, folder: &Path, events: &[Event]) -> Result<(), TrainError> {
        Ok(outputs::write_all::<W>(folder, self.config(), events)?)
    }

    fn with_checkpoint(error: TrainError, folder: &Path, step: Option<usize>) -> TrainError {
        match step {
            Some(step) => error.saved(folder, step),
            None => error,
        }
    }
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
    let scores = evaluate::<W>(trainer.best_weights(), rules, &tasks, config.test_seeds);
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
            return Err(Error::checkpoint(&path, reason).into());
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
    let reason = format!(
        "its network is {}, and the run's is {}: give the run the same options",
        shape(&model.config.net),
        shape(&W::net(config))
    );
    Err(Error::checkpoint(&folder.join(MODEL), reason).into())
}

/// Reads the model of a folder, or of a file.
///
/// # Errors
/// If it cannot be read, or is no model that this build can run.
pub fn load_model<A: Architecture>(path: &Path) -> Result<Model<A>, TrainError> {
    let path = if path.is_dir() {
        path.join(MODEL)
    } else {
        path.to_owned()
    };
    let bytes = std::fs::read(&path).map_err(|source| Error::Read {
        path: path.clone(),
        source,
    })?;
    Model::from_bytes(&bytes).map_err(|error| Error::checkpoint(&path, error.to_string()).into())
}

/// Writes a model into a folder that exists, where [`load_model`] finds it.
///
/// # Errors
/// If it cannot be written.
pub fn save_model<A: Architecture>(model: &Model<A>, folder: &Path) -> Result<(), TrainError> {
    Ok(files::write(&folder.join(MODEL), &model.to_bytes()?)?)
}
