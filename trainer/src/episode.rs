//! The options that say which episodes a command plays: one struct for all of them.

use clap::Arg;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::{World, WorldName};
use serde::{Deserialize, Serialize};

use crate::{Cells, Error, SeedRange, args, chosen, selected};

/// The world, rules, tasks, seeds and streams of the episodes that a command plays.
///
/// What a command plays where nothing is said differs from command to command: each names its own
/// defaults, and shows them in its help.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Episodes")]
pub struct EpisodeArgs {
    /// The world to play
    #[arg(long, value_name = "WORLD", default_value_t, value_parser = args::world())]
    pub world: WorldName,
    /// The rules: reference or hardened, with single changes as in reference+A or hardened-A-B
    #[arg(long, value_name = "RULES", default_value = "reference")]
    pub rules: String,
    /// Tasks of the world with commas between, or all
    #[arg(long, alias = "tasks", value_name = "TASKS")]
    pub task: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub cells: Cells,
    /// Seeds of each task: A..B without B, or A..=B with B
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub seeds: Option<SeedRange>,
    /// Number of episodes of each task: the default seeds, from the first one on
    #[arg(long, value_name = "N", conflicts_with = "seeds", allow_hyphen_values = true,
        value_parser = parse_count)]
    pub episodes: Option<u64>,
    /// How random streams are seeded: reference, because the published numbers use it, or
    /// independent, where the scenario number betrays no identity, for claims about learning
    #[arg(long, value_name = "MODE", value_parser = args::named::<Streams>())]
    #[serde(default)]
    pub streams: Option<Streams>,
}

/// Parses a number of episodes.
fn parse_count(text: &str) -> Result<u64, crate::seeds::SeedError> {
    SeedRange::first(text).map(SeedRange::count)
}

/// Returns the option with a default in its help, for one that the command line leaves empty.
pub(crate) fn with_default(arg: Arg, default: impl std::fmt::Display) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [default: {default}]"))
}

impl EpisodeArgs {
    /// Returns the options of a command line that names only the world.
    #[must_use]
    pub fn new(world: WorldName) -> Self {
        Self {
            world,
            rules: "reference".to_owned(),
            task: None,
            cells: Cells::default(),
            seeds: None,
            episodes: None,
            streams: None,
        }
    }

    /// Returns the seeds to play, where `default` is what the command plays without being told.
    #[must_use]
    pub fn seeds_or(&self, default: SeedRange) -> SeedRange {
        let start = default.range().start;
        let counted = |count| SeedRange::new(start, start.saturating_add(count));
        self.seeds
            .or_else(|| self.episodes.map(counted))
            .unwrap_or(default)
    }

    /// Returns the rules.
    ///
    /// # Errors
    /// If the world has no such rules.
    pub fn rules<W: World>(&self) -> Result<Rules<W::Change>, Error> {
        args::rules::<W>(&self.rules)
    }

    /// Returns the tasks to play in their order, where `default` is what the command plays without being
    /// told: tasks by name, or all of the world.
    ///
    /// # Errors
    /// If the world has no such tasks.
    pub fn tasks_or<W: World>(&self, default: Option<&str>) -> Result<Vec<W::Task>, Error> {
        selected::<W>(self.task.as_deref().or(default), &self.cells)
    }

    /// Returns the stream mode, where `default` is what the command plays without being told, or the
    /// world's own mode where it does not have that one.
    ///
    /// # Errors
    /// If the world does not have the mode that was given.
    pub fn streams_or<W: World>(&self, default: Streams) -> Result<Streams, Error> {
        chosen::streams::<W>(self.streams, default)
    }
}
