//! A formulary: archetypes, listed pairs, and precomputed sets of them that a step needs.

use super::archetype::{Archetype, ArchetypeId};
use super::pair::{Grade, Pair, PairId};
use super::vocabulary::Condition;

/// Name of the product with unknown components.
pub const PRODUCT_NAME: &str = "new_drug";

/// Sentinel value: no pair, or no term.
const NONE: u8 = u8::MAX;

/// A formulary: archetypes and listed pairs, with lookup tables.
#[derive(Clone, Debug)]
pub struct Formulary {
    archetypes: Vec<Archetype>,
    pairs: Vec<Pair>,
    /// Both archetypes of each pair, as bits of [`ArchetypeId`].
    ends: Vec<u64>,
    /// Index of the pair of two archetypes, as `[first][second]`; [`NONE`] if there is none.
    matrix: Vec<u8>,
    /// Partners of each archetype.
    partners: Vec<Partners>,
    marks: TraitSets,
    /// Number of each archetype among the terms of a rationale, the same in every formulary.
    words: Vec<u8>,
}

/// The partners of an archetype, as bits of [`ArchetypeId`], and its listed pairs.
#[derive(Clone, Copy, Debug, Default)]
struct Partners {
    /// Partners in all listed pairs.
    listed: u64,
    /// Partners in pairs that are serious at every eGFR.
    serious: u64,
    /// Partners in pairs that are serious only at a low eGFR.
    serious_if_renal: u64,
    /// Partners in pairs that are held out.
    held_out: u64,
    /// Partners in suspected pairs.
    suspected: u64,
    /// The listed pairs, as bits of [`PairId`].
    pairs: u64,
}

/// Sets of archetypes with a common trait, as bits of [`ArchetypeId`].
#[derive(Clone, Debug, Default)]
pub(crate) struct TraitSets {
    /// Archetypes excluded from the split `train`.
    pub(crate) held_out: u64,
    /// Archetypes that act on the central nervous system.
    pub(crate) cns: u64,
    /// Anticholinergic points as two-bit numbers: the low bits, then the high bits.
    pub(crate) acb: [u64; 2],
    /// Archetypes that are unsafe below some eGFR.
    pub(crate) renal: u64,
    /// Archetypes with a narrow window.
    pub(crate) narrow: u64,
    /// Archetypes that must be tapered.
    pub(crate) taper: u64,
    /// The three groups of `SetRule::Whammy`.
    pub(crate) whammy: [u64; 3],
    /// Archetypes that share their class with another one.
    pub(crate) with_class: u64,
    /// For each archetype, the others of its class.
    pub(crate) same_class: Vec<u64>,
    /// The classes with more than one archetype.
    pub(crate) classes: Vec<u64>,
    /// For each condition, the archetypes that treat it.
    pub(crate) treating: [u64; Condition::ALL.len()],
    /// Limits of the eGFR, each with the archetypes that are unsafe below it.
    renal_limits: Vec<(f64, u64)>,
    /// All listed pairs, as bits of [`PairId`].
    pub(crate) pairs: u64,
    /// Pairs that are serious at every eGFR, as bits of [`PairId`].
    serious_pairs: u64,
    /// Pairs that are serious only at a low eGFR, as bits of [`PairId`].
    serious_pairs_if_renal: u64,
    /// Pairs that are held out, as bits of [`PairId`].
    pub(crate) held_out_pairs: u64,
}

