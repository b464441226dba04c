//! Verdicts on rules: whether better policies score better, and constant ones do not.

use sentinel_policy::Playable;
use serde::Serialize;

/// The mean of some differences, and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanDifference {
    /// The mean of the values.
    pub mean: f64,
    /// The standard error of the mean; 0 for a single value.
    pub se: f64,
}

impl MeanDifference {
    /// Computes the mean and the standard error of some values.
    #[must_use]
    pub fn from_values(values: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        let count = values.len().max(1) as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares: f64 = values.map(|v| (v - mean) * (v - mean)).sum();
        let se = (squares / (count - 1.0).max(1.0) / count).sqrt();
        Self { mean, se }
    }

    /// Computes the gap from scores to others on the same seeds.
    #[must_use]
    pub fn between(from: &[f64], to: &[f64]) -> Self {
        Self::from_values(from.iter().zip(to).map(|(from, to)| to - from))
    }

    /// Returns `true` if the difference is above 0 by more than two standard errors.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.mean > 2.0 * self.se
    }
}

/// The scores of one policy under one set of rules on one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The name of the policy.
    pub policy: String,
    /// The name of the rules.
    pub rules: String,
    /// The name of the task.
    pub task: &'static str,
    /// The mean score over the seeds.
    pub mean: f64,
    /// The standard error of the mean score.
    pub se: f64,
    /// The effect of the change: the mean difference to the rules without it, on the same seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<MeanDifference>,
    /// The score of each seed.
    #[serde(skip)]
    pub(super) scores: Vec<f64>,
}

/// A pair of policies, one expected or found above the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderedPair {
    /// The policy that should score less.
    pub lower: String,
    /// The policy that should score more.
    pub upper: String,
    /// The score of `upper` minus that of `lower`, on the same seeds.
    pub gap: MeanDifference,
}

/// The verdict on a set of rules and a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleSetVerdict {
    /// The name of the rules.
    pub rules: String,
    /// The name of the task.
    pub task: &'static str,
    /// `true` if random < heuristic < planner < oracle holds, among those that played.
    pub order_holds: bool,
    /// `true` if each is above the one before by more than two standard errors.
    pub clearly: bool,
    /// The neighbors in that order.
    pub order: Vec<OrderedPair>,
    /// Roles of the world that did not play: not selected, or not in this build.
    pub absent: Vec<&'static str>,
    /// Constant policies that beat the heuristic, best first; `None` if the heuristic did not play.
    pub constants_above: Option<Vec<OrderedPair>>,
}

impl RuleSetVerdict {
    /// Computes the verdict from the cells of a comparison.
    #[must_use]
    pub fn from_cells<W: Playable>(rules: &str, task: &'static str, cells: &[Cell]) -> Self {
        let played = |policy: &str| {
            let here = |cell: &&Cell| cell.rules == rules && cell.task == task;
            let mut here = cells.iter().filter(here);
            here.find(|cell| cell.policy == policy)
        };
        let names = W::ROLES.in_order();
        let (there, absent): (Vec<&str>, Vec<&str>) = names
            .iter()
            .copied()
            .partition(|name| played(name).is_some());
        let cells: Vec<&Cell> = there.into_iter().filter_map(played).collect();
        let order: Vec<OrderedPair> = cells.windows(2).map(|two| above(two[0], two[1])).collect();
        let constants_above = played(W::ROLES.heuristic).map(|heuristic| {
            let constants = W::constants().into_iter();
            let constants = constants.filter_map(|constant| played(&constant.name));
            let mut better: Vec<OrderedPair> = constants
                .map(|constant| above(heuristic, constant))
                .filter(|above| above.gap.mean > 0.0)
                .collect();
            better.sort_by(|a, b| b.gap.mean.total_cmp(&a.gap.mean));
            better
        });
        Self {
            rules: rules.to_owned(),
            task,
            order_holds: order.iter().all(|above| above.gap.mean > 0.0),
            clearly: order.iter().all(|above| above.gap.is_significant()),
            order,
            absent: W::ROLES
                .in_order()
                .into_iter()
                .filter(|n| absent.contains(n))
                .collect(),
            constants_above,
        }
    }
}

fn above(lower: &Cell, upper: &Cell) -> OrderedPair {
    OrderedPair {
        lower: lower.policy.clone(),
        upper: upper.policy.clone(),
        gap: MeanDifference::between(&lower.scores, &upper.scores),
    }
}
