//! The reports of a sweep: `sweep.json`, and a folder with the reports of each model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::provenance::{Provenance, marked_name};
use serde::Deserialize;
use serde_json::Value;

use super::evaluation::{read_eval, read_lm_eval};
use super::source::{Sources, entries, name_of, read_json};
use super::training::read_log;
use crate::report::error::{ReportError, folder_text};
use crate::report::evaluation::Evaluation;
use crate::report::sweep_results::{
    Gate, Improvement, Postsave, StageRecord, StageReport, Sweep, SweepEntry,
};

/// The manifest of a sweep.
const MANIFEST: &str = "sweep.json";
/// The reports of an entry.
const SFT: &str = "sft_trl_run.json";
const GRPO: &str = "grpo_trl_run.json";
const POSTSAVE: &str = "postsave_inference.json";
const IMPROVEMENT: &str = "improvement_report.json";
const GATE: &str = "acceptance_gate.json";
/// The records of the stages of an entry.
const STAGES: &str = "stages.json";
/// Further files of an entry that are copied but not read.
const COPIED: [&str; 2] = ["policy_ablations.json", "artifact_index.json"];

/// The parts of `stages.json` that a report needs.
#[derive(Debug, Default, Deserialize)]
struct RunState {
    #[serde(default)]
    model: Option<String>,
    stages: BTreeMap<String, StageRecord>,
}

/// Returns `true` if a folder holds the reports of a sweep, or of one of its models.
pub(super) fn is_sweep(folder: &Path) -> Result<bool, ReportError> {
    Ok(folder.join(MANIFEST).is_file() || is_entry(folder) || !entry_folders(folder)?.is_empty())
}

fn is_entry(folder: &Path) -> bool {
    [SFT, GRPO, POSTSAVE, IMPROVEMENT, STAGES]
        .iter()
        .any(|name| folder.join(name).is_file())
}

fn entry_folders(folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let all = entries(folder)?;
    Ok(all
        .into_iter()
        .filter(|path| path.is_dir() && is_entry(path))
        .collect())
}

/// Reads the reports of a sweep, or of one of its models.
///
/// # Errors
/// Returns an error if the manifest is all there is, or a report cannot be read, is truncated or is
/// of another kind.
pub(super) fn read(folder: &Path, id: String, sources: &mut Sources) -> Result<Sweep, ReportError> {
    let mut folders = if is_entry(folder) {
        vec![folder.to_owned()]
    } else {
        entry_folders(folder)?
    };
    let manifest = folder.join(MANIFEST);
    if manifest.is_file() {
        let remedy = "run `sentinel sweep` again, which continues the sweep";
        let manifest: Value = read_json(&manifest, "the manifest of a sweep", remedy, sources)?;
        let order = order_of(&manifest);
        let place = |path: &PathBuf| order.iter().position(|run| *run == name_of(path));
        folders.sort_by_key(|path| place(path).unwrap_or(usize::MAX));
    }
    if folders.is_empty() {
        return Err(ReportError::NoRun(folder.to_owned()));
    }
    let entries = folders.iter().map(|entry| read_entry(entry, &id, sources));
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    let gate = if is_entry(folder) {
        None
    } else {
        optional(
            &folder.join(GATE),
            "the verdict of the gate",
            GATE_REMEDY,
            sources,
        )?
    };
    Ok(Sweep {
        id,
        path: folder.display().to_string(),
        entries,
        gate,
    })
}

const SWEEP_REMEDY: &str = "run `sentinel sweep` again, which makes what is missing";
const GATE_REMEDY: &str = "make it again with `sentinel gate`";

/// Returns the ids of a manifest's entries in order.
fn order_of(manifest: &Value) -> Vec<String> {
    let entries = ["entries", "runs"].iter().find_map(|key| manifest.get(key));
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    let id = |entry: &Value| {
        let named = ["run", "id"].iter().find_map(|key| entry.get(key));
        named.unwrap_or(entry).as_str().map(str::to_owned)
    };
    entries.filter_map(id).collect()
}

