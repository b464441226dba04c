//! `sentinel bound`: an upper bound on the mean score of policies that see observations only, in the
//! world `trust`, and the distance of the policies of an evaluation from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sentinel_base::provenance::Provenance;
use sentinel_base::{CellArgs, Error, arg_parsers, files, selected_tasks};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Episode, Rules, Scenario, Setup, Task, TrustEnv};
use sentinel_env::{Environment, World};
use sentinel_policy::trust::{PolicyName, ScoreBound};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rules::MeanDifference;

/// The world that has bounds.
const WORLD: &str = TrustEnv::NAME;

/// Standard errors from the mean to each end of a 95 % interval.
const INTERVAL: f64 = 1.96;

/// The configuration of `sentinel bound`.
#[derive(Clone, Debug, clap::Args)]
pub struct BoundConfig {
    /// The rules: reference, the default, as in the published system, or hardened; with single changes
    /// as in reference+A or hardened-A-B
    #[arg(long, value_name = "RULES", default_value = "reference")]
    pub rules: String,
    /// Tasks of the world, separated by commas, or all
    #[arg(long, alias = "tasks", value_name = "TASKS", default_value = "all")]
    pub task: String,
    /// Compare with the episodes of this file, which `sentinel eval --streams independent --out FILE`
    /// wrote under the same rules
    #[arg(long, value_name = "FILE")]
    pub eval: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the JSON to a file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// The bound of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioBound {
    /// The id of the scenario.
    pub scenario: String,
    /// The task of the scenario.
    pub task: Task,
    /// The variant of the scenario.
    #[serde(skip)]
    variant: u8,
    /// The bound on the mean score, 0..=1.
    pub bound: f64,
}

impl ScenarioBound {
    /// Creates the bound of a scenario.
    #[must_use]
    pub fn new(scenario: &Scenario, bound: f64) -> Self {
        Self {
            scenario: scenario.id(),
            task: scenario.task,
            variant: scenario.variant,
            bound,
        }
    }
}

/// The bounds of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskBound {
    /// The task, or `all` for the mean of several.
    pub task: String,
    /// The mean over the scenarios, which are equally likely.
    pub mean: f64,
    /// The lowest bound of a scenario.
    pub lowest: f64,
    /// The highest bound of a scenario.
    pub highest: f64,
}

/// The distance of a policy from the bound, on the episodes that it played.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyGap {
    /// The name of the policy.
    pub policy: String,
    /// `true` if the policy reads hidden state, so that it may be above the bound.
    pub is_privileged: bool,
    /// The task, or `all` for the mean of several, by seed.
    pub task: String,
    /// The number of seeds.
    pub seeds: usize,
    /// The mean score over the seeds.
    pub score: f64,
    /// The bound minus the score, by seed; the bound is that of the episode's scenario.
    pub gap: MeanDifference,
}

/// The bounds, and the policies that are compared with them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The name of the world.
    pub world: &'static str,
    /// The name of the rules.
    pub rules: String,
    /// The means of the tasks, and of all of them.
    pub bounds: Vec<TaskBound>,
    /// The policies of the evaluation, by task; empty without one.
    pub policies: Vec<PolicyGap>,
    /// The bound of each scenario.
    pub scenarios: Vec<ScenarioBound>,
    /// The provenance of the program.
    pub sentinel: Provenance,
}

/// The part of an evaluation's file that is read.
#[derive(Debug, Deserialize)]
struct EvaluationFile {
    adaptive: bool,
    streams: Option<Streams>,
    rules: Option<String>,
    adversary_threshold: Option<f64>,
    episodes: Vec<PlayedEpisode>,
}

#[derive(Debug, Deserialize)]
struct PlayedEpisode {
    policy: String,
    task_type: String,
    seed: u64,
    score: f64,
}

/// A comparison that was checked, before the bounds are computed.
#[derive(Debug)]
pub struct Plan {
    rules: Rules,
    tasks: Vec<Task>,
    episodes: Vec<PlayedEpisode>,
}

