//! The elements that a completion is searched for: lines of the requested form
//! (`candidate_id=cand_03; rationale=…`) or close to it, ids of candidates, and assignments.

use crate::polyguard::model::candidate::CandidateId;

/// The classification of a word that starts like the id of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mention {
    /// A valid id of a candidate.
    Id(CandidateId),
    /// Two digits that are not a valid id: 11 to 99.
    NoSuch,
    /// Digits in an invalid form, such as `cand_1`, `cand_011` or `cand_00`.
    Forged,
    /// No number at all, such as `cand_xx`.
    Other,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the word of letters, digits and underscores that a text starts with, which may be empty.
pub(super) fn leading_word(text: &str) -> &str {
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

/// Iterates over the positions where a word of the text starts with `stem`.
fn places<'a>(text: &'a str, stem: &'a str) -> impl Iterator<Item = usize> + 'a {
    let starts = move |at: &usize| !text[..*at].chars().next_back().is_some_and(is_word);
    text.match_indices(stem).map(|(at, _)| at).filter(starts)
}

/// Iterates over the ids mentioned in a lower-case text, classified.
pub(super) fn candidate_mentions(lower: &str) -> impl Iterator<Item = Mention> + '_ {
    const STEM: &str = "cand_";
    places(lower, STEM).map(move |at| {
        let digits = leading_word(&lower[at + STEM.len()..]);
        let number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        match (number, digits.len(), digits.parse::<u8>()) {
            (true, 2, Ok(0)) => Mention::Forged,
            (true, 2, Ok(n)) => CandidateId::new(n).map_or(Mention::NoSuch, Mention::Id),
            (true, ..) => Mention::Forged,
            (false, ..) => Mention::Other,
        }
    })
}

/// Iterates over the values assigned to a name in a lower-case text, as in `name=value` or `"name":
/// value`. Each value is its first word, without leading quotes and brackets.
pub(super) fn assigned_values<'a>(lower: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    lower.match_indices(name).filter_map(move |(at, _)| {
        let rest = value_of(&lower[at + name.len()..])?;
        let value = rest.trim_start_matches(|c: char| " \t\n\r\"'`<[({".contains(c));
        Some(leading_word(value))
    })
}

/// Returns the text after an assignment operator, if `rest` starts with one: `=`, `:=`, or `:`
/// after a quoted name.
pub(super) fn value_of(rest: &str) -> Option<&str> {
    let bare = rest.trim_start_matches(['"', '\'', '`']);
    let quoted = bare.len() < rest.len();
    let bare = bare.trim_start();
    match bare.strip_prefix('=') {
        None if quoted => bare.strip_prefix(':'),
        other => other.or_else(|| bare.strip_prefix(":=")),
    }
}

/// A line that has the parts of the requested form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FormLine<'a> {
    /// The text in the position of the id.
    pub id: &'a str,
    /// The text of the rationale.
    pub rationale: &'a str,
    /// `true` if the line matches the form exactly.
    pub strict: bool,
}

impl FormLine<'_> {
    /// Returns the candidate, ignoring ASCII case.
    pub(super) fn candidate(&self) -> Option<CandidateId> {
        CandidateId::parse(&self.id.to_ascii_lowercase())
    }
}

/// Returns `true` if a line matches `^candidate_id=(cand_(?:0[1-9]|10)); rationale=(.{1,400})$`,
/// regardless of the length of the rationale.
fn is_strict(line: &str, id: &str, rationale: &str) -> bool {
    CandidateId::parse(id).is_some()
        && line.strip_prefix("candidate_id=").and_then(|rest| {
            let rest = rest.strip_prefix(id)?.strip_prefix("; rationale=")?;
            Some(rest.trim_start() == rationale)
        }) == Some(true)
}

/// Parses a line that has the form, allowing differences in case and spaces.
pub(super) fn parse_form_line(line: &str) -> Option<FormLine<'_>> {
    let line = line.trim();
    let rest = assignment(line, "candidate_id")?;
    let id = leading_word(rest);
    let rest = rest[id.len()..].trim_start().strip_prefix(';')?;
    let rationale = assignment(rest.trim_start(), "rationale")?;
    Some(FormLine {
        id,
        rationale,
        strict: is_strict(line, id, rationale),
    })
}

/// Returns the text after `name =`, ignoring ASCII case.
fn assignment<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let head = text.get(..name.len())?;
    if !head.eq_ignore_ascii_case(name) {
        return None;
    }
    let rest = text[name.len()..].trim_start().strip_prefix('=')?;
    Some(rest.trim_start())
}
