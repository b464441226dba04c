//! `sentinel eval`: policies on the same seeds, summarized as the reference does (spec
//! evaluation §1).

mod diagnostics;
mod origin;
mod summary;
mod table;
mod trained_source;

pub(crate) use diagnostics::task_of;
pub use diagnostics::{Diagnostics, DiagnosticsSums, EpisodeFacts, StepFacts};
pub use origin::EvalOrigin;
pub(crate) use summary::or_empty;
pub use summary::{Difficulty, DifficultyState, Evaluated, Evaluation, OrderedMap, ReplayUse};
pub use table::format_table;
pub use trained_source::{DEFAULT_REPLAY, TrainedSource, load_model};

use sentinel_env::EpisodeSpec;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sentinel_env::adaptive_difficulty::{DifficultyController, DifficultyProfile};
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_policy::policy::Player;
use sentinel_policy::replay::{Replay, play_replay};
use sentinel_policy::rollout::EpisodeRun;
use sentinel_policy::{Scripted, run_episode};

use crate::arg_parsers::parse_fraction;
use crate::episode_args::with_default;
use crate::{EpisodeArgs, Error, EvalPolicy, Progress, SeedRange, files};

/// The seeds that are played by default.
const SEEDS: SeedRange = SeedRange::new(0, 20);

/// The configuration of `sentinel eval`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |arg| with_default(arg, SEEDS)))]
pub struct EvalConfig {
    /// Policies to play, separated by commas: those of the world, and trained (see --model and
    /// --replay)
    #[arg(long, value_name = "LIST")]
    pub policies: Option<String>,
    /// Adapt the difficulty to the detection rate, separately for each task and policy
    #[arg(long)]
    pub adaptive: bool,
    /// Stakes from which the adversary poisons, instead of .70; observations include this value
    #[arg(long, value_name = "STAKES", conflicts_with = "adaptive", value_parser = parse_fraction)]
    pub adversary_threshold: Option<f64>,
    /// The folder of the model that plays as policy `trained`
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub model: Option<PathBuf>,
    /// The recorded actions that policy `trained` plays [default: replays/trained.jsonl]
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Write everything as JSON with the reference's keys
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
}

impl EvalConfig {
    /// Returns the seeds to play.
    #[must_use]
    pub fn seed_range(&self) -> SeedRange {
        self.episode.seeds_or(SEEDS)
    }

    /// Returns the difficulty of an evaluation that does not adapt it.
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

/// The plan of an evaluation: tasks, streams, rules and policies that the world knows.
#[derive(Clone, Debug)]
pub struct Plan<'a, W: Evaluated> {
    /// The configuration as it was given.
    pub config: &'a EvalConfig,
    /// The tasks to play, in order.
    pub tasks: Vec<W::Task>,
    /// The mode in which random streams are seeded.
    pub streams: Streams,
    /// The rules of every episode.
    pub rules: Rules<W::Change>,
    /// The policies to play, in order.
    pub policies: Vec<EvalPolicy<W>>,
}

impl EvalConfig {
    /// Resolves the names of tasks, streams, rules and policies.
    ///
    /// # Errors
    /// Returns an error if the world does not have one of them.
    pub fn plan<W: Evaluated>(&self) -> Result<Plan<'_, W>, Error> {
        let policies = self.policies.as_deref().unwrap_or(W::DEFAULT_POLICIES);
        for (option, given) in [
            ("--adaptive", self.adaptive),
            ("--adversary-threshold", self.adversary_threshold.is_some()),
        ] {
            if given && W::ADAPTIVE.is_none() {
                let reason = format!("world {} has no adaptive difficulty", W::NAME);
                return Err(Error::argument(option, reason));
            }
        }
        Ok(Plan {
            config: self,
            tasks: self.episode.tasks_or::<W>(W::DEFAULT_TASK)?,
            streams: self.episode.streams_or::<W>(Streams::Reference)?,
            rules: self.episode.rules::<W>()?,
            policies: EvalPolicy::parse_list(policies)?,
        })
    }
}

impl<W: Evaluated> Plan<'_, W> {
    /// Returns the number of episodes to play.
    #[must_use]
    pub fn episodes(&self) -> u64 {
        let blocks = self.policies.len() * self.tasks.len();
        self.config.seed_range().count() * blocks as u64
    }

    fn setup(&self, task: W::Task, seed: u64, profile: DifficultyProfile) -> W::Setup {
        let setup = EpisodeSpec::<W> {
            task,
            seed,
            streams: self.streams,
            rules: self.rules,
        }
        .setup();
        match W::ADAPTIVE {
            Some(adaptive) => (adaptive.with_difficulty)(&setup, profile),
            None => setup,
        }
    }
}

