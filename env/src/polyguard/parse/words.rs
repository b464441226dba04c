//! The pieces that a completion is looked through for: ids of candidates and what is assigned.

use crate::polyguard::candidates::CandidateId;

/// What a text that starts like an id of a candidate is.
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

/// The word that a text starts with: letters, digits, underscores.
pub(super) fn word(text: &str) -> &str {
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

/// The places of a word's beginning `stem` in a text, not within another word.
fn places<'a>(text: &'a str, stem: &'a str) -> impl Iterator<Item = usize> + 'a {
    let starts = move |at: &usize| !text[..*at].chars().next_back().is_some_and(is_word);
    text.match_indices(stem).map(|(at, _)| at).filter(starts)
}

/// What the ids in a text in small letters are.
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

/// What follows the names of fields in a text in small letters: `name=value`, `"name": value`. The
/// value is its first word, without quotes and brackets before it.
pub(super) fn assigned<'a>(lower: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    lower.match_indices(name).filter_map(move |(at, _)| {
        let rest = value_of(&lower[at + name.len()..])?;
        let value = rest.trim_start_matches(|c: char| " \t\n\r\"'`<[({".contains(c));
        Some(word(value))
    })
}

/// What is assigned by a text that stands behind a name, if it assigns: by `=`, or by `:` behind a
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
