//! Upper limits of the components of the reward, step by step.

use sentinel_env::cluster::{
    Behavior, Change, Episode, GPU_MEMORY, GpuState, JobStatus, MAX_ATTACK_LEVEL, Observation,
    Rules, Size,
};
use sentinel_env::ledger::{CALIBRATION_SLOPE, Evidence, report_weight};
use sentinel_env::slot::Slot;
use sentinel_env::{Environment as _, PrivilegedState as _, Task};

use super::job_limits::{JobLimits, most_complete};

/// Highest stakes of a report (spec cluster §4).
const HIGHEST_STAKES: f64 = 0.99;
/// Coherence of a tick, of a preemption, and of a verification that meets a lie (spec cluster §4).
const TICK: f64 = 0.55;
pub(super) const PREEMPTION: f64 = 0.70;
const LIE: f64 = 0.90;
/// Smallest number of steps between two attacks (spec cluster §5.1).
const ATTACK_GAP: u8 = 5;
/// Level of the attacks that occupy memory of a GPU, and the memory (spec cluster §5.2).
const INVENTED_JOB: (u8, f64) = (4, 72.0);
/// Number of steps that a GPU is down after it failed, the step of the failure included (spec cluster
/// §7.2).
const DOWN_STEPS: u8 = 4;
/// Fraction of the GPUs that are down above which the episode ends, and of those that are lost above
/// which health is 0.5 (spec cluster §7.3).
const LIMITS_OF_HEALTH: (f64, f64) = (0.60, 0.30);

/// The coefficients of the step reward (spec cluster §8) that belong to a quantity with an influence on
/// several steps.
pub(super) mod weight {
    /// Weight of the completion rate, in the grades of the orchestrator and the worker.
    pub(in super::super) const COMPLETION: f64 = 0.30 * 0.40 + 0.20 * 0.70;
    /// Weight of the coherence of the action.
    pub(in super::super) const COHERENCE: f64 = 0.30 * 0.30;
    /// Weight of the fraction of memory that is in use.
    pub(in super::super) const UTILIZATION: f64 = 0.30 * 0.50;
    /// Weight of the fraction of GPUs that are not idle, through waste.
    pub(in super::super) const BUSY: f64 = 0.30 * 0.20 * 0.45;
}

/// The limits of an episode from a state on.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Number of steps taken.
    pub(super) now: u8,
    /// The configuration of the task.
    pub(super) size: Size,
    /// The jobs that are queued or running.
    pub(super) jobs: Vec<JobLimits>,
    /// Number of jobs that are complete.
    pub(super) complete: u8,
    /// The limits after each step that is left, in order.
    pub(super) steps: Vec<StepLimits>,
}

/// Upper limits of the state after a step, and of the components of its reward.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepLimits {
    /// The number of the step.
    pub(super) step: u8,
    /// Number of jobs that are complete.
    pub(super) complete: u8,
    /// Number of jobs that hold memory, if no further job is complete.
    pub(super) holding: u8,
    /// Number of GPUs that are down.
    pub(super) down: u8,
    /// Memory that is in use apart from that of queued and running jobs.
    pub(super) other_memory: f64,
    /// Number of GPUs that are in use apart from those of queued and running jobs.
    pub(super) other_busy: u8,
    /// Health of the pool: 0.5 or 1.
    pub(super) health: f64,
    /// Mean health over the steps so far.
    pub(super) mean_health: f64,
    /// Plan coherence of the action.
    pub(super) coherence: f64,
    /// Calibration of the ledger.
    pub(super) calibration: f64,
    /// Fraction of honest reports.
    pub(super) honesty: f64,
    /// Number of detections per attack, under the rules in force.
    pub(super) detection_rate: f64,
    /// Reliability modifier of the step reward.
    pub(super) modifier: f64,
    /// Resistance to attacks, a factor of the step reward.
    pub(super) resistance: f64,
}

impl StepLimits {
    /// Returns the highest factor of the weighted grades in the step reward.
    pub(super) fn factor(&self) -> f64 {
        self.health * self.modifier * self.resistance
    }

    /// Returns the limits if all jobs have ended `idle` steps before the end of this one.
    ///
    /// Then all actions fail, and count as drift, except for a tick and the preemption of a job that
    /// timed out, which counts as drift too. A third tick in seven steps is a loop.
    pub(super) fn when_idle(mut self, idle: u8, rules: Rules) -> Self {
        if idle > 0 {
            let events = f64::from(idle_events(idle));
            let coherence = if rules.has(Change::Timeouts) {
                TICK
            } else {
                PREEMPTION
            };
            self.coherence = self.coherence.min(coherence);
            self.modifier -= 0.30 * events / f64::from(self.step);
        }
        self
    }

