//! The highest sum of rewards over the ends of an episode and the order of its jobs.

use sentinel_env::cluster::{Change, Episode};
use sentinel_env::num::round_to;
use sentinel_env::{Environment as _, Task};

use super::assignment::highest_sum;
use super::job_limits::JobLimits;
use super::step_limits::{Limits, PREEMPTION, StepLimits, has_liar, weight};

/// Upper limit of a step reward and of a terminal reward (spec cluster §8, §9).
const HIGHEST: f64 = 0.99;
/// Number above the sum of all rounding up in a step reward: of components, grades, their modifier and the
/// reward, all to four decimals.
const ROUNDING: f64 = 4e-4;
/// Number above the sum of all rounding up in a terminal reward.
const TERMINAL_ROUNDING: f64 = 2e-4;
/// Half of the last decimal of a published score.
const LAST_DECIMAL: f64 = 5e-5;
/// Largest number of jobs for which the step at which the last one ends is searched: those of task1.
const MOST_SEARCHED_JOBS: usize = 10;
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
        let higher = |best: f64, (step, end)| best.max(bound.score(step, end, best));
        let highest = bound.ends().fold(0.0, higher);
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
    /// Value of a unit of memory that is held after each step, as sums up to the step.
    memory: Vec<f64>,
    /// Value of a job that holds memory after each step, as sums up to the step.
    holding: Vec<f64>,
    /// Value of a job that is complete after each step, as sums up to the step.
    complete: Vec<f64>,
    /// Value of a unit of memory that is held at the end.
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

    /// Returns an upper bound on the score of episodes that end like this; 0 if there are none, and some bound
    /// below `best` if none can have a higher score.
    fn score(&self, last: &StepLimits, end: End, best: f64) -> f64 {
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
        let score = |rewards: f64| (tally.total_reward + rewards) / events;
        let by_step = score(self.step_by_step(last, end, times));
        if by_step <= best {
            return by_step;
        }
        let enough = best * events - tally.total_reward;
        let by_order = |open: u8| self.by_order_of_jobs(last, end, times, open, enough);
        let first = o.step_count + u8::from(!self.limits.jobs.is_empty());
        let orders = if self.is_open_searched(end) {
            first..=last.step
        } else {
            last.step..=last.step
        };
        let by_order = orders.filter_map(by_order).reduce(f64::max);
        by_order.map_or(0.0, |rewards| score(rewards).min(by_step))
    }

    /// Returns `true` if the step at which the last job ends is searched, which takes too long for many jobs.
    fn is_open_searched(&self, end: End) -> bool {
        end == End::TimeLimit && self.limits.jobs.len() <= MOST_SEARCHED_JOBS
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

    /// Bounds the sum of rewards that are left by the best order of jobs, if some job is queued or running
    /// before the step `open`, and none is after it; `None` if that is not possible. A bound below
    /// `enough` may be looser.
    fn by_order_of_jobs(
        &self,
        last: &StepLimits,
        end: End,
        times: f64,
        open: u8,
        enough: f64,
    ) -> Option<f64> {
        let limits = &self.limits;
        let rules = self.episode.observation().rules;
        let idle = |step: &StepLimits| step.when_idle(step.step.saturating_sub(open), rules);
        let steps: Vec<StepLimits> = self.steps_to(last).iter().map(idle).collect();
        let terminal = self.terminal(last, end);
        let sums = self.coefficients(&steps, last, &terminal, times);
        let sum =
            self.without_jobs(&steps, last, &terminal, times) - self.lost_coherence(&steps, open);
        let must = end == End::Complete;
        // The values of a job by the step of its start, and, if it does not start, in the end.
        let row = |job: &JobLimits, earliest: u8| {
            let of_start = |start| self.value(job, start, last.step, must, earliest, &sums);
            let can_wait = !must && job.deadline + 1 >= earliest;
            let waiting = if can_wait { 0.0 } else { IMPOSSIBLE };
            if job.is_running {
                return vec![of_start(limits.now + 1).unwrap_or(waiting)];
            }
            let starts = limits.now + 1..=last.step;
            let started = starts.map(|start| of_start(start).unwrap_or(IMPOSSIBLE));
            let unstarted = limits.jobs.iter().map(|_| waiting);
            started.chain(unstarted).collect()
        };
        let mut rows: Vec<Vec<f64>> = limits.jobs.iter().map(|job| row(job, 0)).collect();
        let any = sum + self.highest_sum(&rows);
        let is_possible = |sum: f64| (sum > IMPOSSIBLE / 2.0).then_some(sum + 1e-9);
        if !self.is_open_searched(end) || rows.is_empty() || any <= enough {
            return is_possible(any);
        }
        let mut highest = IMPOSSIBLE;
        for (at, job) in limits.jobs.iter().enumerate() {
            let usual = std::mem::replace(&mut rows[at], row(job, open));
            highest = highest.max(sum + self.highest_sum(&rows));
            rows[at] = usual;
        }
        is_possible(highest)
    }

    /// Returns the largest sum of the values of jobs, each of which starts in a step of its own or is running.
    fn highest_sum(&self, rows: &[Vec<f64>]) -> f64 {
        let of_jobs = || rows.iter().zip(&self.limits.jobs);
        let running = of_jobs().filter(|(_, job)| job.is_running);
        let queued = of_jobs().filter(|(_, job)| !job.is_running);
        let queued: Vec<&[f64]> = queued.map(|(row, _)| row.as_slice()).collect();
        running.map(|(row, _)| row[0]).sum::<f64>() + highest_sum(&queued)
    }

    /// Returns the highest sum of rewards that are left without those for jobs.
    fn without_jobs(
        &self,
        steps: &[StepLimits],
        last: &StepLimits,
        terminal: &Terminal,
        times: f64,
    ) -> f64 {
        let size = &self.limits.size;
        let complete = f64::from(self.limits.complete) / f64::from(size.jobs);
        let utilization = |step: &StepLimits| step.other_memory / step.memory(size);
        let reward = |step: &StepLimits| {
            let grades = step.other_grades(size)
                + weight::COMPLETION * complete
                + weight::UTILIZATION * utilization(step)
                + weight::BUSY * f64::from(step.other_busy) / f64::from(size.gpus);
            (grades * step.factor()).max(0.01) + ROUNDING
        };
        let rewards: f64 = steps.iter().map(reward).sum();
        let utilization = if self.has(Change::Ending) {
            let others: f64 = steps.iter().map(utilization).sum();
            (self.episode.tally().utilization_sum() + others) / f64::from(last.step)
        } else {
            utilization(last)
        };
        let terminal = terminal.other
            + terminal.completion * complete
            + terminal.utilization * utilization
            + TERMINAL_ROUNDING;
        rewards + times * terminal
    }

    /// Returns the part of the limits of coherence that cannot be had up to the step `open`, if GPUs do not
    /// fail and no worker lies. Then a job starts again only after it was preempted, and all actions but
    /// the start of a job are at most as coherent as a preemption.
    fn lost_coherence(&self, steps: &[StepLimits], open: u8) -> f64 {
        let is_known = self.limits.size.failure_chance == 0.0
            && !self.limits.size.adversary
            && !has_liar(self.episode);
        if !is_known {
            return 0.0;
        }
        let queued = self.limits.jobs.iter().filter(|job| !job.is_running);
        let steps = &steps[..usize::from(open - self.limits.now)];
        let others = steps.len().saturating_sub(queued.count()) / 2;
        let lost = steps
            .iter()
            .map(|step| weight::COHERENCE * step.factor() * (step.coherence - PREEMPTION).max(0.0));
        others as f64 * lost.reduce(f64::min).unwrap_or(0.0)
    }

    fn coefficients(
        &self,
        steps: &[StepLimits],
        last: &StepLimits,
        terminal: &Terminal,
        times: f64,
    ) -> Coefficients {
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
        for step in steps {
            let factor = step.factor();
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
    /// to the step `last`, if it is not complete before the step `earliest`; `None` if it cannot start then, not
    /// be open so long, or not be complete if it must.
    fn value(
        &self,
        job: &JobLimits,
        start: u8,
        last: u8,
        must_complete: bool,
        earliest: u8,
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
        let first = (start + job.steps - 1).max(earliest);
        let completed = (first..=by).map(|end| {
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
        let unfinished = (start <= end && job.deadline + 1 >= earliest).then(|| {
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
