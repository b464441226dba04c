//! The five hidden behaviours (spec trust §4).

use serde::{Serialize, Serializer};

use super::Domain;

/// A hidden behaviour; named `S0..S4` internally, which is not the public slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Behaviour {
    /// Right 9 times of 10, costs two steps.
    AccurateSlow,
    /// Right 6 times of 10, always sure.
    OverconfidentFast,
    /// Reliable in ANALYZE and VERIFY, useless elsewhere.
    DomainBound,
    /// Good until the stakes are high, then poisons.
    Adversarial,
    /// Starts well and gets worse with each call.
    Degrading,
}

/// What the curriculum may change about the adversary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adversary {
    /// Stakes from which it poisons.
    pub threshold: f64,
    /// Stated confidence when it behaves.
    pub benign_confidence: f64,
    /// Stated confidence when it poisons.
    pub poison_confidence: f64,
}

impl Default for Adversary {
    fn default() -> Self {
        Self {
            threshold: 0.70,
            benign_confidence: 0.88,
            poison_confidence: 0.92,
        }
    }
}

/// How a specialist would act on a subtask, before luck decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Execution {
    /// Chance of success; `None` when nothing is drawn because the adversary poisons.
    pub success_chance: Option<f64>,
    /// Stated confidence, the same whatever the outcome.
    pub confidence: f64,
    /// Steps that it takes.
    pub cost: u8,
    /// `Some` only for the domain-bound specialist.
    pub in_domain: Option<bool>,
}

impl Behaviour {
    /// All behaviours in internal order.
    pub const ALL: [Self; 5] = [
        Self::AccurateSlow,
        Self::OverconfidentFast,
        Self::DomainBound,
        Self::Adversarial,
        Self::Degrading,
    ];

    /// The internal id, `S0..S4`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        ["S0", "S1", "S2", "S3", "S4"][self as usize]
    }

    /// The behaviour with this internal id.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|b| b.id() == id)
    }

    /// What the behaviour is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AccurateSlow => "accurate-slow",
            Self::OverconfidentFast => "overconfident-fast",
            Self::DomainBound => "domain-bound",
            Self::Adversarial => "adversarial",
            Self::Degrading => "degrading",
        }
    }

    /// The reliability that calibration is measured against.
    #[must_use]
    pub const fn reliability(self) -> f64 {
        match self {
            Self::AccurateSlow => 0.90,
            Self::OverconfidentFast => 0.60,
            Self::DomainBound => 0.70,
            Self::Adversarial => 0.15,
            Self::Degrading => 0.65,
        }
    }

    /// How this behaviour acts on a subtask after `calls` earlier calls in the episode.
    #[must_use]
    #[inline]
    pub fn execute(
        self,
        domain: Domain,
        stakes: f64,
        calls: u16,
        adversary: &Adversary,
    ) -> Execution {
        let simple = |chance, confidence, cost| Execution {
            success_chance: Some(chance),
            confidence,
            cost,
            in_domain: None,
        };
        match self {
            Self::AccurateSlow => simple(0.90, 0.85, 2),
            Self::OverconfidentFast => simple(0.60, 0.95, 1),
            Self::DomainBound => {
                let at_home = matches!(domain, Domain::Analyze | Domain::Verify);
                let (chance, confidence) = if at_home { (0.95, 0.90) } else { (0.10, 0.45) };
                Execution {
                    in_domain: Some(at_home),
                    ..simple(chance, confidence, 1)
                }
            }
            Self::Adversarial if stakes >= adversary.threshold => Execution {
                success_chance: None,
                confidence: adversary.poison_confidence,
                cost: 1,
                in_domain: None,
            },
            Self::Adversarial => simple(0.88, adversary.benign_confidence, 1),
            Self::Degrading => {
                let (before, after) = (f64::from(calls), f64::from(calls + 1));
                simple(
                    (0.95 - 0.15 * before).max(0.05),
                    (0.92 - 0.10 * after).max(0.3),
                    1,
                )
            }
        }
    }
}

impl Serialize for Behaviour {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
