//! Safety risk, burden and uncertainty: three numbers that are kept apart (spec polyguard §6.3).

use super::case::FormularyName;
use super::formulary::{ArchetypeId, Formulary, PairId, RENAL_WEIGHT, SET_WEIGHT, SetRule, each};

/// Which archetypes are taken, and how much of each.
#[derive(Clone, Debug)]
pub struct Doses {
    mask: u64,
    of: [f64; 64],
}

impl Default for Doses {
    fn default() -> Self {
        Self {
            mask: 0,
            of: [0.0; 64],
        }
    }
}

impl Doses {
    /// Adds archetypes at a dose; nothing is taken at dose 0.
    #[inline]
    pub(super) fn add(&mut self, parts: u64, dose: f64) {
        if dose > 0.0 {
            self.mask |= parts;
            for id in each(parts) {
                self.of[id.index()] = dose;
            }
        }
    }

    /// Takes archetypes out.
    #[inline]
    pub(super) const fn remove(&mut self, parts: u64) {
        self.mask &= !parts;
    }

    /// What is taken, as bits of [`ArchetypeId`].
    #[must_use]
    #[inline]
    pub const fn mask(&self) -> u64 {
        self.mask
    }

    /// The dose of one.
    #[must_use]
    #[inline]
    pub const fn dose(&self, id: ArchetypeId) -> f64 {
        self.of[id.index()]
    }
}

/// The listed pairs among `mask`, of those in `listed`, in the order of the archetypes.
#[inline]
pub(super) fn pairs_of(
    formulary: &'static Formulary,
    mask: u64,
    listed: u64,
) -> impl Iterator<Item = PairId> {
    each(mask).flat_map(move |first| {
        // Each pair once: the other stands further down in the table.
        let above = !(first.bit() | (first.bit() - 1));
        each(formulary.partners(first) & mask & above)
            .filter_map(move |second| formulary.between(first, second))
            .filter(move |pair| listed & pair.bit() != 0)
    })
}

/// Which rules about sets are broken by what is taken.
#[must_use]
pub(super) fn sets(formulary: &Formulary, name: FormularyName, mask: u64) -> [(SetRule, bool); 4] {
    let (mut cns, mut acb, mut classes, mut twice) = (0, 0, 0u64, false);
    for id in each(mask) {
        let archetype = formulary.get(id);
        cns += u8::from(archetype.cns);
        acb += archetype.acb;
        let class = 1 << archetype.class_id;
        twice |= classes & class != 0;
        classes |= class;
    }
    let whammy = formulary.whammy().iter().all(|party| party & mask != 0);
    [
        (SetRule::Cns3, cns >= 3),
        (SetRule::Acb3, acb >= 3),
        (SetRule::Whammy, whammy),
        // The published table has classes too coarse for this rule.
        (SetRule::Dup, twice && name == FormularyName::Extended),
    ]
}

/// Whether a medicine takes part in a broken rule.
#[must_use]
pub(super) fn is_member(formulary: &Formulary, rule: SetRule, mask: u64, id: ArchetypeId) -> bool {
    let own = formulary.get(id);
    match rule {
        SetRule::Cns3 => own.cns,
        SetRule::Acb3 => own.acb > 0,
        SetRule::Whammy => formulary.whammy().iter().any(|party| party & id.bit() != 0),
        SetRule::Dup => {
            each(mask & !id.bit()).any(|other| formulary.get(other).class_id == own.class_id)
        }
    }
}

/// Weight of pairs, sets and renal alerts: the part of the risk that the regimen decides. `listed`
/// are the pairs that count; an unknown eGFR raises no alert.
#[must_use]
pub(super) fn load(
    formulary: &'static Formulary,
    name: FormularyName,
    doses: &Doses,
    listed: u64,
    egfr: Option<f64>,
) -> f64 {
    let mut load = 0.0;
    for pair in pairs_of(formulary, doses.mask(), listed) {
        let row = formulary.pair(pair);
        let both = (doses.dose(row.first) + doses.dose(row.second)) / 2.0;
        load += row.grade.at(egfr).weight() * both.min(1.0);
    }
    for (_, broken) in sets(formulary, name, doses.mask()) {
        load += if broken { SET_WEIGHT } else { 0.0 };
    }
    if let Some(egfr) = egfr {
        for id in each(doses.mask()) {
            if formulary.get(id).unsafe_at(egfr) {
                load += RENAL_WEIGHT * doses.dose(id).min(1.0);
            }
        }
    }
    load
}

/// From a load to a risk in `[0, 1)`.
#[must_use]
#[inline]
pub(super) fn saturate(load: f64) -> f64 {
    load / (1.0 + load)
}

/// How many medicines, anticholinergic points and medicines of the central nervous system.
#[must_use]
pub(super) fn burden_counts(formulary: &Formulary, mask: u64, taken: usize) -> [u8; 3] {
    let (mut acb, mut cns) = (0, 0);
    for id in each(mask) {
        acb += formulary.get(id).acb;
        cns += u8::from(formulary.get(id).cns);
    }
    [taken as u8, acb, cns]
}

/// Burden in `[0, 1)` from its counts.
#[must_use]
pub(super) fn burden([taken, acb, cns]: [u8; 3]) -> f64 {
    let load = 0.06 * f64::from(taken) + 0.05 * f64::from(acb) + 0.06 * f64::from(cns);
    load / (0.6 + load)
}
