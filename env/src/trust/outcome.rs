//! What an action comes to, once the specialist's answer is known (spec trust §8).
//!
//! The episode and every look-ahead read this one function, so that both play the same rules.

use super::{Action, Change, Rules};

/// Steps that solving alone takes.
const SOLVE_COST: u8 = 2;
/// Steps that mending a wrong answer takes beside the check that found it.
const MEND_COST: u8 = 1;

/// What a specialist returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Honest and right.
    Right,
    /// Honest and wrong.
    Wrong,
    /// The adversary's poison.
    Poison,
}

impl Answer {
    /// The answer of a specialist that poisons (`chance` is `None`) or is right as luck decides.
    #[must_use]
    #[inline]
    pub const fn of(poison: bool, success: bool) -> Self {
        match (poison, success) {
            (true, _) => Self::Poison,
            (false, true) => Self::Right,
            (false, false) => Self::Wrong,
        }
    }
}

/// What an action did to its subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the subtask was completed.
    pub success: bool,
    /// Whether the orchestrator itself did the work, and earns for its accuracy only
    /// [`OWN_WORK`](super::OWN_WORK). Never under the reference's rules.
    pub own_work: bool,
    /// Steps of the budget that it took.
    pub cost: u8,
}

/// What `action` comes to under `rules`. `specialist_cost` and `answer` count only where a
/// specialist is called.
#[must_use]
#[inline]
pub fn outcome(rules: Rules, action: Action, specialist_cost: u8, answer: Answer) -> Outcome {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Change as _;
    use crate::slot::Slot;

    const DELEGATE: Action = Action::Delegate(Slot::ALL[2]);
    const VERIFY: Action = Action::Verify(Slot::ALL[2]);
    const ANSWERS: [Answer; 3] = [Answer::Right, Answer::Wrong, Answer::Poison];

    fn of(rules: Rules, action: Action, answer: Answer) -> (bool, bool, u8) {
        let outcome = outcome(rules, action, 1, answer);
        (outcome.success, outcome.own_work, outcome.cost)
    }

    #[test]
    fn the_reference_mends_poison_and_no_mistake() {
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

    /// Each change moves one case, all others stay.
    #[test]
    fn each_change_moves_its_own_case() {
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
