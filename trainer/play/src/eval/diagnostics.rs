//! Statistics of behavior that an evaluation adds to its scores, in worlds that define them: the
//! components of the reward, the exploits that were found, and the choices that were made.

use std::collections::BTreeMap;

use sentinel_base::interval::ConfidenceInterval;
use sentinel_env::World;
use serde::{Deserialize, Serialize};

use sentinel_policy::nn::{NetworkWorld, StepFacts};

/// One episode as [`Diagnostics`] counts it.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeFacts {
    /// The name of the task.
    pub task: &'static str,
    /// The part of the world that the task belongs to.
    pub split: &'static str,
    /// The score of the episode.
    pub score: f64,
    /// The steps in order.
    pub steps: Vec<StepFacts>,
}

impl EpisodeFacts {
    /// Returns the facts of an episode with these steps; `None` in a world that defines none.
    #[must_use]
    pub fn new<'a, W: NetworkWorld>(
        task: W::Task,
        score: f64,
        steps: impl IntoIterator<Item = &'a W::Info>,
    ) -> Option<Self> {
        use sentinel_env::TaskName as _;

        let split = W::split(task)?;
        Some(Self {
            task: task.name(),
            split,
            score,
            steps: steps.into_iter().filter_map(W::step_facts).collect(),
        })
    }
}

/// The behavior of a policy on the tasks of one split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// The name of the policy; `model` for a language model.
    pub policy: String,
    /// The part of the world, such as `train` or `holdout`.
    pub split: String,
    /// The number of episodes.
    pub episodes: usize,
    /// The number of steps.
    pub steps: usize,
    /// The mean score over the tasks of the split, weighted equally.
    pub score: ConfidenceInterval,
    /// The mean of each component of the reward over the steps.
    pub components: BTreeMap<String, f64>,
    /// The number of episodes that each anti-cheat rule ended, zeros included.
    pub exploits: BTreeMap<String, usize>,
    /// The number of steps that were refused.
    pub refused: usize,
    /// The number of choices of each kind of action.
    pub kinds: BTreeMap<String, usize>,
    /// The number of choices of each candidate by its place in the list.
    pub candidates: BTreeMap<String, usize>,
}

impl Diagnostics {
    /// Returns the statistics of a policy, one entry for each split that its episodes are of, in
    /// the order of their first episodes. `rules` are the names of all anti-cheat rules.
    #[must_use]
    pub fn summarize_by_split<'a>(
        policy: &str,
        episodes: impl IntoIterator<Item = &'a EpisodeFacts>,
        rules: &[&str],
    ) -> Vec<Self> {
        let mut sums = DiagnosticsSums::new(policy, rules);
        for episode in episodes {
            sums.add(episode);
        }
        sums.diagnostics()
    }

    fn new(policy: &str, split: &str, rules: &[&str]) -> Self {
        Self {
            policy: policy.to_owned(),
            split: split.to_owned(),
            episodes: 0,
            steps: 0,
            score: ConfidenceInterval::from_cells(&[]),
            components: BTreeMap::new(),
            exploits: rules.iter().map(|rule| ((*rule).to_owned(), 0)).collect(),
            refused: 0,
            kinds: BTreeMap::new(),
            candidates: BTreeMap::new(),
        }
    }

    /// Counts a step. Components are summed until all steps are known.
    fn add(&mut self, step: &StepFacts) {
        self.steps += 1;
        self.refused += usize::from(step.refused);
        for (name, value) in &step.components {
            *self.components.entry((*name).to_owned()).or_default() += value;
        }
        let count = |map: &mut BTreeMap<String, usize>, name: &str| {
            *map.entry(name.to_owned()).or_default() += 1;
        };
        if let Some(rule) = step.exploit {
            count(&mut self.exploits, rule);
        }
        if let Some(kind) = step.kind {
            count(&mut self.kinds, kind);
        }
        if let Some(candidate) = &step.candidate {
            count(&mut self.candidates, candidate);
        }
    }
}

