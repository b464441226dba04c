//! What can be chosen, and what was done.
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec polyguard §9"
)]

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::num::round_to;
use crate::polyguard::candidates::{Arg, Candidate};
use crate::polyguard::formulary::Formulary;
use crate::polyguard::history::Past;
use crate::polyguard::observation::Observation;
use crate::polyguard::violation::Violation;

/// A candidate as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct CandidateRow {
    pub candidate_id: &'static str,
    pub action_type: &'static str,
    pub drug: Option<&'static str>,
    pub args: ArgRow,
    pub est_risk: f64,
    pub est_delta: f64,
}

impl CandidateRow {
    /// All that are shown.
    #[must_use]
    pub fn all(o: &Observation) -> Vec<Self> {
        let formulary = o.formulary();
        let row = |candidate: &Candidate| Self {
            candidate_id: candidate.id.name(),
            action_type: candidate.act.kind.name(),
            drug: candidate.act.drug.map(|drug| drug.name(formulary)),
            args: ArgRow::of(candidate.act.arg, formulary),
            est_risk: round_to(candidate.est_risk, 3),
            est_delta: round_to(candidate.est_delta, 3),
        };
        o.candidates.iter().map(row).collect()
    }
}

/// What a candidate needs besides a medicine: `{}`, `{"bucket_delta": 1}` or `{"target": name}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgRow {
    None,
    BucketDelta(i8),
    Target(&'static str),
}

impl ArgRow {
    pub(in crate::polyguard) fn of(arg: Arg, formulary: &'static Formulary) -> Self {
        match arg {
            Arg::None => Self::None,
            Arg::Dose(by) => Self::BucketDelta(by),
            Arg::Target(drug) => Self::Target(drug.name(formulary)),
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

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PastRow {
    pub step: u8,
    pub action_type: Option<&'static str>,
    pub drug: Option<&'static str>,
    pub args: ArgRow,
    pub refused: Option<&'static str>,
    pub brought_information: bool,
}

impl PastRow {
    pub(super) fn of(step: u8, past: &Past, formulary: &'static Formulary) -> Self {
        let act = past.act;
        Self {
            step,
            action_type: act.map(|act| act.kind.name()),
            drug: act
                .and_then(|act| act.drug)
                .map(|drug| drug.name(formulary)),
            args: act.map_or(ArgRow::None, |act| ArgRow::of(act.arg, formulary)),
            refused: past.violation.map(Violation::name),
            brought_information: past.gained,
        }
    }
}
