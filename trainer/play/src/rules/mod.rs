//! `sentinel rules`: the effect of each change of the rules on each policy, and a verdict on the
//! rules: better policies should score better, and no constant policy should beat the heuristic.

mod table;
mod verdict;

pub use table::format_table;
pub use verdict::{Cell, MeanDifference, OrderedPair, RuleSetVerdict};

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sentinel_base::arg_parsers::parse_list;
use sentinel_base::episode_args::with_default;
use sentinel_base::provenance::Provenance;
use sentinel_base::{EpisodeArgs, Error, Progress, SeedRange, arg_parsers, files};
use sentinel_env::rng::Streams;
use sentinel_env::rules::{RuleChange, Rules};
use sentinel_env::{EpisodeSpec, Named, TaskName as _, WorldName};
use sentinel_policy::policy::Player;
use sentinel_policy::rollout::run_score;
use sentinel_policy::{ConstantPolicy, Playable, Scripted};
use serde::Serialize;

/// The seeds that are played by default.
const SEEDS: SeedRange = SeedRange::new(1_000, 1_500);
/// The value of `--rules` that selects the reference, the hardened rules, and all sets one change
/// away.
const FAMILY: &str = "family";

/// The configuration of `sentinel rules`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    mut_arg("seeds", |arg| with_default(arg, SEEDS)),
    mut_arg("rules", |arg| arg.default_value(FAMILY).value_name("LIST").help(
        "Rules to compare, separated by commas, or family: reference, each change added to it alone, \
         hardened, and hardened without each change"
    ))
)]
pub struct RulesConfig {
    /// Policies to play, separated by commas: those of the world, constant ones among them, or the
    /// words roles and constants
    #[arg(long, value_name = "LIST", default_value = "roles,constants")]
    pub policies: String,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the JSON to a file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
}

impl RulesConfig {
    /// Returns the seeds to play.
    #[must_use]
    pub fn seeds(&self) -> SeedRange {
        self.episode.seeds_or(SEEDS)
    }
}

/// A policy of the comparison.
#[derive(Clone, Debug)]
enum ComparedPolicy<W: Playable> {
    Scripted(W::PolicyName),
    Constant(ConstantPolicy<W>),
}

// A derive would require the same trait of `W`.
impl<W: Playable> PartialEq for ComparedPolicy<W> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scripted(a), Self::Scripted(b)) => a == b,
            (Self::Constant(a), Self::Constant(b)) => a == b,
            _ => false,
        }
    }
}

impl<W: Playable> ComparedPolicy<W> {
    fn name(&self) -> &str {
        match self {
            Self::Scripted(policy) => policy.name(),
            Self::Constant(constant) => &constant.name,
        }
    }

    fn player(&self, setup: &W::Setup) -> Player<W> {
        match self {
            Self::Scripted(policy) => policy.start(setup),
            Self::Constant(constant) => constant.player(),
        }
    }
}

/// A set of rules, and the set without its change that it is compared with.
#[derive(Clone, Debug, PartialEq)]
struct Set<W: Playable> {
    rules: Rules<W::Change>,
    base: Option<Rules<W::Change>>,
}

/// The plan of a comparison: rules, policies, tasks and streams that the world knows.
#[derive(Clone, Debug)]
pub struct Comparison<W: Playable> {
    sets: Vec<Set<W>>,
    players: Vec<ComparedPolicy<W>>,
    tasks: Vec<W::Task>,
    streams: Streams,
}

impl<W: Playable> Comparison<W> {
    /// Resolves the names of rules, policies, tasks and streams.
    ///
    /// # Errors
    /// Returns an error if the world does not have one of them.
    pub fn new(config: &RulesConfig) -> Result<Self, Error> {
        Ok(Self {
            sets: sets::<W>(&config.episode.rules)?,
            players: players::<W>(&config.policies)?,
            tasks: config.episode.tasks_or::<W>(None)?,
            streams: config.episode.streams_or::<W>(Streams::Independent)?,
        })
    }

    /// Returns the number of episodes to play.
    #[must_use]
    pub fn episodes(&self, config: &RulesConfig) -> u64 {
        let cells = self.sets.len() * self.players.len() * self.tasks.len();
        cells as u64 * config.seeds().count()
    }
}

fn sets<W: Playable>(named: &str) -> Result<Vec<Set<W>>, Error> {
    let (reference, hardened) = (Rules::REFERENCE, Rules::HARDENED);
    let found = match named {
        FAMILY => {
            let all = || W::Change::ALL.iter().copied();
            let added = all().map(|change| reference.with(change));
            let left_out = all().map(|change| hardened.without(change));
            let family = std::iter::once(reference).chain(added);
            family.chain([hardened]).chain(left_out).collect()
        }
        text => parse_list("rules", text, |word| {
            Rules::parse(word).map_err(|e| e.to_string())
        })
        .map_err(|reason| Error::argument("--rules", reason))?,
    };
    let base = |rules: Rules<W::Change>| match rules.changes().count() {
        0 => None,
        1 => Some(reference),
        _ => Some(hardened).filter(|hardened| *hardened != rules),
    };
    let mut sets: Vec<Set<W>> = Vec::new();
    for rules in found {
        // In a world with few changes, two expressions may mean the same rules.
        if sets.iter().all(|set| set.rules != rules) {
            let base = base(rules).filter(|base| sets.iter().any(|set| set.rules == *base));
            sets.push(Set { rules, base });
        }
    }
    Ok(sets)
}

