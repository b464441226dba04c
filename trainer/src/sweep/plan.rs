//! The entries of a sweep, with the options of every stage: from the command line, and from a
//! manifest in TOML or JSON.

mod file;

use std::path::{Path, PathBuf};

use sentinel_base::{Error, arg_parsers};
use sentinel_env::WorldName;
use sentinel_evidence::artifact::{ArtifactKind, BASE_DIR};
use sentinel_evidence::run_paths::{CHECKPOINTS_DIR, REPORTS_DIR, RunPaths, slug};
use sentinel_language::ablate::AblateConfig;
use sentinel_language::agent::EvalArgs;
use sentinel_language::grpo::GrpoConfig;
use sentinel_language::sft::SftConfig;
use sentinel_lm::init::InitOptions;
use sentinel_play::corpus::CorpusConfig;
use serde_json::Value;

use self::file::{EntryFile, ManifestFile};
use super::compare::ImprovementArgs;
use super::postsave::PostSaveArgs;
use super::stage_options::{StageOptions, Table, parse, with_dashes};
use super::state::Stage;

/// The folder of a new model before any training.
const INIT_FOLDER: &str = "init";
/// The corpus of a run.
const CORPUS: &str = "corpus.jsonl";

/// The names of models by size.
const SIZES: [(&str, &str); 3] = [
    ("0.5B", "Qwen/Qwen2.5-0.5B-Instruct"),
    ("1.5B", "Qwen/Qwen2.5-1.5B-Instruct"),
    ("3B", "Qwen/Qwen2.5-3B-Instruct"),
];
/// The names of new models, which are presets of `sentinel lm init`.
const PRESETS: [&str; 2] = ["tiny", "small"];

/// Options of `sentinel sweep`.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub struct SweepArgs {
    /// Models, separated by commas: 0.5B, 1.5B, 3B (Qwen2.5 Instruct), tiny, small (new models), a
    /// folder, or a name on the Hugging Face Hub
    #[arg(long, value_name = "LIST", required_unless_present = "manifest")]
    pub models: Option<String>,
    /// TOML or JSON file with the models and the options of every stage
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// World to train in [default: that of the manifest, else trust]
    #[arg(long, value_name = "WORLD", value_parser = arg_parsers::world_parser())]
    pub world: Option<WorldName>,
    /// Tasks, separated by commas, or all
    #[arg(long, value_name = "TASKS")]
    pub task: Option<String>,
    /// Rules of the world [default: those of the manifest, else reference, as in the published system]
    #[arg(long, value_name = "RULES")]
    pub rules: Option<String>,
    /// Corpus for supervised fine-tuning, in place of one that each run makes
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Run only this entry, counted from 0, as in a job array
    #[arg(long, value_name = "N")]
    pub index: Option<usize>,
    /// Train a stand-in where a model cannot be found; everything made from it is marked, and the
    /// gate refuses it
    #[arg(long)]
    pub allow_fallback: bool,
    /// Folder that holds the reports
    #[arg(long, value_name = "DIR", default_value = REPORTS_DIR)]
    pub reports_dir: PathBuf,
    /// Folder that holds the checkpoints
    #[arg(long, value_name = "DIR", default_value = CHECKPOINTS_DIR)]
    pub checkpoints_dir: PathBuf,
}

/// A sweep over several models.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    /// The entries to run, in order.
    pub entries: Vec<PlanEntry>,
    /// The folder of reports.
    pub reports_dir: PathBuf,
}

/// One model of a sweep, with the options of every stage.
#[derive(Clone, Debug)]
pub struct PlanEntry {
    /// The id of the run, which is the name of its folders.
    pub id: String,
    /// The model as it was requested.
    pub model: String,
    /// The folders of the run.
    pub paths: RunPaths,
    /// The name of the world.
    pub world: String,
    /// The tasks, separated by commas, or `all`.
    pub task: String,
    /// The name of the rules.
    pub rules: String,
    /// The corpus for supervised fine-tuning.
    pub data: PathBuf,
    /// The folder or name of the model that adapters are trained on.
    pub base_model: String,
    pub(super) corpus: Option<StageOptions<CorpusConfig>>,
    pub(super) init: Option<StageOptions<InitOptions>>,
    pub(super) base: Option<StageOptions<SftConfig>>,
    pub(super) sft: StageOptions<SftConfig>,
    pub(super) grpo: StageOptions<GrpoConfig>,
    pub(super) postsave: StageOptions<PostSaveArgs>,
    pub(super) evals: Vec<StageOptions<EvalArgs>>,
    pub(super) improvement: StageOptions<ImprovementArgs>,
    pub(super) ablation: Option<StageOptions<AblateConfig>>,
}

