//! The actions that differ at a stage, and what each can lead to.

use sentinel_env::adaptive_difficulty::AdversaryProfile;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{
    Action, Answer, Behavior, GradeInput, Outcome, Rules, action_outcome, grade,
};

use super::knowledge::{ALIKE, Kind, Knowledge};
use super::subtask::Subtask;

/// A trust at which a check of a slot counts as cautious, and one at which it does not (spec trust §9).
const TRUSTS: [f64; 2] = [0.4, 0.5];

/// One action, and its possible results.
#[derive(Clone, Debug)]
pub(super) struct Move {
    pub(super) action: Action,
    pub(super) branches: Vec<Branch>,
}

/// A result that can be told from the others of the same action.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) probability: f64,
    /// A behavior that gives this result, and its earlier calls; `None` without a specialist.
    call: Option<(Behavior, u16)>,
    /// `true` if the trust in the slot is not determined by the knowledge about it.
    any_trust: bool,
    pub(super) poison: bool,
    pub(super) outcome: Outcome,
    /// The knowledge that the result leads to.
    pub(super) after: Knowledge,
}

impl Branch {
    /// Returns the reward of the step that ends with `steps` used. Where the trust in the slot is
    /// unknown, it is the larger reward.
    pub(super) fn reward(&self, subtask: &Subtask, action: Action, steps: u8, budget: u8) -> f64 {
        let execution = self.call.map(|(behavior, calls)| {
            let adversary = AdversaryProfile::default();
            behavior.execution_params(subtask.domain, subtask.stakes, calls, &adversary)
        });
        let with_trust = |trust| {
            grade(&GradeInput {
                task: subtask.task,
                action,
                success: self.outcome.success,
                own_work: self.outcome.own_work,
                stakes: subtask.stakes,
                adversarial: self.poison,
                confidence: execution.map(|e| e.confidence),
                in_domain: execution.and_then(|e| e.in_domain),
                trust_before: self.call.map(|_| trust),
                step_count: steps,
                max_steps: budget,
            })
            .reward
        };
        // A slot that is not known has given right answers only, so its trust is at least a half.
        let [cautious, plain] = TRUSTS.map(with_trust);
        if self.any_trust {
            cautious.max(plain)
        } else {
            plain
        }
    }
}

/// Returns the actions that differ at a subtask.
pub(super) fn moves(rules: Rules, subtask: &Subtask, knowledge: &Knowledge) -> Vec<Move> {
    let alone = [Action::SolveIndependently, Action::Skip].map(|action| Move {
        action,
        branches: vec![Branch {
            probability: 1.0,
            call: None,
            any_trust: false,
            poison: false,
            // The answer has no effect because no specialist is called.
            outcome: action_outcome(rules, action, 0, Answer::Wrong),
            after: *knowledge,
        }],
    });
    let mut moves = Vec::from(alone);
    for (kind, marginal) in knowledge.slots() {
        // Which of the slots that are alike is called makes no difference.
        for action in [Action::Delegate(Slot::ALL[0]), Action::Verify(Slot::ALL[0])] {
            let mut branches: Vec<Branch> = Vec::new();
            let mut alike: Option<Branch> = None;
            for (behavior, weight) in Behavior::ALL.into_iter().zip(marginal) {
                for (branch, is_alike) in
                    results(rules, subtask, knowledge, (kind, behavior), action, weight)
                {
                    match &mut alike {
                        Some(first) if is_alike => first.probability += branch.probability,
                        None if is_alike => alike = Some(branch),
                        _ => branches.push(branch),
                    }
                }
            }
            branches.extend(alike);
            moves.push(Move { action, branches });
        }
    }
    moves
}

/// Returns the possible results if `behavior` is behind the called slot, each with `true` if other
/// behaviors give the same.
fn results(
    rules: Rules,
    subtask: &Subtask,
    knowledge: &Knowledge,
    (kind, behavior): (Kind, Behavior),
    action: Action,
    weight: f64,
) -> Vec<(Branch, bool)> {
    let adversary = AdversaryProfile::default();
    let calls = knowledge.calls(kind, behavior);
    let execution = behavior.execution_params(subtask.domain, subtask.stakes, calls, &adversary);
    let is_known = matches!(kind, Kind::Known(_));
    let possible = (execution.answers().into_iter()).filter(|(chance, _)| chance * weight > 0.0);
    let branch = |(chance, answer): (f64, Answer)| {
        let is_alike = answer == Answer::Right && !is_known && ALIKE.contains(&behavior);
        let after = if is_alike {
            knowledge.after_right_answer(kind, subtask.stakes >= adversary.threshold)
        } else {
            knowledge.after_identification(kind, behavior)
        };
        let branch = Branch {
            probability: chance * weight,
            call: Some((behavior, calls)),
            any_trust: is_known,
            poison: answer == Answer::Poison,
            outcome: action_outcome(rules, action, execution.cost, answer),
            after,
        };
        (branch, is_alike)
    };
    possible.map(branch).collect()
}
