//! The result of parsing a completion, and the maximum lengths.

use crate::polyguard::model::action::{Action, Choice};
use crate::polyguard::model::history::Violation;

/// Maximum number of characters of a completion; longer ones are not parsed further.
pub(crate) const COMPLETION_MAX: usize = 2_000;
/// Maximum number of characters of a rationale.
pub(crate) const RATIONALE_MAX: usize = 400;
/// Maximum number of characters of a detail.
const DETAIL_MAX: usize = 160;

/// The result of parsing a completion.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedCompletion {
    /// The action that the completion stands for.
    pub action: Action,
    /// Explanation of a refusal or an exploit, for a human reader.
    pub detail: Option<String>,
}

pub(super) fn exploit(what: &str) -> ParsedCompletion {
    ParsedCompletion {
        action: Action::Exploit,
        detail: Some(what.to_owned()),
    }
}

/// Creates a refusal with its explanation, truncated to [`DETAIL_MAX`] characters.
pub(super) fn refuse(why: Violation, detail: impl Into<String>) -> ParsedCompletion {
    let mut detail = detail.into();
    if let Some((end, _)) = detail.char_indices().nth(DETAIL_MAX) {
        detail.truncate(end);
        detail.push('…');
    }
    ParsedCompletion {
        action: Action::Invalid(why),
        detail: Some(detail),
    }
}

pub(super) const fn repaired_if(repaired: bool, choice: Choice) -> Choice {
    Choice { repaired, ..choice }
}