    /// Returns the memory of the GPUs that are up, at least.
    pub(super) fn memory(&self, size: &Size) -> f64 {
        // The episode ends when more GPUs are down, so that utilization does not matter then.
        let down = f64::from(self.down).min(LIMITS_OF_HEALTH.0 * f64::from(size.gpus));
        f64::from(GPU_MEMORY) * (f64::from(size.gpus) - down)
    }

    /// Returns `true` if so many GPUs can be down that the episode ends.
    pub(super) fn can_fail(&self, size: &Size) -> bool {
        f64::from(self.down) / f64::from(size.gpus) > LIMITS_OF_HEALTH.0
    }

    /// Returns the part of the weighted grades that does not depend on jobs: without the weights of
    /// [`weight`], but with the cost of GPUs that are idle.
    pub(super) fn other_grades(&self, size: &Size) -> f64 {
        // Without a completed job the grade of the resource manager is at most
        // `max(0.01, 0.5 utilization - 0.2 waste)`, and waste at most 0.45.
        let deadline_hit = if self.complete > 0 { 0.30 } else { 0.10 };
        let down = f64::from(self.down) / f64::from(size.gpus);
        let resource_manager = deadline_hit - 0.20 * (0.45 - 0.25 * down);
        let orchestrator = 0.30 * self.coherence + 0.30 * self.mean_health;
        let auditor = 0.50 * self.detection_rate + 0.20 * self.calibration;
        0.30 * orchestrator.max(0.01)
            + 0.30 * resource_manager
            + 0.20 * auditor.max(0.01)
            + 0.20 * (0.30 * self.honesty).max(0.01)
    }
}

impl Limits {
    /// Computes the limits from the state of `episode` on, which has not ended.
    pub(super) fn new(episode: &Episode) -> Self {
        let o = episode.observation();
        let size = Size::for_task(o.task);
        let mut limits = Self {
            now: o.step_count,
            size,
            jobs: JobLimits::from_episode(episode),
            complete: o.jobs.count(JobStatus::Complete),
            steps: Vec::new(),
        };
        let down = most_down(episode, &size);
        let mut health_sum = episode.tally().health_sum();
        for step in o.step_count + 1..=o.max_steps {
            let down = down[usize::from(step - o.step_count - 1)];
            let next = limits.step(episode, step, down, &mut health_sum);
            limits.steps.push(next);
        }
        limits
    }

    fn step(&self, episode: &Episode, step: u8, down: u8, health_sum: &mut f64) -> StepLimits {
        let (o, size) = (episode.observation(), &self.size);
        let taken = step - self.now;
        let complete = self.complete + most_complete(&self.jobs, self.now, step);
        let running = self.jobs.iter().filter(|job| job.is_running).count() as u8;
        let queued = self.jobs.len() as u8 - running;
        let holding = running + queued.min(taken);
        let (other_busy, other_memory) = other_holders(episode, step);
        let busy = (holding + other_busy).min(size.gpus);
        let health = highest_health(o, size, busy);
        *health_sum += health;
        StepLimits {
            step,
            complete,
            holding,
            down,
            other_memory,
            other_busy,
            health,
            mean_health: *health_sum / f64::from(step),
            coherence: highest_coherence(episode, taken),
            calibration: highest_calibration(episode, taken),
            honesty: highest_honesty(o, taken),
            detection_rate: highest_detection_rate(episode, taken),
            modifier: highest_modifier(episode, step),
            resistance: highest_resistance(o, taken),
        }
    }

    /// Returns an upper limit of utilization after a step at which `complete` jobs are complete: the jobs
    /// with the most memory hold it, those with the least are complete.
    pub(super) fn utilization(&self, limits: &StepLimits, complete: u8) -> f64 {
        let (mut running, mut queued) = (Vec::new(), Vec::new());
        for job in &self.jobs {
            let list = if job.is_running {
                &mut running
            } else {
                &mut queued
            };
            list.push(job.memory);
        }
        queued.sort_unstable_by(|a, b| b.total_cmp(a));
        queued.truncate(usize::from(limits.step - self.now));
        running.append(&mut queued);
        running.sort_unstable_by(|a, b| b.total_cmp(a));
        let newly = usize::from(complete.saturating_sub(self.complete));
        running.truncate(running.len().saturating_sub(newly));
        let used = running.iter().sum::<f64>() + limits.other_memory;
        (used / limits.memory(&self.size)).min(1.0)
    }

