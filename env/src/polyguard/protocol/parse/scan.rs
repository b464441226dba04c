//! The pieces that a completion is looked through for: the asked form
//! (`candidate_id=cand_03; rationale=…`) and what is close to it, ids of candidates, and what is
//! assigned.

use crate::polyguard::model::candidate::CandidateId;

/// The kind of a text that starts like an id of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mention {
    /// An id that a candidate can have.
    Id(CandidateId),
    /// Two digits that no candidate has: 11 to 99.
    NoSuch,
    /// Digits in another form than the ids have, such as `cand_1`, `cand_011` or `cand_00`.
    Forged,
    /// No number at all, such as `cand_xx`.
    Other,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the word that a text starts with: letters, digits, underscores.
pub(super) fn word(text: &str) -> &str {
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

/// Returns the places of a word's beginning `stem` in a text, not within another word.
fn places<'a>(text: &'a str, stem: &'a str) -> impl Iterator<Item = usize> + 'a {
    let starts = move |at: &usize| !text[..*at].chars().next_back().is_some_and(is_word);
    text.match_indices(stem).map(|(at, _)| at).filter(starts)
}

/// Returns what the ids in a text in small letters are.
pub(super) fn mentions(lower: &str) -> impl Iterator<Item = Mention> + '_ {
    const STEM: &str = "cand_";
    places(lower, STEM).map(move |at| {
        let digits = word(&lower[at + STEM.len()..]);
        let number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        match (number, digits.len(), digits.parse::<u8>()) {
            (true, 2, Ok(0)) => Mention::Forged,
            (true, 2, Ok(n)) => CandidateId::new(n).map_or(Mention::NoSuch, Mention::Id),
            (true, ..) => Mention::Forged,
            (false, ..) => Mention::Other,
        }
    })
}

/// Returns what follows the names of fields in a text in small letters: `name=value`, `"name": value`. The
/// value is its first word, without quotes and brackets before it.
pub(super) fn assigned<'a>(lower: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    lower.match_indices(name).filter_map(move |(at, _)| {
        let rest = value_of(&lower[at + name.len()..])?;
        let value = rest.trim_start_matches(|c: char| " \t\n\r\"'`<[({".contains(c));
        Some(word(value))
    })
}

/// Returns what is assigned by a text that stands behind a name, if it assigns: by `=`, or by `:` behind a
/// quoted name.
pub(super) fn value_of(rest: &str) -> Option<&str> {
    let bare = rest.trim_start_matches(['"', '\'', '`']);
    let quoted = bare.len() < rest.len();
    let bare = bare.trim_start();
    match bare.strip_prefix('=') {
        None if quoted => bare.strip_prefix(':'),
        other => other.or_else(|| bare.strip_prefix(":=")),
    }
}

/// A line that has the parts of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form<'a> {
    /// The text in the place of the id.
    pub id: &'a str,
    /// The rationale.
    pub rationale: &'a str,
    /// Whether it is the form to the letter.
    pub strict: bool,
}

impl Form<'_> {
    /// Returns the candidate, in capital or small letters.
    pub(super) fn candidate(&self) -> Option<CandidateId> {
        CandidateId::parse(&self.id.to_ascii_lowercase())
    }
}

/// Returns whether a text is `^candidate_id=(cand_(?:0[1-9]|10)); rationale=(.{1,400})$`, but for the
/// length of the rationale.
fn is_strict(line: &str, id: &str, rationale: &str) -> bool {
    CandidateId::parse(id).is_some()
        && line.strip_prefix("candidate_id=").and_then(|rest| {
            let rest = rest.strip_prefix(id)?.strip_prefix("; rationale=")?;
            Some(rest.trim_start() == rationale)
        }) == Some(true)
}

/// Returns a line that has the form, also with other letters or spaces.
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

/// Returns what stands behind `name =`.
fn assignment<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let head = text.get(..name.len())?;
    if !head.eq_ignore_ascii_case(name) {
        return None;
    }
    let rest = text[name.len()..].trim_start().strip_prefix('=')?;
    Some(rest.trim_start())
}
