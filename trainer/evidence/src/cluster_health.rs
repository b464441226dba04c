//! `sentinel cluster-health`: the health of the cluster after each step, for several policies on
//! the same seeds.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sentinel_base::provenance::Provenance;
use sentinel_base::{EpisodeArgs, Error, EvalPolicy, Progress, SeedRange, arg_parsers, files};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::num::round_to;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::{Environment as _, EpisodeSpec, Task, WorldName};
use sentinel_play::eval::{Evaluated as _, TrainedSource, load_model};
use sentinel_policy::Scripted as _;
use sentinel_policy::policy::Player;
use sentinel_policy::rollout::run_steps;
use serde::{Deserialize, Serialize};

use super::input::{EvidenceError, InputKind};
use super::pairs_as_map;

/// The version of the object `sentinel` of the file.
pub const FORMAT: u32 = 1;
/// The name of the file.
pub const FILE: &str = "cluster_health_history.json";
/// The kind of file that this module writes.
pub(super) const KIND: InputKind = InputKind {
    what: "a history of the cluster's health",
    command: "sentinel cluster-health --out FILE",
};

/// The configuration of `sentinel cluster-health`.
#[derive(Clone, Debug, clap::Args)]
pub struct ClusterHealthConfig {
    /// Policies to play, separated by commas; trained is the model of --model
    #[arg(
        long,
        value_name = "LIST",
        default_value = "random,blind,trust,oracle_lite,planner"
    )]
    pub policies: String,
    /// The folder of the model that plays as policy trained, which is then added to the policies
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
    /// The task of the cluster
    #[arg(long, value_name = "TASK", default_value = "task3")]
    pub task: String,
    /// Seeds to play: A..B without B, or A..=B with B
    #[arg(long, value_name = "A..B", default_value = "0..10")]
    pub seeds: SeedRange,
    /// The maximum number of steps of an episode that are kept, instead of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: Option<u32>,
    /// The rules: reference, the default, as in the published system, or hardened; with single changes
    /// as in reference+A or hardened-A-B
    #[arg(long, value_name = "RULES", default_value = "reference")]
    pub rules: String,
    /// Seeding of the random streams
    #[arg(long, value_name = "MODE", default_value = "reference", value_parser = arg_parsers::named_enum_parser::<Streams>())]
    pub streams: Streams,
    /// The file to write
    #[arg(
        long,
        value_name = "FILE",
        default_value = "outputs/cluster_health_history.json"
    )]
    pub out: PathBuf,
}

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterHealth {
    /// The name of the task.
    pub task: String,
    /// The number of steps of the longest series.
    pub steps: usize,
    /// For each policy the mean health after each step, over the episodes that still run.
    #[serde(with = "pairs_as_map")]
    pub series: Vec<(String, Vec<f64>)>,
    /// The episodes, and where the file comes from. Files of the reference lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel: Option<HealthOrigin>,
}

/// The object `sentinel` of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HealthOrigin {
    /// The version of this object.
    pub format: u32,
    /// The name of the world.
    pub world: String,
    /// The seeds that were played.
    pub seeds: SeedRange,
    /// The mode in which random streams were seeded.
    pub streams: String,
    /// The name of the rules.
    pub rules: String,
    /// The model that played as policy `trained`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// For each policy the health after each step of each episode.
    #[serde(with = "pairs_as_map")]
    pub episodes: Vec<(String, Vec<EpisodeHealth>)>,
    /// The program, the digests of the files that it read, and the fallbacks.
    #[serde(flatten)]
    pub provenance: Provenance,
}

/// The health of the cluster in one episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeHealth {
    /// The seed of the episode.
    pub seed: u64,
    /// The score of the episode.
    pub score: f64,
    /// The health after each step, 0..=1, four decimals.
    pub health: Vec<f64>,
}

impl ClusterHealth {
    /// Reads a file, and checks it.
    ///
    /// # Errors
    /// Returns an error that names the file if it is missing, truncated or without an episode.
    pub fn load(path: &Path) -> Result<Self, EvidenceError> {
        let read: Self = KIND.read(path)?;
        if read.series.iter().all(|(_, values)| values.is_empty()) {
            return Err(EvidenceError::NoEpisodes {
                path: path.to_owned(),
                command: KIND.command,
            });
        }
        let origin = read.sentinel.as_ref();
        for (policy, series) in &read.series {
            let episodes = origin.and_then(|origin| {
                let mut all = origin.episodes.iter();
                all.find(|(name, _)| name == policy)
            });
            if let Some((_, episodes)) = episodes
                && means(episodes) != *series
            {
                let reason = format!("the series of {policy} is not the mean of its episodes");
                return Err(KIND.invalid(path, reason));
            }
        }
        Ok(read)
    }