fn players<W: Playable>(named: &str) -> Result<Vec<ComparedPolicy<W>>, Error> {
    let constants = || W::constants().into_iter().map(ComparedPolicy::Constant);
    let mut found: Vec<ComparedPolicy<W>> = Vec::new();
    for word in named.split(',').map(str::trim) {
        let add: Vec<ComparedPolicy<W>> = match word {
            "constants" => constants().collect(),
            // A role may name a policy that this build lacks.
            "roles" => (W::ROLES.in_order().into_iter())
                .filter_map(W::PolicyName::parse)
                .map(ComparedPolicy::Scripted)
                .collect(),
            _ => match constants().find(|who| who.name() == word) {
                Some(constant) => vec![constant],
                None => vec![ComparedPolicy::Scripted(
                    arg_parsers::parse_policies_entry::<W>(word)?,
                )],
            },
        };
        for who in add {
            if !found.contains(&who) {
                found.push(who);
            }
        }
    }
    Ok(found)
}

/// The result of a comparison of rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// The world that was played.
    pub world: WorldName,
    /// The mode in which random streams were seeded.
    pub streams: Streams,
    /// The seeds that were played.
    pub seeds: SeedRange,
    /// The name and description of each change.
    pub changes: Vec<(&'static str, &'static str)>,
    /// The names of the policies, in order.
    pub policies: Vec<String>,
    /// The names of the rules, in order.
    pub rules: Vec<String>,
    /// The cells: by rules, then policy, then task.
    pub cells: Vec<Cell>,
    /// The tasks in the order of the world.
    #[serde(skip)]
    pub tasks: Vec<&'static str>,
    /// The verdicts: by rules, then task.
    pub verdicts: Vec<RuleSetVerdict>,
    /// The provenance of the program.
    pub sentinel: Provenance,
}

/// Checks that writing to `path` overwrites nothing but an earlier comparison.
///
/// # Errors
/// Returns an error if the file exists and is something else, or cannot be written.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    files::check_replaces(path, "a comparison of rules", &["cells", "verdicts"])
}

/// Plays all episodes in parallel over cores and returns the findings.
#[must_use]
pub fn compare<W: Playable>(
    config: &RulesConfig,
    comparison: &Comparison<W>,
    progress: Progress<'_>,
) -> Findings {
    let mut cells = Vec::new();
    for set in &comparison.sets {
        let mut of_set: Vec<Cell> = Vec::new();
        for who in &comparison.players {
            for task in &comparison.tasks {
                of_set.push(cell((config, comparison), set, who, *task, progress));
            }
        }
        let base = set.base.map(|base| base.to_string());
        for cell in &mut of_set {
            let same = |other: &&Cell| {
                Some(&other.rules) == base.as_ref()
                    && (&other.policy, other.task) == (&cell.policy, cell.task)
            };
            let before = cells.iter().find(same);
            cell.effect =
                before.map(|before| MeanDifference::between(&before.scores, &cell.scores));
        }
        cells.extend(of_set);
    }
    let rules: Vec<String> = (comparison.sets.iter())
        .map(|set| set.rules.to_string())
        .collect();
    let verdicts = rules.iter().flat_map(|rules| {
        let tasks = comparison.tasks.iter();
        tasks.map(|task| RuleSetVerdict::from_cells::<W>(rules, task.name(), &cells))
    });
    let changes = W::Change::ALL.iter();
    let mut tasks = comparison.tasks.clone();
    tasks.sort_unstable();
    Findings {
        world: config.episode.world,
        streams: comparison.streams,
        seeds: config.seeds(),
        changes: changes.map(|c| (c.name(), c.describe())).collect(),
        policies: (comparison.players.iter())
            .map(|who| who.name().to_owned())
            .collect(),
        tasks: tasks.into_iter().map(|task| task.name()).collect(),
        verdicts: verdicts.collect(),
        sentinel: Provenance::new(),
        rules,
        cells,
    }
}

fn cell<W: Playable>(
    (config, comparison): (&RulesConfig, &Comparison<W>),
    set: &Set<W>,
    who: &ComparedPolicy<W>,
    task: W::Task,
    progress: Progress<'_>,
) -> Cell {
    let play = |seed| {
        let setup = EpisodeSpec::<W> {
            task,
            seed,
            streams: comparison.streams,
            rules: set.rules,
        }
        .setup();
        let score = run_score(&setup, &mut who.player(&setup));
        progress();
        score
    };
    let scores: Vec<f64> = config.seeds().range().into_par_iter().map(play).collect();
    // Summed in order, so that the result is the same on any number of cores.
    let MeanDifference { mean, se } = MeanDifference::from_values(scores.iter().copied());
    Cell {
        policy: who.name().to_owned(),
        rules: set.rules.to_string(),
        task: task.name(),
        mean,
        se,
        effect: None,
        scores,
    }
}

impl Findings {
    /// Returns the findings as JSON, indented by two, with a final line break.
    ///
    /// # Errors
    /// Returns the error of serialization, which findings do not cause.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}
