//! The work of each stage, with the files that it reads and writes.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files};
use sentinel_evidence::artifact::{Artifact, ArtifactKind};
use sentinel_evidence::json_file::report_error;
use sentinel_evidence::run_report::{GRPO_REPORT, ReportStatus, RunOrigin, RunReport, SFT_REPORT};
use sentinel_evidence::{artifact, json_file};
use sentinel_language::training::{Event, Outcome, RunDir, RunError, write_options};
use sentinel_language::{ablate, agent as lm_agent, grpo as lm_grpo, sft};
use sentinel_lm::init::create;
use sentinel_lm::{BaseCheck, CausalLm, HubOptions, Lora, find_model};
use sentinel_play::corpus::{demonstrate, read_corpus};
use sentinel_run::distributed::ProcessGroup;
use sentinel_tensor::device::cpu;
use serde::Serialize;

use super::plan::PlanEntry;
use super::state::Stage;

type Digests = BTreeMap<String, String>;

/// The circumstances in which a stage runs.
pub(super) struct StageContext<'a> {
    pub(super) entry: &'a PlanEntry,
    /// `true` if an earlier attempt had the same command and inputs, so that its files are ours.
    pub(super) continues: bool,
    /// `true` to overwrite files of other options or inputs.
    pub(super) overwrite: bool,
    /// The program that checks saved artifacts.
    pub(super) program: &'a Path,
    pub(super) stop: &'a AtomicBool,
    pub(super) listen: &'a dyn Fn(&Event),
}

/// Returns the digests of the files that a stage reads. A base model that is not a folder is known
/// by its name.
///
/// # Errors
/// Returns an error if a file is missing.
pub(super) fn inputs(entry: &PlanEntry, stage: Stage) -> Result<Digests, Error> {
    let mut found = Found::default();
    let base = Path::new(&entry.base_model);
    let grpo = entry.folder(ArtifactKind::GrpoAdapter);
    let (merged, sft) = (
        entry.folder(ArtifactKind::Merged),
        entry.folder(ArtifactKind::SftAdapter),
    );
    if stage == Stage::Corpus {
        let corpus = entry.corpus.as_ref();
        if let Some(teacher) = corpus.and_then(|corpus| corpus.options.model_folder()) {
            found.folder("teacher", &teacher)?;
        }
    }
    if [Stage::Init, Stage::Base, Stage::Sft].contains(&stage) {
        found.file("corpus", &entry.data)?;
    }
    let folders: &[(&str, &Path)] = match stage {
        Stage::Corpus | Stage::Init => &[],
        Stage::Base => &[("init", &entry.init_folder())],
        Stage::Sft => &[("base", base)],
        Stage::Merge => &[("base", base), ("sft_adapter", &sft)],
        Stage::Grpo => &[("merged", &merged)],
        Stage::Postsave => &[
            ("sft_adapter", &sft),
            ("merged", &merged),
            ("grpo_adapter", &grpo),
        ],
        Stage::Eval => &[("base", base), ("merged", &merged), ("grpo_adapter", &grpo)],
        Stage::Improvement | Stage::Ablation => &[("merged", &merged), ("grpo_adapter", &grpo)],
    };
    for (name, folder) in folders {
        if *name != "base" || folder.is_dir() {
            found.folder(name, folder)?;
        }
    }
    Ok(found.0)
}

