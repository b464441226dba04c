//! `sentinel bound`: upper bounds on the expected score of policies or on the score of episodes, and the
//! distance of the policies of an evaluation from them.

mod evaluation;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use rayon::prelude::*;
use sentinel_base::provenance::Provenance;
use sentinel_base::{CellArgs, Error, arg_parsers, files, selected_tasks};
use sentinel_env::rules::Rules;
use sentinel_env::{Named as _, TaskName, World, WorldName};
use sentinel_policy::Scripted as _;
use serde::Serialize;

use crate::analyze::Analyzed;
use crate::rules::MeanDifference;
use evaluation::PlayedEpisode;

/// Standard errors from the mean to each end of a 95 % interval.
const INTERVAL: f64 = 1.96;

/// The configuration of `sentinel bound`.
#[derive(Clone, Debug, clap::Args)]
pub struct BoundConfig {
    /// The world: trust, where a bound is of all policies that see observations only, or cluster or
    /// polyguard, where it is of the episodes of --eval with everything known
    #[arg(long, value_name = "WORLD", default_value_t, value_parser = arg_parsers::world_parser())]
    pub world: WorldName,
    /// The rules: reference, the default, as in the published system, or hardened; with single changes
    /// as in reference+A or hardened-A-B
    #[arg(long, value_name = "RULES", default_value = "reference")]
    pub rules: String,
    /// Tasks of the world, separated by commas, or all; by default every one, or those of --eval
    #[arg(long, alias = "tasks", value_name = "TASKS")]
    pub task: Option<String>,
    /// Compare with the episodes of this file, which `sentinel eval --streams independent --out FILE`
    /// wrote under the same rules
    #[arg(long, value_name = "FILE")]
    pub eval: Option<PathBuf>,
    /// Largest number of steps to search in an episode; with fewer, bounds are looser (world polyguard)
    #[arg(long, value_name = "N", default_value_t = 300_000)]
    pub search_steps: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the JSON to a file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A world with bounds on scores.
pub trait Bounded: Analyzed {
    /// The word for what one bound is of.
    const CASE: &'static str;

    /// Returns the computations that the bounds of tasks need. `episodes` are the
    /// tasks and seeds to compare with.
    ///
    /// # Errors
    /// Returns an error if there is nothing to compute without episodes.
    fn computations(
        plan: &Plan<Self>,
        episodes: &[(Self::Task, u64)],
    ) -> Result<Vec<Computation>, Error>;

    /// Returns the name of the case that an episode belongs to.
    fn case_of(task: Self::Task, seed: u64) -> String;

    /// Returns the sentence that says what the bounds mean.
    fn describe(bounds: &Bounds) -> String;
}

/// A computation, and the cases that it bounds.
pub struct Computation {
    /// The task and name of each case.
    pub cases: Vec<(&'static str, String)>,
    /// Computes the bound, and says whether it is reached, if that is known.
    pub compute: Box<dyn Fn() -> (f64, Option<bool>) + Send + Sync>,
}

/// The bound of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseBound {
    /// The name of the case: the id of a scenario, or the seed of an episode.
    pub case: String,
    /// The task of the case.
    pub task: &'static str,
    /// The bound on the expected score in this case, 0..=1.
    pub bound: f64,
    /// `true` if a sequence of answers has this score; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_reached: Option<bool>,
}

/// The bounds of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskBound {
    /// The task, or `all` for the mean of several.
    pub task: String,
    /// The mean over the cases.
    pub mean: f64,
    /// The lowest bound of a case.
    pub lowest: f64,
    /// The highest bound of a case.
    pub highest: f64,
}

/// The distance of a policy from the bound, on the episodes that it played.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyGap {
    /// The name of the policy.
    pub policy: String,
    /// `true` if the policy reads hidden state, so that it may be above a bound on others.
    pub is_privileged: bool,
    /// The task, or `all` for the mean of several, by seed.
    pub task: String,
    /// The number of seeds.
    pub seeds: usize,
    /// The mean score over the seeds.
    pub score: f64,
    /// The bound minus the score, by seed; the bound is that of the episode's case.
    pub gap: MeanDifference,
}

/// The bounds, and the policies that are compared with them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The name of the world.
    pub world: &'static str,
    /// `true` if the results are for research only; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub research_only: bool,
    /// The name of the rules.
    pub rules: String,
    /// The means of the tasks, and of all of them.
    pub bounds: Vec<TaskBound>,
    /// The policies of the evaluation, by task; empty without one.
    pub policies: Vec<PolicyGap>,
    /// The bound of each case.
    pub cases: Vec<CaseBound>,
    /// The provenance of the program.
    pub sentinel: Provenance,
}

