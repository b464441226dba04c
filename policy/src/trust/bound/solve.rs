//! Dynamic programming from the last subtask back to the first.

use std::collections::BTreeMap;

use sentinel_env::ledger::report_weight;
use sentinel_env::num::clamp_reward;
use sentinel_env::trust::{
    Action, Behavior, Change, FORCED_END_REWARD, Rules, Scenario, Task, TaskLayout, TerminalWeights,
};

use super::knowledge::Knowledge;
use super::moves::{Branch, Move, moves};
use super::subtask::Subtask;

/// Mean rewards per event at which the value is computed; it is convex in the reward, so that
/// interpolation between them never gives too little. All that occur lie between the first and the
/// last: a reward is at most .99, and a loss at most .1.
const MEAN_REWARDS: [f64; 4] = [-0.1, 0.75, 0.9, 0.99];

/// The upper bound of a scenario at default difficulty, with independent streams. Scenarios whose
/// stakes are on the same sides of all thresholds are equal.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreBound {
    rules: Rules,
    task: Task,
    subtasks: Vec<Subtask>,
    pub(super) budget: u8,
    /// The weights of reports with the lowest and the highest stakes of the task (spec trust §5).
    weights: [f64; 2],
}

/// Returns the weights of reports with the lowest and the highest stakes of a task.
fn report_weights(task: Task) -> [f64; 2] {
    let scenarios = Scenario::all().filter(|scenario| scenario.task == task);
    let stakes = scenarios.flat_map(|scenario| {
        let nodes: Vec<f64> = scenario.nodes().map(|node| node.stakes).collect();
        nodes
    });
    let range = stakes.fold([1.0, 0.0], |[low, high], stakes| {
        [f64::min(low, stakes), f64::max(high, stakes)]
    });
    range.map(report_weight)
}

/// The state from which the bound is computed, with nothing known about the slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    /// Number of subtasks that are resolved, each by one action.
    pub(super) node: usize,
    /// Number of steps used.
    pub(super) steps: usize,
    /// Sum of the rewards, less the losses of skipped subtasks.
    pub(super) total: f64,
}

/// An attempt at a subtask, and the states in which it can be.
struct Stage {
    node: usize,
    /// Number of failed attempts at the subtask, 0 or 1.
    failed: usize,
    states: States,
}

impl Stage {
    /// Returns `true` if a result of an action leads on to the next subtask.
    fn is_resolved_by(&self, action: Action, branch: &Branch) -> bool {
        branch.outcome.success || action == Action::Skip || self.failed == 1
    }
}

/// The states of a stage, by knowledge.
type States = BTreeMap<Knowledge, Reached>;

/// The steps used that are possible, as a bit mask, by first attempts that failed at earlier subtasks.
#[derive(Clone, Debug, Default)]
struct Reached(Vec<u64>);

impl Reached {
    fn contains(&self, steps: usize, failures: usize) -> bool {
        self.0
            .get(failures)
            .is_some_and(|mask| mask >> steps & 1 == 1)
    }

    fn contains_steps(&self, steps: usize) -> bool {
        self.0.iter().any(|mask| mask >> steps & 1 == 1)
    }

    /// Adds the states after an action of this cost in all states of `from`; `failed` is the number
    /// of failed attempts that count among those of earlier subtasks from now on.
    fn add(&mut self, from: &Self, cost: u8, failed: usize, budget: u8) {
        let length = self.0.len().max(from.0.len() + failed);
        self.0.resize(length, 0);
        for (to, mask) in self.0[failed..].iter_mut().zip(&from.0) {
            // The episode ends when the budget is used.
            *to |= (mask << cost) & ((1 << budget) - 1);
        }
    }
}

/// Encounters with poison that count at the end: none, detections only, or one poisoning and this
/// number of detections. A poisoning by an adversary that is known already is not counted, which
/// only improves the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encounters {
    None,
    Detected,
    Poisoned { detections: usize },
}

impl Encounters {
    /// Returns the first `count` in order.
    fn first(count: usize) -> Vec<Self> {
        let poisoned = (0..).map(|detections| Self::Poisoned { detections });
        let all = [Self::None, Self::Detected].into_iter().chain(poisoned);
        all.take(count).collect()
    }

    /// Returns the place in that order.
    const fn index(self) -> usize {
        match self {
            Self::None => 0,
            Self::Detected => 1,
            Self::Poisoned { detections } => 2 + detections,
        }
    }

