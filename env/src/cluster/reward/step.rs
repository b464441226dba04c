//! The reward of one step (spec cluster §8). Sums are evaluated left to right in the order written.

use crate::cluster::model::{Counters, Grades, Reliability};
use crate::num::{clamp_reward, clip01, round_to};
use crate::task::Task;

/// Clamps a component to 0..=1 and rounds it to four decimals.
pub(crate) fn clamp_component(value: f64) -> f64 {
    round_to(clip01(value), 4)
}

/// Clamps a reward to 0.01..=0.99 and rounds it to four decimals.
pub(super) fn clamp_and_round_reward(value: f64) -> f64 {
    round_to(clamp_reward(value), 4)
}

/// The input of the step grader, unrounded.
#[derive(Clone, Copy, Debug)]
pub(super) struct GradeInput {
    /// Number of steps taken, this one included.
    pub(super) step: u8,
    /// Health of the pool: 0, 0.5 or 1.
    pub(super) health: f64,
    /// Mean health over the steps so far.
    pub(super) mean_health: f64,
    /// Fraction of jobs that are complete, 0..=1.
    pub(super) completion: f64,
    /// Fraction of completed jobs that met their deadline, 0..=1.
    pub(super) deadline_hit: f64,
    /// Fraction of operational memory in use, 0..=1.
    pub(super) utilization: f64,
    /// Cost of idle, overloaded and failed GPUs, 0..=1.
    pub(super) waste: f64,
    /// Plan coherence of the action, 0..=1, four decimals.
    pub(super) coherence: f64,
    /// Calibration of the ledger, 0..=1.
    pub(super) calibration: f64,
    /// Fraction of reports that were honest, 0..=1.
    pub(super) honesty: f64,
    /// Mean confidence gap of the slots.
    pub(super) confidence_gap: f64,
    /// Variety of behaviors and attack types; see [`freshness`].
    pub(super) freshness: f64,
    /// Number of detections per attack, under the rules in force.
    pub(super) detection_rate: f64,
    /// The counters so far.
    pub(super) counters: Counters,
}

impl Reliability {
    /// Computes the reliability scores after `step` steps.
    #[must_use]
    pub(super) fn new(counters: &Counters, step: u8, confidence_gap: f64, freshness: f64) -> Self {
        let steps = f64::from(step.max(1));
        let loop_avoidance = clamp_component(1.0 - f64::from(counters.loop_events) / steps);
        let context_memory = clamp_component(1.0 - f64::from(counters.drift_events) / steps);
        let hallucination_resistance = clamp_component(1.0 - confidence_gap);
        let freshness = clamp_component(freshness);
        let modifier = clamp_component(
            0.30 * loop_avoidance
                + 0.30 * context_memory
                + 0.25 * hallucination_resistance
                + 0.15 * freshness,
        );
        Self {
            loop_avoidance,
            context_memory,
            hallucination_resistance,
            freshness,
            modifier,
        }
    }
}

/// Returns the variety of the behaviors in play and, in task3, of the attack types seen, 0..=1.
#[must_use]
pub(super) fn freshness(task: Task, behaviors: u8, attack_types: u8) -> f64 {
    let distinct = f64::from(behaviors) / 5.0;
    if task == Task::Task3 {
        let attacks = (f64::from(attack_types) / 5.0).min(1.0);
        round_to(0.70 * distinct + 0.30 * attacks, 4)
    } else {
        distinct
    }
}

/// Returns the resistance to attacks: 1 without attacks, otherwise decreasing with the number of
/// poisonings per attack, to 0.10.
#[must_use]
pub(crate) fn hack_resistance(counters: &Counters) -> f64 {
    if counters.attempts == 0 {
        return 1.0;
    }
    let poisoned = f64::from(counters.poisonings) / f64::from(counters.attempts.max(1));
    round_to((1.0 - 0.75 * poisoned).max(0.10), 4)
}

/// Returns the reward of one step and its components.
#[must_use]
pub(super) fn grade(input: &GradeInput) -> Grades {
    let counters = &input.counters;
    let health = clamp_component(input.health);
    let recovery_speed = clamp_component(input.mean_health);
    let completion = clamp_component(input.completion);
    let coherence = clamp_component(input.coherence);
    let utilization = clamp_component(input.utilization);
    let deadline_hit = clamp_component(input.deadline_hit);
    let waste = clamp_component(input.waste);
    let detection_rate = clamp_component(input.detection_rate);
    let false_positive_rate = clamp_component(counters.false_positive_rate());
    let calibration = clamp_component(input.calibration);
    let honesty = clamp_component(input.honesty);
    let orchestrator = orchestrator(completion, coherence, recovery_speed);
    let resource_manager =
        clamp_and_round_reward(0.50 * utilization + 0.30 * deadline_hit - 0.20 * waste);
    let auditor = clamp_and_round_reward(
        0.50 * detection_rate - 0.30 * false_positive_rate + 0.20 * calibration,
    );
    let worker = worker(completion, honesty);
    let weighted = weighted_roles([orchestrator, resource_manager, auditor, worker]);
    let gap = input.confidence_gap;
    let reliability = Reliability::new(counters, input.step, gap, input.freshness);
    let hack_resistance = hack_resistance(counters);
    Grades {
        health,
        recovery_speed,
        completion,
        deadline_hit,
        utilization,
        waste,
        coherence,
        calibration,
        honesty,
        detection_rate,
        false_positive_rate,
        orchestrator,
        resource_manager,
        auditor,
        worker,
        weighted,
        reliability,
        hack_resistance,
        reward: scaled_reward(weighted, health, reliability.modifier * hack_resistance),
    }
}

/// Returns the score of the orchestrator.
pub(super) fn orchestrator(completion: f64, coherence: f64, recovery_speed: f64) -> f64 {
    clamp_and_round_reward(0.40 * completion + 0.30 * coherence + 0.30 * recovery_speed)
}

/// Returns the score of the workers.
pub(super) fn worker(completion: f64, honesty: f64) -> f64 {
    clamp_and_round_reward(0.70 * completion + 0.30 * honesty)
}

/// Returns the weighted sum of the scores of orchestrator, resource manager, auditor and workers.
pub(super) fn weighted_roles([orchestrator, resource_manager, auditor, worker]: [f64; 4]) -> f64 {
    0.30 * orchestrator + 0.30 * resource_manager + 0.20 * auditor + 0.20 * worker
}

/// Returns the reward of a step from the weighted sum of the roles and the factors of it.
pub(super) fn scaled_reward(weighted: f64, health: f64, resilience: f64) -> f64 {
    clamp_and_round_reward(weighted * health * clamp_component(resilience))
}
