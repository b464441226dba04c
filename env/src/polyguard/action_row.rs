//! An action as JSON that [`super::Message`] reads back.
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec polyguard §9"
)]

use serde::Serialize;

use super::action::{Action, Choice};
use super::formulary::Formulary;
use super::payload::ArgRow;

/// An action as JSON: the fields of an answer, or the completion that was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    /// Why an action from code is unreadable; no answer has this field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<&'static str>,
}

impl ActionRow {
    /// A completion as it was given.
    #[must_use]
    pub fn completion(text: &str) -> Self {
        Self {
            completion: Some(text.to_owned()),
            ..Self::default()
        }
    }

    /// An action. What was repaired comes back whole, and nothing tells of a critic.
    #[must_use]
    pub fn of(action: &Action, formulary: &'static Formulary) -> Self {
        match action {
            Action::Choose(choice) => Self::choice(choice, formulary),
            Action::Invalid(why) => Self::unreadable(why.name()),
            Action::Exploit => Self::unreadable("parser_exploit"),
        }
    }

    fn unreadable(why: &'static str) -> Self {
        Self {
            unreadable: Some(why),
            ..Self::default()
        }
    }

    fn choice(choice: &Choice, formulary: &'static Formulary) -> Self {
        let words = choice.cites.words();
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
            confidence: choice.confidence.map(super::Confidence::value),
            action_type: claim.kind.map(super::Kind::name),
            drug: if claim.unknown { Some("?") } else { drug },
            args: claim.arg.map(|arg| ArgRow::of(arg, formulary)),
            ..Self::default()
        }
    }
}
