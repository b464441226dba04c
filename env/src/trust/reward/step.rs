//! The reward of one step (spec trust §9). Sums are evaluated left to right in the order written.

use crate::ledger::HIGH_STAKES;
use crate::num::{clamp_reward, clip01};
use crate::task::Task;
use crate::trust::model::{Action, Grades, Observation, Step};

/// Reward of skipping a subtask.
const SKIP_REWARD: f64 = 0.02;

/// Accuracy of a subtask that the orchestrator completed by its own work: solved alone, or with a
/// corrected answer. It applies only under changed rules; in the reference, every completed subtask
/// has accuracy 1.
const OWN_WORK: f64 = 0.5;

/// The weights of the components of a step's reward, named as those of [`Grades`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StepWeights {
    pub(super) accuracy: f64,
    pub(super) stakes: f64,
    pub(super) efficiency: f64,
    pub(super) alignment: f64,
    pub(super) domain: f64,
    pub(super) verification: f64,
}

impl StepWeights {
    /// Returns the weights of a task.
    #[inline]
    pub(super) const fn new(task: Task) -> Self {
        let [
            accuracy,
            stakes,
            efficiency,
            alignment,
            domain,
            verification,
        ] = match task {
            Task::Task1 => [0.43, 0.30, 0.12, 0.07, 0.04, 0.04],
            Task::Task2 => [0.55, 0.0, 0.25, 0.10, 0.10, 0.0],
            Task::Task3 => [0.32, 0.33, 0.10, 0.10, 0.05, 0.10],
        };
        Self {
            accuracy,
            stakes,
            efficiency,
            alignment,
            domain,
            verification,
        }
    }
}

/// The input of the step grader.
#[derive(Clone, Copy, Debug)]
pub struct GradeInput {
    /// The task of the episode.
    pub task: Task,
    /// The action that was taken.
    pub action: Action,
    /// `true` if the subtask was completed.
    pub success: bool,
    /// `true` if the orchestrator's own work completed the subtask, which earns half of the
    /// accuracy.
    pub own_work: bool,
    /// Stakes of the subtask, 0..=1.
    pub stakes: f64,
    /// `true` if the adversary poisoned its answer, caught or not.
    pub adversarial: bool,
    /// Stated confidence, 0..=1; `None` if no specialist was called.
    pub confidence: Option<f64>,
    /// `Some` only if the domain-bound specialist was called: `true` if the subtask is in its
    /// domain.
    pub in_domain: Option<bool>,
    /// Trust in the called slot, 0..=1, before the ledger was updated with the outcome.
    pub trust_before: Option<f64>,
    /// Number of steps used, this one included.
    pub step_count: u8,
    /// Step budget of the episode.
    pub max_steps: u8,
}

impl GradeInput {
    /// Creates the input for the step just taken, which led to `observation`.
    #[inline]
    pub(super) fn new(observation: &Observation, step: &Step) -> Self {
        Self {
            task: observation.task,
            action: step.action,
            success: step.success == Some(true),
            own_work: step.own_work,
            stakes: step.stakes,
            adversarial: step.adversarial,
            confidence: step.confidence,
            in_domain: step.in_domain,
            trust_before: step.trust_before,
            step_count: observation.step_count,
            max_steps: observation.max_steps,
        }
    }
}

/// Returns the reward of one step and its components.
#[must_use]
#[inline]
pub fn grade(input: &GradeInput) -> Grades {
    grade_weighted(input, &StepWeights::new(input.task))
}

/// Returns the reward of one step with other weights than the task's. A component of weight 0 changes
/// no bit of the others' sum.
#[inline]
pub(super) fn grade_weighted(input: &GradeInput, weights: &StepWeights) -> Grades {
    if input.action == Action::Skip {
        return skipped();
    }
    match input.task {
        Task::Task1 => grade_task1(input, weights),
        Task::Task2 => grade_task2(input, weights),
        Task::Task3 => grade_task3(input, weights),
    }
}

const fn skipped() -> Grades {
    Grades {
        task_accuracy: 0.0,
        stakes_awareness: 0.0,
        efficiency: SKIP_REWARD,
        confidence_alignment: 0.0,
        domain_routing: 0.0,
        verification_quality: 0.0,
        reward: SKIP_REWARD,
        skipped: true,
    }
}

#[inline]
fn grade_task1(input: &GradeInput, w: &StepWeights) -> Grades {
    let acc = accuracy(input);
    let stakes = match poison_handled(input) {
        Some(true) => 0.99,
        Some(false) => 0.0,
        None => 0.6 + 0.4 * acc,
    };
    let efficiency = match input.action {
        Action::Delegate(_) => 1.0,
        Action::Verify(_) => 0.7,
        Action::SolveIndependently | Action::Skip => 0.5,
    };
    let (alignment, domain) = (alignment(input, acc), domain(input));
    let verification = verification(input);
    let reward = w.accuracy * acc
        + w.stakes * stakes
        + w.efficiency * efficiency
        + w.alignment * alignment
        + w.domain * domain
        + w.verification * verification;
    Grades {
        task_accuracy: acc,
        stakes_awareness: stakes,
        efficiency,
        confidence_alignment: alignment,
        domain_routing: domain,
        verification_quality: verification,
        reward: clamp_reward(reward),
        skipped: false,
    }
}

