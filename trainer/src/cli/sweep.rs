//! The commands of the chain of evidence: sweep, inference with saved artifacts, gate, activation
//! and checks.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Result, bail};
use sentinel_base::Error;
use sentinel_evidence::active_model::{ActivationOptions, ActivationSource, ActiveModel, activate};
use sentinel_evidence::artifact::ArtifactKind;
use sentinel_evidence::artifact_index::{ArtifactIndex, INDEX_FILE, parse_link};
use sentinel_evidence::check::{CheckOptions, EPISODES_DEFAULT, check_folder};
use sentinel_evidence::gate::{GATE_REPORT, GateOptions};
use sentinel_evidence::run_paths::{CHECKPOINTS_DIR, REPORTS_DIR, RESULTS_DIR, RunPathArgs};
use sentinel_evidence::{active_model, gate, json_file};
use sentinel_language::training::Event;
use sentinel_run::distributed::refuse_ranks;
use sentinel_trainer::sweep::{
    self, ImprovementArgs, PlanEntry, PostSaveArgs, SweepActivity, SweepArgs, SweepEvent,
    SweepOptions, memory,
};

use super::interrupt::{Interrupted, on_interrupt};
use super::output::{note, print};
use super::progress_bar::EpisodeBar;

/// The environment variables that have the effect of --allow-fallback.
const FALLBACK: [&str; 2] = [
    "SENTINEL_ALLOW_TRAIN_FALLBACK",
    "POLYGUARD_ALLOW_TRAIN_FALLBACK",
];
/// The environment variable that makes the gate require links.
const ENFORCE_LINKS: &str = "POLYGUARD_ENFORCE_SUBMISSION_LINKS";
const GIB: f64 = (1_u64 << 30) as f64;
/// The seconds between two lines about the steps of a run.
const PAUSE: u64 = 10;

/// The command line of `sentinel sweep`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SweepCommand {
    #[command(flatten)]
    sweep: SweepArgs,
    /// Maximum number of concurrent runs; fewer if memory is short
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Memory that the runs may use together, in GiB; a run that needs more is refused [default:
    /// what this machine has free; a run that may need more runs alone]
    #[arg(long, value_name = "GIB")]
    memory: Option<f64>,
    /// Print the commands of every run and their memory, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Rerun stages whose options or inputs have changed
    #[arg(long, alias = "force")]
    overwrite_output_dir: bool,
}

/// The command line of `sentinel gate`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GateCommand {
    /// Also check log-probabilities, that every sample is valid, and that the artifacts are those of
    /// the reports
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    paths: RunPathArgs,
    /// Folder of committed results, with the index whose links may be required
    #[arg(long, value_name = "DIR", default_value = RESULTS_DIR)]
    results_dir: PathBuf,
    /// Print the verdict as JSON
    #[arg(long)]
    json: bool,
}

/// The command line of `sentinel activate`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ActivateCommand {
    /// Place of the run: a run of a sweep, or the run at the top level
    #[arg(long, value_name = "PLACE", default_value = "sweep",
        value_parser = ActivationSource::ALL.map(ActivationSource::name))]
    source: String,
    /// Id of the run
    #[arg(long, alias = "run", value_name = "ID")]
    run_id: String,
    /// Artifact that is loaded
    #[arg(long, value_name = "ARTIFACT", default_value = "grpo_adapter",
        value_parser = ArtifactKind::ALL.map(ArtifactKind::name))]
    preferred_artifact: String,
    /// Display name of the model [default: the id and the artifact]
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Activate a run that the gate did not accept
    #[arg(long)]
    allow_rejected: bool,
    /// Folder that holds the reports
    #[arg(long, value_name = "DIR", default_value = REPORTS_DIR)]
    reports_dir: PathBuf,
    /// Folder that holds the checkpoints
    #[arg(long, value_name = "DIR", default_value = CHECKPOINTS_DIR)]
    checkpoints_dir: PathBuf,
    /// Folder of committed results, for a copy of the manifest if it exists
    #[arg(long, value_name = "DIR", default_value = RESULTS_DIR)]
    results_dir: PathBuf,
}

/// The command line of `sentinel model-status`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StatusCommand {
    /// Folder that holds the checkpoints
    #[arg(long, value_name = "DIR", default_value = CHECKPOINTS_DIR)]
    checkpoints_dir: PathBuf,
    /// Print the manifest as JSON
    #[arg(long)]
    json: bool,
}