    /// Returns the file's text: JSON indented by two, with a final line break.
    ///
    /// # Errors
    /// Returns the error of serialization, which a finished history does not cause.
    pub fn to_json(&self) -> Result<String, Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Returns the values of all episodes that have `at`, by step.
pub(super) fn by_step(episodes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let longest = episodes.iter().map(Vec::len).max().unwrap_or(0);
    let at = |step: usize| {
        episodes
            .iter()
            .filter_map(move |one| one.get(step).copied())
    };
    (0..longest).map(|step| at(step).collect()).collect()
}

fn means(episodes: &[EpisodeHealth]) -> Vec<f64> {
    let all: Vec<Vec<f64>> = episodes.iter().map(|one| one.health.clone()).collect();
    let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    by_step(&all)
        .iter()
        .map(|values| round_to(mean(values), 4))
        .collect()
}

/// The policies and the model of a history.
struct Players {
    policies: Vec<EvalPolicy<ClusterEnv>>,
    source: Option<TrainedSource<ClusterEnv>>,
}

impl Players {
    fn new(config: &ClusterHealthConfig) -> Result<Self, Error> {
        let mut policies = EvalPolicy::<ClusterEnv>::parse_list(&config.policies)?;
        let named = policies.contains(&EvalPolicy::Trained);
        let Some(folder) = &config.model else {
            return if named {
                let reason = "policy trained needs --model DIR".to_owned();
                Err(Error::argument("--policies", reason))
            } else {
                let source = None;
                Ok(Self { policies, source })
            };
        };
        if !named {
            policies.push(EvalPolicy::Trained);
        }
        let mut provenance = Provenance::new();
        provenance.add_model("model", folder)?;
        let source = TrainedSource::Model {
            path: folder.clone(),
            model: load_model::<ClusterEnv>(folder)?,
            provenance,
        };
        Ok(Self {
            policies,
            source: Some(source),
        })
    }

    fn player(
        &self,
        policy: EvalPolicy<ClusterEnv>,
        setup: &<ClusterEnv as sentinel_env::Environment>::Setup,
    ) -> Option<Player<ClusterEnv>> {
        match (policy, &self.source) {
            (EvalPolicy::Scripted(name), _) => Some(name.start(setup)),
            (EvalPolicy::Trained, Some(TrainedSource::Model { model, .. })) => {
                Some(ClusterEnv::trained_player(model))
            }
            (EvalPolicy::Trained, _) => None,
        }
    }
}

impl ClusterHealthConfig {
    /// Returns the number of episodes to play.
    ///
    /// # Errors
    /// Returns an error if a policy is unknown.
    pub fn episodes(&self) -> Result<u64, Error> {
        let policies = EvalPolicy::<ClusterEnv>::parse_list(&self.policies)?;
        let added = self.model.is_some() && !policies.contains(&EvalPolicy::Trained);
        Ok((policies.len() as u64 + u64::from(added)) * self.seeds.count())
    }

    fn task(&self) -> Result<Task, Error> {
        let args = EpisodeArgs {
            task: Some(self.task.clone()),
            ..EpisodeArgs::new(WorldName::Cluster)
        };
        match args.tasks_or::<ClusterEnv>(None)?[..] {
            [task] => Ok(task),
            _ => {
                let reason = "a history is of one task".to_owned();
                Err(Error::argument("--task", reason))
            }
        }
    }
}

/// Plays the episodes.
///
/// # Errors
/// Returns an error if a policy, the task or the rules are unknown, or the model cannot be read.
pub fn play(config: &ClusterHealthConfig, progress: Progress<'_>) -> Result<ClusterHealth, Error> {
    let task = config.task()?;
    let rules = arg_parsers::parse_rules::<ClusterEnv>(&config.rules)?;
    let players = Players::new(config)?;
    let seeds: Vec<u64> = config.seeds.range().collect();
    let episodes: Vec<(String, Vec<EpisodeHealth>)> = players
        .policies
        .iter()
        .map(|policy| {
            let one = |seed: &u64| {
                let played = play_one(config, &players, *policy, task, rules, *seed);
                progress();
                played
            };
            let played = seeds.par_iter().map(one).collect();
            (policy.name().to_owned(), played)
        })
        .collect();
    let series: Vec<(String, Vec<f64>)> = episodes
        .iter()
        .map(|(policy, episodes)| (policy.clone(), means(episodes)))
        .collect();
    let source = players.source.as_ref();
    Ok(ClusterHealth {
        task: task.name().to_owned(),
        steps: series
            .iter()
            .map(|(_, values)| values.len())
            .max()
            .unwrap_or(0),
        series,
        sentinel: Some(HealthOrigin {
            format: FORMAT,
            world: WorldName::Cluster.name().to_owned(),
            seeds: config.seeds,
            streams: config.streams.name().to_owned(),
            rules: rules.to_string(),
            model: config.model.as_ref().map(|path| path.display().to_string()),
            episodes,
            provenance: source.map_or_else(Provenance::new, |from| from.provenance().clone()),
        }),
    })
}

fn play_one(
    config: &ClusterHealthConfig,
    players: &Players,
    policy: EvalPolicy<ClusterEnv>,
    task: Task,
    rules: Rules<<ClusterEnv as sentinel_env::World>::Change>,
    seed: u64,
) -> EpisodeHealth {
    let setup = EpisodeSpec::<ClusterEnv> {
        task,
        seed,
        streams: config.streams,
        rules,
    }
    .setup();
    let mut health = Vec::new();
    let mut player = players.player(policy, &setup);
    let episode: ClusterEnv = run_steps(
        &setup,
        |episode| player.as_mut()?.act(episode),
        |episode, _| health.push(round_to(episode.observation().health, 4)),
    );
    health.truncate(config.steps.map_or(usize::MAX, |steps| steps as usize));
    EpisodeHealth {
        seed,
        score: round_to(episode.score(), 4),
        health,
    }
}

/// Checks that the file may be written, before the episodes are played.
///
/// # Errors
/// Returns an error if the path holds something else, or cannot be written.
pub fn check_target(path: &Path) -> Result<(), Error> {
    files::create_folder(files::parent_folder(path))?;
    files::check_replaces(
        path,
        "a history of the cluster's health",
        &["series", "steps"],
    )
}
