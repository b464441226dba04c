//! The result of parsing a completion, and the limits of lengths.

use crate::polyguard::model::action::{Action, Choice};
use crate::polyguard::model::history::Violation;

/// Most characters of a completion; of a longer one nothing more is looked at.
pub(crate) const COMPLETION_MAX: usize = 2_000;
/// Most characters of a rationale.
pub(crate) const RATIONALE_MAX: usize = 400;
/// Most characters of a detail.
const DETAIL_MAX: usize = 160;

/// A completion after parsing.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The action.
    pub action: Action,
    /// The reason of a refusal, for a person.
    pub detail: Option<String>,
}

pub(super) fn exploit(what: &str) -> Reading {
    Reading {
        action: Action::Exploit,
        detail: Some(what.to_owned()),
    }
}

/// Returns an answer that is refused, and why.
pub(super) fn refuse(why: Violation, detail: impl Into<String>) -> Reading {
    let mut detail = detail.into();
    if let Some((end, _)) = detail.char_indices().nth(DETAIL_MAX) {
        detail.truncate(end);
        detail.push('…');
    }
    Reading {
        action: Action::Invalid(why),
        detail: Some(detail),
    }
}

pub(super) const fn repaired_if(repaired: bool, choice: Choice) -> Choice {
    Choice { repaired, ..choice }
}