impl TraitSets {
    fn new(archetypes: &[Archetype], pairs: &[Pair]) -> Self {
        let set = |holds: &dyn Fn(&Archetype) -> bool| {
            let places = archetypes.iter().enumerate().filter(|(_, a)| holds(a));
            places.fold(0, |bits, (at, _)| bits | 1u64 << at)
        };
        let others = |own: &Archetype| {
            set(&|other| other.class_id == own.class_id && other.name != own.name)
        };
        let same_class: Vec<u64> = archetypes.iter().map(others).collect();
        let mut classes: Vec<u64> = Vec::new();
        for (at, others) in same_class.iter().enumerate() {
            let class = others | 1 << at;
            if *others != 0 && !classes.contains(&class) {
                classes.push(class);
            }
        }
        let mut renal_limits: Vec<(f64, u64)> = Vec::new();
        for limit in archetypes.iter().filter_map(|a| a.renal_below) {
            if renal_limits.iter().all(|(known, _)| *known != limit) {
                renal_limits.push((limit, set(&|a| a.renal_below == Some(limit))));
            }
        }
        let pair_set = |holds: &dyn Fn(&Pair) -> bool| {
            let places = pairs.iter().enumerate().filter(|(_, pair)| holds(pair));
            places.fold(0, |bits, (at, _)| bits | 1u64 << at)
        };
        let mut treating = [0; Condition::ALL.len()];
        for condition in Condition::ALL {
            treating[condition as usize] = set(&|a| a.treats.contains(condition));
        }
        Self {
            classes,
            treating,
            renal_limits,
            pairs: pair_set(&|_| true),
            serious_pairs: pair_set(&|pair| pair.grade.at(None).is_serious()),
            serious_pairs_if_renal: pair_set(&|pair| pair.grade == Grade::MajorIfRenal),
            held_out_pairs: pair_set(&|pair| pair.held_out),
            held_out: set(&|a| a.held_out),
            cns: set(&|a| a.cns),
            acb: [set(&|a| a.acb & 1 != 0), set(&|a| a.acb & 2 != 0)],
            renal: set(&|a| a.renal_below.is_some()),
            narrow: set(&|a| a.narrow),
            taper: set(&|a| a.taper),
            whammy: [
                set(&|a| a.class == "nsaid"),
                set(&|a| a.class == "ras_inhibitor"),
                set(&|a| ["diuretic", "potassium_sparing"].contains(&a.class.as_str())),
            ],
            with_class: same_class.iter().fold(0, |all, others| all | others),
            same_class,
        }
    }
}

/// Returns `true` if pairs that are serious only at a low eGFR are serious at this one.
fn is_weak(egfr: Option<f64>) -> bool {
    Grade::MajorIfRenal.at(egfr).is_serious()
}

impl TraitSets {
    /// Returns the archetypes that are unsafe at an eGFR, as bits of [`ArchetypeId`].
    #[inline]
    pub(crate) fn unsafe_at(&self, egfr: f64) -> u64 {
        let limits = self.renal_limits.iter();
        limits.fold(0, |bits, (below, ids)| {
            bits | if egfr < *below { *ids } else { 0 }
        })
    }

    /// Returns the listed pairs that are serious at an eGFR, as bits of [`PairId`].
    #[inline]
    pub(crate) fn serious_pairs(&self, egfr: Option<f64>) -> u64 {
        let weak = is_weak(egfr);
        self.serious_pairs | if weak { self.serious_pairs_if_renal } else { 0 }
    }
}

impl Formulary {
    pub(super) fn new(archetypes: Vec<Archetype>, pairs: Vec<Pair>) -> Self {
        let n = archetypes.len();
        let (mut matrix, mut partners) = (vec![NONE; n * n], vec![Partners::default(); n]);
        for (at, pair) in pairs.iter().enumerate() {
            let (a, b) = (pair.first, pair.second);
            matrix[a.index() * n + b.index()] = at as u8;
            matrix[b.index() * n + a.index()] = at as u8;
            for (own, other) in [(a, b), (b, a)] {
                let (own, other) = (&mut partners[own.index()], other.bit());
                own.listed |= other;
                own.pairs |= 1 << at;
                if pair.grade.at(None).is_serious() {
                    own.serious |= other;
                } else if pair.grade == Grade::MajorIfRenal {
                    own.serious_if_renal |= other;
                }
                if pair.held_out {
                    own.held_out |= other;
                }
            }
        }
        for (at, own) in archetypes.iter().enumerate() {
            let others = archetypes.iter().enumerate();
            let hinted = others
                .filter(|(_, other)| own.name != other.name && own.suspects_interaction(other));
            partners[at].suspected = hinted.fold(0, |bits, (at, _)| bits | 1u64 << at);
        }
        let marks = TraitSets::new(&archetypes, &pairs);
        let ends = pairs
            .iter()
            .map(|pair| pair.first.bit() | pair.second.bit());
        Self {
            ends: ends.collect(),
            archetypes,
            pairs,
            matrix,
            partners,
            marks,
            words: Vec::new(),
        }
    }

