//! Which curves are drawn, and what each one means. One without data is left out and named.

use super::{TrainerState, short};
use sentinel_policy::insertion_sort::sort;

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What a person calls it.
    pub name: &'static str,
    /// Step and value, in the order of steps.
    pub points: Vec<(u64, f64)>,
}

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// A word for it, without spaces.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What the vertical axis measures.
    pub unit: &'static str,
    /// What to see in it.
    pub meaning: &'static str,
    /// Its curves; at least one, each with a point.
    pub lines: Vec<Line>,
    /// The point that the file calls the best one.
    pub best: Option<(u64, f64)>,
}

impl Plot {
    /// All steps that have a value, each once.
    #[must_use]
    pub fn steps(&self) -> Vec<u64> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let mut steps: Vec<u64> = points.map(|(step, _)| *step).collect();
        sort(&mut steps, |a, b| a < b);
        steps.dedup();
        steps
    }

    /// What to see in it, and what its dashed line is.
    #[must_use]
    pub fn with_grounded_rationale(&self) -> String {
        let mut text = self.meaning.to_owned();
        if let Some((step, value)) = self.best {
            text.push_str(&format!(
                " Dashed: the best, {} at step {step}.",
                short(value)
            ));
        }
        text
    }

    /// The lowest and the highest value.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        let points = self.lines.iter().flat_map(|line| &line.points);
        points.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, v)| {
            (low.min(*v), high.max(*v))
        })
    }
}

impl Line {
    /// The value at a step, if there is one.
    #[must_use]
    pub fn at(&self, step: u64) -> Option<f64> {
        let found = self.points.binary_search_by_key(&step, |(step, _)| *step);
        found.ok().map(|index| self.points[index].1)
    }
}

struct Spec {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    meaning: &'static str,
    /// Names in the file, and what a person calls them.
    keys: &'static [(&'static str, &'static str)],
}

const EVAL: &str = "eval_reward";

const SPECS: [Spec; 9] = [
    Spec {
        id: "evaluation",
        title: "Validation score",
        unit: "mean score per episode",
        meaning: "Episodes on seeds that are not trained on, played with the likeliest action. The weights with the best overall score are kept.",
        keys: &[
            (EVAL, "overall"),
            ("eval_rewards/task1/mean", "task 1"),
            ("eval_rewards/task2/mean", "task 2"),
            ("eval_rewards/task3/mean", "task 3"),
        ],
    },
    Spec {
        id: "reward",
        title: "Training reward",
        unit: "mean score per episode",
        meaning: "Episodes that the policy learned from, with actions drawn by their probabilities; their seeds change, which makes the curve rough.",
        keys: &[("reward", "reward")],
    },
    Spec {
        id: "entropy",
        title: "Entropy",
        unit: "nats per action",
        meaning: "How undecided the policy is: 2.48 when all 12 actions are equally likely, 0 when it always knows.",
        keys: &[("entropy", "entropy")],
    },
    Spec {
        id: "belief",
        title: "Belief loss",
        unit: "nats per slot",
        meaning: "How far its guess of who sits behind a slot is from the truth: 1.61 knows nothing, 0 knows for certain. The truth is used for this loss alone, never as an input.",
        keys: &[("belief_loss", "belief loss")],
    },
    Spec {
        id: "clip",
        title: "Clipped actions",
        unit: "share of actions",
        meaning: "Actions whose probability had already moved as far as one update may move it; they pull no further.",
        keys: &[("clip_ratio/region_mean", "clipped")],
    },
    Spec {
        id: "flat",
        title: "Groups without a lesson",
        unit: "share of groups",
        meaning: "Groups of episodes that all scored the same: there is nothing to prefer in them.",
        keys: &[("frac_reward_zero_std", "groups")],
    },
    Spec {
        id: "gradient",
        title: "Gradient norm",
        unit: "length, before clipping",
        meaning: "How strongly a batch pulls at the weights.",
        keys: &[("grad_norm", "norm")],
    },
    Spec {
        id: "rate",
        title: "Learning rate",
        unit: "step size",
        meaning: "How far the weights move along the gradient; the schedule sets it.",
        keys: &[("learning_rate", "rate")],
    },
    Spec {
        id: "kl",
        title: "Distance from the reference policy",
        unit: "nats per action (KL)",
        meaning: "How far the policy has moved from the one that it is tied to.",
        keys: &[("kl", "KL")],
    },
];

/// The charts of a run that have data, and the titles of those that have none.
#[must_use]
pub fn plots(state: &TrainerState) -> (Vec<Plot>, Vec<&'static str>) {
    let (mut plots, mut missing) = (Vec::new(), Vec::new());
    for spec in &SPECS {
        let line = |(key, name): &(&'static str, &'static str)| Line {
            name,
            points: distinct(state.series(key)),
        };
        let lines = spec.keys.iter().map(line);
        let lines: Vec<Line> = lines.filter(|line| !line.points.is_empty()).collect();
        if lines.is_empty() {
            missing.push(spec.title);
            continue;
        }
        let evaluation = spec.keys[0].0 == EVAL;
        plots.push(Plot {
            id: spec.id,
            title: spec.title,
            unit: spec.unit,
            meaning: spec.meaning,
            best: evaluation.then(|| best(state)).flatten(),
            lines,
        });
    }
    (plots, missing)
}

/// The last value of each step: a run that was taken up again logs some steps twice.
fn distinct(points: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    let mut out: Vec<(u64, f64)> = Vec::with_capacity(points.len());
    for point in points {
        if out.last().is_some_and(|last| last.0 == point.0) {
            out.pop();
        }
        out.push(point);
    }
    out
}

/// The evaluation that the file's `best_metric` stands for, if there is one.
fn best(state: &TrainerState) -> Option<(u64, f64)> {
    let best = state.best_metric?;
    let mut points = state.series(EVAL).into_iter();
    points.find(|(_, value)| (value - best).abs() < 1e-9)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn a_chart_needs_data() {
        let state = parse(
            r#"{"global_step": 4, "best_metric": 0.8, "log_history": [
            {"step": 2, "reward": 0.5, "loss": 1}, {"step": 4, "reward": 0.7}, {"step": 4, "reward": 0.75},
            {"step": 2, "eval_reward": 0.8, "eval_rewards/task2/mean": 0.9}]}"#,
        )
        .expect("a trainer state");
        let (plots, missing) = plots(&state);
        let ids: Vec<_> = plots.iter().map(|plot| plot.id).collect();
        assert_eq!(ids, ["evaluation", "reward"]);
        assert_eq!(missing.len(), SPECS.len() - 2);
        assert!(missing.contains(&"Entropy"));
        let names: Vec<_> = plots[0].lines.iter().map(|line| line.name).collect();
        assert_eq!(names, ["overall", "task 2"]);
        assert_eq!((plots[0].best, plots[1].best), (Some((2, 0.8)), None));
        assert_eq!(plots[1].lines[0].points, [(2, 0.5), (4, 0.75)]);
        assert_eq!(plots[1].steps(), [2, 4]);
        assert_eq!(plots[1].range(), (0.5, 0.75));
        assert_eq!(plots[1].lines[0].at(4), Some(0.75));
        assert_eq!(plots[1].lines[0].at(3), None);
    }

    #[test]
    fn a_best_value_that_no_evaluation_had_is_not_drawn() {
        let text = r#"{"global_step": 1, "best_metric": 0.9, "log_history": [{"step": 1, "eval_reward": 0.8}]}"#;
        let state = parse(text).expect("a trainer state");
        assert_eq!(plots(&state).0[0].best, None);
    }
}
