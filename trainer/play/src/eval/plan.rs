//! The configuration of an evaluation, and the plan of tasks, streams, rules and policies that follows
//! from it.

use std::path::PathBuf;

use sentinel_base::arg_parsers::parse_fraction;
use sentinel_base::episode_args::with_default;
use sentinel_base::{EpisodeArgs, Error, EvalPolicy, SeedRange};
use sentinel_env::EpisodeSpec;
use sentinel_env::adaptive_difficulty::DifficultyProfile;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;

use super::summary::Evaluated;

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

    /// Returns the difficulty of an evaluation that does not adapt it.
    pub(super) fn profile(&self) -> DifficultyProfile {
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

impl<W: Evaluated> Plan<'_, W> {
    /// Returns the number of episodes to play.
    #[must_use]
    pub fn episodes(&self) -> u64 {
        let blocks = self.policies.len() * self.tasks.len();
        self.config.seed_range().count() * blocks as u64
    }

    pub(super) fn setup(&self, task: W::Task, seed: u64, profile: DifficultyProfile) -> W::Setup {
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
