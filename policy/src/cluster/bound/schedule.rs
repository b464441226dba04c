//! The highest sum of rewards over the ends of an episode and the order of its jobs.

use sentinel_env::cluster::{Change, Episode};
use sentinel_env::num::round_to;
use sentinel_env::{Environment as _, Task};

use super::assignment::highest_sum;
use super::job_limits::JobLimits;
use super::step_limits::{Limits, StepLimits, weight};

/// Upper limit of a step reward and of a terminal reward (spec cluster §8, §9).
const HIGHEST: f64 = 0.99;
/// Number above the sum of all rounding up in a step reward: of components, grades, their modifier and the
/// reward, all to four decimals.
const ROUNDING: f64 = 4e-4;
/// Number above the sum of all rounding up in a terminal reward.
const TERMINAL_ROUNDING: f64 = 2e-4;
/// Half of the last decimal of a published score.
const LAST_DECIMAL: f64 = 5e-5;
/// Value of a job that cannot start at a step although it must.
const IMPOSSIBLE: f64 = -1e6;

/// An upper bound on the score of an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodeBound {
    /// The bound, 0..=1, four decimals: no sequence of actions has a higher score.
    pub score: f64,
}

impl EpisodeBound {
    /// Computes the bound from the state of `episode` on.
    #[must_use]
    pub fn new(episode: &Episode) -> Self {
        if episode.observation().done() {
            return Self {
                score: episode.score(),
            };
        }
        let bound = Bound::new(episode, Limits::new(episode));
        let score = bound
            .ends()
            .filter_map(|(step, end)| bound.score(step, end));
        let highest = score.fold(0.0, f64::max);
        Self {
            score: round_to(highest.min(1.0) + LAST_DECIMAL, 4).min(1.0),
        }
    }
}

/// The ways in which an episode ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// All jobs are complete.
    Complete,
    /// The steps are used up.
    TimeLimit,
    /// Too many GPUs are down.
    Failure,
}

/// An episode and its limits.
struct Bound<'a> {
    episode: &'a Episode,
    limits: Limits,
    /// The highest reward and utilization of each step that is left, whatever the jobs do before and
    /// after it, as sums up to the step.
    sums: Vec<(f64, f64)>,
}

/// The linear coefficients of the sum of rewards of an episode that ends at a certain step.
struct Coefficients {
    /// Of a unit of memory that is held after each step, as sums up to the step.
    memory: Vec<f64>,
    /// Of a job that holds memory after each step, as sums up to the step.
    holding: Vec<f64>,
    /// Of a job that is complete after each step, as sums up to the step.
    complete: Vec<f64>,
    /// Of a unit of memory that is held at the end.
    last_memory: f64,
    /// The largest of `memory` and of `holding` in one step.
    largest: (f64, f64),
}

/// The terminal reward (spec cluster §9): its upper limit without the parts that depend on jobs, and the
/// weights of these.
struct Terminal {
    other: f64,
    completion: f64,
    utilization: f64,
}

impl<'a> Bound<'a> {
    fn new(episode: &'a Episode, limits: Limits) -> Self {
        let o = episode.observation();
        let of_step = |step: &StepLimits| {
            let rewards =
                (limits.complete..=step.complete).map(|complete| limits.reward(o, step, complete));
            let reward = (rewards.fold(0.01, f64::max) + ROUNDING).min(HIGHEST);
            (reward, limits.utilization(step, limits.complete))
        };
        let mut sum = (0.0, 0.0);
        let add = |step| {
            let (reward, utilization) = of_step(step);
            sum = (sum.0 + reward, sum.1 + utilization);
            sum
        };
        let sums = limits.steps.iter().map(add).collect();
        Self {
            episode,
            limits,
            sums,
        }
    }

    fn has(&self, change: Change) -> bool {
        self.episode.observation().rules.has(change)
    }

    /// Returns the limits after each step at which the episode can end, and how.
    fn ends(&self) -> impl Iterator<Item = (&StepLimits, End)> {
        let size = &self.limits.size;
        let of_step = move |step: &StepLimits| {
            let all = step.complete == size.jobs;
            let last = step.step == size.max_steps;
            [
                (End::Complete, all),
                (End::TimeLimit, last),
                (End::Failure, step.can_fail(size)),
            ]
        };
        self.limits.steps.iter().flat_map(move |step| {
            let ends = of_step(step).into_iter().filter(|(_, can_end)| *can_end);
            ends.map(move |(end, _)| (step, end))
        })
    }