    /// Uses the term numbers of another formulary that contains all of the archetypes.
    pub(super) fn with_terms_of(mut self, other: &Self) -> Self {
        let number = |own: &Archetype| other.find(&own.name).map_or(NONE, |id| id.0);
        self.words = self.archetypes.iter().map(number).collect();
        self
    }

    /// Returns the number of an archetype among the terms of a rationale.
    #[inline]
    pub(crate) fn term_index(&self, id: ArchetypeId) -> u8 {
        self.words[id.index()]
    }

    /// Returns all archetypes, in table order.
    #[must_use]
    pub fn archetypes(&self) -> &[Archetype] {
        &self.archetypes
    }

    /// Returns all listed pairs, in table order.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Iterates over the ids of all archetypes, in table order.
    pub fn ids(&self) -> impl Iterator<Item = ArchetypeId> + use<> {
        (0..self.archetypes.len() as u8).map(ArchetypeId)
    }

    /// Returns the archetype with this id.
    #[must_use]
    #[inline]
    pub fn get(&self, id: ArchetypeId) -> &Archetype {
        &self.archetypes[id.index()]
    }

    /// Returns the pair with this id.
    #[must_use]
    #[inline]
    pub fn pair(&self, id: PairId) -> &Pair {
        &self.pairs[id.index()]
    }

    /// Returns both archetypes of each listed pair, as bits of [`ArchetypeId`].
    #[must_use]
    #[inline]
    pub(crate) fn pair_members(&self) -> &[u64] {
        &self.ends
    }

    /// Returns the id of the archetype with this name, if there is one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ArchetypeId> {
        let place = self.archetypes.iter().position(|a| a.name == name);
        place.map(|at| ArchetypeId(at as u8))
    }

    /// Returns the listed pair of two archetypes, if there is one.
    #[must_use]
    #[inline]
    pub fn pair_between(&self, a: ArchetypeId, b: ArchetypeId) -> Option<PairId> {
        let at = self.matrix[a.index() * self.archetypes.len() + b.index()];
        (at != NONE).then_some(PairId(at))
    }

    /// Returns the archetypes that form a listed pair with this one, as bits.
    #[must_use]
    #[inline]
    pub fn partners(&self, id: ArchetypeId) -> u64 {
        self.partners[id.index()].listed
    }

    /// Returns the archetypes that form a suspected pair with this one according to public traits,
    /// as bits.
    #[must_use]
    #[inline]
    pub fn suspects(&self, id: ArchetypeId) -> u64 {
        self.partners[id.index()].suspected
    }

    /// Returns the archetypes that form a serious pair with this one at an eGFR, as bits.
    #[inline]
    pub(crate) fn serious_partners(&self, id: ArchetypeId, egfr: Option<f64>) -> u64 {
        let partners = &self.partners[id.index()];
        let weak = is_weak(egfr);
        partners.serious | if weak { partners.serious_if_renal } else { 0 }
    }

    /// Returns the archetypes that form a held-out pair with this one, as bits.
    #[inline]
    pub(crate) fn held_out_partners(&self, id: ArchetypeId) -> u64 {
        self.partners[id.index()].held_out
    }

    /// Returns the listed pairs of an archetype, as bits of [`PairId`].
    #[inline]
    pub(crate) fn pairs_with(&self, id: ArchetypeId) -> u64 {
        self.partners[id.index()].pairs
    }

    /// Returns the held-out archetypes, as bits.
    #[must_use]
    #[inline]
    pub const fn held_out(&self) -> u64 {
        self.marks.held_out
    }

    /// Returns the sets of archetypes with a common trait.
    #[inline]
    pub(crate) const fn trait_sets(&self) -> &TraitSets {
        &self.marks
    }
}
