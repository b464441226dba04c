//! A whole run in a folder: train, measure, save, and go on after an interruption.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sentinel_policy::PolicyName;
use sentinel_policy::learned::{Model, Weights};

use super::TrainError;
use super::checkpoint::{self, Checkpoint};
use super::config::TrainConfig;
use super::evaluate::{evaluate, evaluate_scripted};
use super::events::Event;
use super::outputs;
use super::trainer::Trainer;
use crate::{Error, files};

/// The model's file in its folder.
pub const MODEL: &str = "model.safetensors";
/// The configuration's file in a run's folder.
pub const CONFIG: &str = "config.json";

/// What the model card compares with.
const BASELINES: [PolicyName; 5] = [
    PolicyName::Random,
    PolicyName::Heuristic,
    PolicyName::SelfSolve,
    PolicyName::OracleLite,
    PolicyName::Bayes,
];

/// Where a run lives, and what may be there already.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its folder; made when it is missing.
    pub folder: PathBuf,
    /// Go on from the checkpoint that is there.
    pub resume: bool,
    /// Start anew over the run that is there.
    pub force: bool,
}

/// What happened, and who is told.
struct Log<'a> {
    history: Vec<Event>,
    listen: &'a mut dyn FnMut(&Event),
}

impl Log<'_> {
    fn note(&mut self, event: Event) {
        (self.listen)(&event);
        self.history.push(event);
    }
}

/// Trains to the end; tells `listen` what happens. The model is the policy that played best on the
/// validation seeds (Hugging Face's `load_best_model_at_end`).
///
/// # Errors
/// If the configuration cannot be, the folder holds another run, a file cannot be written, or a
/// number is not finite. The last checkpoint stays valid whatever goes wrong.
pub fn run(
    config: &TrainConfig,
    place: &Place,
    listen: &mut dyn FnMut(&Event),
) -> Result<Model, TrainError> {
    let (mut trainer, history) = open(config, place)?;
    let mut log = Log { history, listen };
    log.note(Event::Started {
        config: Box::new(config.clone()),
        resumed_at: trainer.done(),
        parameters: trainer.weights().count(),
        unix_time: unix_time(),
    });
    if trainer.done() == 0 {
        measure(&mut trainer, &mut log);
        keep(&trainer, &mut log, &place.folder)?;
    }
    let mut saved = trainer.done();
    while !trainer.finished() {
        let start = Instant::now();
        let updated = trainer.update();
        let mut metrics = updated.map_err(|error| error.saved(&place.folder, saved))?;
        metrics.insert("step_time".into(), start.elapsed().as_secs_f64());
        let (step, last) = (trainer.done(), trainer.finished());
        log.note(Event::Step { step, metrics });
        if step.is_multiple_of(config.eval_steps) || last {
            measure(&mut trainer, &mut log);
        }
        if step.is_multiple_of(config.save_steps) || last {
            keep(&trainer, &mut log, &place.folder)?;
            saved = step;
        }
    }
    let finished = |event: &Event| matches!(event, Event::Finished { .. });
    if !log.history.iter().any(finished) {
        let scores = evaluate(trainer.best(), config.test_seeds);
        let baselines = BASELINES.map(|policy| {
            let scores = evaluate_scripted(policy, config.test_seeds);
            (policy.name().to_owned(), scores)
        });
        log.note(Event::Finished {
            step: trainer.done(),
            scores,
            baselines: baselines.to_vec(),
        });
        keep(&trainer, &mut log, &place.folder)?;
    }
    Ok(model(&trainer))
}

fn unix_time() -> f64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    // Whole seconds are exact; a clock before 1970 counts as 1970.
    passed.map_or(0.0, |passed| passed.as_secs() as f64)
}

/// A trainer at its start, or where the folder's checkpoint stands.
fn open(config: &TrainConfig, place: &Place) -> Result<(Trainer, Vec<Event>), TrainError> {
    config.check()?;
    let there = place.folder.join(checkpoint::NAME).exists();
    if place.resume {
        let checkpoint = Checkpoint::read(&place.folder)?;
        if let Some(reason) = config.differs_from(checkpoint.config()) {
            let path = place.folder.join(checkpoint::NAME);
            return Err(TrainError::Checkpoint { path, reason });
        }
        return checkpoint.resume();
    }
    if there && !place.force {
        return Err(TrainError::Taken(place.folder.clone()));
    }
    let start = match config.init.as_str() {
        "" => Weights::init(config.net(), config.seed),
        folder => start_from(config, Path::new(folder))?,
    };
    // The device is opened before anything is written.
    let trainer = Trainer::new(config.clone(), start)?;
    std::fs::create_dir_all(&place.folder).map_err(|source| Error::Write {
        path: place.folder.clone(),
        source,
    })?;
    let text = serde_json::to_string_pretty(config).map_err(Error::from)? + "\n";
    files::write(&place.folder.join(CONFIG), text.as_bytes())?;
    Ok((trainer, Vec::new()))
}

/// Weights of an earlier run with a network of the same shape.
fn start_from(config: &TrainConfig, folder: &Path) -> Result<Weights, TrainError> {
    let model = load(folder)?;
    if model.config.net == config.net() {
        return Ok(model.weights);
    }
    let shape = |net| serde_json::to_string(net).unwrap_or_default();
    Err(TrainError::Checkpoint {
        path: folder.join(MODEL),
        reason: format!(
            "its network is {}, and the run's is {}: give the run the same options",
            shape(&model.config.net),
            shape(&config.net())
        ),
    })
}

/// The model of a folder, or of a file.
///
/// # Errors
/// If it cannot be read, or is no model for this build.
pub fn load(path: &Path) -> Result<Model, TrainError> {
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

fn model(trainer: &Trainer) -> Model {
    Model {
        config: trainer.config().model(),
        weights: trainer.best().clone(),
    }
}

/// Measures the policy on the validation seeds; the best one becomes the model.
fn measure(trainer: &mut Trainer, log: &mut Log<'_>) {
    let (step, seeds) = (trainer.done(), trainer.config().validation_seeds);
    let scores = evaluate(trainer.weights(), seeds);
    trainer.consider(scores.overall);
    log.note(Event::Eval { step, scores });
}

/// Saves a run: the checkpoint first, from which all else could be written again.
fn keep(trainer: &Trainer, log: &mut Log<'_>, folder: &Path) -> Result<(), TrainError> {
    checkpoint::save(trainer, &log.history, folder)?;
    files::write(&folder.join(MODEL), &model(trainer).to_bytes()?)?;
    outputs::write_all(folder, trainer.config(), &log.history)?;
    let step = trainer.done();
    (log.listen)(&Event::Saved { step });
    Ok(())
}