    /// Returns an upper bound on the score of episodes that end like this; `None` if there are none.
    fn score(&self, last: &StepLimits, end: End) -> Option<f64> {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        let saved = if self.has(Change::Ending) {
            f64::from(self.limits.size.max_steps - last.step)
        } else {
            0.0
        };
        // How often the terminal reward counts.
        let times = 1.0 + if end == End::Complete { saved } else { 0.0 };
        let taken = f64::from(last.step - o.step_count);
        let events = f64::from(tally.reward_events) + taken + 1.0 + saved;
        let by_order = self.by_order_of_jobs(last, end, times)?;
        let highest = by_order.min(self.step_by_step(last, end, times));
        Some((tally.total_reward + highest) / events)
    }

    /// Returns the steps up to `last`.
    fn steps_to(&self, last: &StepLimits) -> &[StepLimits] {
        &self.limits.steps[..usize::from(last.step - self.limits.now)]
    }

    /// Bounds the sum of rewards that are left by the best number of completed jobs in each step by itself.
    fn step_by_step(&self, last: &StepLimits, end: End, times: f64) -> f64 {
        let limits = &self.limits;
        let (rewards, utilization) = self.sums[usize::from(last.step - limits.now - 1)];
        let terminal = self.terminal(last, end);
        let utilization = if self.has(Change::Ending) {
            (self.episode.tally().utilization_sum() + utilization) / f64::from(last.step)
        } else {
            limits.utilization(last, limits.complete)
        };
        let completion = f64::from(last.complete) / f64::from(limits.size.jobs);
        let terminal = terminal.other
            + terminal.completion * completion
            + terminal.utilization * utilization
            + TERMINAL_ROUNDING;
        rewards + times * terminal.clamp(0.01, HIGHEST)
    }

    /// Returns the terminal reward at the end of `last`.
    fn terminal(&self, last: &StepLimits, end: End) -> Terminal {
        let (other, completion, utilization) = match self.episode.observation().task {
            Task::Task1 => (0.0, 0.60, 0.40),
            Task::Task2 => (0.30 * last.calibration + 0.30, 0.40, 0.0),
            Task::Task3 => {
                let max_steps = self.limits.size.max_steps;
                let left = 1.0 - f64::from(last.step) / f64::from(max_steps);
                let other = 0.45 * last.detection_rate + 0.15 * last.mean_health + 0.10 * left;
                (other, 0.30, 0.0)
            }
        };
        // When all jobs are complete, none holds memory.
        let is_last = !self.has(Change::Ending) && end == End::Complete;
        Terminal {
            other,
            completion,
            utilization: if is_last { 0.0 } else { utilization },
        }
    }