impl SweepArgs {
    /// Reads the manifest and returns the plan, with only one entry if `--index` is given.
    ///
    /// # Errors
    /// Returns an error if the manifest or an option is invalid, a model is named twice, or there
    /// is no entry with that index.
    pub fn plan(&self) -> Result<SweepPlan, Error> {
        let (place, mut file) = match &self.manifest {
            Some(path) => (path.clone(), ManifestFile::load(path)?),
            None => (PathBuf::from("command line"), ManifestFile::default()),
        };
        file.shared.override_with(self.shared_options());
        if let Some(models) = &self.models {
            let named = models.split(',').map(str::trim);
            file.models = Some(named.map(str::to_owned).collect());
            file.entry.clear();
        }
        let listed = file.models.take().unwrap_or_default();
        let mut files: Vec<EntryFile> = listed.into_iter().map(EntryFile::new).collect();
        files.append(&mut file.entry);
        let invalid = |reason: String| Error::invalid(&place, reason);
        if files.is_empty() {
            return Err(invalid(
                "it names no model: add models or [[entry]]".to_owned(),
            ));
        }
        let mut entries: Vec<PlanEntry> = Vec::new();
        for entry in &files {
            let entry = self.entry(&file, entry, &place)?;
            if let Some(other) = entries.iter().find(|other| other.id == entry.id) {
                return Err(invalid(format!(
                    "{} and {} are both run {}: give one of them another id",
                    other.model, entry.model, entry.id
                )));
            }
            entries.push(entry);
        }
        if let Some(index) = self.index {
            let count = entries.len();
            if index >= count {
                let reason = format!("there are {count} entries, from 0 to {}", count - 1);
                return Err(Error::argument("--index", reason));
            }
            entries = entries.split_off(index);
            entries.truncate(1);
        }
        Ok(SweepPlan {
            entries,
            reports_dir: self.reports_dir.clone(),
        })
    }

    /// Returns the options of the command line that several stages share.
    fn shared_options(&self) -> [(&'static str, Option<String>); 3] {
        [
            ("world", self.world.map(|world| world.name().to_owned())),
            ("task", self.task.clone()),
            ("rules", self.rules.clone()),
        ]
    }

    /// Returns the options that name the folders of a run.
    fn run_options(&self, id: &str) -> [(&'static str, String); 3] {
        [
            ("run", id.to_owned()),
            ("reports-dir", path_text(&self.reports_dir)),
            ("checkpoints-dir", path_text(&self.checkpoints_dir)),
        ]
    }

    /// Returns an entry with the options of its stages.
    fn entry(
        &self,
        file: &ManifestFile,
        own: &EntryFile,
        place: &Path,
    ) -> Result<PlanEntry, Error> {
        let model = full_model_name(&own.model);
        let id = own.id.clone().unwrap_or_else(|| slug(model));
        let paths = RunPaths::for_sweep(&self.reports_dir, &self.checkpoints_dir, &id)
            .map_err(|error| Error::invalid(place, error.to_string()))?;
        let folder = |name: &str| paths.checkpoints.join(name).display().to_string();
        let preset = PRESETS.contains(&model);
        let base_model = preset.then(|| folder(BASE_DIR));
        let base_model = base_model.unwrap_or_else(|| model.to_owned());
        let stages = Stages {
            file,
            own,
            paths: &paths,
            preset,
            place,
            allow_fallback: self.allow_fallback,
        };
        let given = self.data.clone().or_else(|| file.data.clone());
        let is_given = given.is_some();
        let data = given.unwrap_or_else(|| paths.checkpoints.join(CORPUS));
        let corpus = stages.corpus(is_given, &data)?;
        let with_data = |model: String| [("model", model), ("data", path_text(&data))];
        let init = stages.init(&data)?;
        let base = preset
            .then(|| stages.parse_as("base", "lm sft", &with_data(folder(INIT_FOLDER))))
            .transpose()?;
        let [grpo, merged, _] = ArtifactKind::ALL.map(|kind| folder(kind.name()));
        let run = self.run_options(&id);
        let evals = stages.evals(&base_model, &merged, &grpo)?;
        let grpo_stage: StageOptions<GrpoConfig> =
            stages.parse("lm grpo", &[("model", merged.clone())])?;
        let episode = &grpo_stage.options.episode;
        let world = episode.world;
        let ablation = stages.ablation(world, merged, grpo)?;
        Ok(PlanEntry {
            model: model.to_owned(),
            world: world.name().to_owned(),
            task: episode.task.clone().unwrap_or_else(|| "all".to_owned()),
            rules: episode.rules.clone(),
            corpus,
            init,
            base,
            sft: stages.parse("lm sft", &with_data(base_model.clone()))?,
            postsave: stages.parse("lm postsave", &run)?,
            evals,
            improvement: stages.parse_as("improvement", "lm compare", &run)?,
            ablation,
            grpo: grpo_stage,
            data,
            base_model,
            paths,
            id,
        })
    }
}

/// The options of the stages of an entry.
struct Stages<'a> {
    file: &'a ManifestFile,
    own: &'a EntryFile,
    paths: &'a RunPaths,
    /// `true` for a new model.
    preset: bool,
    place: &'a Path,
    allow_fallback: bool,
}

impl Stages<'_> {
    /// Returns the stage that writes the corpus `data`; `None` if the corpus exists already.
    fn corpus<T: clap::Args>(
        &self,
        exists: bool,
        data: &Path,
    ) -> Result<Option<StageOptions<T>>, Error> {
        if exists {
            return Ok(None);
        }
        self.parse("lm corpus", &[("out", path_text(data))])
            .map(Some)
    }

