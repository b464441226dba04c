//! `sentinel lm rollout`: the bookkeeping of training. With --dry-run a script takes the model's
//! place, to check that everything works before a model is loaded (spec evaluation §3).

use rayon::prelude::*;
use sentinel_base::episode_args::with_default;
use sentinel_base::{EpisodeArgs, Error, Progress, SeedRange, arg_parsers};
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::num::round_to;
use sentinel_env::rng::{PyRandom, Streams};
use sentinel_env::rules::Rules;
use sentinel_env::slot::argmax;
use sentinel_env::trust::{Action, Observation, Setup, TrustEnv};
use sentinel_env::{EpisodeSpec, Named, World, WorldName, in_world};
use sentinel_policy::Scripted;
use sentinel_policy::text::{InvalidReward, PromptState, TextWorld};
use serde::Serialize;

use super::play::PromptArgs;
use super::{
    EpisodeSummary, RolloutConfig, RolloutError, RolloutStats, RolloutSums, Script,
    rollout_summaries,
};
use crate::corpus::parse_invalid;
use sentinel_policy::nn::NetworkWorld;

/// The seeds that are played by default.
const SEEDS: SeedRange = SeedRange::new(0, 5);

/// The configuration of `sentinel lm rollout`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |arg| with_default(arg, SEEDS)))]
pub struct RolloutArgs {
    /// The script in the model's place: coin, the reference's dry run (world trust), or a policy of
    /// the world [default: coin in trust, random elsewhere]
    #[arg(long)]
    pub policy: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub prompts: PromptArgs,
    /// Reward of a completion that is not an action and ends its sample, from -1 to 0
    #[arg(long, value_name = "REWARD", default_value = "0", allow_hyphen_values = true,
        value_parser = parse_invalid)]
    pub invalid_penalty: InvalidReward,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
}

/// The result of a rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RolloutReport {
    /// The number of episodes.
    pub episodes: usize,
    /// The mean score, rounded to four decimals.
    pub avg_score: f64,
    /// The world that was played.
    pub world: WorldName,
    /// The name of the model, or of the policy in its place.
    pub policy: String,
    /// The signals of the rollout.
    pub signals: RolloutStats,
}

/// The script of the reference's dry run: the most trusted slot; from stakes of .70 on a coin flip
/// decides whether it is verified. One stream of draws serves all episodes, in their order.
#[derive(Clone, Debug)]
pub struct RandomScript(PyRandom);

impl RandomScript {
    /// The script's name on the command line.
    pub const NAME: &'static str = "coin";

    /// Creates the script with the random stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(PyRandom::new(seed))
    }

    /// Returns the script's action at an observation.
    pub fn choose(&mut self, o: &Observation) -> Action {
        let slot = argmax(&o.ledger.rounded_trust().0);
        if o.stakes >= HIGH_STAKES && self.0.random() < 0.5 {
            Action::Verify(slot)
        } else {
            Action::Delegate(slot)
        }
    }
}

/// Plays the reference's dry run on setups, one episode after the other, and returns its signals.
///
/// # Errors
/// Returns the errors of [`rollout`], which a script does not cause.
fn reference_dry_run(
    setups: &[Setup],
    seed: u64,
    rollout_config: RolloutConfig,
    progress: Progress<'_>,
) -> Result<RolloutStats, RolloutError> {
    let mut stand_in = RandomScript::new(seed);
    let mut sums = RolloutSums::default();
    for setup in setups {
        let mut script = Script {
            style: rollout_config.style,
            choose: |_, s: &PromptState<TrustEnv>| stand_in.choose(s.observation()),
        };
        let start = vec![PromptState::new(setup)];
        for episode in rollout_summaries(start, rollout_config, &mut script, progress)? {
            sums.add(&episode);
        }
    }
    Ok(sums.stats())
}

/// Plays the dry run and returns its result.
///
/// # Errors
/// Returns an error if the world has no such policy, tasks, rules or streams.
pub fn dry_run(config: &RolloutArgs, progress: Progress<'_>) -> Result<RolloutReport, Error> {
    let is_coin = |name: &str| name == RandomScript::NAME;
    let by_coin = config.policy.as_deref().is_none_or(is_coin);
    if config.episode.world == WorldName::Trust && by_coin {
        let setups = config.setups::<TrustEnv>()?;
        let seed = config.seed_range().range().start;
        let signals = reference_dry_run(&setups, seed, config.rollout_config(), progress);
        return Ok(config.summarize(RandomScript::NAME, signals.map_err(stopped)?));
    }
    in_world!(config.episode.world, W => scripted::<W>(config, progress))
}

fn stopped(error: RolloutError) -> Error {
    Error::argument("--policy", error.to_string())
}

fn scripted<W: TextWorld + NetworkWorld>(
    config: &RolloutArgs,
    progress: Progress<'_>,
) -> Result<RolloutReport, Error> {
    let name = config.policy.as_deref().unwrap_or(W::ROLES.random);
    let policy = arg_parsers::parse_policy::<W>(name)?;
    let rollout_config = config.rollout_config();
    let setups = config.setups::<W>()?;
    let one = |setup: &W::Setup| {
        let mut player = policy.start(setup);
        let mut script = Script {
            style: rollout_config.style,
            // Requested only while the episode runs, when every player has an action.
            choose: |_, s: &PromptState<W>| {
                let action = player.act(s.episode());
                action.unwrap_or_else(|| W::fallback(s.observation()))
            },
        };
        rollout_summaries(
            vec![PromptState::new(setup)],
            rollout_config,
            &mut script,
            progress,
        )
    };
    let played: Result<Vec<Vec<EpisodeSummary<W>>>, _> = setups.par_iter().map(one).collect();
    let played = played.map_err(stopped)?;
    let signals = RolloutStats::from_summaries(played.iter().flatten());
    Ok(config.summarize(policy.name(), signals))
}

impl RolloutArgs {
    /// Returns the seeds to play.
    #[must_use]
    pub fn seed_range(&self) -> SeedRange {
        self.episode.seeds_or(SEEDS)
    }

    /// Returns the prompt style, the parser of completions and the reward of invalid ones.
    #[must_use]
    pub const fn rollout_config(&self) -> RolloutConfig {
        self.prompts.rollout_config(self.invalid_penalty)
    }

    /// Returns the default tasks; `None` for all tasks of the world.
    const fn usual(&self) -> Option<&'static str> {
        match self.episode.world {
            WorldName::Trust | WorldName::Cluster => Some("task3"),
            _ => None,
        }
    }

    /// Returns the setups in the order task, seed.
    pub fn setups<W: World>(&self) -> Result<Vec<W::Setup>, Error> {
        let rules: Rules<W::Change> = self.episode.rules::<W>()?;
        let streams = self.episode.streams_or::<W>(Streams::Reference)?;
        let tasks = self.episode.tasks_or::<W>(self.usual())?;
        let seeds = || self.seed_range().range();
        let setup = |task: W::Task| {
            seeds().map(move |seed| {
                EpisodeSpec::<W> {
                    task,
                    seed,
                    streams,
                    rules,
                }
                .setup()
            })
        };
        Ok(tasks.into_iter().flat_map(setup).collect())
    }

    /// Returns the report of a policy with these signals.
    #[must_use]
    pub fn summarize(&self, policy: &str, signals: RolloutStats) -> RolloutReport {
        RolloutReport {
            episodes: signals.episodes,
            avg_score: round_to(signals.avg_score, 4),
            world: self.episode.world,
            policy: policy.to_owned(),
            signals,
        }
    }
}
