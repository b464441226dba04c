//! `sentinel lm rollout`: the bookkeeping of training. With --dry-run a script is in the model's place, to
//! see that everything fits before a model is loaded (spec evaluation §3).

use rayon::prelude::*;
use sentinel_env::Named;
use sentinel_env::Origin;
use sentinel_env::World;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::num::round_to;
use sentinel_env::rng::{PyRandom, Streams};
use sentinel_env::rules::Rules;
use sentinel_env::slot::argmax;
use sentinel_env::trust::{Action, Observation, Setup, TrustEnv};
use sentinel_env::{WorldName, in_world};
use sentinel_policy::Scripted;
use sentinel_policy::text::{InvalidReward, PromptState, PromptStyle, Reader, TextWorld};
use serde::Serialize;

use super::{RolloutConfig, RolloutError, Script, Signals, Trajectory, rollout};
use crate::args;
use crate::corpus::parse_invalid;
use crate::episode::with_default;
use crate::trainable::Trainable;
use crate::{EpisodeArgs, Error, Progress, SeedRange};

/// The seeds that are played by default.
const SEEDS: SeedRange = SeedRange::new(0, 5);

/// What to play.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |arg| with_default(arg, SEEDS)))]
pub struct RolloutArgs {
    /// Who stands in for a model: coin, the script of the reference's dry run (world trust), or a policy of the
    /// world [default: coin in trust, random elsewhere]
    #[arg(long)]
    pub policy: Option<String>,
    /// How an observation is put into words
    #[arg(long, value_name = "STYLE", default_value_t, value_parser = args::named::<PromptStyle>())]
    pub prompt: PromptStyle,
    /// How a completion is read: repair leaves out what is around the action
    #[arg(long, value_name = "READER", default_value_t, value_parser = args::named::<Reader>())]
    pub reader: Reader,
    /// Reward of a completion that is no action and ends its sample, from -1 to 0
    #[arg(long, value_name = "REWARD", default_value = "0", allow_hyphen_values = true,
        value_parser = parse_invalid)]
    pub invalid_penalty: InvalidReward,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DryRun {
    /// Episodes.
    pub episodes: usize,
    /// Mean score, four decimals.
    pub avg_score: f64,
    /// The world.
    pub world: WorldName,
    /// Who played, or stood in for a model.
    pub policy: String,
    /// What to watch.
    pub signals: Signals,
}

/// The script of the reference's dry run: the most trusted slot; from stakes of .70 on a coin
/// decides whether it is verified. One stream of draws serves all episodes, in their order.
#[derive(Clone, Debug)]
pub struct StandIn(PyRandom);

impl StandIn {
    /// The name on the command line.
    pub const NAME: &'static str = "coin";

    /// Draws from the stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(PyRandom::new(seed))
    }

    /// What it does.
    pub fn choose(&mut self, o: &Observation) -> Action {
        let slot = argmax(&o.ledger.snapshot().0);
        if o.stakes >= HIGH_STAKES && self.0.random() < 0.5 {
            Action::Verify(slot)
        } else {
            Action::Delegate(slot)
        }
    }
}

/// The reference's dry run on setups, one episode after the other.
///
/// # Errors
/// Not for a script, which completes each prompt.
pub fn reference_dry_run(
    setups: &[Setup],
    seed: u64,
    rollout_config: RolloutConfig,
    progress: Progress<'_>,
) -> Result<Vec<Trajectory<TrustEnv>>, RolloutError> {
    let mut stand_in = StandIn::new(seed);
    let mut played = Vec::with_capacity(setups.len());
    for setup in setups {
        let mut script = Script {
            style: rollout_config.style,
            choose: |_, s: &PromptState<TrustEnv>| stand_in.choose(s.observation()),
        };
        let start = vec![PromptState::new(setup)];
        played.extend(rollout(start, rollout_config, &mut script, progress)?);
    }
    Ok(played)
}

/// Plays the dry run.
///
/// # Errors
/// If the world has no such policy, tasks, rules or streams.
pub fn dry_run(config: &RolloutArgs, progress: Progress<'_>) -> Result<DryRun, Error> {
    let is_coin = |name: &str| name == StandIn::NAME;
    let by_coin = config.policy.as_deref().is_none_or(is_coin);
    if config.episode.world == WorldName::Trust && by_coin {
        let setups = config.setups::<TrustEnv>()?;
        let seed = config.seed_range().range().start;
        let played = reference_dry_run(&setups, seed, config.rollout_config(), progress);
        return Ok(config.found(StandIn::NAME, &played.map_err(stopped)?));
    }
    in_world!(config.episode.world, W => scripted::<W>(config, progress))
}

fn stopped(error: RolloutError) -> Error {
    Error::argument("--policy", error.to_string())
}

fn scripted<W: TextWorld + Trainable>(
    config: &RolloutArgs,
    progress: Progress<'_>,
) -> Result<DryRun, Error> {
    let name = config.policy.as_deref().unwrap_or(W::ROLES.random);
    let policy = args::policy::<W>(name)?;
    let rollout_config = config.rollout_config();
    let setups = config.setups::<W>()?;
    let one = |setup: &W::Setup| {
        let mut player = policy.start(setup);
        let mut script = Script {
            style: rollout_config.style,
            // Requested only while the episode goes on, when every player has an action.
            choose: |_, s: &PromptState<W>| {
                let action = player.act(s.episode());
                action.unwrap_or_else(|| W::fallback(s.observation()))
            },
        };
        rollout(
            vec![PromptState::new(setup)],
            rollout_config,
            &mut script,
            progress,
        )
    };
    let played: Result<Vec<_>, _> = setups.par_iter().map(one).collect();
    let played: Vec<Trajectory<W>> = played.map_err(stopped)?.into_iter().flatten().collect();
    Ok(config.found(policy.name(), &played))
}

impl RolloutArgs {
    /// The seeds to play.
    #[must_use]
    pub fn seed_range(&self) -> SeedRange {
        self.episode.seeds_or(SEEDS)
    }

    /// How prompts are made, completions read and unreadable ones rewarded.
    #[must_use]
    pub const fn rollout_config(&self) -> RolloutConfig {
        RolloutConfig {
            style: self.prompt,
            reader: self.reader,
            invalid: self.invalid_penalty,
        }
    }

    /// What is played where nothing is said of tasks; without it all that the world has.
    const fn usual(&self) -> Option<&'static str> {
        match self.episode.world {
            WorldName::Trust | WorldName::Cluster => Some("task3"),
            _ => None,
        }
    }

    /// In the order task, seed.
    pub(crate) fn setups<W: World>(&self) -> Result<Vec<W::Setup>, Error> {
        let rules: Rules<W::Change> = self.episode.rules::<W>()?;
        let streams = self.episode.streams_or::<W>(Streams::Reference)?;
        let tasks = self.episode.tasks_or::<W>(self.usual())?;
        let seeds = || self.seed_range().range();
        let setup = |task: W::Task| {
            seeds().map(move |seed| {
                Origin::<W> {
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

    pub(crate) fn found<W: TextWorld>(&self, policy: &str, played: &[Trajectory<W>]) -> DryRun {
        let signals = Signals::from_trajectories(played);
        DryRun {
            episodes: played.len(),
            avg_score: round_to(signals.avg_score, 4),
            world: self.episode.world,
            policy: policy.to_owned(),
            signals,
        }
    }
}
