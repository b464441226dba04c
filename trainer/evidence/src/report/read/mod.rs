//! The reader: run folders, evaluation files, reports of sweeps and folders of charts become typed
//! results, or an error that names the file, the place and a remedy.

mod charts;
mod evaluation;
mod source;
mod sweep;
mod training;

use std::path::Path;

use sentinel_base::provenance::Provenance;
use sentinel_run::{EVENTS_FILE, TRAINER_STATE_FILE};
use serde_json::Value;

use super::error::ReportError;
use super::evaluation::Evaluation;
use super::results::TrainingRun;
use super::sweep_results::Sweep;
use crate::charts::Chart;
pub(super) use source::Sources;

/// An input as it was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Input {
    /// The training run of a run folder.
    Run(Box<TrainingRun>),
    /// The scores of an evaluation file.
    Evaluation(Box<Evaluation>),
    /// The reports of a sweep, by model.
    Sweep(Box<Sweep>),
    /// Charts with their provenance.
    Charts(Vec<(Chart, Provenance)>),
}

/// The kind of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Run,
    Evaluation,
    LmEvaluation,
    Sweep,
    Charts,
}

/// Reads an input of any kind, and lists the files that were read in `sources`.
///
/// # Errors
/// Returns an error if it does not exist, is of no known kind, or cannot be read.
pub(super) fn read(path: &Path, sources: &mut Sources) -> Result<Input, ReportError> {
    let kind = kind_of(path)?;
    let id = sources.begin(path)?;
    Ok(match kind {
        Kind::Run => Input::Run(Box::new(training::read(path, id, sources)?)),
        Kind::Evaluation => Input::Evaluation(Box::new(evaluation::read_eval(path, id, sources)?)),
        Kind::LmEvaluation => {
            Input::Evaluation(Box::new(evaluation::read_lm_eval(path, id, sources)?))
        }
        Kind::Sweep => Input::Sweep(Box::new(sweep::read(path, id, sources)?)),
        Kind::Charts => Input::Charts(charts::read(path, sources)?),
    })
}

/// Detects the kind of an input by its files or by the keys of its JSON.
fn kind_of(path: &Path) -> Result<Kind, ReportError> {
    if !path.exists() {
        return Err(ReportError::NotFound(path.to_owned()));
    }
    if !path.is_dir() {
        return kind_of_file(path);
    }
    let [state, events] = [TRAINER_STATE_FILE, EVENTS_FILE].map(|name| path.join(name).is_file());
    let missing = if state {
        EVENTS_FILE
    } else {
        TRAINER_STATE_FILE
    };
    match (state, events) {
        (true, true) => Ok(Kind::Run),
        (false, false) if sweep::is_sweep(path)? => Ok(Kind::Sweep),
        (false, false) if charts::is_folder(path)? => Ok(Kind::Charts),
        (false, false) => Err(ReportError::NoRun(path.to_owned())),
        _ => Err(ReportError::NoCheckpoint {
            path: path.to_owned(),
            missing,
        }),
    }
}

fn kind_of_file(path: &Path) -> Result<Kind, ReportError> {
    let unknown = |reason: String| ReportError::Unknown {
        path: path.to_owned(),
        reason,
    };
    let remedy = "make it again with the command that wrote it";
    let bytes = std::fs::read(path).map_err(|source| ReportError::read(path, source))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| {
        if error.is_eof() {
            ReportError::from_json(path, "a JSON file", &error, remedy)
        } else {
            unknown(format!("it is not JSON ({error})"))
        }
    })?;
    let has = |keys: &[&str]| keys.iter().all(|key| value.get(key).is_some());
    if has(&["summary", "episodes"]) {
        Ok(Kind::Evaluation)
    } else if has(&["score", "validity", "tasks"]) {
        Ok(Kind::LmEvaluation)
    } else if charts::is_chart(&value) {
        Ok(Kind::Charts)
    } else if has(&["backend", "provenance"]) || has(&["improved", "interval"]) {
        Err(unknown(
            "it is one report of a sweep, so name its folder".to_owned(),
        ))
    } else {
        let keys: Vec<&str> = (value.as_object().into_iter().flatten())
            .map(|(key, _)| key.as_str())
            .take(6)
            .collect();
        Err(unknown(if keys.is_empty() {
            "it is not a JSON object".to_owned()
        } else {
            format!("its keys are {}", keys.join(", "))
        }))
    }
}
