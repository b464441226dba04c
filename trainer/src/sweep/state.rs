//! The records of the stages of a sweep: `stages.json` of each run, and `sweep.json` of all.
//!
//! A stage is finished if its record says so, its command line and the digests of its inputs are the
//! same, and its files have the digests that it left. Everything else is done again, and a training
//! run that was interrupted is resumed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files};
use sentinel_evidence::json_file;
use sentinel_evidence::run_paths::{RunPaths, SWEEPS_DIR};
use serde::{Deserialize, Serialize};

/// The records of a run.
const STAGES: &str = "stages.json";
/// The state of the whole sweep.
const SWEEP: &str = "sweep.json";
/// The file that is locked while `sweep.json` is written.
const LOCK: &str = ".sweep.lock";

sentinel_env::named_enum! {
    /// A stage of a run, in order.
    pub enum Stage {
        /// Demonstrations to learn from.
        Corpus = "corpus",
        /// A new model with a tokenizer.
        Init = "init",
        /// Supervised fine-tuning of all weights of the new model.
        Base = "base",
        /// Supervised fine-tuning of an adapter.
        Sft = "sft",
        /// The base model with the adapter added to its weights.
        Merge = "merge",
        /// GRPO of an adapter on the merged model.
        Grpo = "grpo",
        /// Inference with the saved artifacts in a fresh process.
        Postsave = "postsave",
        /// Evaluation of base model, SFT and GRPO.
        Eval = "eval",
        /// Paired comparison of SFT and GRPO.
        Improvement = "improvement",
        /// Ablation of the stack of agents, in the world that has one.
        Ablation = "ablation",
    }
}

sentinel_env::named_enum! {
    /// The state of a stage.
    pub enum StageStatus {
        /// The stage has begun; if nothing runs, it was killed.
        Running = "running",
        /// The stage is finished.
        Ok = "ok",
        /// The stage stopped with an error.
        Failed = "failed",
        /// The stage was interrupted by the user.
        Interrupted = "interrupted",
    }
}

/// The record of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// The state of the stage.
    pub status: StageStatus,
    /// The command line that does its work.
    pub command: String,
    /// The digests of its inputs when it began.
    pub inputs: BTreeMap<String, String>,
    /// The digests of its files when it ended.
    #[serde(default)]
    pub outputs: BTreeMap<String, String>,
    /// The seconds of the last attempt.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// The reason why it stopped.
    #[serde(default)]
    pub error: Option<String>,
}

/// The records of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The id of the run.
    pub id: String,
    /// The model as it was requested.
    pub model: String,
    /// The records by the name of the stage.
    pub stages: BTreeMap<String, StageRecord>,
}

impl RunState {
    /// Reads the records of a run; empty ones if it has none.
    ///
    /// # Errors
    /// Returns an error if the file is cut off or invalid.
    pub fn load(paths: &RunPaths, id: &str, model: &str) -> Result<Self, Error> {
        let path = paths.report(STAGES);
        if path.exists() {
            let remedy = "remove it, and run the sweep with --overwrite-output-dir";
            return json_file::read_json(&path, remedy);
        }
        Ok(Self {
            id: id.to_owned(),
            model: model.to_owned(),
            stages: BTreeMap::new(),
        })
    }

    /// Writes the records.
    ///
    /// # Errors
    /// Returns an error if they cannot be written; the earlier ones then stay.
    pub fn write(&self, paths: &RunPaths) -> Result<(), Error> {
        json_file::write_json(&paths.report(STAGES), self)
    }

    /// Returns the record of a stage.
    #[must_use]
    pub fn get(&self, stage: Stage) -> Option<&StageRecord> {
        self.stages.get(stage.name())
    }

    /// Returns the last stage that has a record, with it.
    fn last(&self) -> Option<(Stage, &StageRecord)> {
        let mut all = Stage::ALL.into_iter().rev();
        all.find_map(|stage| Some((stage, self.get(stage)?)))
    }
}

/// The state of a run in `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryState {
    /// The id of the run.
    pub id: String,
    /// The model as it was requested.
    pub model: String,
    /// The last stage that has begun.
    pub stage: Option<Stage>,
    /// The state of that stage.
    pub status: Option<StageStatus>,
    /// The reason why it stopped.
    pub error: Option<String>,
    /// The state of every stage that has begun.
    pub stages: BTreeMap<String, StageStatus>,
}

/// The state of all runs of a sweep: `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepState {
    /// The runs by id.
    pub entries: Vec<EntryState>,
    /// The program that wrote the file.
    pub provenance: Provenance,
}

/// Writes `sweep.json` from the records of all runs. Several programs may do so at a time, such as
/// the jobs of an array.
///
/// # Errors
/// Returns an error if a record cannot be read, or the file cannot be written.
pub fn write_sweep(reports: &Path) -> Result<SweepState, Error> {
    let folder = reports.join(SWEEPS_DIR);
    files::create_folder(&folder)?;
    let _lock = lock(&folder.join(LOCK))?;
    let failed = |source| Error::Read {
        path: folder.clone(),
        source,
    };
    let mut entries = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path: PathBuf = entry.map_err(failed)?.path().join(STAGES);
        if !path.is_file() {
            continue;
        }
        let state: RunState = json_file::read_json(&path, "run the sweep again")?;
        let last = state.last();
        entries.push(EntryState {
            stage: last.map(|(stage, _)| stage),
            status: last.map(|(_, record)| record.status),
            error: last.and_then(|(_, record)| record.error.clone()),
            stages: (state.stages.iter())
                .map(|(name, record)| (name.clone(), record.status))
                .collect(),
            id: state.id,
            model: state.model,
        });
    }
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    let state = SweepState {
        entries,
        provenance: Provenance::new(),
    };
    json_file::write_json(&folder.join(SWEEP), &state)?;
    Ok(state)
}

/// Waits for the lock on `sweep.json`.
fn lock(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    let opened = options.create(true).truncate(false).write(true).open(path);
    let file = opened.map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })?;
    // Some network file systems have no locks; the last writer wins there.
    let _ = file.lock();
    Ok(file)
}
