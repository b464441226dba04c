//! What is known to be wrong.
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec polyguard §9"
)]

use crate::num::round_to;
use crate::polyguard::formulary::{ArchetypeId, PRODUCT};
use crate::polyguard::labs::Lab;
use crate::polyguard::observation::Observation;
use crate::polyguard::regimen::Drug;
use crate::polyguard::violation::Violation;

/// What is known to interact.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GraphSafety {
    pub flagged_pairs: Vec<FlaggedPair>,
    pub set_rules: Vec<&'static str>,
    pub renal_alerts: Vec<&'static str>,
    pub observed_risk: f64,
}

/// A flagged pair that is taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FlaggedPair {
    pub first: &'static str,
    pub second: &'static str,
    pub severity: &'static str,
}

/// How much is taken.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct BurdenSummary {
    pub medicines: u8,
    pub anticholinergic_burden: u8,
    pub cns_active: u8,
    pub burden: f64,
}

/// What to beware of.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct WarningSummary {
    pub serious_pairs: usize,
    pub missing_labs: Vec<&'static str>,
    pub no_indication: Vec<&'static str>,
    pub invalid_action_count: u8,
    pub last_violation: Option<&'static str>,
}

impl GraphSafety {
    pub(super) fn of(o: &Observation) -> Self {
        let formulary = o.formulary();
        // A component of a product goes by the product's name: that is what can be acted on.
        let shown = |id: ArchetypeId| match o.regimen.of(Drug::Known(id)) {
            Some(_) => formulary.get(id).name.as_str(),
            None => PRODUCT,
        };
        let flagged = o.flags().map(|(pair, severity)| {
            let pair = formulary.pair(pair);
            FlaggedPair {
                first: shown(pair.first),
                second: shown(pair.second),
                severity: severity.name(),
            }
        });
        let broken = o.broken_rules().into_iter().filter(|(_, broken)| *broken);
        let alerts = (o.regimen.iter())
            .filter(|row| row.is_active() && o.renal_alert(row) == Some(true))
            .map(|row| row.drug.name(formulary));
        Self {
            flagged_pairs: flagged.collect(),
            set_rules: broken.map(|(rule, _)| rule.name()).collect(),
            renal_alerts: alerts.collect(),
            observed_risk: round_to(o.risk, 3),
        }
    }
}

impl WarningSummary {
    pub(super) fn of(o: &Observation) -> Self {
        let formulary = o.formulary();
        let missing = Lab::ALL.iter().filter(|lab| o.labs.get(**lab).is_none());
        let aimless = o.regimen.iter().filter(|row| row.indication.is_none());
        Self {
            serious_pairs: o.flags().filter(|(_, s)| s.is_serious()).count(),
            missing_labs: missing.map(|lab| lab.name()).collect(),
            no_indication: aimless.map(|row| row.drug.name(formulary)).collect(),
            invalid_action_count: o.invalid_count,
            last_violation: o.last_violation.map(Violation::name),
        }
    }
}
