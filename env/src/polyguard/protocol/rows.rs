//! Acts as rows of JSON: candidates, answers, and past steps.
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec api §2.4"
)]

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::num::round_to;
use crate::polyguard::model::action::{Action, Choice, Confidence};
use crate::polyguard::model::candidate::{Act, ActArg, ActKind, Candidate};
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::history::{Exploit, PastStep, Violation};
use crate::polyguard::model::observation::Observation;
use crate::schema::impl_json_schema;

/// A candidate, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CandidateRow {
    /// Id to answer with.
    pub candidate_id: &'static str,
    /// Kind of act of the candidate.
    #[cfg_attr(feature = "schema", schemars(with = "ActKind"))]
    pub action_type: &'static str,
    /// The medicine, or null.
    pub drug: Option<&'static str>,
    /// The argument of the act.
    pub args: ArgRow,
    /// Estimated risk after the act.
    pub est_risk: f64,
    /// Estimated change of the risk.
    pub est_delta: f64,
}

impl CandidateRow {
    /// Creates the rows of all shown candidates.
    #[must_use]
    pub fn all(o: &Observation) -> Vec<Self> {
        let formulary = o.formulary();
        let row = |candidate: &Candidate| Self {
            candidate_id: candidate.id.name(),
            action_type: candidate.act.kind.name(),
            drug: candidate.act.drug.map(|drug| drug.name(formulary)),
            args: ArgRow::new(candidate.act.arg, formulary),
            est_risk: round_to(candidate.est_risk, 3),
            est_delta: round_to(candidate.est_delta, 3),
        };
        o.candidates.iter().map(row).collect()
    }
}

/// The argument of an act: `{}`, `{"bucket_delta": 1}` or `{"target": name}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgRow {
    None,
    BucketDelta(i8),
    Target(&'static str),
}

impl ArgRow {
    pub(super) fn new(arg: ActArg, formulary: &'static Formulary) -> Self {
        match arg {
            ActArg::None => Self::None,
            ActArg::Dose(by) => Self::BucketDelta(by),
            ActArg::Target(drug) => Self::Target(drug.name(formulary)),
        }
    }
}

impl Serialize for ArgRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::None => {}
            Self::BucketDelta(by) => map.serialize_entry("bucket_delta", by)?,
            Self::Target(name) => map.serialize_entry("target", name)?,
        }
        map.end()
    }
}

impl_json_schema!([] ArgRow, "ArgRow", |_generator| schemars::json_schema!({
    "type": "object",
    "properties": {
        "bucket_delta": {"type": "integer", "description": "Change of the dose bucket."},
        "target": {"type": "string", "description": "The new medicine."},
    },
    "additionalProperties": false,
}));

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PastRow {
    /// Number of the step, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub step: u8,
    /// Kind of act that was done; null if the answer could not be read.
    #[cfg_attr(feature = "schema", schemars(with = "Option<ActKind>"))]
    pub action_type: Option<&'static str>,
    /// The medicine, or null.
    pub drug: Option<&'static str>,
    /// The argument of the act.
    pub args: ArgRow,
    /// The reason of a refusal, or null.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Violation>"))]
    pub refused: Option<&'static str>,
    /// Flag that it brought information.
    pub brought_information: bool,
}

impl PastRow {
    pub(super) fn new(step: u8, past: &PastStep, formulary: &'static Formulary) -> Self {
        let act = past.act;
        Self {
            step,
            action_type: act.map(|act| act.kind.name()),
            drug: act
                .and_then(|act| act.drug)
                .map(|drug| drug.name(formulary)),
            args: act.map_or(ArgRow::None, |act| ArgRow::new(act.arg, formulary)),
            refused: past.violation.map(Violation::name),
            brought_information: past.gained,
        }
    }
}

/// An action as JSON: the fields of an answer, or the completion that was given.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ActionRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_id: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drug: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<ArgRow>,
    /// Reason why an action from code is unreadable; answers never have this field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<&'static str>,
}

impl ActionRow {
    /// Creates the row of a completion, with its original text.
    #[must_use]
    pub fn completion(text: &str) -> Self {
        Self {
            completion: Some(text.to_owned()),
            ..Self::default()
        }
    }

    /// Creates the row of an action. A repaired answer is written in its proper form, and a
    /// critic's fallback is not marked.
    #[must_use]
    pub fn new(action: &Action, formulary: &'static Formulary) -> Self {
        match action {
            Action::Choose(choice) => Self::choice(choice, formulary),
            Action::Invalid(why) => Self::unreadable(why.name()),
            Action::Exploit => Self::unreadable(Exploit::ParserExploit.name()),
        }
    }

    fn unreadable(why: &'static str) -> Self {
        Self {
            unreadable: Some(why),
            ..Self::default()
        }
    }

    fn choice(choice: &Choice, formulary: &'static Formulary) -> Self {
        let words = choice.cites.names();
        let claim = &choice.claim;
        let drug = claim
            .drug
            .map(|drug| drug.map_or("none", |drug| drug.name(formulary)));
        Self {
            candidate_id: Some(choice.id.name()),
            rationale: Some(if words.is_empty() {
                "-".to_owned()
            } else {
                words.join(", ")
            }),
            confidence: choice.confidence.map(Confidence::value),
            action_type: claim.kind.map(ActKind::name),
            drug: if claim.unknown { Some("?") } else { drug },
            args: claim.arg.map(|arg| ArgRow::new(arg, formulary)),
            ..Self::default()
        }
    }
}

/// An act as JSON: a kind, a medicine and an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ActRow {
    pub action_type: &'static str,
    pub drug: Option<&'static str>,
    pub args: ArgRow,
}

impl ActRow {
    pub(super) fn new(act: Act, formulary: &'static Formulary) -> Self {
        Self {
            action_type: act.kind.name(),
            drug: act.drug.map(|drug| drug.name(formulary)),
            args: ArgRow::new(act.arg, formulary),
        }
    }
}
