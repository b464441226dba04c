//! How an action of the trust world turned out.

use sentinel_env::trust::{Action, Step};

use crate::play::Mark;

/// The mark of a step; poison is a wrong answer to those who do not see the truth, and caught
/// poison a right one.
#[must_use]
pub fn mark(step: &Step, truth: bool) -> Mark {
    match (step.action, step.adversarial && truth, step.success) {
        (Action::Skip, ..) => Mark::notable("–", "skipped", "skipped"),
        (Action::SolveIndependently, ..) => Mark::plain("●", "solved alone", "solved"),
        (Action::Verify(_), true, _) => Mark::notable("◆", "poison caught", "caught"),
        (Action::Delegate(_), true, _) => Mark::notable("!", "poison believed", "poisoned"),
        (_, _, Some(true)) => Mark::plain("✓", "correct", "right"),
        _ => Mark::notable("✗", "wrong", "wrong"),
    }
}
