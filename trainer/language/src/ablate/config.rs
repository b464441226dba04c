//! The options of an ablation, and its plan.

use std::path::PathBuf;

use sentinel_base::episode_args::with_default;
use sentinel_base::{EpisodeArgs, Error, SeedRange, arg_parsers};
use sentinel_env::WorldName;
use sentinel_env::polyguard::{PolyguardEnv, Rules, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_policy::text::PromptStyle;

use super::rows::RowKey;
use crate::agent::GenerationArgs;

/// The first seed of the range that training never uses.
const HOLDOUT: u64 = 1_000_000;

/// The seeds that are played by default.
const SEEDS: SeedRange = SeedRange::new(HOLDOUT, HOLDOUT + 50);

/// The configuration of `sentinel ablate`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    mut_arg("world", |arg| arg.default_value(WorldName::Polyguard.name()).hide(true)),
    mut_arg("rules", |arg| arg.default_value("hardened")),
    mut_arg("seeds", |arg| with_default(arg, SEEDS)),
    mut_arg("streams", |arg| arg.hide(true))
)]
pub struct AblateConfig {
    /// A language model for the rows that need one: a local folder, or a name on the Hugging Face
    /// Hub
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Prompt style [default: compact]
    #[arg(long, value_name = "STYLE", value_parser = arg_parsers::named_enum_parser::<PromptStyle>(), requires = "model")]
    pub prompt: Option<PromptStyle>,
    /// Write everything as JSON
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub generation: GenerationArgs,
}

impl AblateConfig {
    /// Returns the seeds to play.
    #[must_use]
    pub fn seed_range(&self) -> SeedRange {
        self.episode.seeds_or(SEEDS)
    }

    /// Resolves the names of the rules and cells.
    ///
    /// # Errors
    /// Returns an error if the world is not polyguard, or has no such rules, cells or streams.
    pub fn plan(&self) -> Result<Plan, Error> {
        if self.episode.world != WorldName::Polyguard {
            let reason = "the stack of agents is of world polyguard: leave the option out";
            return Err(Error::argument("--world", reason.to_owned()));
        }
        self.episode
            .streams_or::<PolyguardEnv>(Streams::Independent)?;
        Ok(Plan {
            rules: self.episode.rules::<PolyguardEnv>()?,
            cells: self.episode.tasks_or::<PolyguardEnv>(None)?,
            seeds: self.seed_range(),
        })
    }
}

/// The plan of an ablation: rules, cells and seeds that the world knows.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rules of every episode.
    pub rules: Rules,
    /// The cells to play, in order.
    pub cells: Vec<TaskSpec>,
    /// The seeds that are played in each cell.
    pub seeds: SeedRange,
}

impl Plan {
    /// Returns the number of episodes to play.
    #[must_use]
    pub fn episodes(&self, with_model: bool) -> u64 {
        let rows = RowKey::all().filter(|row| with_model || !row.needs_model());
        rows.count() as u64 * self.cells.len() as u64 * self.seeds.count()
    }
}