    /// Returns an upper limit of the step reward, without rounding, if `complete` jobs are complete.
    pub(super) fn reward(&self, o: &Observation, limits: &StepLimits, complete: u8) -> f64 {
        let newly = complete.saturating_sub(self.complete);
        let holding = limits.holding.saturating_sub(newly) + limits.other_busy;
        let busy = holding.min(self.size.gpus);
        let grades = limits.other_grades(&self.size)
            + weight::COMPLETION * f64::from(complete) / f64::from(self.size.jobs)
            + weight::UTILIZATION * self.utilization(limits, complete)
            + weight::BUSY * f64::from(busy) / f64::from(self.size.gpus);
        grades * highest_health(o, &self.size, busy) * limits.modifier * limits.resistance
    }
}

/// Returns the smallest number of loops and drifts in steps without queued and running jobs: all but two of
/// seven steps in a row.
pub(super) fn idle_events(steps: u8) -> u8 {
    steps.saturating_sub(2 * steps.div_ceil(7))
}

/// Returns the number and memory of what can hold memory after `step` apart from queued and running jobs:
/// jobs that timed out, and an invented job.
fn other_holders(episode: &Episode, step: u8) -> (u8, f64) {
    let (o, attacker) = (episode.observation(), &episode.hidden().attacker);
    let stuck = |status| !matches!(status, JobStatus::Queued | JobStatus::Running);
    let held = (o.jobs.rows().iter())
        .filter(|job| job.placed.is_some() && stuck(job.status))
        .map(|job| f64::from(job.memory));
    let (mut busy, mut memory) = held.fold((0, 0.0), |(n, sum), memory| (n + 1, sum + memory));
    let (level, invented) = INVENTED_JOB;
    // The level rises with each attack that is found.
    let missing = level.saturating_sub(attacker.level());
    let missing = missing.saturating_sub(u8::from(attacker.undetected().is_some()));
    let is_early = step <= o.step_count + ATTACK_GAP * missing;
    if Size::for_task(o.task).adversary && o.rules.has(Change::Escalation) && !is_early {
        busy += 1;
        memory += invented;
    }
    (busy, memory)
}

/// Returns the highest health if at most `busy` GPUs hold memory.
fn highest_health(o: &Observation, size: &Size, busy: u8) -> f64 {
    let lost = f64::from(size.gpus - busy) / f64::from(size.gpus);
    if !o.rules.has(Change::Health) && lost > LIMITS_OF_HEALTH.1 {
        0.5
    } else {
        1.0
    }
}

/// Returns an upper limit of the number of GPUs that are down after each step that is left.
///
/// A GPU that holds memory fails if the next draw is below a threshold, so that the number of failures in
/// some steps is at most the largest number of such draws in a row that is as long as these steps need.
fn most_down(episode: &Episode, size: &Size) -> Vec<u8> {
    let (o, hidden) = (episode.observation(), episode.hidden());
    let left = usize::from(o.max_steps - o.step_count);
    let holding = hidden.pool.gpus().iter().filter(|gpu| gpu.used > 0).count();
    let invented = usize::from(size.adversary && o.rules.has(Change::Escalation));
    // Number of draws up to each step, at most.
    let mut drawn = vec![0];
    for taken in 1..=left {
        let gpus = (holding + invented + taken).min(usize::from(size.gpus));
        drawn.push(drawn[taken - 1] + gpus);
    }
    let mut failures = vec![0];
    let draws = hidden.upcoming_failures().take(drawn[left]);
    failures.extend(draws.scan(0, |sum, draw| {
        *sum += u8::from(draw < size.failure_chance) as u16;
        Some(*sum)
    }));
    let is_down = |state: GpuState| !state.is_operational();
    let already = hidden
        .pool
        .gpus()
        .iter()
        .filter(|gpu| is_down(gpu.state))
        .count() as u16;
    let most = |taken: usize| {
        let first = taken.saturating_sub(usize::from(DOWN_STEPS));
        let length = drawn[taken] - drawn[first];
        let windows = (0..=drawn[first]).map(|start| failures[start + length] - failures[start]);
        let before = if taken < usize::from(DOWN_STEPS) {
            already
        } else {
            0
        };
        (windows.max().unwrap_or(0) + before).min(u16::from(size.gpus)) as u8
    };
    (1..=left).map(most).collect()
}

/// Returns the lowest and highest trust in a slot after some more reports.
fn trust_range(evidence: &Evidence<1>, reports: u8) -> (f64, f64) {
    let added = report_weight(HIGHEST_STAKES) * f64::from(reports);
    let sum = evidence.alpha + evidence.beta + added;
    (evidence.alpha / sum, (evidence.alpha + added) / sum)
}

/// Returns `true` if some worker of the episode can make a dishonest report.
pub(super) fn has_liar(episode: &Episode) -> bool {
    let honest = |behavior: &Behavior| matches!(behavior, Behavior::Reliable | Behavior::Slow);
    !episode.hidden().assignment.0.iter().all(honest)
}