    /// Returns the stage that creates the new model, if there is one.
    fn init(&self, data: &Path) -> Result<Option<StageOptions<InitOptions>>, Error> {
        let fixed = [
            ("preset", self.own.model.clone()),
            ("data", path_text(data)),
            (
                "output-dir",
                path_text(&self.paths.checkpoints.join(INIT_FOLDER)),
            ),
        ];
        self.preset
            .then(|| self.parse("lm init", &fixed))
            .transpose()
    }

    /// Returns the evaluations of the base model, the merged model and its GRPO adapter.
    fn evals(
        &self,
        base_model: &str,
        merged: &str,
        adapter: &str,
    ) -> Result<Vec<StageOptions<EvalArgs>>, Error> {
        let eval = |model: &str, adapter: Option<&str>, name: &str| {
            let mut fixed = vec![("model", model.to_owned())];
            fixed.extend(adapter.map(|adapter| ("adapter", adapter.to_owned())));
            fixed.push(("out", path_text(&self.paths.report(name))));
            self.parse("lm eval", &fixed)
        };
        Ok(vec![
            eval(base_model, None, "eval_base.json")?,
            eval(merged, None, "eval_sft.json")?,
            eval(merged, Some(adapter), "eval_grpo.json")?,
        ])
    }

    /// Returns the ablation of the policies, which only PolyGuard has.
    fn ablation<T: clap::Args>(
        &self,
        world: WorldName,
        model: String,
        adapter: String,
    ) -> Result<Option<StageOptions<T>>, Error> {
        if world != WorldName::Polyguard {
            return Ok(None);
        }
        let fixed = [
            ("model", model),
            ("adapter", adapter),
            (
                "out",
                path_text(&self.paths.report("policy_ablations.json")),
            ),
        ];
        self.parse("ablate", &fixed).map(Some)
    }

    fn parse<T: clap::Args>(
        &self,
        command: &str,
        fixed: &[(&str, String)],
    ) -> Result<StageOptions<T>, Error> {
        let stage = command.rsplit(' ').next().unwrap_or(command);
        self.parse_as(stage, command, fixed)
    }

    /// Reads the options of a stage. Precedence, highest first: the entry, the manifest, the options
    /// that stages share, the defaults of new models.
    fn parse_as<T: clap::Args>(
        &self,
        stage: &str,
        command: &str,
        fixed: &[(&str, String)],
    ) -> Result<StageOptions<T>, Error> {
        let mut table = Table::new();
        if self.preset {
            table.extend(preset_options(stage));
        }
        if stage == "ablate" {
            // By itself it plays the hardened rules, and the other stages those of the reference.
            table.insert("rules".to_owned(), "reference".into());
        }
        table.extend(self.file.shared.options_of(stage));
        if self.allow_fallback && ["base", "sft", "grpo", "postsave"].contains(&stage) {
            table.insert("allow-fallback".to_owned(), true.into());
        }
        for own in [self.file.stages.get(stage), self.own.stages.get(stage)] {
            table.extend(own.map(with_dashes).unwrap_or_default());
        }
        parse(stage, command, &table, fixed, self.place)
    }
}

