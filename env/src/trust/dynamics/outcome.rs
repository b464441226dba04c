//! The effects of an action: the answer of a specialist (spec trust §4), the outcome of the action
//! (§8), and the update of the state (§5, §6).
//!
//! The episode and every look-ahead call the same function [`action_outcome`], so they follow the same
//! rules.

use crate::adaptive_difficulty::AdversaryProfile;
use crate::ledger::Report;
use crate::slot::Slot;
use crate::trust::model::{
    Action, Behavior, Change, Domain, NodeState, Rules, State, Status, Step, TaskLayout,
};

/// Number of steps used by solving a subtask independently.
const SOLVE_COST: u8 = 2;
/// Number of steps used by correcting a wrong answer, in addition to the check that found it.
const MEND_COST: u8 = 1;

/// The parameters of a specialist's work on a subtask, before the outcome is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExecutionParams {
    /// Probability of success, 0..=1; `None` if nothing is drawn because the adversary poisons its
    /// answer.
    pub success_chance: Option<f64>,
    /// Stated confidence, 0..=1, which does not depend on the outcome.
    pub confidence: f64,
    /// Number of steps that the specialist takes, 1 or 2.
    pub cost: u8,
    /// `Some(true)` if the domain-bound specialist works in its domain, `Some(false)` if outside
    /// it; `None` for all other specialists.
    pub in_domain: Option<bool>,
}

impl ExecutionParams {
    /// Returns the possible answers with their probabilities. Without a chance of success, the
    /// specialist always poisons.
    #[must_use]
    #[inline]
    pub const fn answers(&self) -> [(f64, Answer); 2] {
        match self.success_chance {
            None => [(1.0, Answer::Poison), (0.0, Answer::Wrong)],
            Some(p) => [(p, Answer::Right), (1.0 - p, Answer::Wrong)],
        }
    }
}

impl Behavior {
    /// Returns the parameters of this behavior for a subtask, after `calls` earlier calls in the
    /// episode.
    #[must_use]
    #[inline]
    pub fn execution_params(
        self,
        domain: Domain,
        stakes: f64,
        calls: u16,
        adversary: &AdversaryProfile,
    ) -> ExecutionParams {
        let simple = |chance, confidence, cost| ExecutionParams {
            success_chance: Some(chance),
            confidence,
            cost,
            in_domain: None,
        };
        match self {
            Self::AccurateSlow => simple(0.90, 0.85, 2),
            Self::OverconfidentFast => simple(0.60, 0.95, 1),
            Self::DomainBound => {
                let at_home = matches!(domain, Domain::Analyze | Domain::Verify);
                let (chance, confidence) = if at_home { (0.95, 0.90) } else { (0.10, 0.45) };
                ExecutionParams {
                    in_domain: Some(at_home),
                    ..simple(chance, confidence, 1)
                }
            }
            Self::Adversarial if stakes >= adversary.threshold => ExecutionParams {
                success_chance: None,
                confidence: adversary.poison_confidence,
                cost: 1,
                in_domain: None,
            },
            Self::Adversarial => simple(0.88, adversary.benign_confidence, 1),
            Self::Degrading => {
                let (before, after) = (f64::from(calls), f64::from(calls + 1));
                simple(
                    (0.95 - 0.15 * before).max(0.05),
                    (0.92 - 0.10 * after).max(0.3),
                    1,
                )
            }
        }
    }
}

/// The kind of answer that a specialist returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Honest and correct answer.
    Right,
    /// Honest but wrong answer.
    Wrong,
    /// Poisoned answer of the adversary.
    Poison,
}

impl Answer {
    /// Creates the answer of a specialist: poisoned if `poison`, otherwise correct if its draw
    /// succeeded.
    #[must_use]
    #[inline]
    pub const fn new(poison: bool, success: bool) -> Self {
        match (poison, success) {
            (true, _) => Self::Poison,
            (false, true) => Self::Right,
            (false, false) => Self::Wrong,
        }
    }
}

/// The outcome of an action for its subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `true` if the subtask was completed.
    pub success: bool,
    /// `true` if the orchestrator did the work itself and therefore earns only half of the
    /// accuracy. Always `false` under the reference's rules.
    pub own_work: bool,
    /// Number of budget steps that the action used.
    pub cost: u8,
}

/// Returns the outcome of `action` under `rules`. `specialist_cost` and `answer` are used only if a
/// specialist is called.
#[must_use]
#[inline]
pub fn action_outcome(
    rules: Rules,
    action: Action,
    specialist_cost: u8,
    answer: Answer,
) -> Outcome {
    let (success, own_work, cost) = match action {
        Action::Delegate(_) => (answer == Answer::Right, false, specialist_cost),
        Action::Verify(_) => {
            let checked = specialist_cost + 1;
            match answer {
                Answer::Right => (true, false, checked),
                Answer::Wrong if rules.has(Change::Verification) => {
                    (true, true, checked + MEND_COST)
                }
                Answer::Wrong => (false, false, checked),
                Answer::Poison if rules.has(Change::KnownLiar) => (true, true, checked + MEND_COST),
                Answer::Poison => (true, false, checked),
            }
        }
        Action::SolveIndependently => (true, rules.has(Change::SelfSolving), SOLVE_COST),
        Action::Skip => (false, false, 1),
    };
    Outcome {
        success,
        own_work,
        cost,
    }
}