/// A comparison that was checked, before the bounds are computed.
#[derive(Debug)]
pub struct Plan<W: World> {
    /// The rules of the episodes.
    pub rules: Rules<W::Change>,
    /// The tasks of the bounds.
    pub tasks: Vec<W::Task>,
    /// The largest number of steps to search in an episode.
    pub search_steps: u64,
    episodes: Vec<PlayedEpisode<W>>,
}

impl<W: Bounded> Plan<W> {
    /// Resolves the options and reads the evaluation.
    ///
    /// # Errors
    /// Returns an error if the world has no such rules or tasks, if the file to write is something
    /// else, or if the evaluation cannot be compared: it is of another world, of other rules, of
    /// `reference` streams or of another difficulty.
    pub fn new(config: &BoundConfig) -> Result<Self, Error> {
        if let Some(path) = &config.out {
            files::check_replaces(path, "a table of bounds", &["bounds", "cases"])?;
        }
        let rules = arg_parsers::parse_rules::<W>(&config.rules)?;
        let named = (config.task.as_deref())
            .map(|named| selected_tasks::<W>(Some(named), &CellArgs::default()))
            .transpose()?;
        let episodes = match &config.eval {
            None => Vec::new(),
            Some(path) => evaluation::read::<W>(path, rules, named.as_deref())?,
        };
        let mut played: Vec<W::Task> = episodes.iter().map(|episode| episode.task).collect();
        played.sort_unstable();
        played.dedup();
        let tasks = match named {
            Some(named) => named,
            None if played.is_empty() => W::Task::ALL.to_vec(),
            None => played,
        };
        Ok(Self {
            rules,
            tasks,
            search_steps: config.search_steps,
            episodes,
        })
    }

    /// Returns the computations that the bounds need.
    ///
    /// # Errors
    /// Returns an error if the world needs an evaluation and there is none.
    pub fn computations(&self) -> Result<Vec<Computation>, Error> {
        let mut episodes: Vec<(W::Task, u64)> = (self.episodes.iter())
            .map(|episode| (episode.task, episode.seed))
            .collect();
        episodes.sort_unstable();
        episodes.dedup();
        W::computations(self, &episodes)
    }

    /// Compares the policies of the evaluation with bounds, which [`compute`] returned.
    #[must_use]
    pub fn compare(&self, mut cases: Vec<CaseBound>) -> Bounds {
        let place = |name: &str| self.tasks.iter().position(|task| task.name() == name);
        // Seeds are in the order of numbers.
        cases.sort_by_cached_key(|one| (place(one.task), one.case.len(), one.case.clone()));
        Bounds {
            world: W::NAME,
            research_only: W::RESEARCH_ONLY,
            rules: self.rules.to_string(),
            bounds: self.task_bounds(&cases),
            policies: self.gaps(&cases),
            cases,
            sentinel: Provenance::new(),
        }
    }

    /// Returns the means of the tasks that have bounds, and of all of them.
    fn task_bounds(&self, cases: &[CaseBound]) -> Vec<TaskBound> {
        let of = |name: &str, is_meant: &dyn Fn(&str) -> bool| {
            let bounds: Vec<f64> = (cases.iter())
                .filter(|case| is_meant(case.task))
                .map(|case| case.bound)
                .collect();
            (!bounds.is_empty()).then(|| TaskBound {
                task: name.to_owned(),
                mean: bounds.iter().sum::<f64>() / bounds.len() as f64,
                lowest: bounds.iter().copied().fold(1.0, f64::min),
                highest: bounds.iter().copied().fold(0.0, f64::max),
            })
        };
        let names = self.tasks.iter().map(|task| task.name());
        let mut rows: Vec<TaskBound> = names
            .filter_map(|name| of(name, &|task| task == name))
            .collect();
        if rows.len() > 1 {
            rows.extend(of("all", &|_| true));
        }
        rows
    }

    /// Returns the distances of each policy, in the order of the evaluation.
    fn gaps(&self, cases: &[CaseBound]) -> Vec<PolicyGap> {
        let bounds: BTreeMap<(&str, &str), f64> = (cases.iter())
            .map(|case| ((case.task, case.case.as_str()), case.bound))
            .collect();
        let mut policies: Vec<&str> = Vec::new();
        for episode in &self.episodes {
            if !policies.contains(&episode.policy.as_str()) {
                policies.push(&episode.policy);
            }
        }
        let mut gaps = Vec::new();
        for policy in policies {
            let is_privileged =
                W::PolicyName::parse(policy).is_some_and(|name| name.is_privileged());
            let of_task = |task: &W::Task| {
                let played = self
                    .episodes
                    .iter()
                    .filter(|episode| episode.policy == policy && episode.task == *task);
                let distances = played.filter_map(|episode| {
                    let case = W::case_of(*task, episode.seed);
                    let bound = bounds.get(&(task.name(), case.as_str()))?;
                    let distance = Distance {
                        score: episode.score,
                        gap: bound - episode.score,
                    };
                    Some((episode.seed, distance))
                });
                (task.name(), distances.collect::<BySeed>())
            };
            let tasks: Vec<(&str, BySeed)> = (self.tasks.iter().map(of_task))
                .filter(|(_, distances)| !distances.is_empty())
                .collect();
            let row = |(task, distances): &(&str, BySeed)| {
                PolicyGap::new(policy, is_privileged, task, distances)
            };
            gaps.extend(tasks.iter().map(row));
            if tasks.len() > 1 {
                gaps.extend(mean_over_tasks(&tasks).map(|all| row(&("all", all))));
            }
        }
        gaps
    }
}