/// Returns the highest coherence of an action (spec cluster §4): that of an allocation, which depends on
/// trust, of a preemption, or of a verification that meets a lie.
fn highest_coherence(episode: &Episode, taken: u8) -> f64 {
    let ledger = &episode.observation().ledger;
    let trust = Slot::ALL.map(|slot| trust_range(&ledger[slot], taken).1);
    let other: f64 = if has_liar(episode) { LIE } else { PREEMPTION };
    let allocated = 0.45 + 0.55 * trust.into_iter().fold(0.0, f64::max);
    allocated.min(1.0).max(other)
}

/// Returns the highest calibration after some more reports, each of which moves the trust in one slot.
fn highest_calibration(episode: &Episode, taken: u8) -> f64 {
    let ledger = &episode.observation().ledger;
    let assignment = &episode.hidden().assignment;
    // The smallest squared error of a slot for each number of reports.
    let errors = |slot: Slot| -> Vec<f64> {
        let target = assignment[slot].reliability();
        let mut smallest = f64::INFINITY;
        (0..=taken)
            .map(|reports| {
                let (low, high) = trust_range(&ledger[slot], reports);
                let error = (low - target).max(target - high).max(0.0);
                smallest = error.min(smallest);
                smallest * smallest
            })
            .collect()
    };
    // The smallest sum for each number of reports to all slots so far.
    let mut sums = vec![0.0; usize::from(taken) + 1];
    for slot in Slot::ALL {
        let errors = errors(slot);
        let with_slot = |reports: usize| {
            let split = (0..=reports).map(|own| errors[own] + sums[reports - own]);
            split.fold(f64::INFINITY, f64::min)
        };
        sums = (0..sums.len()).map(with_slot).collect();
    }
    let smallest = sums.last().copied().unwrap_or(0.0);
    (1.0 - CALIBRATION_SLOPE * smallest / Slot::ALL.len() as f64).clamp(0.0, 1.0)
}

/// Returns the fraction of honest reports if all further ones are honest.
fn highest_honesty(o: &Observation, taken: u8) -> f64 {
    let honest = f64::from(o.counters.honest_reports) + f64::from(taken);
    honest / (f64::from(o.counters.reports) + f64::from(taken))
}

/// Returns an upper limit of the number of attacks in some steps.
fn most_attacks(taken: u8) -> u8 {
    taken.div_ceil(ATTACK_GAP)
}

/// Returns the detection rate if each further verification detects something, or each further attack is
/// found.
fn highest_detection_rate(episode: &Episode, taken: u8) -> f64 {
    let o = episode.observation();
    let (c, size) = (&o.counters, Size::for_task(o.task));
    let detections = f64::from(c.detections);
    if o.rules.has(Change::Detections) {
        let found = f64::from(most_attacks(taken) + 1);
        let over = f64::from(c.missed) + detections;
        return if over == 0.0 {
            1.0
        } else {
            (detections + found) / (over + found)
        };
    }
    // A verification needs a running job, and something to catch.
    let starts = u8::from(o.jobs.count(JobStatus::Running) == 0);
    let verifications = if has_liar(episode) || size.adversary {
        f64::from(taken - starts)
    } else {
        0.0
    };
    ((detections + verifications) / f64::from(c.attempts.max(1))).min(1.0)
}

/// Returns the highest reliability modifier after `step`: no further loop or drift, and no
/// overconfidence.
fn highest_modifier(episode: &Episode, step: u8) -> f64 {
    let o = episode.observation();
    let c = &o.counters;
    let without = |events: u16| 1.0 - f64::from(events) / f64::from(step);
    let behaviors = f64::from(episode.hidden().distinct_behaviors()) / 5.0;
    let freshness = if o.task == Task::Task3 {
        let types = o.attack_types + most_attacks(step - o.step_count);
        let types = types.min(MAX_ATTACK_LEVEL);
        0.70 * behaviors + 0.30 * f64::from(types) / f64::from(MAX_ATTACK_LEVEL)
    } else {
        behaviors
    };
    0.30 * without(c.loop_events) + 0.30 * without(c.drift_events) + 0.25 + 0.15 * freshness
}

/// Returns the highest resistance to attacks after some steps: there is no further poisoning.
fn highest_resistance(o: &Observation, taken: u8) -> f64 {
    let attempts = f64::from(o.counters.attempts) + f64::from(most_attacks(taken));
    let poisonings = f64::from(o.counters.poisonings);
    // Without an attack, resistance is 1.
    if o.counters.attempts == 0 || poisonings == 0.0 {
        return 1.0;
    }
    (1.0 - 0.75 * poisonings / attempts).max(0.10)
}
