//! Components of rewards and evidence about slots, as payloads show them (spec trust §5, §9 to
//! §11).

use serde::ser::{Serialize, Serializer};

use crate::ledger::{Evidence, EvidenceRow};
use crate::num::round_to;
use crate::schema::impl_json_schema;
use crate::slot::{PerSlot, Slot};
use crate::task::Task;
use crate::trust::model::{Domain, Grades, TerminalReward, TrustLedger};

/// A number in a breakdown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Component {
    /// A value rounded to three decimals.
    Share(f64),
    /// A number of occurrences.
    Count(u16),
}

impl Component {
    /// Returns the number as a float, for computing means.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Self::Share(v) => v,
            Self::Count(n) => f64::from(n),
        }
    }
}

impl Serialize for Component {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Share(v) => serializer.serialize_f64(*v),
            Self::Count(n) => serializer.serialize_u16(*n),
        }
    }
}

/// The named components of a reward, in display order; at most six.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Breakdown {
    entries: [Option<(&'static str, Component)>; 6],
}

impl Breakdown {
    /// Iterates over the components in display order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Component)> + '_ {
        self.entries.iter().flatten().copied()
    }

    /// Returns the component with this name, or `None` if there is none.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<f64> {
        self.iter()
            .find(|(name, _)| *name == key)
            .map(|(_, c)| c.value())
    }

    fn shares(list: &[(&'static str, f64)]) -> Self {
        let mut entries = [None; 6];
        for (entry, (name, value)) in entries.iter_mut().zip(list) {
            *entry = Some((*name, Component::Share(round_to(*value, 3))));
        }
        Self { entries }
    }

    /// Returns the components of a step's reward.
    #[must_use]
    pub fn from_step(task: Task, g: &Grades) -> Self {
        let accuracy = ("task_accuracy", g.task_accuracy);
        let stakes = ("stakes_awareness", g.stakes_awareness);
        let efficiency = ("efficiency", g.efficiency);
        let alignment = ("confidence_alignment", g.confidence_alignment);
        let domain = ("domain_routing", g.domain_routing);
        let verification = ("verification_quality", g.verification_quality);
        match (task, g.skipped) {
            (Task::Task2, true) => Self::shares(&[accuracy, efficiency]),
            (_, true) => Self::shares(&[accuracy, stakes, efficiency]),
            (Task::Task1, _) => Self::shares(&[
                accuracy,
                stakes,
                efficiency,
                alignment,
                domain,
                verification,
            ]),
            (Task::Task2, _) => Self::shares(&[accuracy, efficiency, alignment, domain]),
            (Task::Task3, _) => Self::shares(&[
                accuracy,
                stakes,
                efficiency,
                alignment,
                verification,
                domain,
            ]),
        }
    }

    /// Returns the components of the terminal reward. Task1 of the reference repeats those of its
    /// last step. `counts` holds the detections and the poisonings.
    #[must_use]
    pub fn from_terminal(
        task: Task,
        t: &TerminalReward,
        counts: (u16, u16),
        last: &Grades,
    ) -> Self {
        let completion = ("completion_rate", t.completion);
        let calibration = ("trust_calibration", t.calibration);
        match task {
            Task::Task1 if t.weights.completion > 0.0 => Self::shares(&[completion]),
            Task::Task1 => Self::from_step(task, last),
            Task::Task2 => Self::shares(&[completion, calibration]),
            Task::Task3 => {
                let detection = ("detection_rate", t.detection_rate);
                let efficiency = ("efficiency", t.efficiency);
                let mut all = if t.weights.detection > 0.0 {
                    Self::shares(&[completion, detection, calibration, efficiency])
                } else {
                    Self::shares(&[completion, calibration, efficiency])
                };
                all.entries[4] = Some(("adversarial_detections", Component::Count(counts.0)));
                all.entries[5] = Some(("adversarial_poisonings", Component::Count(counts.1)));
                all
            }
        }
    }
}

impl Serialize for Breakdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl_json_schema!([] Breakdown, "Breakdown", |generator| {
    generator.subschema_for::<std::collections::BTreeMap<String, f64>>()
});

/// The evidence about one slot, as observations show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvidenceSummary(pub Evidence<{ Domain::COUNT }>);

impl EvidenceSummary {
    /// Returns the evidence about all slots of a ledger.
    #[must_use]
    pub fn from_ledger(ledger: &TrustLedger) -> PerSlot<Self> {
        PerSlot(Slot::ALL.map(|slot| Self(ledger[slot])))
    }
}

/// Names of the domains, in the order of [`Domain::ALL`].
const DOMAINS: [&str; Domain::COUNT] = [
    Domain::ALL[0].name(),
    Domain::ALL[1].name(),
    Domain::ALL[2].name(),
    Domain::ALL[3].name(),
    Domain::ALL[4].name(),
];

impl Serialize for EvidenceSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EvidenceRow::new(self.0, &DOMAINS).serialize(serializer)
    }
}

impl_json_schema!([] EvidenceSummary, "EvidenceSummary", |generator| {
    generator.subschema_for::<EvidenceRow<{ Domain::COUNT }>>()
});