/// The command line of `sentinel check`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckCommand {
    /// Folder with the replay of the trained policy and charts/
    #[arg(value_name = "DIR", default_value = RESULTS_DIR)]
    folder: PathBuf,
    /// Further folder with files that the charts were drawn from; may be repeated
    #[arg(long, value_name = "DIR")]
    inputs: Vec<PathBuf>,
    /// Number of seeds of the evaluation
    #[arg(long, value_name = "N", default_value_t = EPISODES_DEFAULT,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    episodes: u64,
    /// Write the list of the folder's files, artifact_index.json, in place of the check
    #[arg(long)]
    index: bool,
    /// Link to add to the list: NAME=URL; may be repeated
    #[arg(long, value_name = "NAME=URL", requires = "index", value_parser = parse_link)]
    link: Vec<(String, String)>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `sentinel sweep`, which runs the chain for several models.
pub(crate) fn sweep(command: &SweepCommand) -> Result<()> {
    let mut args = command.sweep.clone();
    args.allow_fallback |= FALLBACK.iter().any(|name| is_set(name));
    let plan = args.plan()?;
    let bound = match command.memory {
        Some(gib) if gib.is_finite() && gib > 0.0 => Some((gib * GIB) as u128),
        Some(_) => bail!("invalid value for --memory: it should be a number above 0"),
        None => memory::available_bytes(),
    };
    if command.jobs == 0 {
        bail!("invalid value for --jobs: it should be at least 1");
    }
    if command.dry_run {
        return print(&described(&plan.entries, bound));
    }
    refuse_ranks("sentinel sweep")?;
    let options = SweepOptions {
        jobs: command.jobs,
        memory: bound,
        refuse_too_large: command.memory.is_some(),
        overwrite: command.overwrite_output_dir,
        program: std::env::current_exe().map_err(Error::Output)?,
    };
    let stop = on_interrupt()?;
    let view = Lines::default();
    let outcome = sweep::run(&plan, &options, stop, &|event| view.show(event))?;
    let mut text = String::new();
    for (what, ids) in [
        ("finished", &outcome.finished),
        ("interrupted", &outcome.interrupted),
    ] {
        for id in ids {
            text.push_str(&format!("{what:<12} {id}\n"));
        }
    }
    for (id, reason) in &outcome.failed {
        text.push_str(&format!("{:<12} {id}: {reason}\n", "failed"));
    }
    print(&text)?;
    if !outcome.interrupted.is_empty() {
        note("stopped: run the same command again to continue");
        return Err(Interrupted.into());
    }
    if !outcome.failed.is_empty() {
        let (failed, all) = (outcome.failed.len(), plan.entries.len());
        bail!("{failed} of {all} runs failed: run the same command again to continue them");
    }
    Ok(())
}

/// Returns the commands of a plan, and the memory of each run.
fn described(entries: &[PlanEntry], bound: Option<u128>) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let gib = |bytes: u128| format!("{:.2} GiB", bytes as f64 / GIB);
    let mut text = String::new();
    for (index, entry) in entries.iter().enumerate() {
        let need = memory::needed_bytes(entry, cores).map_or_else(|| "unknown".to_owned(), gib);
        let (id, model) = (&entry.id, &entry.model);
        text.push_str(&format!(
            "{index}: run {id}, model {model}, memory {need}\n"
        ));
        for stage in entry.stages() {
            text.push_str(&format!(
                "  {:<12} {}\n",
                stage.name(),
                entry.command(stage)
            ));
        }
    }
    let bound = bound.map_or_else(|| "unknown".to_owned(), gib);
    text.push_str(&format!("memory for all runs together: {bound}\n"));
    text
}

/// Returns `true` if an environment variable is `true` or 1.
fn is_set(name: &str) -> bool {
    let said = std::env::var(name).unwrap_or_default();
    said.eq_ignore_ascii_case("true") || said == "1"
}

/// The progress of a sweep as lines; those of training steps at intervals.
#[derive(Default)]
struct Lines {
    last: Mutex<Option<Instant>>,
}