/// Returns the digests of the files that a stage has written.
///
/// # Errors
/// Returns an error if one is missing.
pub(super) fn outputs(entry: &PlanEntry, stage: Stage) -> Result<Digests, Error> {
    let mut found = Found::default();
    let report = |name: &str| (name.to_owned(), entry.paths.report(name));
    let folder = match stage {
        Stage::Init => Some(entry.init_folder()),
        _ => run_folder(entry, stage),
    };
    if let Some(folder) = folder {
        found.folder("model", &folder)?;
    }
    let files: Vec<(String, PathBuf)> = match stage {
        Stage::Corpus => vec![("corpus".to_owned(), entry.data.clone())],
        Stage::Sft => vec![report(SFT_REPORT)],
        Stage::Grpo => vec![report(GRPO_REPORT)],
        Stage::Postsave => vec![report("postsave_inference.json")],
        Stage::Improvement => vec![report("improvement_report.json")],
        Stage::Ablation => vec![report("policy_ablations.json")],
        Stage::Eval => ["base", "sft", "grpo"]
            .map(|name| report(&format!("eval_{name}.json")))
            .into(),
        Stage::Init | Stage::Base | Stage::Merge => Vec::new(),
    };
    for (name, path) in files {
        found.file(&name, &path)?;
    }
    Ok(found.0)
}

/// Returns the folder of the model that a stage trains or merges.
pub(super) fn run_folder(entry: &PlanEntry, stage: Stage) -> Option<PathBuf> {
    match stage {
        Stage::Base => Some(entry.base_folder()),
        Stage::Sft => Some(entry.folder(ArtifactKind::SftAdapter)),
        Stage::Merge => Some(entry.folder(ArtifactKind::Merged)),
        Stage::Grpo => Some(entry.folder(ArtifactKind::GrpoAdapter)),
        _ => None,
    }
}

/// Digests that are collected by name.
#[derive(Default)]
struct Found(Digests);

impl Found {
    fn file(&mut self, name: &str, path: &Path) -> Result<(), Error> {
        self.0.insert(name.to_owned(), json_file::digest(path)?);
        Ok(())
    }

    fn folder(&mut self, name: &str, folder: &Path) -> Result<(), Error> {
        let digests = artifact::digests(folder)?;
        if digests.is_empty() {
            return Err(report_error(
                folder,
                "it holds no model",
                "run the sweep again",
            ));
        }
        let named = digests.into_iter();
        self.0
            .extend(named.map(|(file, digest)| (format!("{name}/{file}"), digest)));
        Ok(())
    }
}

