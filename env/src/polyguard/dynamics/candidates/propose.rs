//! Rules that propose acts, based on the observation only (spec polyguard §5, priorities in
//! thousandths).

use super::proposals::Proposals;
use crate::polyguard::dynamics::risk;
use crate::polyguard::model::candidate::{ActArg, ActKind};
use crate::polyguard::model::formulary::{Formulary, each_archetype};
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::regimen::{Drug, Medication};
use crate::polyguard::model::task_spec::{Split, SubEnvironment};

/// The facts that all rules use; the sets are bits of archetype ids.
struct Chart<'a> {
    o: &'a Observation,
    formulary: &'static Formulary,
    /// The known archetypes that are taken.
    mask: u64,
    /// The known archetypes in the regimen, paused or not.
    present: u64,
    /// The archetypes that the split excludes.
    barred: u64,
    /// The archetypes that may be in the regimen. A product that has not been decomposed may
    /// contain any.
    others: u64,
    /// The archetypes that are unsafe at the eGFR or, if it is unknown, those that may be unsafe.
    renal: u64,
}

/// Adds all proposals for an observation; `taken` holds the known archetypes that are taken.
pub(super) fn propose(o: &Observation, taken: u64, list: &mut Proposals) {
    let formulary = o.formulary();
    let rows = o.regimen.iter();
    let present = rows.fold(0, |bits, row| bits | o.known_archetypes(row.drug));
    let chart = Chart {
        o,
        formulary,
        mask: taken,
        present,
        barred: o.task.split().excluded(formulary),
        others: if o.has_unknown_product() {
            u64::MAX
        } else {
            present
        },
        renal: o.renal_limits(),
    };
    for row in o.regimen.iter() {
        chart.ongoing(list, row);
        chart.suspect(list, row);
        chart.dose(list, row);
        chart.needless(list, row);
    }
    chart.problem(list);
    chart.pairs(list);
    chart.sets(list);
    chart.hints(list);
}

