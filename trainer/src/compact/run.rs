//! A training run in its folder: train, evaluate, save, and resume after an interruption.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sentinel_policy::nn::{Architecture, Model, Weights};

use super::TrainError;
use super::checkpoint::{self, Checkpoint};
use super::config::TrainConfig;
use super::evaluate::{Scores, evaluate, evaluate_baseline};
use super::events::Event;
use super::learn::{self, Learn};
use super::outputs;
use super::trainer::Trainer;
use crate::{Error, files};

/// The model's file in its folder.
pub const MODEL: &str = "model.safetensors";
/// The configuration's file in a run's folder.
pub const CONFIG: &str = "config.json";

/// The folder of a run, and what to do when it holds one already.
#[derive(Clone, Debug)]
pub struct RunDir {
    /// The folder; made when it is missing.
    pub path: PathBuf,
    /// Resume from the checkpoint in the folder.
    pub resume: bool,
    /// Overwrite the run in the folder.
    pub force: bool,
}

impl RunDir {
    /// A folder for a new run.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            resume: false,
            force: false,
        }
    }
}

/// The events of a run, and a listener.
struct Log<'a> {
    history: Vec<Event>,
    listen: &'a mut dyn FnMut(&Event),
}

impl Log<'_> {
    fn emit(&mut self, event: Event) {
        (self.listen)(&event);
        self.history.push(event);
    }
}

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
) -> Result<(), TrainError> {
    let (mut trainer, history) = open::<W>(config, run_dir)?;
    let (rules, tasks) = (config.rules::<W>()?, config.selected::<W>()?);
    let mut log = Log { history, listen };
    log.emit(Event::Started {
        config: Box::new(config.clone()),
        resumed_at: trainer.done(),
        parameters: trainer.weights().count(),
        unix_time: unix_time(),
    });
    if trainer.done() == 0 {
        validate(&mut trainer, &mut log)?;
        save(&trainer, &mut log, &run_dir.path)?;
    }
    let mut saved = trainer.done();
    while !trainer.finished() {
        let start = Instant::now();
        let updated = trainer.update();
        let mut metrics = updated.map_err(|error| error.saved(&run_dir.path, saved))?;
        metrics.insert("step_time".into(), start.elapsed().as_secs_f64());
        let (step, last) = (trainer.done(), trainer.finished());
        log.emit(Event::Step { step, metrics });
        if step.is_multiple_of(config.eval_steps) || last {
            validate(&mut trainer, &mut log)?;
        }
        if step.is_multiple_of(config.save_steps) || last {
            save(&trainer, &mut log, &run_dir.path)?;
            saved = step;
        }
    }
    let finished = |event: &&Event| matches!(event, Event::Finished { .. });
    if let Some(already) = log.history.iter().find(finished).cloned() {
        // Nothing is left to do: the result is reported again.
        (log.listen)(&already);
        return Ok(());
    }
    let scores = evaluate::<W>(trainer.best(), rules, &tasks, config.test_seeds);
    let baselines = W::baselines().map(|policy| {
        let scores = evaluate_baseline::<W>(&policy, rules, &tasks, config.test_seeds);
        (policy.name().to_owned(), scores)
    });
    let baselines: Vec<(String, Scores)> = baselines.collect();
    log.emit(Event::Finished {
        step: trainer.done(),
        scores,
        baselines,
    });
    save(&trainer, &mut log, &run_dir.path)?;
    Ok(())
}

fn unix_time() -> f64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    // Whole seconds are exact; a clock before 1970 counts as 1970.
    passed.map_or(0.0, |passed| passed.as_secs() as f64)
}

/// Returns a trainer at its start, or at the folder's checkpoint.
fn open<W: Learn>(
    config: &TrainConfig,
    run_dir: &RunDir,
) -> Result<(Trainer<W>, Vec<Event>), TrainError> {
    config.check::<W>()?;
    let there = run_dir.path.join(checkpoint::NAME).exists();
    if run_dir.resume {
        let checkpoint = Checkpoint::<W>::read(&run_dir.path)?;
        if let Some(reason) = config.differs_from(checkpoint.config()) {
            let path = run_dir.path.join(checkpoint::NAME);
            return Err(TrainError::Checkpoint { path, reason });
        }
        return checkpoint.resume();
    }
    if there && !run_dir.force {
        return Err(TrainError::RunExists(run_dir.path.clone()));
    }
    // A run that was killed before its first checkpoint left only its options.
    if !run_dir.force && files::is_occupied(&run_dir.path, &[CONFIG]) {
        return Err(TrainError::DirNotEmpty(run_dir.path.clone()));
    }
    let start = match config.init.as_str() {
        "" => Weights::init(W::net(config), config.seed),
        folder => start_from::<W>(config, Path::new(folder))?,
    };
    // The device is opened before anything is written.
    let trainer = Trainer::new(config.clone(), start)?;
    std::fs::create_dir_all(&run_dir.path).map_err(|source| Error::Write {
        path: run_dir.path.clone(),
        source,
    })?;
    let text = serde_json::to_string_pretty(config).map_err(Error::from)? + "\n";
    files::write(&run_dir.path.join(CONFIG), text.as_bytes())?;
    Ok((trainer, Vec::new()))
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
    Model::from_bytes(&bytes).map_err(|error| TrainError::Checkpoint {
        path,
        reason: error.to_string(),
    })
}

/// Writes a model into a folder that exists, where [`load_model`] finds it.
///
/// # Errors
/// If it cannot be written.
pub fn save_model<A: Architecture>(model: &Model<A>, folder: &Path) -> Result<(), TrainError> {
    Ok(files::write(&folder.join(MODEL), &model.to_bytes()?)?)
}

fn model<W: Learn>(trainer: &Trainer<W>) -> Model<W::Net> {
    Model {
        config: learn::model_config::<W>(trainer.config()),
        weights: trainer.best().clone(),
    }
}

/// Evaluates the policy on the validation seeds; the best one becomes the model.
fn validate<W: Learn>(trainer: &mut Trainer<W>, log: &mut Log<'_>) -> Result<(), TrainError> {
    let (step, seeds) = (trainer.done(), trainer.config().validation_seeds);
    let rules = trainer.config().rules::<W>()?;
    let tasks = trainer.config().selected::<W>()?;
    let scores = evaluate::<W>(trainer.weights(), rules, &tasks, seeds);
    trainer.consider(scores.overall);
    log.emit(Event::Eval { step, scores });
    Ok(())
}

/// Saves a run: the checkpoint first, from which all else could be written again.
fn save<W: Learn>(
    trainer: &Trainer<W>,
    log: &mut Log<'_>,
    folder: &Path,
) -> Result<(), TrainError> {
    checkpoint::save(trainer, &log.history, folder)?;
    save_model(&model(trainer), folder)?;
    outputs::write_all::<W>(folder, trainer.config(), &log.history)?;
    let step = trainer.done();
    (log.listen)(&Event::Saved { step });
    Ok(())
}