impl StageContext<'_> {
    /// Does the work of a stage, until its end or until `stop` is set. A stage that was interrupted
    /// leaves its files whole: they are those of before, or new ones.
    ///
    /// # Errors
    /// Returns the error of the stage's command.
    pub(super) fn run(&self, stage: Stage) -> Result<Outcome, RunError> {
        match self.work(stage) {
            Err(error) if error.is_interrupted() => Ok(Outcome::Interrupted),
            done => done,
        }
    }

    fn work(&self, stage: Stage) -> Result<Outcome, RunError> {
        let entry = self.entry;
        match stage {
            Stage::Corpus => {
                if let Some(corpus) = &entry.corpus {
                    let mut config = corpus.options.clone();
                    config.force |= self.may_overwrite();
                    demonstrate(&config, &|| ())?;
                }
            }
            Stage::Init => self.init()?,
            Stage::Base => {
                let Some(base) = &entry.base else {
                    return Ok(Outcome::Finished);
                };
                return self.train(stage, &base.options, |dir, listen| {
                    sft::train(&base.options, dir, self.stop, listen)
                });
            }
            Stage::Sft => {
                let config = &entry.sft.options;
                let done = self.train(stage, config, |dir, listen| {
                    sft::train(config, dir, self.stop, listen)
                })?;
                return self.report(stage, done);
            }
            Stage::Merge => self.merge()?,
            Stage::Grpo => {
                let config = &entry.grpo.options;
                let done = self.train(stage, config, |dir, listen| {
                    lm_grpo::train(config, dir, &ProcessGroup::default(), self.stop, listen)
                })?;
                return self.report(stage, done);
            }
            Stage::Postsave => return self.postsave(),
            Stage::Eval => return self.evaluate(),
            Stage::Improvement => {
                super::improvement(&entry.improvement.options, self.stop, &|| ())?;
            }
            Stage::Ablation => {
                if let Some(ablation) = &entry.ablation {
                    let config = &ablation.options;
                    let found = ablate::play(config, &config.plan()?, self.stop, &|| ())?;
                    let path = entry.paths.report("policy_ablations.json");
                    files::write_atomic(&path, found.to_json()?.as_bytes())?;
                }
            }
        }
        Ok(Outcome::Finished)
    }

    const fn may_overwrite(&self) -> bool {
        self.continues || self.overwrite
    }

    /// Creates a new model, as `sentinel lm init` does.
    fn init(&self) -> Result<(), RunError> {
        let Some(init) = &self.entry.init else {
            return Ok(());
        };
        let (mut texts, mut provenance) = (Vec::new(), Provenance::new());
        provenance.add_file("the corpus", &self.entry.data)?;
        for example in read_corpus(&self.entry.data)? {
            texts.push(example.prompt.question().to_owned());
            texts.push(example.completion);
        }
        let mut options = init.options.clone();
        options.overwrite_output_dir |= self.may_overwrite();
        create(&options, &texts, &provenance)?;
        Ok(())
    }

    /// Trains a model in the folder of a stage: resumes the run that is there, or begins a new one.
    fn train(
        &self,
        stage: Stage,
        config: &impl Serialize,
        train: impl FnOnce(&RunDir, &mut dyn FnMut(&Event)) -> Result<Outcome, RunError>,
    ) -> Result<Outcome, RunError> {
        let path = run_folder(self.entry, stage).unwrap_or_default();
        let mut dir = RunDir {
            resume: self.continues,
            ..RunDir::new(path)
        };
        if dir.resume {
            dir.find_checkpoint()?;
        }
        dir.force = self.may_overwrite() && !dir.resume;
        let done = train(&dir, &mut |event| (self.listen)(event))?;
        let options = serde_json::to_value(config).map_err(Error::from)?;
        write_options(&dir.path, &options)?;
        Ok(done)
    }

    /// Writes the report of a training stage.
    fn report(&self, stage: Stage, done: Outcome) -> Result<Outcome, RunError> {
        let (name, origin) = report_of(self.entry, stage);
        let folder = run_folder(self.entry, stage).unwrap_or_default();
        let report = match done {
            Outcome::Finished => RunReport::from_folder(&folder, &origin)?,
            Outcome::Interrupted => {
                let base = base_of(self.entry, stage);
                RunReport::stopped(ReportStatus::Interrupted, None, &origin, &base)
            }
        };
        json_file::write_json(&self.entry.paths.report(name), &report)?;
        Ok(done)
    }

    /// Adds the SFT adapter to its base model, as `sentinel lm merge` does.
    fn merge(&self) -> Result<(), RunError> {
        let entry = self.entry;
        let adapter = Artifact::find(&entry.paths.checkpoints, ArtifactKind::SftAdapter)?;
        let folder = find_model(&adapter.model, &HubOptions::from_environment())?.folder;
        let mut model = CausalLm::load(&folder, &cpu())?;
        Lora::load(&mut model, &adapter.path, BaseCheck::Weights)?;
        let mut provenance = Provenance::new();
        provenance.add_model("model", &folder)?;
        provenance.add_model("adapter", &adapter.path)?;
        let to = entry.folder(ArtifactKind::Merged);
        let force = self.may_overwrite();
        let adapter = Some(adapter.path.as_path());
        Lora::merge_into(&model, &folder, adapter, &to, &provenance, force)?;
        Ok(())
    }

    /// Runs `sentinel lm postsave` as a process of its own, which ends at once if the sweep is asked
    /// to stop: its report is written whole or not at all.
    fn postsave(&self) -> Result<Outcome, RunError> {
        let options = &self.entry.postsave.options;
        let paths = &options.paths;
        let mut command = Command::new(self.program);
        command.args(["lm", "postsave"]);
        if let Some(run) = &paths.run {
            command.args(["--run", run]);
        }
        command.arg("--reports-dir").arg(&paths.reports_dir);
        command.arg("--checkpoints-dir").arg(&paths.checkpoints_dir);
        command.args(["--samples", &options.samples.to_string()]);
        command.args(options.play.to_args());
        if options.allow_fallback {
            command.arg("--allow-fallback");
        }
        let (status, said) = wait(&mut command, self.stop).map_err(|source| Error::Read {
            path: self.program.to_owned(),
            source,
        })?;
        if status.success() {
            return Ok(Outcome::Finished);
        }
        // A signal to all processes of a terminal also ended this one.
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        let last = last
            .unwrap_or("it said nothing")
            .trim_start_matches("error: ");
        let reason = format!("`sentinel lm postsave` failed, {status}: {last}");
        let remedy = "run the sweep again";
        Err(report_error(&self.entry.paths.checkpoints, reason, remedy).into())
    }

    /// Evaluates the base model, SFT and GRPO, as `sentinel lm eval --out` does.
    fn evaluate(&self) -> Result<Outcome, RunError> {
        let adapter = Artifact::find(&self.entry.paths.checkpoints, ArtifactKind::SftAdapter)?;
        for (index, eval) in self.entry.evals.iter().enumerate() {
            let mut options = eval.options.clone();
            if index == 0 {
                // The base that the adapter was trained on, also if that is a stand-in.
                options.model.clone_from(&adapter.model);
            }
            let mut found = lm_agent::play(&options, self.stop, &|| ())?;
            found.sentinel.provenance.command = Some(eval.command.clone());
            if let Some(path) = &options.out {
                json_file::write_json(path, &found)?;
            }
        }
        Ok(Outcome::Finished)
    }
}