/// Checks that writing to `path` overwrites nothing but an earlier evaluation.
///
/// # Errors
/// Returns an error if the file exists and is something else, such as a replay, or cannot be
/// written.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    files::check_replaces(path, "an evaluation", &["summary", "episodes"])
}

/// The row of an episode, with the counts of its replay and what it adds to the diagnostics.
#[derive(Clone, Debug)]
pub(crate) struct PlayedEpisode<W: Evaluated> {
    row: W::Row,
    replay: ReplayCounts,
    facts: Option<EpisodeFacts>,
}

/// The counts of recorded and missing actions in one episode of policy `trained`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReplayCounts {
    hits: usize,
    misses: usize,
    mismatches: usize,
    fallbacks: usize,
}

/// The episodes of one policy on one task, and the difficulty after them.
pub(crate) struct Block<W: Evaluated> {
    task: W::Task,
    policy: EvalPolicy<W>,
    played: Vec<PlayedEpisode<W>>,
    difficulty: Option<DifficultyProfile>,
}

/// Plays all episodes, in parallel over cores; rows come in the order task, policy, seed. `trained`
/// is the source of the policy of that name; without one every step of it is a replay miss.
#[must_use]
pub fn evaluate<W: Evaluated>(
    plan: &Plan<'_, W>,
    trained: Option<&TrainedSource<W>>,
    progress: Progress<'_>,
) -> Evaluation<W> {
    let seeds = plan.config.seed_range();
    let one = |task, policy, seed, profile| {
        let (run, played) = play_one(policy, &plan.setup(task, seed, profile), trained);
        progress();
        (run, played)
    };
    let tasks = plan.tasks.iter();
    let pairs: Vec<(W::Task, EvalPolicy<W>)> = tasks
        .flat_map(|task| plan.policies.iter().map(move |policy| (*task, *policy)))
        .collect();
    let blocks = pairs.into_par_iter().map(|(task, policy)| {
        if plan.config.adaptive {
            let (played, difficulty) = adaptive(seeds, |seed, at| one(task, policy, seed, at));
            return Block {
                task,
                policy,
                played,
                difficulty: Some(difficulty),
            };
        }
        let at = plan.config.profile();
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
    Evaluation::new(plan, blocks.collect(), trained)
}

/// Plays episodes one after the other, each at the difficulty that the earlier ones led to.
fn adaptive<W: Evaluated>(
    seeds: SeedRange,
    one: impl Fn(u64, DifficultyProfile) -> (EpisodeRun<W>, PlayedEpisode<W>),
) -> (Vec<PlayedEpisode<W>>, DifficultyProfile) {
    let mut controller = DifficultyController::new();
    let mut all = Vec::new();
    for seed in seeds.range() {
        let (run, played) = one(seed, controller.profile(true));
        if let Some(adaptive) = W::ADAPTIVE {
            (adaptive.report_to)(run.episode(), &mut controller);
        }
        all.push(played);
    }
    (all, controller.current_profile())
}

fn play_one<W: Evaluated>(
    policy: EvalPolicy<W>,
    setup: &W::Setup,
    trained: Option<&TrainedSource<W>>,
) -> (EpisodeRun<W>, PlayedEpisode<W>) {
    let act = |mut player: Player<W>| (run_episode(setup, &mut player), ReplayCounts::default());
    let model = match (policy, trained) {
        (EvalPolicy::Trained, Some(TrainedSource::Model { model, .. })) => {
            Some(W::trained_player(model))
        }
        _ => None,
    };
    let (run, replay) = match (policy, model) {
        (EvalPolicy::Scripted(name), _) => act(name.start(setup)),
        (EvalPolicy::Trained, Some(player)) => act(player),
        (EvalPolicy::Trained, None) => {
            let empty = Replay::default();
            let replay = trained.and_then(TrainedSource::replay);
            let played = play_replay(replay.map_or(&empty, |(_, replay)| replay), setup);
            let counts = ReplayCounts {
                hits: played.source.hits().len(),
                misses: played.source.misses().len(),
                mismatches: played.mismatches().count(),
                fallbacks: played.source.fallbacks(),
            };
            (played.run, counts)
        }
    };
    let row = W::episode_row(policy.name(), &run);
    let episode = run.episode();
    let facts = EpisodeFacts::new::<W>(task_of(episode), episode.score(), run.steps());
    (run, PlayedEpisode { row, replay, facts })
}
