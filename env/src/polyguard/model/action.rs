//! An agent's answer: a candidate with a confidence and a rationale, or an unusable answer.

use std::fmt;

use super::candidate::{Act, ActArg, ActKind, CandidateId};
use super::history::{Exploit, Violation};
use super::observation::Observation;
use super::patient::Lab;
use super::rationale_terms::RationaleTerms;
use super::regimen::Drug;

/// The confidence that an agent states, in thousandths, 0..=1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u16);

impl Confidence {
    /// Creates a confidence from a number in `[0, 1]`, rounded to three decimals, or returns `None`
    /// for any other number.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        // The range check also excludes NaN.
        (0.0..=1.0)
            .contains(&value)
            .then_some(Self((value * 1000.0 + 0.5) as u16))
    }

    /// Returns the confidence as a number in `[0, 1]`.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

/// The details stated beside a candidate's id, which must agree with the candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The stated kind of act, if any.
    pub kind: Option<ActKind>,
    /// The stated medicine; `Some(None)` states that there is none.
    pub drug: Option<Option<Drug>>,
    /// The stated argument, if any.
    pub arg: Option<ActArg>,
    /// `true` if a stated detail names something that does not exist.
    pub unknown: bool,
}

impl Claim {
    /// Returns `true` if every stated detail matches `act`.
    #[must_use]
    pub fn agrees(&self, act: Act) -> bool {
        !self.unknown
            && self.kind.is_none_or(|kind| kind == act.kind)
            && self.drug.is_none_or(|drug| drug == act.drug)
            && self.arg.is_none_or(|arg| arg == act.arg)
    }
}

/// A candidate named in a readable form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The id that was named.
    pub id: CandidateId,
    /// The stated confidence, if any.
    pub confidence: Option<Confidence>,
    /// The terms that the rationale cites.
    pub cites: RationaleTerms,
    /// The details stated beside the id.
    pub claim: Claim,
    /// `true` if the answer had to be repaired to be read.
    pub repaired: bool,
    /// `true` if a critic substituted this choice for another one.
    pub fallback: bool,
}

/// An agent's answer in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The choice of a candidate.
    Choose(Choice),
    /// An unreadable answer, which wastes the step.
    Invalid(Violation),
    /// A completion made to confuse the parser, which ends the episode.
    Exploit,
}

impl Choice {
    /// Creates a choice without rationale, confidence or claim.
    #[must_use]
    pub fn new(id: CandidateId) -> Self {
        Self {
            id,
            confidence: None,
            cites: RationaleTerms::default(),
            claim: Claim::default(),
            repaired: false,
            fallback: false,
        }
    }

    /// Creates a choice with a grounded rationale: it cites the subject of the act, and its
    /// confidence is 1 minus the shown uncertainty.
    #[must_use]
    pub fn with_grounded_rationale(o: &Observation, id: CandidateId) -> Self {
        let act = o.candidates.get(id).map(|candidate| candidate.act);
        let mut cites = RationaleTerms::default();
        if let Some(drug) = act.and_then(|act| act.drug) {
            cites = cites.union(RationaleTerms::drug(drug, o.formulary()));
        } else {
            cites = cites.union(RationaleTerms::lab(Lab::Egfr));
        }
        if let Some(ActArg::Target(drug)) = act.map(|act| act.arg) {
            cites = cites.union(RationaleTerms::drug(drug, o.formulary()));
        }
        Self {
            confidence: Confidence::new(1.0 - o.uncertainty),
            cites,
            ..Self::new(id)
        }
    }
}

impl Action {
    /// Returns the choice, if the answer names a candidate.
    #[must_use]
    pub const fn choice(self) -> Option<Choice> {
        match self {
            Self::Choose(choice) => Some(choice),
            Self::Invalid(_) | Self::Exploit => None,
        }
    }

    /// Returns the answer with its claim normalized: a correct claim becomes none, an incorrect one
    /// becomes unknown. The answer has the same effect at `o`.
    #[must_use]
    pub fn with_normalized_claim(self, o: &Observation) -> Self {
        let Self::Choose(mut choice) = self else {
            return self;
        };
        let shown = o.candidates.get(choice.id);
        choice.claim = Claim {
            unknown: shown.is_some_and(|shown| !choice.claim.agrees(shown.act)),
            ..Claim::default()
        };
        Self::Choose(choice)
    }

    /// Creates an action from [`Choice::with_grounded_rationale`].
    #[must_use]
    pub fn with_grounded_rationale(o: &Observation, id: CandidateId) -> Self {
        Self::Choose(Choice::with_grounded_rationale(o, id))
    }

    /// Returns the id of the candidate, if the answer names one.
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
            Self::Exploit => f.write_str(Exploit::ParserExploit.name()),
        }
    }
}