#[inline]
fn grade_task2(input: &GradeInput, w: &StepWeights) -> Grades {
    let acc = accuracy(input);
    let penalty = match input.action {
        Action::Verify(_) => 0.10,
        Action::SolveIndependently => 0.20,
        Action::Delegate(_) | Action::Skip => 0.0,
    };
    let efficiency = (budget_left(input) - penalty).max(0.0);
    let (alignment, domain) = (alignment(input, acc), domain(input));
    let reward =
        w.accuracy * acc + w.efficiency * efficiency + w.alignment * alignment + w.domain * domain;
    Grades {
        task_accuracy: acc,
        stakes_awareness: 0.0,
        efficiency,
        confidence_alignment: alignment,
        domain_routing: domain,
        verification_quality: 0.0,
        reward: clamp_reward(reward),
        skipped: false,
    }
}

#[inline]
fn grade_task3(input: &GradeInput, w: &StepWeights) -> Grades {
    let outcome = accuracy(input);
    let (stakes, acc) = match poison_handled(input) {
        Some(true) => (0.99, outcome),
        Some(false) => (0.0, 0.0),
        None => (0.5 + 0.5 * outcome, outcome),
    };
    let efficiency = budget_left(input);
    let (alignment, domain) = (alignment(input, acc), domain(input));
    let verification = verification(input);
    let reward = w.accuracy * acc
        + w.stakes * stakes
        + w.efficiency * efficiency
        + w.alignment * alignment
        + w.verification * verification
        + w.domain * domain;
    Grades {
        task_accuracy: acc,
        stakes_awareness: stakes,
        efficiency,
        confidence_alignment: alignment,
        domain_routing: domain,
        verification_quality: verification,
        reward: clamp_reward(reward),
        skipped: false,
    }
}

#[inline]
fn accuracy(input: &GradeInput) -> f64 {
    match (input.success, input.own_work) {
        (true, false) => 1.0,
        (true, true) => OWN_WORK,
        (false, _) => 0.0,
    }
}

/// Returns `Some(true)` if poison at high stakes was kept out, `Some(false)` if it was believed,
/// and `None` without poison at high stakes.
#[inline]
fn poison_handled(input: &GradeInput) -> Option<bool> {
    (input.adversarial && high(input)).then_some(matches!(
        input.action,
        Action::Verify(_) | Action::SolveIndependently
    ))
}

/// Returns `true` for high stakes. The bound is fixed at 0.70, even if the curriculum moved the
/// adversary's threshold (quirk Q22).
#[inline]
fn high(input: &GradeInput) -> bool {
    input.stakes >= HIGH_STAKES
}

#[inline]
fn budget_left(input: &GradeInput) -> f64 {
    (1.0 - f64::from(input.step_count) / f64::from(input.max_steps)).max(0.0)
}

#[inline]
fn alignment(input: &GradeInput, acc: f64) -> f64 {
    input
        .confidence
        .map_or(0.5, |confidence| clip01(1.0 - (confidence - acc).max(0.0)))
}

#[inline]
fn domain(input: &GradeInput) -> f64 {
    match input.in_domain {
        None => 0.5,
        Some(true) => 1.0,
        Some(false) => 0.1,
    }
}

#[inline]
fn verification(input: &GradeInput) -> f64 {
    let high = high(input);
    match input.action {
        Action::Verify(_) if high && input.adversarial => 1.0,
        Action::Verify(_) if high => 0.75,
        Action::Verify(_) if input.trust_before.unwrap_or(0.5) < 0.45 => 0.65,
        Action::Verify(_) => 0.25,
        Action::Delegate(_) if high && input.adversarial => 0.0,
        Action::SolveIndependently if high => 0.7,
        _ => 0.55,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that own work earns half of what accuracy adds, both directly and through the stakes
    /// component.
    #[test]
    fn own_work_earns_half_of_accuracy_reward() {
        let price = [
            (Task::Task1, (0.43 + 0.30 * 0.4) / 2.0),
            (Task::Task2, 0.55 / 2.0),
            (Task::Task3, (0.32 + 0.33 * 0.5) / 2.0),
        ];
        for (task, price) in price {
            let whole = GradeInput {
                task,
                action: Action::SolveIndependently,
                success: true,
                own_work: false,
                stakes: 0.5,
                adversarial: false,
                confidence: None,
                in_domain: None,
                trust_before: None,
                step_count: 4,
                max_steps: 30,
            };
            let own = GradeInput {
                own_work: true,
                ..whole
            };
            let lost = grade(&whole).reward - grade(&own).reward;
            assert!((lost - price).abs() < 1e-12, "{task}: {lost}");
            assert_eq!(grade(&own).task_accuracy, OWN_WORK);
        }
    }
}