/// Computes bounds in parallel, and calls `done` with the cases of each computation.
#[must_use]
pub fn compute(
    computations: &[Computation],
    done: &(dyn Fn(&[CaseBound]) + Sync),
) -> Vec<CaseBound> {
    let one = |computation: &Computation| {
        let (bound, is_reached) = (computation.compute)();
        let cases = computation.cases.iter().map(|(task, case)| CaseBound {
            case: case.clone(),
            task,
            bound,
            is_reached,
        });
        let cases: Vec<CaseBound> = cases.collect();
        done(&cases);
        cases
    };
    // No thread is left with several long ones in the end.
    computations
        .par_iter()
        .with_max_len(1)
        .flat_map_iter(one)
        .collect()
}

/// The score of an episode, and its distance to the bound.
#[derive(Clone, Copy, Debug)]
struct Distance {
    score: f64,
    gap: f64,
}

/// The distances of a policy in the episodes of a task, by seed.
type BySeed = BTreeMap<u64, Distance>;

/// Returns the mean over tasks for each seed; `None` if not all tasks have the same seeds. Episodes of
/// one seed can have the same hidden state and draws in every task, so that their scores depend on each
/// other.
fn mean_over_tasks(tasks: &[(&str, BySeed)]) -> Option<BySeed> {
    let (_, first) = tasks.first()?;
    let same = |(_, other): &(&str, BySeed)| other.keys().eq(first.keys());
    let mean = |seed: &u64| {
        let of_seed = || {
            tasks
                .iter()
                .filter_map(|(_, distances)| distances.get(seed))
        };
        let count = tasks.len() as f64;
        let distance = Distance {
            score: of_seed().map(|one| one.score).sum::<f64>() / count,
            gap: of_seed().map(|one| one.gap).sum::<f64>() / count,
        };
        (*seed, distance)
    };
    tasks
        .iter()
        .all(same)
        .then(|| first.keys().map(mean).collect())
}

impl PolicyGap {
    fn new(policy: &str, is_privileged: bool, task: &str, distances: &BySeed) -> Self {
        let all = distances.values();
        Self {
            policy: policy.to_owned(),
            is_privileged,
            task: task.to_owned(),
            seeds: distances.len(),
            score: MeanDifference::from_values(all.clone().map(|one| one.score)).mean,
            gap: MeanDifference::from_values(all.map(|one| one.gap)),
        }
    }
}

impl Bounds {
    /// Returns the bounds as JSON, indented by two, with a final line break.
    ///
    /// # Errors
    /// Returns the error of serialization, which bounds do not cause.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// Returns the bounds as two tables.
#[must_use]
pub fn format_table<W: Bounded>(bounds: &Bounds) -> String {
    let width = bounds.bounds.iter().map(|row| row.task.len()).max();
    let tasks = width.unwrap_or(0).max("task".len()) + 1;
    let mut text = format!(
        "{}\n\n{:<tasks$} bound   by {}\n",
        W::describe(bounds),
        "task",
        W::CASE
    );
    for row in &bounds.bounds {
        // Writing to a string does not fail.
        _ = writeln!(
            text,
            "{:<tasks$} {:.4}  {:.4} to {:.4}",
            row.task, row.mean, row.lowest, row.highest
        );
    }
    if !bounds.policies.is_empty() {
        let width = bounds.policies.iter().map(|row| row.policy.len()).max();
        let width = width.unwrap_or(0).max("policy".len());
        _ = writeln!(
            text,
            "\n{:<width$}  {:<tasks$}  seeds   score  bound minus score (95 %)",
            "policy", "task"
        );
        for row in &bounds.policies {
            let interval = if row.seeds > 1 {
                format!("± {:.4}", INTERVAL * row.gap.se)
            } else {
                "one seed".to_owned()
            };
            let note = if row.is_privileged {
                "  (sees hidden state)"
            } else {
                ""
            };
            _ = writeln!(
                text,
                "{:<width$}  {:<tasks$} {:>6}  {:.4}  {:>7.4} {interval}{note}",
                row.policy, row.task, row.seeds, row.score, row.gap.mean,
            );
        }
    }
    text
}