    /// Returns the encounters after one more.
    const fn after(self, detected: bool) -> Self {
        match self {
            Self::None if detected => Self::Detected,
            Self::None => Self::Poisoned { detections: 0 },
            Self::Poisoned { detections } if detected => Self::Poisoned {
                detections: detections + 1,
            },
            Self::Detected | Self::Poisoned { .. } => self,
        }
    }

    fn detection_rate(self) -> f64 {
        match self {
            Self::None | Self::Detected => 1.0,
            Self::Poisoned { detections } => detections as f64 / (detections + 1) as f64,
        }
    }
}

/// The number of [`MEAN_REWARDS`].
const POINTS: usize = MEAN_REWARDS.len();

/// One number for each of [`MEAN_REWARDS`].
type Values = [f64; POINTS];

/// The values at [`MEAN_REWARDS`], and between them by interpolation: the first value, and the change
/// of slope at each point but the last.
#[derive(Clone, Copy, Debug)]
struct PiecewiseLinear {
    first: f64,
    bends: [f64; POINTS - 1],
}

impl PiecewiseLinear {
    fn new(values: &Values) -> Self {
        let mut before = 0.0;
        let bends = std::array::from_fn(|n| {
            let slope = (values[n + 1] - values[n]) / (MEAN_REWARDS[n + 1] - MEAN_REWARDS[n]);
            slope - std::mem::replace(&mut before, slope)
        });
        Self {
            first: values[0],
            bends,
        }
    }

    /// Returns the value at a mean reward per event.
    #[inline]
    fn at(&self, mean: f64) -> f64 {
        let bends = self.bends.iter().zip(MEAN_REWARDS);
        let terms = bends.map(|(bend, from)| bend * (mean - from).max(0.0));
        terms.fold(self.first, |sum, term| sum + term)
    }
}

/// The values of a stage with one knowledge: by steps used, first attempts that failed at earlier
/// subtasks, and encounters.
struct Table {
    first_steps: usize,
    failures: usize,
    encounters: usize,
    values: Vec<PiecewiseLinear>,
}

impl Table {
    const fn at(&self, steps: usize, failures: usize, encounters: usize) -> usize {
        ((steps - self.first_steps) * self.failures + failures) * self.encounters + encounters
    }
}

/// A branch of an action at a number of steps used.
struct Step<'a> {
    branch: &'a Branch,
    /// The reward as the episode gives it.
    reward: f64,
    /// The reward, less the loss of a subtask that is not completed.
    gain: f64,
    /// Number of steps used afterwards.
    steps: usize,
    resolved: bool,
    forced: bool,
    /// `true` if the answer is poison that counts at the end.
    encounter: bool,
    /// The table of the next stage; `None` if the episode ends here.
    next: Option<&'a Table>,
    /// The calibration, 0..=1, if the episode ends here.
    calibration: f64,
}

/// The tables of a stage by knowledge.
type Tables = BTreeMap<Knowledge, Table>;

impl ScoreBound {
    /// Creates the bound of a scenario.
    #[must_use]
    pub fn new(scenario: &Scenario, rules: Rules) -> Self {
        Self {
            rules,
            task: scenario.task,
            subtasks: Subtask::all(scenario),
            budget: TaskLayout::for_task(scenario.task).budget,
            weights: report_weights(scenario.task),
        }
    }

    /// Computes the bound, a score in 0..=1. A scenario of the longest task takes some 20 seconds.
    #[must_use]
    pub fn compute(&self) -> f64 {
        self.value(&Start::default())
    }

    /// Returns the bound from a state on.
    pub(super) fn value(&self, start: &Start) -> f64 {
        let stages = self.stages(start);
        // The tables of the stage that was solved last, and of the one before it.
        let (mut nearer, mut farther) = (Tables::new(), Tables::new());
        for stage in stages.iter().rev() {
            let tables = stage.states.iter().map(|(known, reached)| {
                let table = self.table(stage, (known, reached), &nearer, &farther);
                (*known, table)
            });
            let tables = tables.collect();
            farther = std::mem::replace(&mut nearer, tables);
        }
        let Some(table) = nearer.get(&Knowledge::default()) else {
            // Nothing is left to do; no score is higher.
            return 1.0;
        };
        let values = &table.values[table.at(start.steps, 0, 0)];
        values.at(start.total / start.node.max(1) as f64)
    }

