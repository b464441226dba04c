//! Actions of the PolyGuard world as an address writes them.
//!
//! A digit is a candidate with a grounded rationale and calibrated confidence, as a person's click
//! sends it: `1` is `cand_01`, `0` is `cand_10`. Other answers of players are written out:
//! `c3k500w1f.` is `cand_03` with a confidence of .5 and a rationale, `ib` is an answer that could
//! not be read, `e` a completion made to confuse the reader.

use std::fmt::Write;

use sentinel_env::polyguard::{
    Action, CandidateId, Choice, Confidence, Observation, RationaleTerms, Violation,
};

/// An answer, in the shortest form that an address can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionCode {
    /// A candidate with the rationale and the confidence that fit the observation.
    Grounded(CandidateId),
    /// Any other answer, written out in full.
    Exact(Action),
}

impl ActionCode {
    /// Returns the code of an answer to an observation.
    pub(super) fn new(o: &Observation, action: Action) -> Self {
        let Action::Choose(choice) = action else {
            return Self::Exact(action);
        };
        if Choice::with_grounded_rationale(o, choice.id) == choice {
            return Self::Grounded(choice.id);
        }
        Self::Exact(action.with_normalized_claim(o))
    }

    /// Returns the answer to an observation.
    pub(super) fn action(self, o: &Observation) -> Action {
        match self {
            Self::Grounded(id) => Action::with_grounded_rationale(o, id),
            Self::Exact(action) => action,
        }
    }
}

/// Returns the key of a candidate: its number, with `0` for the tenth.
pub(super) fn digit(id: CandidateId) -> char {
    char::from(b'0' + id.number() % 10)
}

/// Returns the candidate with this key.
fn candidate(digit: char) -> Option<CandidateId> {
    let number = u8::try_from(digit.to_digit(10)?).ok()?;
    CandidateId::new(if number == 0 { 10 } else { number })
}

/// Appends the code of an answer to `out`.
pub(super) fn write(code: ActionCode, out: &mut String) {
    let choice = match code {
        ActionCode::Grounded(id) => return out.push(digit(id)),
        ActionCode::Exact(Action::Exploit) => return out.push('e'),
        ActionCode::Exact(Action::Invalid(why)) => {
            return out.extend(['i', char::from(b'a' + why as u8)]);
        }
        ActionCode::Exact(Action::Choose(choice)) => choice,
    };
    out.extend(['c', digit(choice.id)]);
    if let Some(confidence) = choice.confidence {
        // A `String` takes all that is written to it, here and below.
        let _ = write!(out, "k{:.0}", confidence.value() * 1000.0);
    }
    if !choice.cites.is_empty() {
        let _ = write!(out, "w{:x}", choice.cites.bits());
    }
    let flags = [
        ('r', choice.repaired),
        ('s', choice.fallback),
        ('u', choice.claim.unknown),
    ];
    out.extend(flags.iter().filter(|(_, on)| *on).map(|(letter, _)| letter));
    out.push('.');
}

/// Parses the first answer of `text` and removes it from `text`.
pub(super) fn read(text: &mut &str) -> Option<ActionCode> {
    let first = letter(text)?;
    match first {
        '0'..='9' => candidate(first).map(ActionCode::Grounded),
        'e' => Some(ActionCode::Exact(Action::Exploit)),
        'i' => {
            let place = u32::from(letter(text)?).checked_sub(u32::from('a'))?;
            let why = Violation::ALL.get(place as usize)?;
            Some(ActionCode::Exact(Action::Invalid(*why)))
        }
        'c' => choice(text).map(|choice| ActionCode::Exact(Action::Choose(choice))),
        _ => None,
    }
}

fn letter(text: &mut &str) -> Option<char> {
    let mut letters = text.chars();
    let first = letters.next()?;
    *text = letters.as_str();
    Some(first)
}

fn choice(text: &mut &str) -> Option<Choice> {
    let mut choice = Choice::new(candidate(letter(text)?)?);
    if let Some(rest) = text.strip_prefix('k') {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let thousandths: u16 = rest[..end].parse().ok()?;
        choice.confidence = Some(Confidence::new(f64::from(thousandths) / 1000.0)?);
        *text = &rest[end..];
    }
    if let Some(rest) = text.strip_prefix('w') {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit())?;
        choice.cites = RationaleTerms::from_bits(u128::from_str_radix(&rest[..end], 16).ok()?);
        *text = &rest[end..];
    }
    loop {
        match letter(text)? {
            'r' => choice.repaired = true,
            's' => choice.fallback = true,
            'u' => choice.claim.unknown = true,
            '.' => return Some(choice),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::polyguard::Claim;

    fn all(mut text: &str) -> Option<Vec<ActionCode>> {
        let mut codes = Vec::new();
        while !text.is_empty() {
            codes.push(read(&mut text)?);
        }
        Some(codes)
    }

    #[test]
    fn every_answer_is_read_as_written() {
        let id = |number| CandidateId::new(number).expect("a number of a candidate");
        let plain = Choice::new(id(3));
        let full = Choice {
            confidence: Confidence::new(0.125),
            cites: RationaleTerms::from_text("warfarin_like egfr pain"),
            claim: Claim {
                unknown: true,
                ..Claim::default()
            },
            repaired: true,
            fallback: true,
            ..Choice::new(id(10))
        };
        let mut codes: Vec<ActionCode> = CandidateId::all().map(ActionCode::Grounded).collect();
        let exact = [Action::Choose(plain), Action::Choose(full), Action::Exploit];
        codes.extend(exact.map(ActionCode::Exact));
        let invalid = Violation::ALL.iter().map(|why| Action::Invalid(*why));
        codes.extend(invalid.map(ActionCode::Exact));
        let mut text = String::new();
        for code in &codes {
            write(*code, &mut text);
        }
        assert!(text.starts_with("1234567890c3.c0k125w"), "{text}");
        assert_eq!(all(&text), Some(codes));
    }

    #[test]
    fn nonsense_is_no_answer() {
        for bad in [
            "x", "c", "c3", "c3k.", "c3k2000.", "c3wg.", "c3q.", "i", "iz", "ü",
        ] {
            assert_eq!(all(bad), None, "{bad}");
        }
        assert_eq!(all("c3w."), None, "a rationale without words");
    }
}