    /// Bounds the sum of rewards that are left by the best order of jobs; `None` if all jobs must be
    /// complete and cannot.
    fn by_order_of_jobs(&self, last: &StepLimits, end: End, times: f64) -> Option<f64> {
        let (limits, size) = (&self.limits, &self.limits.size);
        let terminal = self.terminal(last, end);
        let steps = self.steps_to(last);
        let coefficients = self.coefficients(last, &terminal, times);
        let jobs = f64::from(size.jobs);
        let other = |step: &StepLimits| {
            let grades = step.other_grades(size)
                + weight::COMPLETION * f64::from(limits.complete) / jobs
                + weight::UTILIZATION * step.other_memory / step.memory(size)
                + weight::BUSY * f64::from(step.other_busy) / f64::from(size.gpus);
            (grades * step.health * step.modifier).max(0.01) + ROUNDING
        };
        let mut sum: f64 = steps.iter().map(other).sum();
        let utilization = if self.has(Change::Ending) {
            let other = |step: &StepLimits| step.other_memory / step.memory(size);
            let others: f64 = steps.iter().map(other).sum();
            (self.episode.tally().utilization_sum() + others) / f64::from(last.step)
        } else {
            last.other_memory / last.memory(size)
        };
        sum += times
            * (terminal.other
                + terminal.completion * f64::from(limits.complete) / jobs
                + terminal.utilization * utilization
                + TERMINAL_ROUNDING);
        let must = end == End::Complete;
        let (running, queued): (Vec<_>, Vec<_>) =
            limits.jobs.iter().partition(|job| job.is_running);
        for job in running {
            let value = self.value(job, limits.now + 1, last.step, must, &coefficients);
            sum += value.or((!must).then_some(0.0))?;
        }
        let rows: Vec<Vec<f64>> = queued
            .iter()
            .map(|job| {
                let starts = limits.now + 1..=last.step;
                let value = |start| self.value(job, start, last.step, must, &coefficients);
                let worst = if must { IMPOSSIBLE } else { 0.0 };
                let mut row: Vec<f64> = starts.map(|start| value(start).unwrap_or(worst)).collect();
                // A column for each job that does not start.
                row.extend(queued.iter().map(|_| worst));
                row
            })
            .collect();
        let highest = highest_sum(&rows);
        (highest > IMPOSSIBLE / 2.0).then_some(sum + highest + 1e-9)
    }

    fn coefficients(&self, last: &StepLimits, terminal: &Terminal, times: f64) -> Coefficients {
        let size = &self.limits.size;
        let mut found = Coefficients {
            memory: vec![0.0],
            holding: vec![0.0],
            complete: vec![0.0],
            last_memory: 0.0,
            largest: (0.0, 0.0),
        };
        let add = |sums: &mut Vec<f64>, value: f64| {
            let sum = sums.last().copied().unwrap_or(0.0);
            sums.push(sum + value);
        };
        let of_utilization = times * terminal.utilization;
        for step in self.steps_to(last) {
            let factor = step.health * step.modifier;
            let mut memory = factor * weight::UTILIZATION / step.memory(size);
            if self.has(Change::Ending) {
                memory += of_utilization / step.memory(size) / f64::from(last.step);
            }
            let holding = factor * weight::BUSY / f64::from(size.gpus);
            let mut complete = factor * weight::COMPLETION / f64::from(size.jobs);
            if step.step == last.step {
                complete += times * terminal.completion / f64::from(size.jobs);
            }
            found.largest = (found.largest.0.max(memory), found.largest.1.max(holding));
            add(&mut found.memory, memory);
            add(&mut found.holding, holding);
            add(&mut found.complete, complete);
        }
        if !self.has(Change::Ending) {
            found.last_memory = of_utilization / last.memory(size);
        }
        found
    }

    /// Returns the largest contribution of a job that starts at the step `start` to the sum of rewards up
    /// to the step `last`; `None` if it cannot start then, or not be complete if it must.
    fn value(
        &self,
        job: &JobLimits,
        start: u8,
        last: u8,
        must_complete: bool,
        sums: &Coefficients,
    ) -> Option<f64> {
        let at = |step: u8| usize::from(step - self.limits.now);
        let held = |end: u8, limit: Option<u16>| {
            let sum = |sums: &[f64]| sums[at(end)] - sums[at(start - 1)];
            let all = job.memory * sum(&sums.memory) + sum(&sums.holding);
            let one = job.memory * sums.largest.0 + sums.largest.1;
            limit.map_or(all, |limit| all.min(f64::from(limit) * one))
        };
        let by = job.deadline.min(last);
        let completed = (start + job.steps - 1..=by).map(|end| {
            let complete = sums.complete[at(last)] - sums.complete[at(end - 1)];
            held(end - 1, Some(job.held)) + complete
        });
        let completed = completed.reduce(f64::max);
        if must_complete {
            return completed;
        }
        // Without the rule change, a job that timed out keeps its memory.
        let (end, limit) = if self.has(Change::Timeouts) {
            (by, Some(job.held))
        } else {
            (last, None)
        };
        let unfinished = (start <= end).then(|| {
            let bonus = if end == last {
                job.memory * sums.last_memory
            } else {
                0.0
            };
            held(end, limit) + bonus
        });
        completed.into_iter().chain(unfinished).reduce(f64::max)
    }
}
