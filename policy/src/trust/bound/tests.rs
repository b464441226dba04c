//! The bound against the exact optimum of short episodes, found by trying every action in the
//! environment itself, with all 120 assignments.

use sentinel_env::rng::Streams;
use sentinel_env::rules::RuleChange as _;
use sentinel_env::trust::{
    Action, Behavior, Change, Episode, Hypothesis, LastStep, Observation, Rules, Scenario, Setup,
    Task, TaskLayout,
};
use sentinel_env::{Environment, PrivilegedState};

use super::ScoreBound;
use super::solve::Start;
use crate::Scripted;
use crate::rollout::run_score;
use crate::trust::{Belief, PolicyName};

/// Chances of success lie between these (spec trust §4).
const CHANCES: [f64; 2] = [0.05, 0.95];

/// An assignment that is possible: an episode with it, and its weight.
type Particle = (Episode, f64);

/// The state after actions that call no specialist.
struct Prefix {
    particles: Vec<Particle>,
    bound: ScoreBound,
    start: Start,
}

impl Prefix {
    fn new(scenario: &Scenario, rules: Rules, budget: u8, actions: &[Action]) -> Self {
        let (task, variant) = (scenario.task, scenario.variant);
        let mut setup = Setup {
            variant: Some(variant),
            ..Setup::new(task, 1, Streams::Independent).with_rules(rules)
        };
        setup.profile.verify_budget_penalty = TaskLayout::for_task(task).budget - budget;
        let mut episode = Episode::reset(&setup);
        let mut past: Vec<LastStep> = Vec::new();
        for action in actions {
            episode.step(*action).expect("the episode runs");
            past.extend(episode.observation().last);
        }
        let now = *episode.observation();
        let possible = Belief::default();
        let particles = possible.iter().map(|(assignment, weight)| {
            let hypothesis = Hypothesis {
                assignment,
                outcome_seed: 0,
            };
            let episode = Episode::from_belief(&setup, &now, &past, &hypothesis);
            (episode, weight)
        });
        let mut bound = ScoreBound::new(scenario, rules);
        bound.budget = budget;
        let skips = actions.iter().filter(|a| **a == Action::Skip).count();
        let start = Start {
            node: actions.len(),
            steps: usize::from(now.step_count),
            total: episode.tally().total_reward - bound.loss() * skips as f64,
        };
        Self {
            particles: particles.collect(),
            bound,
            start,
        }
    }
}

/// Returns a seed whose first draw is a success, or a failure, at every chance.
fn seed_of(episode: &Episode, success: bool) -> u64 {
    let fits = |seed: &u64| {
        let draw = episode.with_outcome_seed(*seed).hidden().peek_draw();
        if success {
            draw < CHANCES[0]
        } else {
            draw >= CHANCES[1]
        }
    };
    (0..).find(fits).expect("draws are uniform")
}

/// Returns the largest expected score of a policy that sees observations only, times the sum of the
/// weights.
fn exact(particles: &[Particle], seeds: [u64; 2]) -> f64 {
    let now = *particles[0].0.observation();
    if now.done() {
        return particles.iter().map(|(e, weight)| weight * e.score()).sum();
    }
    let mut best = f64::NEG_INFINITY;
    let mut tried_fresh = [false; 2];
    for action in Action::ALL {
        // Slots without any call are alike.
        if action
            .slot()
            .is_some_and(|slot| now.ledger[slot].calls == 0)
        {
            let verify = usize::from(matches!(action, Action::Verify(_)));
            if std::mem::replace(&mut tried_fresh[verify], true) {
                continue;
            }
        }
        let mut groups: Vec<(Observation, Vec<Particle>)> = Vec::new();
        for (episode, weight) in particles {
            for (chance, seed) in outcomes(episode, action, seeds) {
                let mut next = episode.with_outcome_seed(seed);
                next.step(action).expect("the episode runs");
                let weight = weight * chance;
                if weight <= 0.0 {
                    continue;
                }
                let seen = *next.observation();
                match groups.iter_mut().find(|(other, _)| *other == seen) {
                    Some((_, group)) => group.push((next, weight)),
                    None => groups.push((seen, vec![(next, weight)])),
                }
            }
        }
        let value = groups.iter().map(|(_, group)| exact(group, seeds)).sum();
        best = f64::max(best, value);
    }
    best
}

