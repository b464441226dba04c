//! The options that select the episodes of a command: one struct for all commands.

use clap::Arg;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::{World, WorldName};
use serde::{Deserialize, Serialize};

use crate::{CellArgs, Error, SeedRange, arg_parsers, selected_tasks, task_selection};

/// The world, rules, tasks, seeds and streams of the episodes that a command plays.
///
/// The defaults differ from command to command: each defines its own, and shows them in its help.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Episodes")]
pub struct EpisodeArgs {
    /// The world to play
    #[arg(long, value_name = "WORLD", default_value_t, value_parser = arg_parsers::world_parser())]
    pub world: WorldName,
    /// The rules: reference, the default, as in the published system, or hardened; with single changes
    /// as in reference+A or hardened-A-B
    #[arg(long, value_name = "RULES", default_value = "reference")]
    pub rules: String,
    /// Tasks of the world, separated by commas, or all
    #[arg(long, alias = "tasks", value_name = "TASKS")]
    pub task: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub cells: CellArgs,
    /// Seeds of each task: A..B without B, or A..=B with B
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub seeds: Option<SeedRange>,
    /// Number of episodes of each task: the default seeds, from the first one on
    #[arg(long, value_name = "N", conflicts_with = "seeds", allow_hyphen_values = true,
        value_parser = parse_count)]
    pub episodes: Option<u64>,
    /// Seeding of the random streams: reference, as the published numbers, or independent, where the
    /// scenario number reveals no identity: for claims about learning
    #[arg(long, value_name = "MODE", value_parser = arg_parsers::named_enum_parser::<Streams>())]
    #[serde(default)]
    pub streams: Option<Streams>,
}

/// A callback that is called after each episode, by any of the threads that play.
pub type Progress<'a> = &'a (dyn Fn() + Sync);

/// Parses a number of episodes.
fn parse_count(text: &str) -> Result<u64, crate::seeds::SeedError> {
    SeedRange::from_count(text).map(SeedRange::count)
}

/// Adds a default to an option's help, for an option that the command line leaves empty.
pub fn with_default(arg: Arg, default: impl std::fmt::Display) -> Arg {
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
            cells: CellArgs::default(),
            seeds: None,
            episodes: None,
            streams: None,
        }
    }

    /// Returns the seeds to play; `default` are those of the command.
    #[must_use]
    pub fn seeds_or(&self, default: SeedRange) -> SeedRange {
        let start = default.range().start;
        let counted = |count| SeedRange::new(start, start.saturating_add(count));
        self.seeds
            .or_else(|| self.episodes.map(counted))
            .unwrap_or(default)
    }

    /// Returns the parsed rules.
    ///
    /// # Errors
    /// Returns an error if the world has no such rules.
    pub fn rules<W: World>(&self) -> Result<Rules<W::Change>, Error> {
        arg_parsers::parse_rules::<W>(&self.rules)
    }

    /// Returns the tasks to play in their order; `default` are those of the command by name, `None`
    /// for all of the world.
    ///
    /// # Errors
    /// Returns an error if the world has no such tasks.
    pub fn tasks_or<W: World>(&self, default: Option<&str>) -> Result<Vec<W::Task>, Error> {
        selected_tasks::<W>(self.task.as_deref().or(default), &self.cells)
    }

    /// Returns the stream mode; `default` is that of the command, replaced by the world's own
    /// default if the world lacks it.
    ///
    /// # Errors
    /// Returns an error if the world lacks the given mode.
    pub fn streams_or<W: World>(&self, default: Streams) -> Result<Streams, Error> {
        task_selection::streams_or_default::<W>(self.streams, default)
    }
}