/// Runs a command to its end, and ends it once `stop` is set. Returns its status and standard error.
fn wait(command: &mut Command, stop: &AtomicBool) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    /// The time between two looks at the process and at `stop`.
    const PAUSE: Duration = Duration::from_millis(20);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let stderr = child.stderr.take();
    std::thread::scope(|scope| {
        // Read all the time, or the process would wait for room in the pipe.
        let said = scope.spawn(move || -> std::io::Result<Vec<u8>> {
            let mut said = Vec::new();
            stderr.map_or(Ok(0), |mut stderr| stderr.read_to_end(&mut said))?;
            Ok(said)
        });
        let mut ended = child.try_wait()?;
        while ended.is_none() {
            if stop.load(Ordering::Relaxed) {
                child.kill()?;
            }
            std::thread::sleep(PAUSE);
            ended = child.try_wait()?;
        }
        let status = child.wait()?;
        // A signal to all processes of a job may reach this one a moment later than the child.
        if status.code().is_none() {
            (0..50)
                .take_while(|_| !stop.load(Ordering::Relaxed))
                .for_each(|_| std::thread::sleep(PAUSE));
        }
        let said = said
            .join()
            .map_err(|_| std::io::Error::other("the reader of its errors stopped"))?;
        Ok((status, said?))
    })
}

/// Returns the name of a training stage's report, and the origin of the run.
pub(super) fn report_of(entry: &PlanEntry, stage: Stage) -> (&'static str, RunOrigin) {
    let name = if stage == Stage::Sft {
        SFT_REPORT
    } else {
        GRPO_REPORT
    };
    let origin = RunOrigin {
        model_id: entry.model.clone(),
        world: entry.world.clone(),
        task: entry.task.clone(),
        rules: entry.rules.clone(),
        command: Some(entry.command(stage)),
    };
    (name, origin)
}

/// Returns the model that a training stage begins with.
pub(super) fn base_of(entry: &PlanEntry, stage: Stage) -> String {
    if stage == Stage::Sft {
        entry.sft.options.run.model.clone()
    } else {
        entry.grpo.options.run.model.clone()
    }
}
