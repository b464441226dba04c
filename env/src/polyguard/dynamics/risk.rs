//! The safety risk and the burden of a set of medicines (spec polyguard §6.3).

use crate::polyguard::model::formulary::{
    ArchetypeId, Formulary, SetRule, each_archetype, each_pair,
};
use crate::polyguard::model::regimen::DoseBucket;
use crate::polyguard::model::task_spec::FormularyName;

/// Weight of a broken set rule in the risk (spec polyguard §2.3).
const SET_WEIGHT: f64 = 0.35;
/// Weight of a medicine that is unsafe at the patient's eGFR.
const RENAL_WEIGHT: f64 = 0.40;

/// The archetypes that are taken, with their doses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Doses {
    /// The archetypes that are taken, as bits of [`ArchetypeId`].
    mask: u64,
    /// The dose bucket of each archetype as a two-bit number: the low bits, then the high bits.
    buckets: [u64; 2],
}

impl Doses {
    /// Adds archetypes at a dose; does nothing if the dose is on hold.
    #[inline]
    pub(super) fn add(&mut self, parts: u64, bucket: DoseBucket) {
        if bucket != DoseBucket::Hold {
            self.mask |= parts;
            for (place, bits) in self.buckets.iter_mut().enumerate() {
                let set = bucket as u8 >> place & 1 == 1;
                *bits = *bits & !parts | if set { parts } else { 0 };
            }
        }
    }

    /// Removes archetypes from the set.
    #[inline]
    pub(super) const fn remove(&mut self, parts: u64) {
        self.mask &= !parts;
    }

    /// Returns the archetypes that are taken, as bits of [`ArchetypeId`].
    #[must_use]
    #[inline]
    pub const fn mask(&self) -> u64 {
        self.mask
    }

    /// Returns the dose of an archetype that is taken, as a multiple of the usual one.
    #[must_use]
    #[inline]
    pub const fn dose(&self, id: ArchetypeId) -> f64 {
        let [ones, twos] = self.buckets;
        let at = (ones >> id.index() & 1) | (twos >> id.index() & 1) << 1;
        DoseBucket::ALL[at as usize].dose()
    }
}

/// Returns the listed pairs among `mask`, as bits of `PairId`.
#[inline]
pub(super) fn pairs_of(formulary: &Formulary, mask: u64) -> u64 {
    let (mut once, mut twice) = (0, 0);
    for id in each_archetype(mask) {
        let pairs = formulary.pairs_with(id);
        twice |= once & pairs;
        once |= pairs;
    }
    twice
}

/// Returns the pairs of `listed` whose archetypes are both in `mask`, as bits of `PairId`.
#[inline]
pub(super) fn pairs_among(formulary: &Formulary, mask: u64, listed: u64) -> u64 {
    if listed == u64::MAX {
        return pairs_of(formulary, mask);
    }
    let ends = formulary.pair_members();
    each_pair(listed)
        .filter(|pair| ends[pair.index()] & mask == ends[pair.index()])
        .fold(0, |pairs, pair| pairs | pair.bit())
}

/// Returns the total anticholinergic points of a set.
fn acb(formulary: &Formulary, mask: u64) -> u32 {
    let [ones, twos] = formulary.trait_sets().acb;
    (mask & ones).count_ones() + 2 * (mask & twos).count_ones()
}

/// Returns `true` if at least `N` bits are set; cheaper than counting all of them.
#[inline]
const fn at_least<const N: u32>(mut bits: u64) -> bool {
    let mut left = N;
    while left > 1 && bits != 0 {
        bits &= bits - 1;
        left -= 1;
    }
    bits != 0
}

/// Returns each set rule, with `true` if the archetypes in `mask` break it.
#[must_use]
pub(super) fn evaluate_set_rules(
    formulary: &Formulary,
    name: FormularyName,
    mask: u64,
) -> [(SetRule, bool); 4] {
    let marks = formulary.trait_sets();
    let twice = || (marks.classes.iter()).any(|class| at_least::<2>(class & mask));
    let [ones, twos] = marks.acb.map(|points| points & mask);
    [
        (SetRule::Cns3, at_least::<3>(mask & marks.cns)),
        (
            SetRule::Acb3,
            at_least::<2>(twos) || twos != 0 && ones != 0 || at_least::<3>(ones),
        ),
        (
            SetRule::Whammy,
            marks.whammy.iter().all(|party| party & mask != 0),
        ),
        // The classes of the published table are too coarse for this rule.
        (SetRule::Dup, name == FormularyName::Extended && twice()),
    ]
}

/// Returns the archetypes that participate in a rule when `mask` is taken.
#[must_use]
pub(super) fn rule_members(formulary: &Formulary, rule: SetRule, mask: u64) -> u64 {
    let marks = formulary.trait_sets();
    match rule {
        SetRule::Cns3 => marks.cns,
        SetRule::Acb3 => marks.acb[0] | marks.acb[1],
        SetRule::Whammy => marks.whammy[0] | marks.whammy[1] | marks.whammy[2],
        SetRule::Dup => {
            let taken = each_archetype(mask & marks.with_class);
            taken.fold(0, |bits, id| bits | marks.same_class[id.index()])
        }
    }
}

/// Returns `true` if `id` participates in rule `rule`.
#[must_use]
pub(super) fn is_member(formulary: &Formulary, rule: SetRule, mask: u64, id: ArchetypeId) -> bool {
    rule_members(formulary, rule, mask) & id.bit() != 0
}

/// Returns the load: the total weight of pairs, set rules and renal alerts. Only the pairs in
/// `listed` count; an unknown eGFR raises no alert.
#[must_use]
pub(super) fn risk_load(
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
    for (_, broken) in evaluate_set_rules(formulary, name, doses.mask()) {
        load += if broken { SET_WEIGHT } else { 0.0 };
    }
    if let Some(egfr) = egfr {
        for id in each_archetype(doses.mask() & formulary.trait_sets().unsafe_at(egfr)) {
            load += RENAL_WEIGHT * doses.dose(id).min(1.0);
        }
    }
    load
}

/// Maps a load to a risk in `[0, 1)`.
#[must_use]
#[inline]
pub(super) fn risk_from_load(load: f64) -> f64 {
    load / (1.0 + load)
}

/// Returns the number of medicines, anticholinergic points and medicines acting on the central
/// nervous system.
#[must_use]
pub(super) fn burden_counts(formulary: &Formulary, mask: u64, taken: usize) -> [u8; 3] {
    let cns = (mask & formulary.trait_sets().cns).count_ones();
    [taken as u8, acb(formulary, mask) as u8, cns as u8]
}

/// Computes the burden, in `[0, 1)`, from its counts.
#[must_use]
pub(super) fn burden([taken, acb, cns]: [u8; 3]) -> f64 {
    let load = 0.06 * f64::from(taken) + 0.05 * f64::from(acb) + 0.06 * f64::from(cns);
    load / (0.6 + load)
}