/// Returns the outcomes of an action: the chance of each, and a seed of draws that leads to it.
fn outcomes(episode: &Episode, action: Action, [right, wrong]: [u64; 2]) -> Vec<(f64, u64)> {
    let now = episode.observation();
    let (Some(slot), Some(domain)) = (action.slot(), now.domain) else {
        return vec![(1.0, right)];
    };
    let behavior: Behavior = episode.hidden().assignment[slot];
    let calls = now.ledger[slot].calls;
    let execution = behavior.execution_params(domain, now.stakes, calls, &now.adversary);
    match execution.success_chance {
        None => vec![(1.0, right)],
        Some(chance) => vec![(chance, right), (1.0 - chance, wrong)],
    }
}

/// Returns the bound minus the exact optimum in an episode of variant 5 that begins with subtasks solved
/// alone, then skipped ones. It must not be negative.
fn gap(task: Task, rules: Rules, budget: u8, solved: usize, skipped: usize) -> f64 {
    let mut prefix = vec![Action::SolveIndependently; solved];
    prefix.resize(solved + skipped, Action::Skip);
    let prefix = Prefix::new(&Scenario::new(task, 5), rules, budget, &prefix);
    let first = &prefix.particles[0].0;
    let seeds = [true, false].map(|success| seed_of(first, success));
    let gap = prefix.bound.value(&prefix.start) - exact(&prefix.particles, seeds);
    let case = format!("{rules} {task}: {solved} solved, {skipped} skipped of {budget} steps");
    assert!((-1e-12..0.0125).contains(&gap), "{case}: {gap}");
    gap
}

/// Returns the number of subtasks of a task, and its budget.
fn size(task: Task) -> (usize, u8) {
    (
        Scenario::new(task, 0).len(),
        TaskLayout::for_task(task).budget,
    )
}

#[test]
fn bound_is_at_least_the_optimum_at_the_end_of_episodes() {
    for rules in [Rules::REFERENCE, Rules::HARDENED] {
        for task in Task::ALL {
            let (subtasks, budget) = size(task);
            for left in 1..=2 {
                // Solving takes two steps: with as many as possible, the budget is short in the end.
                let most = (usize::from(budget) - subtasks).min(subtasks - left);
                for solved in [0, most] {
                    let gap = gap(task, rules, budget, solved, subtasks - left - solved);
                    // With one subtask of task1 left, nothing of what the bound replaces matters.
                    let exact = rules == Rules::REFERENCE && task == Task::Task1 && left == 1;
                    assert!(!exact || gap < 1e-12, "{task} {solved}: {gap}");
                }
            }
        }
    }
}

#[test]
fn bound_is_at_least_the_optimum_under_single_changes() {
    for change in Change::ALL {
        let sets = [
            Rules::REFERENCE.with(*change),
            Rules::HARDENED.without(*change),
        ];
        for (rules, task) in sets
            .into_iter()
            .flat_map(|r| Task::ALL.map(|task| (r, task)))
        {
            let (subtasks, budget) = size(task);
            let solved = (usize::from(budget) - subtasks).min(subtasks - 2);
            gap(task, rules, budget, solved, subtasks - 2 - solved);
        }
    }
}

/// Checks poison that does not end the episode: two or three steps before a short budget ends, at
/// stakes of about .75.
#[test]
fn bound_is_at_least_the_optimum_where_poison_is_not_fatal() {
    for rules in [Rules::REFERENCE, Rules::HARDENED] {
        for solved in [3, 4] {
            gap(Task::Task3, rules, 20, solved, 14 - solved);
        }
    }
}

/// Checks whole episodes: the bound of a scenario is above the score of the best scripted policy in it,
/// and does not change unnoticed. For task1, which does not grade calibration, it is the number that another
/// program for the same recursion gave.
#[test]
fn bound_of_whole_episodes_is_above_played_scores() {
    for (task, rules, expected) in [
        (Task::Task1, Rules::HARDENED, 0.918_426),
        (Task::Task1, Rules::REFERENCE, 0.916_775),
        (Task::Task2, Rules::HARDENED, 0.831_228),
        (Task::Task2, Rules::REFERENCE, 0.826_685),
    ] {
        let bound = ScoreBound::new(&Scenario::new(task, 0), rules).compute();
        assert!((bound - expected).abs() < 1e-6, "{task} {rules}: {bound}");
        let play = |seed| {
            let setup = Setup {
                variant: Some(0),
                ..Setup::new(task, seed, Streams::Independent).with_rules(rules)
            };
            run_score(&setup, &mut PolicyName::Bayes.start(&setup))
        };
        let mean = (0..400).map(play).sum::<f64>() / 400.0;
        assert!(
            bound > mean,
            "{task} {rules}: {bound}, but bayes scores {mean}"
        );
    }
}
