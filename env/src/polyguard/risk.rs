//! Safety risk, burden and uncertainty: three numbers that are kept apart (spec polyguard §6.3).

use super::case::FormularyName;
use super::formulary::{ArchetypeId, Formulary, PairId, RENAL_WEIGHT, SET_WEIGHT, SetRule, each};
use super::regimen::Bucket;

/// Which archetypes are taken, and how much of each.
#[derive(Clone, Debug)]
pub struct Doses {
    mask: u64,
    of: [Bucket; 64],
}

impl Default for Doses {
    fn default() -> Self {
        Self {
            mask: 0,
            of: [Bucket::Hold; 64],
        }
    }
}

impl Doses {
    /// Adds archetypes at a dose; nothing is taken of what is on hold.
    #[inline]
    pub(super) fn add(&mut self, parts: u64, bucket: Bucket) {
        if bucket != Bucket::Hold {
            self.mask |= parts;
            for id in each(parts) {
                self.of[id.index()] = bucket;
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

    /// The dose of one that is taken, as a multiple of the usual one.
    #[must_use]
    #[inline]
    pub const fn dose(&self, id: ArchetypeId) -> f64 {
        self.of[id.index()].dose()
    }
}

/// The listed pairs among `mask`, as bits of [`PairId`].
#[inline]
pub(super) fn pairs_of(formulary: &Formulary, mask: u64) -> u64 {
    let ends = formulary.ends().iter().enumerate();
    // The whole table without a branch is quicker than finding the few that matter.
    ends.fold(0, |pairs, (at, ends)| {
        pairs | u64::from(ends & mask == *ends) << at
    })
}

/// Those of `listed` among `mask`, as bits of [`PairId`].
#[inline]
pub(super) fn pairs_among(formulary: &Formulary, mask: u64, listed: u64) -> u64 {
    if listed == u64::MAX {
        return pairs_of(formulary, mask);
    }
    let ends = formulary.ends();
    each_pair(listed)
        .filter(|pair| ends[pair.index()] & mask == ends[pair.index()])
        .fold(0, |pairs, pair| pairs | pair.bit())
}

/// The pairs of a set of bits, in the order of the table.
#[inline]
pub(super) fn each_pair(mut bits: u64) -> impl Iterator<Item = PairId> {
    std::iter::from_fn(move || {
        if bits == 0 {
            return None;
        }
        let at = bits.trailing_zeros() as u8;
        bits &= bits - 1;
        Some(PairId(at))
    })
}

/// Anticholinergic points of a set.
fn acb(formulary: &Formulary, mask: u64) -> u32 {
    let [ones, twos] = formulary.marks().acb;
    (mask & ones).count_ones() + 2 * (mask & twos).count_ones()
}

/// Which rules about sets are broken by what is taken.
#[must_use]
pub(super) fn sets(formulary: &Formulary, name: FormularyName, mask: u64) -> [(SetRule, bool); 4] {
    let marks = formulary.marks();
    let twice = || each(mask & marks.with_class).any(|id| marks.same_class[id.index()] & mask != 0);
    [
        (SetRule::Cns3, (mask & marks.cns).count_ones() >= 3),
        (SetRule::Acb3, acb(formulary, mask) >= 3),
        (
            SetRule::Whammy,
            marks.whammy.iter().all(|party| party & mask != 0),
        ),
        // The published table has classes too coarse for this rule.
        (SetRule::Dup, name == FormularyName::Extended && twice()),
    ]
}

/// What takes part in a rule that is broken by what is taken.
#[must_use]
pub(super) fn members(formulary: &Formulary, rule: SetRule, mask: u64) -> u64 {
    let marks = formulary.marks();
    match rule {
        SetRule::Cns3 => marks.cns,
        SetRule::Acb3 => marks.acb[0] | marks.acb[1],
        SetRule::Whammy => marks.whammy[0] | marks.whammy[1] | marks.whammy[2],
        SetRule::Dup => {
            let taken = each(mask & marks.with_class);
            taken.fold(0, |bits, id| bits | marks.same_class[id.index()])
        }
    }
}

/// Whether a medicine does.
#[must_use]
pub(super) fn is_member(formulary: &Formulary, rule: SetRule, mask: u64, id: ArchetypeId) -> bool {
    members(formulary, rule, mask) & id.bit() != 0
}

/// Weight of pairs, sets and renal alerts: the part of the risk that the regimen decides. `listed`
/// are the pairs that count; an unknown eGFR raises no alert.
#[must_use]
pub(super) fn load(
    formulary: &Formulary,
    name: FormularyName,
    doses: &Doses,
    listed: u64,
    egfr: Option<f64>,
) -> f64 {
    let mut load = 0.0;
    for pair in each_pair(pairs_among(formulary, doses.mask(), listed)) {
        let row = formulary.pair(pair);
        let both = (doses.dose(row.first) + doses.dose(row.second)) / 2.0;
        load += row.grade.at(egfr).weight() * both.min(1.0);
    }
    for (_, broken) in sets(formulary, name, doses.mask()) {
        load += if broken { SET_WEIGHT } else { 0.0 };
    }
    if let Some(egfr) = egfr {
        for id in each(doses.mask() & formulary.marks().renal) {
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
    let cns = (mask & formulary.marks().cns).count_ones();
    [taken as u8, acb(formulary, mask) as u8, cns as u8]
}

/// Burden in `[0, 1)` from its counts.
#[must_use]
pub(super) fn burden([taken, acb, cns]: [u8; 3]) -> f64 {
    let load = 0.06 * f64::from(taken) + 0.05 * f64::from(acb) + 0.06 * f64::from(cns);
    load / (0.6 + load)
}
