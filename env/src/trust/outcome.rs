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