    /// Returns all stages from a state on with the states that can be reached, in order.
    fn stages(&self, start: &Start) -> Vec<Stage> {
        let first = Reached(vec![1 << start.steps]);
        let mut now = States::from([(Knowledge::default(), first)]);
        let mut stages = Vec::new();
        for node in start.node..self.subtasks.len() {
            let (mut retry, mut next) = (States::new(), States::new());
            let first = Stage {
                node,
                failed: 0,
                states: now,
            };
            self.spread(&first, &mut retry, &mut next);
            let second = Stage {
                node,
                failed: 1,
                states: retry,
            };
            // A second attempt always resolves the subtask.
            self.spread(&second, &mut States::new(), &mut next);
            stages.extend([first, second]);
            now = next;
        }
        stages
    }

    /// Adds the states that every state of a stage leads to, of the retry or of the next subtask.
    fn spread(&self, stage: &Stage, retry: &mut States, next: &mut States) {
        let subtask = &self.subtasks[stage.node];
        for (known, reached) in &stage.states {
            for one in moves(self.rules, subtask, known) {
                for branch in &one.branches {
                    let resolved = stage.is_resolved_by(one.action, branch);
                    let states = if resolved { &mut *next } else { &mut *retry };
                    let state = states.entry(branch.after).or_default();
                    state.add(reached, branch.outcome.cost, stage.failed, self.budget);
                }
            }
        }
    }

    /// Returns the encounters that are possible at a stage.
    fn encounters(&self, stage: &Stage, known: &Knowledge) -> Vec<Encounters> {
        let counted = |s: &&Subtask| s.counts_encounters();
        let earlier = self.subtasks[..stage.node].iter().filter(counted).count();
        let here = stage.failed * usize::from(self.subtasks[stage.node].counts_encounters());
        // An encounter shows who the adversary is. A subtask has one detection, which resolves it.
        let met = known.knows(Behavior::Adversarial) && earlier + here > 0;
        Encounters::first(if met { 3 + earlier } else { 1 })
    }