/// Returns the name on the Hub of a size such as `0.5B`, or else the model's own name.
fn full_model_name(model: &str) -> &str {
    let named = SIZES
        .iter()
        .find(|(size, _)| size.eq_ignore_ascii_case(model));
    named.map_or(model, |(_, name)| name)
}

/// Returns a path as it is typed.
fn path_text(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the options with which a new model learns a world on two cores in minutes.
fn preset_options(stage: &str) -> Table {
    let options: &[(&str, Value)] = &match stage {
        "corpus" => vec![("random-action-prob", 0.1.into())],
        "base" => vec![
            ("full", true.into()),
            ("learning-rate", 1e-3.into()),
            ("warmup-steps", 50.into()),
            ("per-device-train-batch-size", 4.into()),
            ("gradient-accumulation-steps", 2.into()),
            ("no-gradient-checkpointing", true.into()),
        ],
        "sft" => vec![
            ("learning-rate", 5e-4.into()),
            ("per-device-train-batch-size", 8.into()),
            ("no-gradient-checkpointing", true.into()),
        ],
        "grpo" => vec![
            ("learning-rate", 3e-4.into()),
            ("episodes-per-update", 8.into()),
            ("groups-per-update", 48.into()),
            ("num-generations", 6.into()),
            ("per-device-train-batch-size", 24.into()),
            ("max-completion-length", 32.into()),
            ("scale-rewards", "batch".into()),
            ("beta", 0.01.into()),
            ("no-gradient-checkpointing", true.into()),
        ],
        "eval" => vec![("max-completion-length", 32.into())],
        _ => Vec::new(),
    };
    let options = options.iter();
    options
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

impl PlanEntry {
    /// Returns the stages of the entry in order.
    pub fn stages(&self) -> impl Iterator<Item = Stage> {
        let has = |stage: &Stage| match stage {
            Stage::Corpus => self.corpus.is_some(),
            Stage::Init => self.init.is_some(),
            Stage::Base => self.base.is_some(),
            Stage::Ablation => self.ablation.is_some(),
            _ => true,
        };
        Stage::ALL.into_iter().filter(has)
    }

    /// Returns the command line that does the work of a stage.
    #[must_use]
    pub fn command(&self, stage: Stage) -> String {
        let folder = |name: &str| {
            format!(
                " --output-dir {}",
                self.paths.checkpoints.join(name).display()
            )
        };
        let of = |command: Option<&String>| command.cloned().unwrap_or_default();
        match stage {
            Stage::Corpus => of(self.corpus.as_ref().map(|one| &one.command)),
            Stage::Init => of(self.init.as_ref().map(|one| &one.command)),
            Stage::Base => of(self.base.as_ref().map(|one| &one.command)) + &folder(BASE_DIR),
            Stage::Sft => self.sft.command.clone() + &folder(ArtifactKind::SftAdapter.name()),
            Stage::Merge => {
                let adapter = self.paths.checkpoints.join(ArtifactKind::SftAdapter.name());
                let (model, adapter) = (&self.base_model, adapter.display());
                let to = folder(ArtifactKind::Merged.name());
                format!("sentinel lm merge --model {model} --adapter {adapter}{to}")
            }
            Stage::Grpo => self.grpo.command.clone() + &folder(ArtifactKind::GrpoAdapter.name()),
            Stage::Postsave => self.postsave.command.clone(),
            Stage::Eval => {
                let all: Vec<&str> = self.evals.iter().map(|one| one.command.as_str()).collect();
                all.join(" && ")
            }
            Stage::Improvement => self.improvement.command.clone(),
            Stage::Ablation => of(self.ablation.as_ref().map(|one| &one.command)),
        }
    }

    /// Returns the folder of the new model.
    pub(super) fn init_folder(&self) -> PathBuf {
        self.paths.checkpoints.join(INIT_FOLDER)
    }

    /// Returns the folder of the base model that the sweep fine-tunes.
    pub(super) fn base_folder(&self) -> PathBuf {
        self.paths.checkpoints.join(BASE_DIR)
    }

    /// Returns the folder of an artifact.
    pub(super) fn folder(&self, kind: ArtifactKind) -> PathBuf {
        self.paths.checkpoints.join(kind.name())
    }
}

#[cfg(test)]
mod tests;