fn read_entry(folder: &Path, id: &str, sources: &mut Sources) -> Result<SweepEntry, ReportError> {
    let path = |name: &str| folder.join(name);
    let sft = read_stage(&path(SFT), sources)?;
    let grpo = read_stage(&path(GRPO), sources)?;
    let postsave: Option<Postsave> = optional(
        &path(POSTSAVE),
        "a report of a post-save check",
        "make it again with `sentinel lm postsave`",
        sources,
    )?;
    let improvement: Option<Improvement> = optional(
        &path(IMPROVEMENT),
        "a comparison of SFT and GRPO",
        SWEEP_REMEDY,
        sources,
    )?;
    let gate: Option<Gate> =
        optional(&path(GATE), "the verdict of the gate", GATE_REMEDY, sources)?;
    let run = name_of(folder);
    let evaluations = read_evaluations(folder, &format!("{id}-{run}"), sources)?;
    for name in COPIED {
        sources.copy_if_there(&path(name))?;
    }
    let state: Option<RunState> = optional(
        &path(STAGES),
        "a list of stages",
        "remove it, and run `sentinel sweep` again",
        sources,
    )?;
    let state = state.unwrap_or_default();
    let reports = [&sft, &grpo];
    let model_id = (reports.iter())
        .find_map(|report| report.as_ref().map(|report| report.model_id.clone()))
        .or(state.model);
    let provenances = (reports.into_iter().flatten().map(|stage| &stage.provenance))
        .chain(postsave.iter().map(|report| &report.provenance))
        .chain(improvement.iter().map(|report| &report.provenance))
        .chain(evaluations.values().map(|found| &found.provenance));
    let mut fallbacks = Provenance::new();
    fallbacks.add_fallbacks(provenances.flat_map(|found| found.fallbacks.iter().cloned()));
    add_unnamed_fallbacks(&sft, &grpo, &postsave, &mut fallbacks);
    Ok(SweepEntry {
        label: marked_name(&label(model_id.as_deref(), &run), fallbacks.is_fallback()),
        run,
        path: folder.display().to_string(),
        model_id,
        sft,
        grpo,
        postsave,
        improvement,
        gate,
        evaluations,
        stages: state.stages,
        fallbacks: fallbacks.fallbacks,
    })
}

/// Adds the fallbacks of reports that state one without naming it in their provenance.
fn add_unnamed_fallbacks(
    sft: &Option<StageReport>,
    grpo: &Option<StageReport>,
    postsave: &Option<Postsave>,
    fallbacks: &mut Provenance,
) {
    for (name, stage) in [("sft", sft), ("grpo", grpo)] {
        if let Some(stage) = stage
            && stage.backend == "fallback"
            && !stage.provenance.is_fallback()
        {
            fallbacks.add_fallback(name, "the backend of the stage is `fallback`");
        }
    }
    if let Some(report) = postsave
        && report.model_source.starts_with("fallback")
        && !report.provenance.is_fallback()
    {
        fallbacks.add_fallback(
            "postsave",
            "no saved artifact answered, a scripted policy did",
        );
    }
}

/// Returns the last part of a model's name, or the id of the run.
fn label(model_id: Option<&str>, run: &str) -> String {
    let last = model_id.and_then(|name| name.trim_end_matches('/').rsplit('/').next());
    let last = last.filter(|name| !name.is_empty());
    last.unwrap_or(run).to_owned()
}

/// Reads every evaluation of an entry: the files `eval_*.json`.
fn read_evaluations(
    folder: &Path,
    id: &str,
    sources: &mut Sources,
) -> Result<BTreeMap<String, Evaluation>, ReportError> {
    let mut all = BTreeMap::new();
    for path in entries(folder)? {
        let name = name_of(&path);
        let Some(stem) = name
            .strip_suffix(".json")
            .filter(|s| s.starts_with("eval_"))
        else {
            continue;
        };
        let of_model = read_json::<Value>(&path, "an evaluation", SWEEP_REMEDY, sources)?
            .get("validity")
            .is_some();
        let id = format!("{id}-{stem}");
        let found = if of_model {
            read_lm_eval(&path, id, sources)?
        } else {
            read_eval(&path, id, sources)?
        };
        all.insert(stem.to_owned(), found);
    }
    Ok(all)
}

/// Reads the report of a stage with the log that it names.
fn read_stage(path: &Path, sources: &mut Sources) -> Result<Option<StageReport>, ReportError> {
    let found = optional(path, "a report of a training stage", SWEEP_REMEDY, sources)?;
    let Some(mut stage): Option<StageReport> = found else {
        return Ok(None);
    };
    let Some(log) = stage.log_history.clone() else {
        return Ok(Some(stage));
    };
    // A folder of reports that was copied elsewhere has no log, and then its curve is missing.
    if let Some(file) = find_log(path, Path::new(&log.path)) {
        let read = read_log(&file, sources)?;
        if sources.digest_of(&file) != Some(&log.sha256) {
            return Err(ReportError::Changed {
                path: file,
                report: path.to_owned(),
                remedy: format!(
                    "make the report again with `sentinel sweep`, or put the log back (reports of {})",
                    folder_text(path)
                ),
            });
        }
        stage.series = read.series();
    }
    Ok(Some(stage))
}

/// Finds the log that a report names: at its path, or from a folder above the report, since paths
/// begin where the sweep was started.
fn find_log(report: &Path, log: &Path) -> Option<PathBuf> {
    if log.is_file() {
        return Some(log.to_owned());
    }
    if log.is_absolute() {
        return None;
    }
    let above = report.ancestors().skip(1);
    above
        .map(|folder| folder.join(log))
        .find(|path| path.is_file())
}

/// Reads a report that need not exist.
fn optional<T: serde::de::DeserializeOwned>(
    path: &Path,
    kind: &'static str,
    remedy: &str,
    sources: &mut Sources,
) -> Result<Option<T>, ReportError> {
    if !path.is_file() {
        return Ok(None);
    }
    read_json(path, kind, remedy, sources).map(Some)
}
