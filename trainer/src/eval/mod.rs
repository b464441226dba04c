//! `sentinel eval`: policies on the same seeds, summed up as the reference does (spec
//! training-eval §1).

mod summary;
mod table;
mod trained;

pub use summary::{Difficulty, Evaluation, Ordered, PolicySummary, ReplayUse, State};
pub use table::table;
pub use trained::{DEFAULT_REPLAY, Source};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use sentinel_env::controller::{Controller, DifficultyProfile};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Session, Setup, Task};
use sentinel_policy::replay::{Replay, play};
use sentinel_policy::{EpisodeRow, Player, Trained, run_episode};

use crate::args::{parse_fraction, parse_streams};
use crate::{Contestant, Error, Policies, Progress, SeedRange, Tasks};

/// What to evaluate.
#[derive(Clone, Debug, clap::Args)]
pub struct EvalConfig {
    /// task1, task2, task3, several with commas between, or all
    #[arg(long, alias = "tasks", value_name = "TASK", default_value = "task3")]
    pub task: Tasks,
    /// Episodes for each policy and task, on the seeds 0..N
    #[arg(long, value_name = "N", default_value = "20", conflicts_with = "seeds",
        allow_hyphen_values = true, value_parser = SeedRange::first)]
    pub episodes: SeedRange,
    /// Seeds instead of --episodes: A..B without B, or A..=B with B
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub seeds: Option<SeedRange>,
    /// Who plays: random, heuristic, heuristic_70, oracle_lite, self_solve, bayes,
    /// trained (see --model and --replay)
    #[arg(
        long,
        value_name = "LIST",
        default_value = "random,heuristic,oracle_lite"
    )]
    pub policies: Policies,
    /// How random streams are seeded: reference, because the published numbers use it, or
    /// independent, where the scenario number betrays no identity: for claims about learning
    #[arg(long, value_name = "MODE", default_value = "reference", value_parser = parse_streams)]
    pub streams: Streams,
    /// Difficulty follows the detection rate, anew for each task and policy
    #[arg(long)]
    pub adaptive: bool,
    /// Stakes from which the adversary poisons, instead of .70: observations say so
    #[arg(long, value_name = "STAKES", conflicts_with = "adaptive", value_parser = parse_fraction)]
    pub adversary_threshold: Option<f64>,
    /// The folder of the model that policy `trained` is
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub model: Option<PathBuf>,
    /// The recorded actions that policy `trained` plays [default: replays/trained.jsonl]
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Write everything as JSON with the reference's keys
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl EvalConfig {
    /// The seeds to play.
    #[must_use]
    pub fn seed_range(&self) -> SeedRange {
        self.seeds.unwrap_or(self.episodes)
    }

    /// The difficulty of an evaluation that does not adapt it.
    fn profile(&self) -> DifficultyProfile {
        let usual = DifficultyProfile::default();
        DifficultyProfile {
            adversarial_threshold: self
                .adversary_threshold
                .unwrap_or(usual.adversarial_threshold),
            ..usual
        }
    }
}

/// Makes sure that writing to `path` destroys nothing but an earlier evaluation.
///
/// # Errors
/// If the file is there and is something else, a replay for instance.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    if !path.exists() {
        return Ok(());
    }
    let text = std::fs::read(path).unwrap_or_default();
    let earlier = serde_json::from_slice::<serde_json::Value>(&text).ok();
    let is_ours = |v: &serde_json::Value| v.get("summary").is_some() && v.get("episodes").is_some();
    // An empty file holds nothing that could be lost.
    if text.is_empty() || earlier.as_ref().is_some_and(is_ours) {
        Ok(())
    } else {
        Err(Error::Precious(path.to_owned()))
    }
}

/// One episode that was played.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    row: EpisodeRow,
    replay: ReplayCounts,
}

/// How one episode of policy `trained` fits its replay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReplayCounts {
    hits: usize,
    misses: usize,
    mismatches: usize,
}

/// The episodes of one policy on one task, and the difficulty after them.
pub(crate) struct Block {
    task: Task,
    policy: Contestant,
    played: Vec<Played>,
    difficulty: Option<DifficultyProfile>,
}

/// Plays all episodes. `trained` serves the policy of that name, which misses every step without.
///
/// Spread over cores; rows come in the order task, policy, seed.
#[must_use]
pub fn evaluate(
    config: &EvalConfig,
    trained: Option<&Source>,
    progress: Progress<'_>,
) -> Evaluation {
    let seeds = config.seed_range();
    let one = |task, policy, seed, profile| {
        let setup = Setup {
            profile,
            ..Setup::new(task, seed, config.streams)
        };
        let (session, played) = play_one(policy, &setup, trained);
        progress();
        (session, played)
    };
    let pairs: Vec<(Task, Contestant)> = (config.task.list.iter())
        .flat_map(|task| config.policies.0.iter().map(move |policy| (*task, *policy)))
        .collect();
    let blocks = pairs.into_par_iter().map(|(task, policy)| {
        if config.adaptive {
            let (played, difficulty) = adaptive(seeds, |seed, at| one(task, policy, seed, at));
            return Block {
                task,
                policy,
                played,
                difficulty: Some(difficulty),
            };
        }
        let at = config.profile();
        let played = seeds
            .range()
            .into_par_iter()
            .map(|seed| one(task, policy, seed, at).1);
        Block {
            task,
            policy,
            played: played.collect(),
            difficulty: None,
        }
    });
    Evaluation::of(config, blocks.collect(), trained)
}

/// Episodes one after the other, each at the difficulty that those before it led to.
fn adaptive(
    seeds: SeedRange,
    one: impl Fn(u64, DifficultyProfile) -> (Session, Played),
) -> (Vec<Played>, DifficultyProfile) {
    let mut controller = Controller::new();
    let mut all = Vec::new();
    for seed in seeds.range() {
        let (session, played) = one(seed, controller.profile(true));
        session.episode().report_to(&mut controller);
        all.push(played);
    }
    (all, controller.state())
}

fn play_one(policy: Contestant, setup: &Setup, trained: Option<&Source>) -> (Session, Played) {
    let act = |mut player: Player| (run_episode(setup, &mut player), ReplayCounts::default());
    let (session, replay) = match (policy, trained) {
        (Contestant::Scripted(name), _) => act(name.player(setup.seed, setup.streams)),
        (Contestant::Trained, Some(Source::Model(_, model))) => {
            act(Player::Public(Box::new(Trained::new(Arc::clone(model)))))
        }
        (Contestant::Trained, recorded) => {
            let empty = Replay::default();
            let replay = recorded.and_then(Source::replay);
            let played = play(replay.map_or(&empty, |(_, replay)| replay), setup);
            let counts = ReplayCounts {
                hits: played.source.hits().len(),
                misses: played.source.misses().len(),
                mismatches: played.mismatches().count(),
            };
            (played.session, counts)
        }
    };
    let row = EpisodeRow::of(policy.name(), &session);
    (session, Played { row, replay })
}
