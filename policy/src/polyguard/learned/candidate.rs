//! Features of a candidate: what it does, to which medicine, and what comes in.

use sentinel_env::polyguard::{
    Arg, Candidate, Condition, Drug, Formulary, Kind, Observation, Row as Medicine, each_archetype,
};

use crate::learned::Row;

/// Length of the row.
pub const PER_CANDIDATE: usize = 13 + 5 + 3 + 19 + 14 + 12;

/// What all candidates of an observation are compared with.
pub(super) struct Chart<'a> {
    o: &'a Observation,
    formulary: &'static Formulary,
    taken: u64,
}

impl<'a> Chart<'a> {
    pub(super) fn of(o: &'a Observation) -> Self {
        Self {
            o,
            formulary: o.formulary(),
            taken: o.doses().mask(),
        }
    }

    /// The row of a candidate.
    pub(super) fn row(&self, candidate: &Candidate) -> [f32; PER_CANDIDATE] {
        let mut row = Row::<PER_CANDIDATE>::new();
        let (o, act) = (self.o, candidate.act);
        row.one_hot(Kind::ALL.len(), Some(act.kind as usize));
        row.push(candidate.est_risk);
        row.push(candidate.est_delta);
        row.push(o.risk_after(act) - o.risk);
        row.flag(act.arg == Arg::Dose(1));
        row.flag(act.arg == Arg::Dose(-1));
        let before = o.history.iter().filter(|past| past.act == Some(act));
        row.push(before.clone().count() as f64 / 3.0);
        row.flag(before.clone().next_back().is_some_and(|past| !past.gained));
        row.flag(o.history.last().is_some_and(|past| past.act == Some(act)));
        let medicine = act.drug.and_then(|drug| o.regimen.of(drug));
        match medicine {
            Some(medicine) => {
                self.state(&mut row, medicine);
                self.traits(&mut row, medicine);
            }
            None => zeros(&mut row, 19 + 14),
        }
        match act.arg {
            Arg::Target(Drug::Known(id)) => self.target(&mut row, medicine, id.bit()),
            _ => zeros(&mut row, 12),
        }
        row.finish()
    }

    /// What the chart says of the medicine: 19 numbers.
    fn state(&self, row: &mut Row<PER_CANDIDATE>, medicine: &Medicine) {
        let o = self.o;
        row.flag(true);
        row.flag(medicine.is_active());
        row.push(medicine.bucket.dose());
        row.flag(medicine.tapering);
        row.flag(medicine.stale);
        row.flag(medicine.status == Some(true));
        row.flag(medicine.status == Some(false));
        row.flag(medicine.indication.is_none());
        row.flag(medicine.questioned);
        row.flag(medicine.level.is_some());
        row.push(medicine.level.map_or(0.0, |level| level - 1.0));
        row.flag(medicine.level_is_old);
        row.flag(medicine.level.is_some_and(|level| level > 1.25));
        row.flag(medicine.level.is_some_and(|level| level < 0.75));
        row.push(f64::from(medicine.prior) / 2.0);
        let held = |act: sentinel_env::polyguard::Act| {
            act.kind == Kind::HoldDose && act.drug == Some(medicine.drug)
        };
        row.flag(o.history.iter().filter_map(|past| past.act).any(held));
        row.flag(o.problem == Some(medicine.drug));
        row.flag(medicine.drug == Drug::Product);
        row.flag(
            medicine
                .indication
                .is_some_and(|condition| self.alone(medicine, condition)),
        );
    }

    /// Whether nothing else that is taken treats a condition.
    fn alone(&self, medicine: &Medicine, condition: Condition) -> bool {
        let others = self.taken & !self.o.parts(medicine.drug);
        !each_archetype(others).any(|id| self.formulary.get(id).treats.has(condition))
    }

    /// What is known of the medicine's archetype: 14 numbers.
    fn traits(&self, row: &mut Row<PER_CANDIDATE>, medicine: &Medicine) {
        let (o, parts) = (self.o, self.o.parts(medicine.drug));
        let known = each_archetype(parts).map(|id| self.formulary.get(id));
        let (mut acb, mut cns, mut narrow, mut renal, mut substitutes) = (0, false, false, 0.0, 0);
        for archetype in known {
            acb += archetype.acb;
            cns |= archetype.cns;
            narrow |= archetype.narrow;
            renal = f64::max(renal, archetype.renal_below.unwrap_or(0.0));
            substitutes += archetype.substitutes.count_ones();
        }
        row.push(f64::from(acb) / 3.0);
        row.flag(cns);
        row.flag(medicine.drug.needs_taper(self.formulary));
        row.flag(narrow);
        row.push(renal / 60.0);
        row.flag(o.renal_alert(medicine) == Some(true));
        row.flag(o.renal_alert(medicine).is_none());
        row.push(f64::from(o.suspicion(medicine)) / 5.0);
        row.push(f64::from(substitutes) / 2.0);
        let (mut weight, mut serious, mut pairs) = (0.0, 0, 0);
        for (pair, severity) in o.flags() {
            let pair = self.formulary.pair(pair);
            if (pair.first.bit() | pair.second.bit()) & parts != 0 {
                weight += severity.weight();
                serious += u8::from(severity.is_serious());
                pairs += 1;
            }
        }
        row.push(weight);
        row.push(f64::from(serious) / 2.0);
        row.push(f64::from(pairs) / 3.0);
        let broken = o.broken_rules().into_iter().filter(|(_, broken)| *broken);
        let member = broken
            .filter(|(rule, _)| o.is_member(*rule, medicine))
            .count();
        row.push(member as f64);
        row.flag(o.ade_history & parts != 0);
    }

    /// What is known of what comes in: 12 numbers.
    fn target(&self, row: &mut Row<PER_CANDIDATE>, medicine: Option<&Medicine>, target: u64) {
        let o = self.o;
        let leaving = medicine.map_or(0, |medicine| o.parts(medicine.drug));
        let stays = self.taken & !leaving;
        let Some(id) = each_archetype(target).next() else {
            return zeros(row, 12);
        };
        let new = self.formulary.get(id);
        row.flag(true);
        row.push(f64::from(new.acb) / 3.0);
        row.flag(new.cns);
        row.flag(new.taper);
        row.push(new.renal_below.unwrap_or(0.0) / 60.0);
        row.flag(new.renal_below.is_some() && o.egfr().is_none());
        let suspected = self.formulary.suspects(id) & stays;
        row.push(f64::from(suspected.count_ones()) / 5.0);
        row.flag(suspected == 0);
        row.push(f64::from(new.tags.len()) / 3.0);
        row.flag(o.ade_history & target != 0);
        let wanted = medicine.and_then(|medicine| medicine.indication);
        row.flag(wanted.is_some_and(|condition| new.treats.has(condition)));
        row.flag(
            each_archetype(stays).any(|other| self.formulary.get(other).class_id == new.class_id),
        );
    }
}

fn zeros(row: &mut Row<PER_CANDIDATE>, count: usize) {
    for _ in 0..count {
        row.push(0.0);
    }
}