impl Chart<'_> {
    /// Returns `true` if the split admits an archetype: it is not held out and forms no held-out
    /// pair with the regimen.
    fn may_enter(&self, target: u64) -> bool {
        if target & (self.barred | self.present) != 0 {
            return false;
        }
        self.o.task.split() != Split::Train
            || each_archetype(target)
                .all(|id| self.formulary.held_out_partners(id) & self.others & !self.barred == 0)
    }

    /// Proposes the remedies for a medicine that should be removed.
    fn remedies(&self, list: &mut Proposals, row: &Medication, priority: i16) {
        let drug = row.drug;
        let substitutes = drug
            .archetype()
            .map_or(0, |id| self.formulary.get(id).substitutes);
        let substitute = |list: &mut Proposals, priority| {
            for target in each_archetype(substitutes).filter(|id| self.may_enter(id.bit())) {
                let arg = ActArg::Target(Drug::Known(target));
                list.add(priority, ActKind::SubstituteWithinClass, drug, arg);
            }
        };
        if row.tapering {
            list.add(priority + 1000, ActKind::ContinueTaper, drug, ActArg::None);
            substitute(list, priority);
        } else if drug.needs_taper(self.formulary) {
            list.add(priority, ActKind::InitiateTaper, drug, ActArg::None);
            substitute(list, priority - 50);
        } else if drug == Drug::Product {
            list.add(priority, ActKind::StopDrug, drug, ActArg::None);
            for part in self.o.components.into_iter().flatten() {
                let arg = ActArg::Target(Drug::Known(part));
                list.add(priority + 50, ActKind::RecommendAlternative, drug, arg);
            }
        } else {
            substitute(list, priority);
            let shift = if row.indication.is_none() { 100 } else { -20 };
            list.add(priority + shift, ActKind::StopDrug, drug, ActArg::None);
        }
    }

    /// Proposes continuing tapers and resuming paused medicines that are not suspects.
    fn ongoing(&self, list: &mut Proposals, row: &Medication) {
        if row.tapering {
            list.add(3000, ActKind::ContinueTaper, row.drug, ActArg::None);
        }
        if !row.is_active() && row.prior == 0 {
            list.add(800, ActKind::AdjustDoseBucket, row.drug, ActArg::Dose(1));
        }
    }

    /// Proposes acts on the suspects of a symptom.
    fn suspect(&self, list: &mut Proposals, row: &Medication) {
        if row.prior == 0 {
            return;
        }
        if row.is_active() {
            list.add(2000, ActKind::HoldDose, row.drug, ActArg::None);
            let weight = 1000 + 100 * i16::from(row.prior);
            list.add(weight, ActKind::StopDrug, row.drug, ActArg::None);
        } else {
            list.add(2500, ActKind::AdjustDoseBucket, row.drug, ActArg::Dose(1));
            list.add(2400, ActKind::StopDrug, row.drug, ActArg::None);
        }
    }

    /// Proposes acts on questioned doses, and measuring medicines with a narrow window or a renal
    /// limit.
    fn dose(&self, list: &mut Proposals, row: &Medication) {
        if row.questioned {
            let measured = if row.level.is_some() { 1700 } else { 1800 };
            list.add(measured, ActKind::OrderMonitoring, row.drug, ActArg::None);
            list.add(1620, ActKind::AdjustDoseBucket, row.drug, ActArg::Dose(-1));
            list.add(1610, ActKind::AdjustDoseBucket, row.drug, ActArg::Dose(1));
            list.add(400, ActKind::HoldDose, row.drug, ActArg::None);
        }
        let marks = self.formulary.trait_sets();
        let delicate = marks.narrow | marks.renal;
        if row
            .drug
            .archetype()
            .is_some_and(|id| delicate & id.bit() != 0)
        {
            list.add(500, ActKind::OrderMonitoring, row.drug, ActArg::None);
        }
    }

    /// Proposes remedies for medicines that may not be needed, and for those that are renally
    /// unsafe.
    fn needless(&self, list: &mut Proposals, row: &Medication) {
        if row.stale && row.status != Some(true) {
            let shown = if row.status == Some(false) { 400 } else { 0 };
            self.remedies(list, row, 1100 + shown);
        }
        if row.indication.is_none() {
            self.remedies(list, row, 900);
        }
        let blind = self.o.egfr().is_none();
        let looks = !blind || self.o.task.sub_environment() == SubEnvironment::WebSearchMissingData;
        if looks && self.o.known_archetypes(row.drug) & self.renal != 0 {
            self.remedies(list, row, 1300);
        }
    }

    /// Proposes decomposing an unknown product, and alternatives for a medicine that must be
    /// replaced.
    fn problem(&self, list: &mut Proposals) {
        if self.o.has_unknown_product() {
            list.add(2000, ActKind::DecomposeNewDrug, Drug::Product, ActArg::None);
        }
        let Some(Drug::Known(problem)) = self.o.problem else {
            return;
        };
        let Some(row) = self.o.regimen.find(Drug::Known(problem)) else {
            return;
        };
        let condition = row
            .indication
            .unwrap_or(self.formulary.get(problem).indication);
        for id in self.formulary.ids() {
            let treats = self.formulary.get(id).treats.contains(condition);
            if treats && self.may_enter(id.bit()) {
                let arg = ActArg::Target(Drug::Known(id));
                list.add(
                    1600,
                    ActKind::RecommendAlternative,
                    Drug::Known(problem),
                    arg,
                );
            }
        }
    }

    /// Proposes remedies for flagged pairs.
    fn pairs(&self, list: &mut Proposals) {
        for (pair, severity) in self.o.flagged_pairs() {
            let pair = self.formulary.pair(pair);
            let priority = 1000 + (severity.weight() * 1000.0) as i16;
            let ends = pair.first.bit() | pair.second.bit();
            for row in self.o.regimen.iter() {
                if self.o.known_archetypes(row.drug) & ends != 0 && row.is_active() {
                    self.remedies(list, row, priority);
                }
            }
        }
    }

    /// Proposes remedies for the members of broken set rules.
    fn sets(&self, list: &mut Proposals) {
        for (rule, broken) in self.o.broken_rules() {
            if !broken {
                continue;
            }
            let members = risk::rule_members(self.formulary, rule, self.mask);
            for row in self.o.regimen.iter().filter(|row| row.is_active()) {
                let parts = self.o.known_archetypes(row.drug);
                if parts & members != 0 {
                    let acb: u8 = each_archetype(parts)
                        .map(|id| self.formulary.get(id).acb)
                        .sum();
                    let bonus = if row.indication.is_none() { 100 } else { 0 };
                    self.remedies(list, row, 1200 + 20 * i16::from(acb) + bonus);
                }
            }
        }
    }

    /// Proposes remedies for the three medicines with the most suspected pairs that are not
    /// flagged.
    fn hints(&self, list: &mut Proposals) {
        let mut rows: [(u32, usize); 3] = [(0, 0); 3];
        for (at, row) in self.o.regimen.iter().enumerate() {
            let hints = self.o.count_suspected_pairs_among(row, self.mask);
            // On ties, the earlier row keeps its place.
            let (mut row, mut inserted) = ((hints, at), false);
            for best in &mut rows {
                inserted |= hints > best.0;
                if inserted {
                    std::mem::swap(best, &mut row);
                }
            }
        }
        for (_, at) in rows.into_iter().filter(|(hints, _)| *hints > 0) {
            self.remedies(list, &self.o.regimen[at], 700);
        }
    }
}
