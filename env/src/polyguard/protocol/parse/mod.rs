//! The parser of completions: from a language model's text to an action (spec polyguard §9.2).
//!
//! The following tests are applied in order; the first one that holds decides:
//!
//! 1. more than 2,000 characters: [`Action::Exploit`], without further parsing;
//! 2. nothing but white space: [`Violation::Empty`];
//! 3. any exploit listed in §8.3 (two different ids, two JSON objects, a verdict, chat templates,
//!    fences, invisible characters, forged ids): [`Action::Exploit`]. Strings within JSON are
//!    checked after their escapes are resolved;
//! 4. a text that is one JSON object: its fields decide;
//! 5. one line in the requested form: its candidate is chosen. The answer counts as repaired if the
//!    line is not the whole text, or differs in case or spaces. Two such lines:
//!    [`Violation::Ambiguous`];
//! 6. any other text is refused: [`Violation::BadId`] if something other than an id is assigned to
//!    `candidate_id`, [`Violation::Ambiguous`] if several candidates are mentioned,
//!    [`Violation::Empty`] if only the rationale is missing, otherwise [`Violation::NoCandidate`].
//!
//! An unreadable completion is never replaced by a candidate.

mod exploit;
mod object;
mod parsed_completion;
mod scan;

pub(super) use object::ANSWER_FIELDS;
pub use parsed_completion::ParsedCompletion;
pub(super) use parsed_completion::{COMPLETION_MAX, RATIONALE_MAX};

use crate::polyguard::model::action::{Action, Choice};
use crate::polyguard::model::candidate::CandidateId;
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::history::Violation;
use crate::polyguard::model::rationale_terms::RationaleTerms;
use crate::strict_json::Json;
use parsed_completion::{refuse, repaired_if};
use scan::{FormLine, Mention, assigned_values, candidate_mentions, parse_form_line};

impl Action {
    /// Parses a completion, using the names of a formulary.
    #[must_use]
    pub fn parse(completion: &str, formulary: &Formulary) -> Self {
        ParsedCompletion::parse(completion, formulary).action
    }
}

impl ParsedCompletion {
    /// Parses a completion, using the names of a formulary.
    #[must_use]
    pub fn parse(completion: &str, formulary: &Formulary) -> Self {
        if completion.chars().nth(COMPLETION_MAX).is_some() {
            return parsed_completion::exploit(&format!("more than {COMPLETION_MAX} characters"));
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
            return parsed_completion::exploit(what);
        }
        match json {
            Some(Json::Object(fields)) => object::parse_object(&fields, formulary),
            _ => lines(text),
        }
    }
}

/// Parses a text that is expected to contain exactly one line of the requested form.
fn lines(text: &str) -> ParsedCompletion {
    let mut forms = text.lines().filter_map(parse_form_line);
    match (forms.next(), forms.next()) {
        (None, _) => formless(text),
        (Some(_), Some(_)) => refuse(Violation::Ambiguous, "two lines that answer"),
        (Some(found), None) => {
            let whole = !text.contains(['\n', '\r']);
            answer(&found, whole)
        }
    }
}

fn answer(found: &FormLine<'_>, whole: bool) -> ParsedCompletion {
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
        cites: RationaleTerms::from_text(found.rationale),
        ..Choice::new(id)
    };
    ParsedCompletion {
        action: Action::Choose(repaired_if(!(whole && found.strict), choice)),
        detail: None,
    }
}

/// Returns the refusal of a text without a line of the requested form.
fn formless(text: &str) -> ParsedCompletion {
    let lower = text.to_ascii_lowercase();
    let mut ids = assigned_values(&lower, "candidate_id");
    if let Some(id) = ids.find(|id| CandidateId::parse(id).is_none()) {
        return refuse(Violation::BadId, format!("candidate_id={id}"));
    }
    let mut named = candidate_mentions(&lower).filter_map(|mention| match mention {
        Mention::Id(id) => Some(id),
        _ => None,
    });
    let first = named.next();
    if let Some(other) = named.find(|id| Some(*id) != first) {
        let detail = format!("{other} and others are mentioned, none is chosen");
        return refuse(Violation::Ambiguous, detail);
    }
    if assigned_values(&lower, "candidate_id").next().is_some() && !lower.contains("rationale") {
        return refuse(Violation::Empty, "the rationale is missing");
    }
    refuse(Violation::NoCandidate, "no line in the asked form")
}