/// The sums that [`Diagnostics`] are computed from, episode by episode. Of an episode that was added they
/// keep its score only.
#[derive(Clone, Debug)]
pub struct DiagnosticsSums<'a> {
    policy: &'a str,
    rules: &'a [&'a str],
    splits: Vec<SplitSums>,
}

/// The sums of one split, in which the components of the reward are not divided yet.
#[derive(Clone, Debug)]
struct SplitSums {
    sums: Diagnostics,
    /// The scores of each task.
    tasks: Vec<(&'static str, Vec<f64>)>,
}

impl<'a> DiagnosticsSums<'a> {
    /// Creates the sums of a policy without episodes. `rules` are the names of all anti-cheat rules.
    #[must_use]
    pub const fn new(policy: &'a str, rules: &'a [&'a str]) -> Self {
        Self {
            policy,
            rules,
            splits: Vec::new(),
        }
    }

    /// Adds the steps and the score of an episode.
    pub fn add(&mut self, episode: &EpisodeFacts) {
        let known = (self.splits.iter()).position(|split| split.sums.split == episode.split);
        let place = known.unwrap_or_else(|| {
            self.splits.push(SplitSums {
                sums: Diagnostics::new(self.policy, episode.split, self.rules),
                tasks: Vec::new(),
            });
            self.splits.len() - 1
        });
        let split = &mut self.splits[place];
        split.sums.episodes += 1;
        match (split.tasks.iter_mut()).find(|(task, _)| *task == episode.task) {
            Some((_, scores)) => scores.push(episode.score),
            None => split.tasks.push((episode.task, vec![episode.score])),
        }
        for step in &episode.steps {
            split.sums.add(step);
        }
    }

    /// Returns the statistics, one entry for each split in the order of their first episodes.
    #[must_use]
    pub fn diagnostics(self) -> Vec<Diagnostics> {
        self.splits.into_iter().map(SplitSums::finish).collect()
    }
}

impl SplitSums {
    fn finish(self) -> Diagnostics {
        let scores: Vec<Vec<f64>> = self.tasks.into_iter().map(|(_, scores)| scores).collect();
        let mut all = self.sums;
        all.score = ConfidenceInterval::from_cells(&scores);
        let steps = all.steps.max(1) as f64;
        for sum in all.components.values_mut() {
            *sum = sentinel_env::num::round_to(*sum / steps, 4);
        }
        all
    }
}

/// Returns the task of an episode.
pub(crate) fn task_of<W: World>(episode: &W) -> W::Task {
    W::episode_spec(W::setup(episode)).task
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(exploit: Option<&'static str>, kind: &'static str, value: f64) -> StepFacts {
        StepFacts {
            components: vec![("legality", value)],
            exploit,
            refused: exploit.is_some(),
            kind: Some(kind),
            candidate: Some("cand_01".to_owned()),
        }
    }

    #[test]
    fn diagnostics_count_per_split_with_zero_for_unused_rules() {
        let episode = |split, score, steps| EpisodeFacts {
            task: "a",
            split,
            score,
            steps,
        };
        let episodes = [
            episode(
                "train",
                0.5,
                vec![step(None, "STOP", 1.0), step(None, "KEEP", 0.0)],
            ),
            episode("train", 0.7, vec![step(Some("loop"), "KEEP", 0.5)]),
            episode("holdout", 0.1, vec![]),
        ];
        let found = Diagnostics::summarize_by_split("p", &episodes, &["abuse", "loop"]);
        assert_eq!(found.len(), 2);
        let train = &found[0];
        assert_eq!(
            (train.split.as_str(), train.episodes, train.steps),
            ("train", 2, 3)
        );
        assert_eq!((train.score.mean, train.refused), (0.6, 1));
        assert_eq!(train.components["legality"], 0.5);
        assert_eq!((train.exploits["loop"], train.exploits["abuse"]), (1, 0));
        assert_eq!((train.kinds["KEEP"], train.candidates["cand_01"]), (2, 3));
        assert_eq!((found[1].steps, found[1].exploits["loop"]), (0, 0));
    }
}