impl Plan {
    /// Resolves the options and reads the evaluation.
    ///
    /// # Errors
    /// Returns an error if the world has no such rules or tasks, if the file to write is something
    /// else, or if the evaluation cannot be compared: it is of another world, of other rules, of
    /// `reference` streams or of another difficulty.
    pub fn new(config: &BoundConfig) -> Result<Self, Error> {
        if let Some(path) = &config.out {
            files::check_replaces(path, "a table of bounds", &["bounds", "scenarios"])?;
        }
        let rules = arg_parsers::parse_rules::<TrustEnv>(&config.rules)?;
        let tasks = selected_tasks::<TrustEnv>(Some(&config.task), &CellArgs::default())?;
        let episodes = match &config.eval {
            None => Vec::new(),
            Some(path) => read_evaluation(path, rules, &tasks)?,
        };
        Ok(Self {
            rules,
            tasks,
            episodes,
        })
    }

    /// Computes the bounds in parallel, one for all scenarios that are equal to the computation, and
    /// calls `done` with these scenarios after each.
    #[must_use]
    pub fn compute(&self, done: &(dyn Fn(&[ScenarioBound]) + Sync)) -> Vec<ScenarioBound> {
        let mut kinds: Vec<(ScoreBound, Vec<Scenario>)> = Vec::new();
        for scenario in Scenario::all().filter(|one| self.tasks.contains(&one.task)) {
            let bound = ScoreBound::new(&scenario, self.rules);
            match kinds.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, scenarios)) => scenarios.push(scenario),
                None => kinds.push((bound, vec![scenario])),
            }
        }
        // Long ones first, so that no thread is left with one in the end.
        kinds.reverse();
        let one = |(bound, scenarios): &(ScoreBound, Vec<Scenario>)| {
            let bound = bound.compute();
            let scenarios = scenarios.iter().map(|one| ScenarioBound::new(one, bound));
            let scenarios: Vec<ScenarioBound> = scenarios.collect();
            done(&scenarios);
            scenarios
        };
        kinds
            .par_iter()
            .with_max_len(1)
            .flat_map_iter(one)
            .collect()
    }

    /// Compares the policies of the evaluation with bounds of scenarios.
    #[must_use]
    pub fn compare(&self, mut scenarios: Vec<ScenarioBound>) -> Bounds {
        scenarios.sort_by_key(|bound| (bound.task as usize, bound.variant));
        Bounds {
            world: WORLD,
            rules: self.rules.to_string(),
            bounds: self.task_bounds(&scenarios),
            policies: self.gaps(&scenarios),
            scenarios,
            sentinel: Provenance::new(),
        }
    }

    fn task_bounds(&self, scenarios: &[ScenarioBound]) -> Vec<TaskBound> {
        let of = |name: &str, tasks: &[Task]| {
            let bounds: Vec<f64> = (scenarios.iter())
                .filter(|scenario| tasks.contains(&scenario.task))
                .map(|scenario| scenario.bound)
                .collect();
            TaskBound {
                task: name.to_owned(),
                mean: bounds.iter().sum::<f64>() / bounds.len().max(1) as f64,
                lowest: bounds.iter().copied().fold(1.0, f64::min),
                highest: bounds.iter().copied().fold(0.0, f64::max),
            }
        };
        let mut rows: Vec<TaskBound> = (self.tasks.iter())
            .map(|task| of(task.name(), &[*task]))
            .collect();
        if self.tasks.len() > 1 {
            rows.push(of("all", &self.tasks));
        }
        rows
    }

    /// Returns the distances of each policy, in the order of the evaluation.
    fn gaps(&self, scenarios: &[ScenarioBound]) -> Vec<PolicyGap> {
        let bounds: BTreeMap<(usize, u8), f64> = (scenarios.iter())
            .map(|one| ((one.task as usize, one.variant), one.bound))
            .collect();
        let mut policies: Vec<&str> = Vec::new();
        for episode in &self.episodes {
            if !policies.contains(&episode.policy.as_str()) {
                policies.push(&episode.policy);
            }
        }
        let mut gaps = Vec::new();
        for policy in policies {
            let of_task = |task: &Task| {
                let played = self
                    .episodes
                    .iter()
                    .filter(|episode| episode.policy == policy && episode.task_type == task.name());
                let distances = played.filter_map(|episode| {
                    let setup = Setup::new(*task, episode.seed, Streams::Independent);
                    let variant = Episode::reset(&setup).scenario().variant;
                    let bound = bounds.get(&(*task as usize, variant))?;
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
            let row = |(task, distances): &(&str, BySeed)| PolicyGap::new(policy, task, distances);
            gaps.extend(tasks.iter().map(row));
            if tasks.len() > 1 {
                gaps.extend(mean_over_tasks(&tasks).map(|all| row(&("all", all))));
            }
        }
        gaps
    }
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
/// one seed have the same assignment and draws in every task, so that their scores are not independent.
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
    fn new(policy: &str, task: &str, distances: &BySeed) -> Self {
        let all = distances.values();
        Self {
            policy: policy.to_owned(),
            is_privileged: PolicyName::parse(policy).is_some_and(|name| name.is_privileged()),
            task: task.to_owned(),
            seeds: distances.len(),
            score: MeanDifference::from_values(all.clone().map(|one| one.score)).mean,
            gap: MeanDifference::from_values(all.map(|one| one.gap)),
        }
    }
}

fn read_evaluation(path: &Path, rules: Rules, tasks: &[Task]) -> Result<Vec<PlayedEpisode>, Error> {
    let refuse = |reason: String| Error::Invalid {
        path: path.to_owned(),
        reason,
    };
    let bytes = std::fs::read(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let unreadable = |error: serde_json::Error| {
        refuse(format!(
            "it is not an evaluation by `sentinel eval` ({error})"
        ))
    };
    let file: Value = serde_json::from_slice(&bytes).map_err(unreadable)?;
    if let Some(world) = file["sentinel"]["world"]
        .as_str()
        .filter(|name| *name != WORLD)
    {
        let reason = format!("its world is {world}, and bounds are of {WORLD}");
        return Err(refuse(reason));
    }
    let file = EvaluationFile::deserialize(file).map_err(unreadable)?;
    let played = file.rules.unwrap_or_else(|| Rules::REFERENCE.to_string());
    let same = Rules::parse(&played).is_ok_and(|played| played == rules);
    if !same {
        return Err(refuse(format!(
            "its rules are {played}: add --rules {played}"
        )));
    }
    if file.streams != Some(Streams::Independent) {
        return Err(refuse(
            "its streams are reference, where the scenario number reveals a slot: play it with \
             --streams independent"
                .to_owned(),
        ));
    }
    if file.adaptive || file.adversary_threshold.is_some() {
        return Err(refuse("its difficulty is not the default".to_owned()));
    }
    let known = |episode: &PlayedEpisode| tasks.iter().any(|t| t.name() == episode.task_type);
    let episodes: Vec<PlayedEpisode> = file.episodes.into_iter().filter(known).collect();
    if episodes.is_empty() {
        return Err(refuse("it has no episode of these tasks".to_owned()));
    }
    Ok(episodes)
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
pub fn format_table(bounds: &Bounds) -> String {
    let mut text = format!(
        "No policy that sees observations only has a higher mean score under the {} rules.\n\n\
         task   bound   by scenario\n",
        bounds.rules
    );
    for row in &bounds.bounds {
        // Writing to a string does not fail.
        _ = writeln!(
            text,
            "{:<6} {:.4}  {:.4} to {:.4}",
            row.task, row.mean, row.lowest, row.highest
        );
    }
    if !bounds.policies.is_empty() {
        let width = bounds.policies.iter().map(|row| row.policy.len()).max();
        let width = width.unwrap_or(0).max("policy".len());
        _ = writeln!(
            text,
            "\n{:<width$}  task    seeds   score  bound minus score (95 %)",
            "policy"
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
                "{:<width$}  {:<6} {:>6}  {:.4}  {:>7.4} {interval}{note}",
                row.policy, row.task, row.seeds, row.score, row.gap.mean,
            );
        }
    }
    text
}