impl Lines {
    fn show(&self, event: &SweepEvent<'_>) {
        let stage = event.stage.map_or("run", sweep::Stage::name);
        let place = format!("{} {stage}", event.run);
        match event.activity {
            SweepActivity::Started(true) => note(&format!("{place}: continues")),
            SweepActivity::Started(false) => note(&format!("{place}: begins")),
            SweepActivity::TooLarge(reason) => note(&format!("{place}: warning: {reason}")),
            SweepActivity::Skipped => note(&format!("{place}: finished before")),
            SweepActivity::Finished(seconds) => note(&format!("{place}: done in {seconds:.1} s")),
            SweepActivity::Failed(reason) => note(&format!("{place}: failed: {reason}")),
            SweepActivity::Interrupted => note(&format!("{place}: interrupted")),
            SweepActivity::Training(event) => self.training(&place, event),
        }
    }

    fn training(&self, place: &str, event: &Event) {
        match event {
            Event::Started { fallback: true, .. } => note(&format!(
                "{place}: fallback: the run uses a stand-in, which sentinel.json in its folder names"
            )),
            Event::Warning { step: 0, text } => note(&format!("{place}: {text}")),
            Event::Step { step, metrics, .. } => {
                let mut last = match self.last.lock() {
                    Ok(last) => last,
                    Err(poisoned) => poisoned.into_inner(),
                };
                if last.is_none_or(|last| last.elapsed().as_secs() >= PAUSE) {
                    *last = Some(Instant::now());
                    let shown = ["loss", "reward", "rollout/score"];
                    let shown = shown.iter().filter_map(|name| {
                        let value = metrics.get(*name)?;
                        Some(format!(" {name} {value:.4}"))
                    });
                    let shown: String = shown.collect();
                    note(&format!("{place}: step {step}{shown}"));
                }
            }
            _ => {}
        }
    }
}

/// Runs `sentinel lm postsave`, which completes prompts with saved artifacts.
pub(crate) fn postsave(args: &PostSaveArgs) -> Result<()> {
    let mut args = args.clone();
    args.allow_fallback |= FALLBACK.iter().any(|name| is_set(name));
    let report = sweep::postsave(&args)?;
    let mut text = String::new();
    for attempt in &report.attempts {
        let (artifact, error) = (attempt.artifact, &attempt.error);
        text.push_str(&format!("{artifact} could not be loaded: {error}\n"));
    }
    text.push_str(&format!(
        "{} answered: {} of {} completions are an action, mean reward {:.4}\n",
        report.model_source, report.valid, report.samples, report.mean_reward
    ));
    if let Some(latency) = report.latency_ms {
        text.push_str(&format!(
            "latency in ms: mean {:.1}, median {:.1}, p95 {:.1}, max {:.1}\n",
            latency.mean, latency.p50, latency.p95, latency.max
        ));
    }
    if let Some(found) = report.logprob_difference {
        text.push_str(&format!(
            "log-probabilities compared with {}: {:.1e} at most, {:.1e} in the mean, {} tokens\n",
            found.compared_with, found.max, found.mean, found.tokens
        ));
    }
    print(&text)
}

/// Runs `sentinel lm compare`, which compares SFT and GRPO.
pub(crate) fn improvement(args: &ImprovementArgs) -> Result<()> {
    let bar = EpisodeBar::new(None);
    // It has no state to save, so a signal ends the program as usual.
    let report = sweep::improvement(args, &AtomicBool::new(false), &|| bar.step())?;
    drop(bar);
    let interval = report.interval.map_or_else(
        || "no interval".to_owned(),
        |[low, high]| format!("95 % interval {low:+.4} to {high:+.4}"),
    );
    print(&format!(
        "{}: SFT {:.4}, GRPO {:.4}, difference {:+.4}, {interval}, {} pairs\n",
        if report.improved {
            "improved"
        } else {
            "not improved"
        },
        report.baseline_mean,
        report.candidate_mean,
        report.difference,
        report.pairs
    ))
}

