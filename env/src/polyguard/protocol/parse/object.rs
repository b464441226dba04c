//! The alternative form of an answer: a JSON object.

use super::parsed_completion::{ParsedCompletion, RATIONALE_MAX, refuse, repaired_if};
use crate::named::Named as _;
use crate::polyguard::model::action::{Action, Choice, Claim, Confidence};
use crate::polyguard::model::candidate::{ActArg, ActKind, CandidateId};
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::history::Violation;
use crate::polyguard::model::rationale_terms::RationaleTerms;
use crate::polyguard::model::regimen::Drug;
use crate::strict_json::{FieldFault, Json, JsonFields};

/// The fields that an answer may have.
pub(in crate::polyguard) const ANSWER_FIELDS: [&str; 6] = [
    "candidate_id",
    "rationale",
    "confidence",
    "action_type",
    "drug",
    "args",
];
/// The fields of `args`.
const ARGS: [&str; 2] = ["bucket_delta", "target"];
/// Word that stands for no medicine.
const NO_DRUG: &str = "none";

/// Parses an object. A field that is `null` is treated as missing.
pub(super) fn parse_object(fields: &JsonFields, formulary: &Formulary) -> ParsedCompletion {
    match read(fields, formulary) {
        Ok(choice) => ParsedCompletion {
            action: Action::Choose(choice),
            detail: None,
        },
        Err(reading) => reading,
    }
}

fn read(fields: &JsonFields, formulary: &Formulary) -> Result<Choice, ParsedCompletion> {
    known(fields, &ANSWER_FIELDS)?;
    let (id, exact) = match fields.get("candidate_id") {
        None => return Err(refuse(Violation::NoCandidate, "candidate_id is missing")),
        Some(Json::String(text)) => {
            let plain = text.trim().to_ascii_lowercase();
            let Some(id) = CandidateId::parse(&plain) else {
                return Err(refuse(Violation::BadId, format!("candidate_id {text:?}")));
            };
            (id, plain == *text)
        }
        Some(other) => {
            let detail = format!("candidate_id is {}", other.type_name());
            return Err(refuse(Violation::BadId, detail));
        }
    };
    let cites = match fields.get("rationale") {
        Some(Json::String(text)) if !text.trim().is_empty() => {
            if text.chars().nth(RATIONALE_MAX).is_some() {
                let detail = format!("a rationale of more than {RATIONALE_MAX} characters");
                return Err(refuse(Violation::TooLong, detail));
            }
            RationaleTerms::from_text(text)
        }
        _ => return Err(refuse(Violation::Empty, "rationale should be a text")),
    };
    let confidence = match fields.get("confidence") {
        None => None,
        Some(given) => {
            let number = given.as_f64();
            let known = number.filter(|number| (0.0..=1.0).contains(number));
            let Some(confidence) = known.and_then(Confidence::new) else {
                let what = number.map_or(given.type_name().to_owned(), |number| number.to_string());
                let detail = format!("confidence is {what}, not a number from 0 to 1");
                return Err(refuse(Violation::BadConfidence, detail));
            };
            Some(confidence)
        }
    };
    Ok(repaired_if(
        !exact,
        Choice {
            confidence,
            cites,
            claim: claim(fields, formulary)?,
            ..Choice::new(id)
        },
    ))
}

/// Returns the details stated beside the id. A detail that names something unknown is a false
/// claim.
fn claim(fields: &JsonFields, formulary: &Formulary) -> Result<Claim, ParsedCompletion> {
    let mut claim = Claim::default();
    match fields.get("action_type") {
        None => {}
        Some(Json::String(text)) => claim.kind = ActKind::parse_ignore_case(text),
        Some(_) => claim.unknown = true,
    }
    claim.unknown |= claim.kind.is_none() && fields.get("action_type").is_some();
    match fields.get("drug") {
        None => {}
        Some(Json::String(text)) if text == NO_DRUG => claim.drug = Some(None),
        Some(Json::String(text)) => match Drug::parse(&text.to_lowercase(), formulary) {
            Some(drug) => claim.drug = Some(Some(drug)),
            None => claim.unknown = true,
        },
        Some(_) => claim.unknown = true,
    }
    match fields.get("args") {
        None => {}
        Some(Json::Object(args)) => {
            known(args, &ARGS)?;
            claim.arg = arg(args, formulary);
            claim.unknown |= claim.arg.is_none();
        }
        Some(_) => claim.unknown = true,
    }
    Ok(claim)
}

fn arg(args: &JsonFields, formulary: &Formulary) -> Option<ActArg> {
    match (args.get("bucket_delta"), args.get("target")) {
        (None, None) => Some(ActArg::None),
        (Some(delta), None) => match delta.as_f64()? {
            1.0 => Some(ActArg::Dose(1)),
            -1.0 => Some(ActArg::Dose(-1)),
            _ => None,
        },
        (None, Some(Json::String(name))) => {
            Drug::parse(&name.to_lowercase(), formulary).map(ActArg::Target)
        }
        _ => None,
    }
}

/// Returns an error unless every field is known and occurs once.
fn known(fields: &JsonFields, names: &[&str]) -> Result<(), ParsedCompletion> {
    Err(match fields.first_fault(names) {
        None => return Ok(()),
        Some(FieldFault::Unknown(field)) => {
            let detail = format!("unknown field {field:?}: use {}", names.join(", "));
            refuse(Violation::UnknownField, detail)
        }
        Some(FieldFault::Duplicate(field)) => {
            refuse(Violation::Ambiguous, format!("{field} twice"))
        }
    })
}