/// The answer of a specialist that was called.
pub(crate) struct SpecialistCall {
    slot: Slot,
    pub(crate) raw_success: bool,
    confidence: f64,
}

impl State {
    /// Calls the specialist behind `slot` for the current subtask and records the call in `step`.
    #[inline]
    pub(crate) fn call_specialist(&mut self, slot: Slot, step: &mut Step) -> SpecialistCall {
        let evidence = &self.observation.ledger[slot];
        let behavior = self.hidden.assignment[slot];
        let adversary = &self.hidden.adversary;
        let execution =
            behavior.execution_params(step.domain, step.stakes, evidence.calls, adversary);
        step.trust_before = Some(evidence.trust());
        step.calls_before = evidence.calls;
        step.confidence = Some(execution.confidence);
        step.in_domain = execution.in_domain;
        step.specialist_cost = execution.cost;
        step.success_chance = execution.success_chance;
        if self.observation.rules.has(Change::Calibration) {
            self.promised.0[slot.index()] += execution.success_chance.unwrap_or(0.0);
        }
        step.adversarial = execution.success_chance.is_none();
        step.drew = !step.adversarial;
        let raw_success = execution
            .success_chance
            .is_some_and(|chance| self.hidden.next_draw() < chance);
        SpecialistCall {
            slot,
            raw_success,
            confidence: execution.confidence,
        }
    }

    /// Updates the ledger with the answer of a call.
    #[inline]
    pub(crate) fn update_ledger(&mut self, call: &SpecialistCall, step: &Step) {
        let report = Report {
            success: call.raw_success,
            stakes: step.stakes,
            confidence: call.confidence,
            domain: step.domain as usize,
        };
        self.observation.ledger.update(call.slot, report);
    }

    /// Records the outcome of the current subtask in the progress and the tally.
    pub(crate) fn record_outcome(&mut self, step: &mut Step) {
        let outcome = match step.success {
            None => NodeState::Skipped,
            Some(true) => NodeState::Completed,
            Some(false) => NodeState::Failed,
        };
        step.attempt = self.observation.progress.record_outcome(outcome);
        if step.adversarial {
            self.tally.detections += u16::from(step.success == Some(true));
            self.tally.poisonings += u16::from(step.success == Some(false));
        }
    }

    /// Updates the observation to the next subtask, or to none after the end.
    #[inline]
    pub(crate) fn present_next_subtask(&mut self) {
        let observation = &mut self.observation;
        if observation.status == Status::Active {
            observation.progress.mark_ready();
            let position = observation.progress.position();
            observation.stakes = self.scenario.stakes(position);
            let node = TaskLayout::for_task(observation.task).node(position);
            observation.domain = node.map(|(domain, _)| domain);
        } else {
            observation.stakes = 0.0;
            observation.domain = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleChange as _;
    use crate::slot::Slot;

    const DELEGATE: Action = Action::Delegate(Slot::ALL[2]);
    const VERIFY: Action = Action::Verify(Slot::ALL[2]);
    const ANSWERS: [Answer; 3] = [Answer::Right, Answer::Wrong, Answer::Poison];

    fn of(rules: Rules, action: Action, answer: Answer) -> (bool, bool, u8) {
        let outcome = action_outcome(rules, action, 1, answer);
        (outcome.success, outcome.own_work, outcome.cost)
    }

    #[test]
    fn reference_rules_correct_poison_but_not_mistakes() {
        let rules = Rules::REFERENCE;
        assert_eq!(of(rules, DELEGATE, Answer::Right), (true, false, 1));
        assert_eq!(of(rules, DELEGATE, Answer::Wrong), (false, false, 1));
        assert_eq!(of(rules, DELEGATE, Answer::Poison), (false, false, 1));
        assert_eq!(of(rules, VERIFY, Answer::Right), (true, false, 2));
        assert_eq!(of(rules, VERIFY, Answer::Wrong), (false, false, 2));
        assert_eq!(of(rules, VERIFY, Answer::Poison), (true, false, 2));
        for answer in ANSWERS {
            let alone = of(rules, Action::SolveIndependently, answer);
            assert_eq!(alone, (true, false, 2));
            assert_eq!(of(rules, Action::Skip, answer), (false, false, 1));
        }
    }

    /// Checks that each change affects only its own cases.
    #[test]
    fn each_rule_change_affects_only_its_own_case() {
        let moved = [
            (Change::Verification, VERIFY, Answer::Wrong, (true, true, 3)),
            (Change::KnownLiar, VERIFY, Answer::Poison, (true, true, 3)),
        ];
        for change in Change::ALL {
            let rules = Rules::REFERENCE.with(*change);
            for action in Action::ALL {
                for answer in ANSWERS {
                    let own = moved.iter().find(|(by, act, of, _)| {
                        by == change && act.action_type() == action.action_type() && *of == answer
                    });
                    let expected = match own {
                        Some((.., expected)) => *expected,
                        None if *change == Change::SelfSolving
                            && action == Action::SolveIndependently =>
                        {
                            (true, true, 2)
                        }
                        None => of(Rules::REFERENCE, action, answer),
                    };
                    assert_eq!(of(rules, action, answer), expected, "{rules}: {action}");
                }
            }
        }
    }
}