/// Runs `sentinel gate`, which judges the reports of a run.
pub(crate) fn gate(command: &GateCommand) -> Result<()> {
    let paths = command.paths.paths()?;
    if !paths.reports.is_dir() {
        let folder = paths.reports.display();
        bail!(
            "{folder}: there is no such folder; make it with `sentinel sweep`, or name a run with --run"
        );
    }
    let links = is_set(ENFORCE_LINKS).then(|| command.results_dir.join(INDEX_FILE));
    let options = GateOptions {
        strict: command.strict,
        links,
    };
    let mut report = gate::gate(&paths, &options);
    let strict = if command.strict { " --strict" } else { "" };
    report.provenance.command = Some(format!("sentinel gate{strict}{}", paths.options()));
    json_file::write_json(&paths.report(GATE_REPORT), &report)?;
    if command.json {
        print(&(serde_json::to_string_pretty(&report)? + "\n"))?;
    } else {
        print(&report.table())?;
    }
    if report.accepted {
        Ok(())
    } else {
        bail!(
            "the gate refused the run: see {}",
            paths.report(GATE_REPORT).display()
        )
    }
}

/// Runs `sentinel activate`, which sets the active model.
pub(crate) fn activate_model(command: &ActivateCommand) -> Result<()> {
    let unknown = || Error::Argument {
        option: "--source and --preferred-artifact",
        reason: "see --help".to_owned(),
    };
    let options = ActivationOptions {
        source: ActivationSource::parse(&command.source).ok_or_else(unknown)?,
        run_id: command.run_id.clone(),
        preferred: ArtifactKind::parse(&command.preferred_artifact).ok_or_else(unknown)?,
        label: command.label.clone(),
        allow_rejected: command.allow_rejected,
        reports_dir: command.reports_dir.clone(),
        checkpoints_dir: command.checkpoints_dir.clone(),
        results_dir: command.results_dir.clone(),
    };
    let (model, written) = activate(&options)?;
    let written: Vec<String> = (written.iter())
        .map(|path| format!("wrote {}\n", path.display()))
        .collect();
    print(&format!("{}\n{}", model.describe(), written.concat()))
}

/// Runs `sentinel model-status`, which prints the active model and checks its files.
pub(crate) fn model_status(command: &StatusCommand) -> Result<()> {
    let path = active_model::manifest_path(&command.checkpoints_dir);
    let Some(model) = ActiveModel::read_manifest(&command.checkpoints_dir)? else {
        bail!(
            "no model is active: {} does not exist; activate one with `sentinel activate`",
            path.display()
        );
    };
    if command.json {
        print(&(serde_json::to_string_pretty(&model)? + "\n"))?;
    } else {
        let order: Vec<&str> = model.load_order.iter().map(|kind| kind.name()).collect();
        let mut text = format!("{}\n", model.describe());
        text.push_str(&format!("model      {}\n", model.artifact.model));
        if let Some(adapter) = &model.artifact.adapter {
            text.push_str(&format!("adapter    {}\n", adapter.display()));
        }
        text.push_str(&format!("load order {}\n", order.join(", ")));
        let (world, task, rules) = (&model.world, &model.task, &model.rules);
        text.push_str(&format!("trained in {world}, task {task}, {rules} rules\n"));
        for fallback in &model.provenance.fallbacks {
            text.push_str(&format!("{fallback}\n"));
        }
        print(&text)?;
    }
    model.verify()?;
    if command.json {
        Ok(())
    } else {
        print(&format!(
            "{} files are as they were when it was activated\n",
            model.digests.len()
        ))
    }
}

/// Runs `sentinel check`, which checks the success criteria of a folder, or lists its files.
pub(crate) fn check(command: &CheckCommand) -> Result<()> {
    if command.index {
        return index(command);
    }
    let report = check_folder(&CheckOptions {
        folder: command.folder.clone(),
        inputs: command.inputs.clone(),
        episodes: command.episodes,
    })?;
    if command.json {
        print(&(serde_json::to_string_pretty(&report)? + "\n"))?;
    } else {
        print(&report.table())?;
    }
    if report.passed {
        Ok(())
    } else {
        bail!("{} does not meet all criteria", command.folder.display())
    }
}

/// Writes the list of a folder's files; links of an earlier list are kept.
fn index(command: &CheckCommand) -> Result<()> {
    let path = command.folder.join(INDEX_FILE);
    let mut found = ArtifactIndex::from_folder(&command.folder)?;
    if path.exists() {
        found.links = ArtifactIndex::load(&path)?.links;
    }
    found.links.extend(command.link.iter().cloned());
    found.provenance.command = Some(format!(
        "sentinel check --index {}",
        command.folder.display()
    ));
    json_file::write_json(&path, &found)?;
    let (path, files, links) = (path.display(), found.files.len(), found.links.len());
    print(&format!("wrote {path}: {files} files, {links} links\n"))
}
