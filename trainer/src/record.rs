//! `sentinel record`: plays a policy and writes down its actions as a replay.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Setup, Task};
use sentinel_policy::replay::{Replay, ReplayRow, record_episode, to_lines};
use sentinel_policy::{Model, Player, PolicyName, Trained};

use crate::args::{parse_policy, parse_streams};
use crate::compact::TrainError;
use crate::compact::run::load;
use crate::verify::{FileReport, verify_all};
use crate::{Error, Progress, SeedRange, Tasks, files, manifest};

/// What to record.
#[derive(Clone, Debug, clap::Args)]
pub struct RecordConfig {
    /// Who plays: random, heuristic, heuristic_70, oracle_lite, self_solve or bayes
    #[arg(long, value_parser = parse_policy, required_unless_present = "model")]
    pub policy: Option<PolicyName>,
    /// The folder of a trained model that plays instead
    #[arg(long, value_name = "DIR", conflicts_with = "policy")]
    pub model: Option<PathBuf>,
    /// task1, task2, task3, several with commas between, or all
    #[arg(long, alias = "task", value_name = "TASKS", default_value = "all")]
    pub tasks: Tasks,
    /// Seeds: A..B without B, or A..=B with B
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub seeds: SeedRange,
    /// How random streams are seeded: reference or independent
    #[arg(long, value_name = "MODE", default_value = "reference", value_parser = parse_streams)]
    pub streams: Streams,
    /// The replay to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Overwrite a file that is there already
    #[arg(long)]
    pub force: bool,
    /// List the file here, with this command; a manifest lies in the folder of its replays
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
}

impl fmt::Display for RecordConfig {
    /// The command that makes the file again, for the manifest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tasks, streams) = (&self.tasks.name, self.streams.name());
        let who = match (&self.model, self.policy) {
            (Some(folder), _) => format!("--model {}", quoted(&folder.display().to_string())),
            (None, policy) => format!("--policy {}", policy.map_or("", PolicyName::name)),
        };
        write!(
            f,
            "sentinel record {who} --tasks {tasks} --seeds {} --streams {streams} --out {}",
            self.seeds,
            quoted(&self.out.display().to_string())
        )?;
        match &self.manifest {
            Some(path) => write!(f, " --manifest {}", quoted(&path.display().to_string())),
            None => Ok(()),
        }
    }
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@:,".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Records, writes the file, and verifies what was written. The file is written whole or not at
/// all.
///
/// # Errors
/// If the file is there already, or it or the manifest cannot be written.
pub fn record(config: &RecordConfig, progress: Progress<'_>) -> Result<FileReport, TrainError> {
    let existing = config.out.metadata().ok();
    let special = existing.as_ref().is_some_and(|found| !found.is_file());
    files::check_target(&config.out)?;
    if existing.is_some() && !special && !config.force {
        return Err(Error::Exists(config.out.clone()).into());
    }
    if let Some(path) = &config.manifest {
        manifest::check_place(path, &config.out)?;
    }
    let rows = play_all(config, &config.actor()?, progress);
    let text = to_lines(&rows).map_err(Error::from)?;
    let count = rows.len();
    let verification = verify_all(&Replay::of(rows), &|| {});
    let report = FileReport {
        file: config.out.clone(),
        rows: count,
        problem_count: 0,
        problems: Vec::new(),
        verification,
    };
    if config.force || special {
        files::write(&config.out, text.as_bytes())?;
    } else {
        files::create(&config.out, text.as_bytes())?;
    }
    if let Some(path) = &config.manifest {
        manifest::add(
            path,
            &config.out,
            &config.to_string(),
            config.model.as_deref(),
        )?;
    }
    Ok(report)
}

/// Who is recorded.
enum Actor {
    Scripted(PolicyName),
    Trained(Arc<Model>),
}

impl RecordConfig {
    fn actor(&self) -> Result<Actor, TrainError> {
        if let Some(folder) = &self.model {
            return Ok(Actor::Trained(Arc::new(load(folder)?)));
        }
        let missing = TrainError::Option {
            option: "policy",
            allowed: "given, unless --model is",
        };
        self.policy.map(Actor::Scripted).ok_or(missing)
    }
}

impl Actor {
    fn name(&self) -> &str {
        match self {
            Self::Scripted(policy) => policy.name(),
            Self::Trained(model) => &model.config.name,
        }
    }

    fn player(&self, setup: &Setup) -> Player {
        match self {
            Self::Scripted(policy) => policy.player(setup.seed, setup.streams),
            Self::Trained(model) => Player::Public(Box::new(Trained::new(Arc::clone(model)))),
        }
    }
}

/// Rows in the order task, seed, step.
fn play_all(config: &RecordConfig, actor: &Actor, progress: Progress<'_>) -> Vec<ReplayRow> {
    let tasks = &config.tasks.list;
    let episodes: Vec<(Task, u64)> = tasks
        .iter()
        .flat_map(|task| config.seeds.range().map(move |seed| (*task, seed)))
        .collect();
    let played = episodes.into_par_iter().map(|(task, seed)| {
        let setup = Setup::new(task, seed, config.streams);
        let (_, rows) = record_episode(&setup, &mut actor.player(&setup), actor.name());
        progress();
        rows
    });
    played.collect::<Vec<_>>().into_iter().flatten().collect()
}
