//! The verifier, which decides which act an answer stands for, and whether it is refused or an
//! exploit.

use super::anti_cheat::{Attempt, find_exploit};
use crate::polyguard::model::action::Action;
use crate::polyguard::model::candidate::Act;
use crate::polyguard::model::history::{Exploit, Violation};
use crate::polyguard::model::state::State;

/// The verifier's decision on an answer.
pub(crate) struct Verdict {
    /// The act that the answer stands for, if it is shown.
    pub(crate) act: Option<Act>,
    /// The reason why the answer is refused, if it is.
    pub(crate) violation: Option<Violation>,
    /// The exploit that the answer is found to be, if any.
    pub(crate) exploit: Option<Exploit>,
}

impl Verdict {
    /// Returns `true` if the answer is neither refused nor an exploit.
    pub(crate) const fn is_honest(&self) -> bool {
        self.violation.is_none() && self.exploit.is_none()
    }

    /// Returns the act if it is to be carried out.
    pub(crate) fn carried_out(&self) -> Option<Act> {
        self.act.filter(|_| self.is_honest())
    }
}

/// Looks up the act that an answer stands for and decides on it. Updates the count of withheld
/// choices.
pub(crate) fn verify(state: &mut State, action: Action) -> Verdict {
    let refused = |violation, exploit| Verdict {
        act: None,
        violation: Some(violation),
        exploit,
    };
    let choice = match action {
        Action::Choose(choice) => choice,
        Action::Invalid(why) => return refused(why, None),
        Action::Exploit => return refused(Violation::Ambiguous, Some(Exploit::ParserExploit)),
    };
    let shown = state.observation.candidates.get(choice.id).copied();
    let withheld = state.hidden.withheld_at(choice.id.index());
    state.hidden.withheld_choices += u8::from(shown.is_none() && withheld.is_some());
    let mismatch = shown.is_some_and(|shown| !choice.claim.agrees(shown.act));
    let act = shown.map(|candidate| candidate.act);
    let attempt = Attempt {
        act,
        mismatch,
        withheld_choices: state.hidden.withheld_choices,
        progressed: state.hidden.progressed,
    };
    let violation = match act {
        None => Some(withheld.unwrap_or(Violation::UnknownCandidate)),
        Some(_) if mismatch => Some(Violation::CandidateMismatch),
        // Shown candidates are legal; illegal ones are withheld.
        Some(act) => {
            debug_assert_eq!(state.observation.refusal(act), None, "{act:?}");
            None
        }
    };
    Verdict {
        act,
        violation,
        exploit: find_exploit(&state.observation, &attempt),
    }
}
