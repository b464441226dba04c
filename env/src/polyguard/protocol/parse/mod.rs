//! Reads what a language model says: from a completion to an action (spec polyguard §9).
//!
//! The order of the tests, the first that holds decides:
//!
//! 1. more than 2,000 characters: [`Action::Exploit`], and nothing is looked at;
//! 2. nothing but white space: [`Violation::Empty`];
//! 3. anything of the list of §8 (two different ids, two JSON objects, a verdict, chat templates,
//!    fences, characters that cannot be seen, forged ids): [`Action::Exploit`]. Texts within JSON
//!    are looked at as they are once escapes are resolved;
//! 4. a text that is one JSON object: its fields decide;
//! 5. one line in the asked form: the candidate. It is repaired where it is not the whole text, or
//!    has other letters or spaces. Two such lines: [`Violation::Ambiguous`];
//! 6. anything else is refused: [`Violation::BadId`] where something is assigned that is no id,
//!    [`Violation::Ambiguous`] where several candidates are mentioned, [`Violation::Empty`] where
//!    only the rationale is missing, else [`Violation::NoCandidate`].
//!
//! What cannot be read never becomes a candidate.

mod exploit;
mod object;
mod reading;
mod scan;

pub(super) use object::FIELDS;
pub use reading::Reading;
pub(super) use reading::{COMPLETION_MAX, RATIONALE_MAX};

use crate::json::Json;
use crate::polyguard::model::action::{Action, Choice};
use crate::polyguard::model::candidate::CandidateId;
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::history::Violation;
use crate::polyguard::model::terms::Terms;
use reading::{refuse, repaired_if};
use scan::{Form, Mention, assigned, form, mentions};

impl Action {
    /// Parses a completion with the names of a formulary.
    #[must_use]
    pub fn parse(completion: &str, formulary: &Formulary) -> Self {
        Reading::of(completion, formulary).action
    }
}

impl Reading {
    /// Reads a completion.
    #[must_use]
    pub fn of(completion: &str, formulary: &Formulary) -> Self {
        if completion.chars().nth(COMPLETION_MAX).is_some() {
            return reading::exploit(&format!("more than {COMPLETION_MAX} characters"));
        }
        let text = completion.trim();
        if text.is_empty() {
            return refuse(Violation::Empty, "nothing is said");
        }
        let json = match serde_json::from_str::<Json>(text) {
            Ok(json @ Json::Object(_)) => Some(json),
            _ => None,
        };
        if let Some(what) = exploit::find_exploit(completion, json.as_ref()) {
            return reading::exploit(what);
        }
        match json {
            Some(Json::Object(fields)) => object::object(&fields, formulary),
            _ => lines(text),
        }
    }
}

/// Returns the only line of the asked form.
fn lines(text: &str) -> Reading {
    let mut forms = text.lines().filter_map(form);
    match (forms.next(), forms.next()) {
        (None, _) => formless(text),
        (Some(_), Some(_)) => refuse(Violation::Ambiguous, "two lines that answer"),
        (Some(found), None) => {
            let whole = !text.contains(['\n', '\r']);
            answer(&found, whole)
        }
    }
}

fn answer(found: &Form<'_>, whole: bool) -> Reading {
    let Some(id) = found.candidate() else {
        return refuse(Violation::BadId, format!("candidate_id={}", found.id));
    };
    if found.rationale.is_empty() {
        return refuse(Violation::Empty, "the rationale is empty");
    }
    if found.rationale.chars().nth(RATIONALE_MAX).is_some() {
        return refuse(
            Violation::TooLong,
            format!("a rationale of more than {RATIONALE_MAX} characters"),
        );
    }
    let choice = Choice {
        cites: Terms::from_text(found.rationale),
        ..Choice::new(id)
    };
    Reading {
        action: Action::Choose(repaired_if(!(whole && found.strict), choice)),
        detail: None,
    }
}

/// Returns why a text without the form is refused.
fn formless(text: &str) -> Reading {
    let lower = text.to_ascii_lowercase();
    let mut ids = assigned(&lower, "candidate_id");
    if let Some(id) = ids.find(|id| CandidateId::parse(id).is_none()) {
        return refuse(Violation::BadId, format!("candidate_id={id}"));
    }
    let mut named = mentions(&lower).filter_map(|mention| match mention {
        Mention::Id(id) => Some(id),
        _ => None,
    });
    let first = named.next();
    if let Some(other) = named.find(|id| Some(*id) != first) {
        let detail = format!("{other} and others are mentioned, none is chosen");
        return refuse(Violation::Ambiguous, detail);
    }
    if assigned(&lower, "candidate_id").next().is_some() && !lower.contains("rationale") {
        return refuse(Violation::Empty, "the rationale is missing");
    }
    refuse(Violation::NoCandidate, "no line in the asked form")
}
