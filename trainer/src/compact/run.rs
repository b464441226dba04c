//! A whole run in a folder: train, measure, save, and go on after an interruption.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sentinel_policy::learned::{Architecture, Model, Weights};
use sentinel_policy::{Scripted, in_world};

use super::TrainError;
use super::checkpoint::{self, Checkpoint};
use super::config::TrainConfig;
use super::evaluate::{evaluate, evaluate_scripted};
use super::events::Event;
use super::learn::{self, Learn};
use super::outputs;
use super::trainer::Trainer;
use crate::{Error, files};

/// The model's file in its folder.
pub const MODEL: &str = "model.safetensors";
/// The configuration's file in a run's folder.
pub const CONFIG: &str = "config.json";

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
) -> Result<(), TrainError> {
    in_world!(config.world, W => run_in::<W>(config, place, listen))
}

fn run_in<W: Learn>(
    config: &TrainConfig,
    place: &Place,
    listen: &mut dyn FnMut(&Event),
) -> Result<(), TrainError> {
    let (rules, tasks) = (config.rules::<W>()?, config.selected::<W>()?);
    let (mut trainer, history) = open::<W>(config, place)?;
    let mut log = Log { history, listen };
    log.note(Event::Started {
        config: Box::new(config.clone()),
        resumed_at: trainer.done(),
        parameters: trainer.weights().count(),
        unix_time: unix_time(),
    });
    if trainer.done() == 0 {
        measure(&mut trainer, &mut log)?;
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
            measure(&mut trainer, &mut log)?;
        }
        if step.is_multiple_of(config.save_steps) || last {
            keep(&trainer, &mut log, &place.folder)?;
            saved = step;
        }
    }
    let finished = |event: &&Event| matches!(event, Event::Finished { .. });
    if let Some(already) = log.history.iter().find(finished).cloned() {
        // Nothing is left to do: what came of it is said again.
        (log.listen)(&already);
        return Ok(());
    }
    let scores = evaluate::<W>(trainer.best(), rules, &tasks, config.test_seeds);
    let measured = |policy: &W::PolicyName| {
        let scores = evaluate_scripted::<W>(*policy, rules, &tasks, config.test_seeds);
        (policy.label().to_owned(), scores)
    };
    let baselines: Vec<_> = W::BASELINES.iter().map(measured).collect();
    log.note(Event::Finished {
        step: trainer.done(),
        scores,
        baselines,
    });
    keep(&trainer, &mut log, &place.folder)?;
    Ok(())
}

fn unix_time() -> f64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    // Whole seconds are exact; a clock before 1970 counts as 1970.
    passed.map_or(0.0, |passed| passed.as_secs() as f64)
}

/// A trainer at its start, or where the folder's checkpoint stands.
fn open<W: Learn>(
    config: &TrainConfig,
    place: &Place,
) -> Result<(Trainer<W>, Vec<Event>), TrainError> {
    config.check()?;
    let there = place.folder.join(checkpoint::NAME).exists();
    if place.resume {
        let checkpoint = Checkpoint::<W>::read(&place.folder)?;
        if let Some(reason) = config.differs_from(checkpoint.config()) {
            let path = place.folder.join(checkpoint::NAME);
            return Err(TrainError::Checkpoint { path, reason });
        }
        return checkpoint.resume();
    }
    if there && !place.force {
        return Err(TrainError::Taken(place.folder.clone()));
    }
    // A run that was killed before its first checkpoint left its options alone.
    if !place.force && files::is_occupied(&place.folder, &[CONFIG]) {
        return Err(TrainError::Occupied(place.folder.clone()));
    }
    let start = match config.init.as_str() {
        "" => Weights::init(W::net(config), config.seed),
        folder => start_from::<W>(config, Path::new(folder))?,
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
fn start_from<W: Learn>(
    config: &TrainConfig,
    folder: &Path,
) -> Result<Weights<W::Net>, TrainError> {
    let model = load::<W::Net>(folder)?;
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

/// The model of a folder, or of a file.
///
/// # Errors
/// If it cannot be read, or is no model for this build.
pub fn load<A: Architecture>(path: &Path) -> Result<Model<A>, TrainError> {
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

fn model<W: Learn>(trainer: &Trainer<W>) -> Model<W::Net> {
    Model {
        config: learn::model::<W>(trainer.config()),
        weights: trainer.best().clone(),
    }
}

/// Measures the policy on the validation seeds; the best one becomes the model.
fn measure<W: Learn>(trainer: &mut Trainer<W>, log: &mut Log<'_>) -> Result<(), TrainError> {
    let (step, seeds) = (trainer.done(), trainer.config().validation_seeds);
    let rules = trainer.config().rules::<W>()?;
    let tasks = trainer.config().selected::<W>()?;
    let scores = evaluate::<W>(trainer.weights(), rules, &tasks, seeds);
    trainer.consider(scores.overall);
    log.note(Event::Eval { step, scores });
    Ok(())
}

/// Saves a run: the checkpoint first, from which all else could be written again.
fn keep<W: Learn>(
    trainer: &Trainer<W>,
    log: &mut Log<'_>,
    folder: &Path,
) -> Result<(), TrainError> {
    checkpoint::save(trainer, &log.history, folder)?;
    files::write(&folder.join(MODEL), &model(trainer).to_bytes()?)?;
    outputs::write_all(folder, trainer.config(), &log.history)?;
    let step = trainer.done();
    (log.listen)(&Event::Saved { step });
    Ok(())
}