    /// Returns the values of a stage. After a first attempt that fails, the next stage is the retry;
    /// otherwise it is the next subtask, which is one stage farther on a first attempt.
    fn table(
        &self,
        stage: &Stage,
        (known, reached): (&Knowledge, &Reached),
        nearer: &Tables,
        farther: &Tables,
    ) -> Table {
        let moves = moves(self.rules, &self.subtasks[stage.node], known);
        let encounters = self.encounters(stage, known);
        let budget = usize::from(self.budget);
        let (first_steps, failures) = (stage.node + stage.failed, stage.node + 1);
        let length = budget.saturating_sub(first_steps) * failures * encounters.len();
        let mut table = Table {
            first_steps,
            failures,
            encounters: encounters.len(),
            values: vec![PiecewiseLinear::new(&[f64::NAN; POINTS]); length],
        };
        let next_subtask = if stage.failed == 0 { farther } else { nearer };
        let with_next = |one: &'_ Move| -> Vec<Option<&Table>> {
            let next = |branch: &Branch| {
                let resolved = stage.is_resolved_by(one.action, branch);
                let tables = if resolved { next_subtask } else { nearer };
                tables.get(&branch.after)
            };
            one.branches.iter().map(next).collect()
        };
        let next: Vec<Vec<Option<&Table>>> = moves.iter().map(with_next).collect();
        for steps in (first_steps..budget).filter(|steps| reached.contains_steps(*steps)) {
            let options = moves.iter().zip(&next).map(|(one, next)| {
                let branches = one.branches.iter().zip(next);
                let step = |(branch, next): (_, &Option<_>)| {
                    self.step(stage, one.action, branch, steps, *next)
                };
                branches.map(step).collect()
            });
            let options: Vec<Vec<Step<'_>>> = options.collect();
            for failures in 0..failures {
                if !reached.contains(steps, failures) {
                    continue;
                }
                for encounters in &encounters {
                    let at = table.at(steps, failures, encounters.index());
                    let value = |option: &Vec<Step<'_>>| {
                        self.option_value(stage, option, failures, *encounters)
                    };
                    let worst = [f64::NEG_INFINITY; POINTS];
                    let best = options.iter().map(value).fold(worst, |best, value| {
                        debug_assert!(!value[0].is_nan(), "a state was not reached");
                        std::array::from_fn(|n| best[n].max(value[n]))
                    });
                    table.values[at] = PiecewiseLinear::new(&best);
                }
            }
        }
        table
    }

    /// Returns a branch at a number of steps used.
    fn step<'a>(
        &self,
        stage: &Stage,
        action: Action,
        branch: &'a Branch,
        steps: usize,
        next: Option<&'a Table>,
    ) -> Step<'a> {
        let subtask = &self.subtasks[stage.node];
        let steps = steps + usize::from(branch.outcome.cost);
        let reward = branch.reward(subtask, action, steps as u8, self.budget);
        let completed = branch.outcome.success;
        let resolved = stage.is_resolved_by(action, branch);
        let delegated = matches!(action, Action::Delegate(_));
        let lost = resolved && !completed;
        let forced = branch.poison && delegated && subtask.is_fatal();
        let done = resolved && stage.node + 1 == self.subtasks.len();
        let ended = forced || done || steps >= usize::from(self.budget);
        debug_assert!(ended || next.is_some(), "a stage was not reached");
        Step {
            branch,
            reward,
            gain: if lost { reward - self.loss() } else { reward },
            steps,
            resolved,
            forced,
            encounter: branch.poison && subtask.counts_encounters(),
            next: next.filter(|_| !ended),
            calibration: if ended {
                branch.after.calibration(self.rules, self.weights)
            } else {
                0.0
            },
        }
    }

    /// Returns the expected value of an action.
    fn option_value(
        &self,
        stage: &Stage,
        option: &[Step<'_>],
        failures: usize,
        encounters: Encounters,
    ) -> Values {
        let events = stage.node + stage.failed + failures;
        let totals = MEAN_REWARDS.map(|mean| mean * events as f64);
        let mut expected = [0.0; POINTS];
        let share = 1.0 / (events + 1) as f64;
        for step in option {
            let encounters = if step.encounter {
                encounters.after(step.branch.outcome.success)
            } else {
                encounters
            };
            let values = match step.next {
                Some(next) => {
                    // The failure of this subtask is one of an earlier one from now on.
                    let failures = failures + usize::from(step.resolved) * stage.failed;
                    let values = &next.values[next.at(step.steps, failures, encounters.index())];
                    totals.map(|total| values.at((total + step.gain) * share))
                }
                None => {
                    let resolved = stage.node + usize::from(step.resolved);
                    let end = step.gain + self.terminal_reward(step, resolved, encounters);
                    let left = self.subtasks.len() - resolved;
                    let open = if self.rules.has(Change::Unfinished) {
                        left
                    } else {
                        0
                    };
                    totals.map(|total| (total + end) / (events + 2 + open) as f64)
                }
            };
            for (sum, value) in expected.iter_mut().zip(values) {
                *sum += step.branch.probability * value;
            }
        }
        expected
    }

    /// Returns the terminal reward. The losses of subtasks that were resolved without being completed
    /// are part of the sum of rewards already.
    fn terminal_reward(&self, step: &Step<'_>, resolved: usize, encounters: Encounters) -> f64 {
        if step.forced {
            // A forced end has no losses: all that there can have been are given back.
            return FORCED_END_REWARD + self.loss() * resolved as f64;
        }
        let met = encounters != Encounters::None;
        let weights = TerminalWeights::new(self.task, self.rules, met);
        if weights == TerminalWeights::default() {
            return step.reward;
        }
        let efficiency = (1.0 - step.steps as f64 / f64::from(self.budget)).max(0.0);
        let complete = weights.completion
            + weights.detection * encounters.detection_rate()
            + weights.calibration * step.calibration
            + weights.efficiency * efficiency;
        let left = self.subtasks.len() - resolved;
        clamp_reward(complete) - self.loss() * left as f64
    }

    /// Returns what a subtask that is not completed costs at the end at least.
    pub(super) fn loss(&self) -> f64 {
        let weights = TerminalWeights::new(self.task, self.rules, true);
        let subtasks = self.subtasks.len() as f64;
        let one = weights.completion / subtasks;
        let efficiency = 1.0 - subtasks / f64::from(self.budget);
        let complete = weights.completion
            + weights.detection
            + weights.calibration
            + weights.efficiency * efficiency;
        // The terminal reward is clamped, which makes the first loss smaller.
        one.min(clamp_reward(complete) - (complete - one)).max(0.0)
    }
}
