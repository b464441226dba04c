//! The asked form of an answer: `candidate_id=cand_03; rationale=…`, and what is close to it.

use super::words::word;
use crate::polyguard::candidates::CandidateId;

/// Most characters of a rationale.
pub(super) const RATIONALE_MAX: usize = 400;

/// A line that has the parts of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form<'a> {
    /// What stands where the id belongs.
    pub id: &'a str,
    /// The rationale.
    pub rationale: &'a str,
    /// Whether it is the form to the letter.
    pub strict: bool,
}

impl Form<'_> {
    /// The candidate, in capital or small letters.
    pub(super) fn candidate(&self) -> Option<CandidateId> {
        CandidateId::parse(&self.id.to_ascii_lowercase())
    }
}

/// Whether a text is `^candidate_id=(cand_(?:0[1-9]|10)); rationale=(.{1,400})$`, but for the
/// length of the rationale.
fn is_strict(line: &str, id: &str, rationale: &str) -> bool {
    CandidateId::parse(id).is_some()
        && line.strip_prefix("candidate_id=").and_then(|rest| {
            let rest = rest.strip_prefix(id)?.strip_prefix("; rationale=")?;
            Some(rest.trim_start() == rationale)
        }) == Some(true)
}

/// A line that has the form, also with other letters or spaces.
pub(super) fn form(line: &str) -> Option<Form<'_>> {
    let line = line.trim();
    let rest = assignment(line, "candidate_id")?;
    let id = word(rest);
    let rest = rest[id.len()..].trim_start().strip_prefix(';')?;
    let rationale = assignment(rest.trim_start(), "rationale")?;
    Some(Form {
        id,
        rationale,
        strict: is_strict(line, id, rationale),
    })
}

/// What stands behind `name =`.
fn assignment<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let head = text.get(..name.len())?;
    if !head.eq_ignore_ascii_case(name) {
        return None;
    }
    let rest = text[name.len()..].trim_start().strip_prefix('=')?;
    Some(rest.trim_start())
}
