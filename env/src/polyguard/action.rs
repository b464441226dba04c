//! What an agent answers: a candidate with a confidence and a rationale, or something unusable.

use std::fmt;

use super::candidates::{Arg, CandidateId, Kind};
use super::observation::Observation;
use super::regimen::Drug;
use super::terms::Terms;
use super::violation::Violation;

/// How sure an agent says it is, in thousandths, 0..=1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u16);

impl Confidence {
    /// From a number within `[0, 1]`, to three decimals.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        // The range rules out what is no number.
        (0.0..=1.0)
            .contains(&value)
            .then_some(Self((value * 1000.0 + 0.5) as u16))
    }

    /// The number.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

/// What is stated beside a candidate's id; it must agree with what the id stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The kind of act.
    pub kind: Option<Kind>,
    /// The medicine, or that there is none.
    pub drug: Option<Option<Drug>>,
    /// The argument.
    pub arg: Option<Arg>,
    /// Whether something was stated that is nothing here.
    pub unknown: bool,
}

/// A candidate that was named in a form that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which.
    pub id: CandidateId,
    /// How sure the agent is; .5 counts where it does not say.
    pub confidence: Option<Confidence>,
    /// The words of the rationale that mean something.
    pub cites: Terms,
    /// What was stated beside the id.
    pub claim: Claim,
    /// Whether the answer had to be repaired to be read.
    pub repaired: bool,
    /// Whether a critic put this in the place of another choice.
    pub fallback: bool,
}

/// What an agent answers in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A candidate.
    Choose(Choice),
    /// Nothing that can be read: a wasted step.
    Invalid(Violation),
    /// A completion made to confuse the reader: the end of the episode.
    Exploit,
}

impl Choice {
    /// A candidate with nothing said about it.
    #[must_use]
    pub fn bare(id: CandidateId) -> Self {
        Self {
            id,
            confidence: None,
            cites: Terms::default(),
            claim: Claim::default(),
            repaired: false,
            fallback: false,
        }
    }

    /// A candidate of an observation with a rationale that names what it is about, and as much
    /// confidence as the shown uncertainty leaves.
    #[must_use]
    pub fn explained(o: &Observation, id: CandidateId) -> Self {
        let act = o.candidates.get(id).map(|candidate| candidate.act);
        let mut cites = Terms::default();
        if let Some(drug) = act.and_then(|act| act.drug) {
            cites = cites.or(Terms::drug(drug, o.formulary()));
        } else {
            cites = cites.or(Terms::lab(super::labs::Lab::Egfr));
        }
        if let Some(Arg::Target(drug)) = act.map(|act| act.arg) {
            cites = cites.or(Terms::drug(drug, o.formulary()));
        }
        Self {
            confidence: Confidence::new(1.0 - o.uncertainty),
            cites,
            ..Self::bare(id)
        }
    }
}

impl Action {
    /// The candidate that was named, if one was.
    #[must_use]
    pub const fn choice(self) -> Option<Choice> {
        match self {
            Self::Choose(choice) => Some(choice),
            Self::Invalid(_) | Self::Exploit => None,
        }
    }

    /// The candidate with a grounded rationale and calibrated confidence.
    #[must_use]
    pub fn explained(o: &Observation, id: CandidateId) -> Self {
        Self::Choose(Choice::explained(o, id))
    }

    /// The chosen candidate.
    #[must_use]
    pub const fn id(self) -> Option<CandidateId> {
        match self {
            Self::Choose(choice) => Some(choice.id),
            Self::Invalid(_) | Self::Exploit => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choose(choice) => write!(f, "{}", choice.id),
            Self::Invalid(why) => write!(f, "invalid ({})", why.name()),
            Self::Exploit => f.write_str("parser_exploit"),
        }
    }
}
