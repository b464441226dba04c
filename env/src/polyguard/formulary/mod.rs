//! What is publicly known of medicines: archetypes, pairs that interact, rules about sets.
//!
//! Two tables are part of the crate (`data/*.csv`, each row with its source): `reference`, what
//! PolyGuard's public pages state, and `extended`, drafted for this project. Neither holds a real
//! drug, and neither has clinical authority.

mod archetype;
mod pair;
mod parse;
mod words;

use std::sync::LazyLock;

pub use archetype::each_archetype;
pub(in crate::polyguard) use archetype::each_archetype as each;
pub use archetype::{Archetype, ArchetypeId};
pub use pair::{Grade, Pair, PairId, SetRule, Severity};
pub(super) use pair::{RENAL_WEIGHT, SET_WEIGHT};
pub use parse::{Problem, TableError};
pub use words::{Condition, Conditions, Tag, Tags};

/// The name that a product of unknown parts goes by.
pub const PRODUCT: &str = "new_drug";

/// Says that there is no pair.
const NONE: u8 = u8::MAX;

/// A formulary, ready to be asked.
#[derive(Clone, Debug)]
pub struct Formulary {
    archetypes: Vec<Archetype>,
    pairs: Vec<Pair>,
    /// Per pair: both, as bits of [`ArchetypeId`].
    ends: Vec<u64>,
    /// `[first][second]`: the place of the pair.
    matrix: Vec<u8>,
    /// Per archetype: with whom it makes a listed pair.
    partners: Vec<u64>,
    /// Per archetype: with whom public traits let one suspect a pair.
    suspects: Vec<u64>,
    marks: Marks,
    /// Per archetype: its number among the words of a rationale, the same in every formulary.
    words: Vec<u8>,
}

/// Which archetypes have a trait, as bits of [`ArchetypeId`]: a step asks for sets of them at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// Kept out of the split `train`.
    pub(super) held_out: u64,
    /// Act on the central nervous system.
    pub(super) cns: u64,
    /// Anticholinergic points in binary: ones, twos.
    pub(super) acb: [u64; 2],
    /// Have a limit of the eGFR.
    pub(super) renal: u64,
    /// Have a narrow window.
    pub(super) narrow: u64,
    /// May not be stopped at once.
    pub(super) taper: u64,
    /// The three parties of [`SetRule::Whammy`].
    pub(super) whammy: [u64; 3],
    /// Share their class with another archetype.
    pub(super) with_class: u64,
    /// Per archetype: the others of its class.
    pub(super) same_class: Vec<u64>,
}

impl Marks {
    fn of(archetypes: &[Archetype]) -> Self {
        let set = |holds: &dyn Fn(&Archetype) -> bool| {
            let places = archetypes.iter().enumerate().filter(|(_, a)| holds(a));
            places.fold(0, |bits, (at, _)| bits | 1u64 << at)
        };
        let others = |own: &Archetype| {
            set(&|other| other.class_id == own.class_id && other.name != own.name)
        };
        let same_class: Vec<u64> = archetypes.iter().map(others).collect();
        Self {
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

fn shipped(archetypes: &'static str, pairs: &'static str) -> Formulary {
    match parse::formulary(archetypes, pairs) {
        Ok(formulary) => formulary,
        // Part of the program: a test reads both.
        Err(e) => unreachable!("a shipped table is wrong: {e}"),
    }
}

static REFERENCE: LazyLock<Formulary> = LazyLock::new(|| {
    let formulary = shipped(
        include_str!("../data/reference.csv"),
        include_str!("../data/reference_pairs.csv"),
    );
    formulary.speaking_as(&EXTENDED)
});
static EXTENDED: LazyLock<Formulary> = LazyLock::new(|| {
    let formulary = shipped(
        include_str!("../data/extended.csv"),
        include_str!("../data/extended_pairs.csv"),
    );
    let own = formulary.clone();
    formulary.speaking_as(&own)
});

impl Formulary {
    /// What the public pages of PolyGuard state.
    #[must_use]
    pub fn reference() -> &'static Self {
        &REFERENCE
    }

    /// The larger table, made for this project.
    #[must_use]
    pub fn extended() -> &'static Self {
        &EXTENDED
    }

    fn new(archetypes: Vec<Archetype>, pairs: Vec<Pair>) -> Self {
        let n = archetypes.len();
        let (mut matrix, mut partners) = (vec![NONE; n * n], vec![0; n]);
        for (at, pair) in pairs.iter().enumerate() {
            let (a, b) = (pair.first, pair.second);
            matrix[a.index() * n + b.index()] = at as u8;
            matrix[b.index() * n + a.index()] = at as u8;
            partners[a.index()] |= b.bit();
            partners[b.index()] |= a.bit();
        }
        let suspects = archetypes.iter().map(|own| {
            let others = archetypes.iter().enumerate();
            let hinted = others.filter(|(_, other)| own.name != other.name && own.suspect(other));
            hinted.fold(0, |bits, (at, _)| bits | 1u64 << at)
        });
        let suspects = suspects.collect();
        let marks = Marks::of(&archetypes);
        let ends = pairs
            .iter()
            .map(|pair| pair.first.bit() | pair.second.bit());
        Self {
            ends: ends.collect(),
            archetypes,
            pairs,
            matrix,
            partners,
            suspects,
            marks,
            words: Vec::new(),
        }
    }

    /// Numbers the archetypes as another formulary does that has all of them.
    fn speaking_as(mut self, other: &Self) -> Self {
        let number = |own: &Archetype| other.find(&own.name).map_or(NONE, |id| id.0);
        self.words = self.archetypes.iter().map(number).collect();
        self
    }

    /// The number of an archetype among the words of a rationale.
    #[inline]
    pub(super) fn word(&self, id: ArchetypeId) -> u8 {
        self.words[id.index()]
    }

    /// All archetypes, in the order of the table.
    #[must_use]
    pub fn archetypes(&self) -> &[Archetype] {
        &self.archetypes
    }

    /// All listed pairs, in the order of the table.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The places of all archetypes.
    pub fn ids(&self) -> impl Iterator<Item = ArchetypeId> + use<> {
        (0..self.archetypes.len() as u8).map(ArchetypeId)
    }

    /// An archetype.
    #[must_use]
    #[inline]
    pub fn get(&self, id: ArchetypeId) -> &Archetype {
        &self.archetypes[id.index()]
    }

    /// A listed pair.
    #[must_use]
    #[inline]
    pub fn pair(&self, id: PairId) -> &Pair {
        &self.pairs[id.index()]
    }

    /// Per listed pair: both of it, as bits of [`ArchetypeId`].
    #[must_use]
    #[inline]
    pub(super) fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// The archetype with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ArchetypeId> {
        let place = self.archetypes.iter().position(|a| a.name == name);
        place.map(|at| ArchetypeId(at as u8))
    }

    /// The listed pair of the two.
    #[must_use]
    #[inline]
    pub fn between(&self, a: ArchetypeId, b: ArchetypeId) -> Option<PairId> {
        let at = self.matrix[a.index() * self.archetypes.len() + b.index()];
        (at != NONE).then_some(PairId(at))
    }

    /// With whom an archetype makes a listed pair, as bits.
    #[must_use]
    #[inline]
    pub fn partners(&self, id: ArchetypeId) -> u64 {
        self.partners[id.index()]
    }

    /// With whom public traits let one suspect a pair, as bits.
    #[must_use]
    #[inline]
    pub fn suspects(&self, id: ArchetypeId) -> u64 {
        self.suspects[id.index()]
    }

    /// The archetypes of the split `holdout`, as bits.
    #[must_use]
    #[inline]
    pub const fn held_out(&self) -> u64 {
        self.marks.held_out
    }

    /// Which archetypes have a trait.
    #[inline]
    pub(super) const fn marks(&self) -> &Marks {
        &self.marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extended_table_has_the_counts_of_the_specification() {
        let f = Formulary::extended();
        assert_eq!(f.archetypes().len(), 46);
        assert_eq!(f.held_out().count_ones(), 9);
        assert_eq!(f.pairs().len(), 50);
        assert_eq!(f.pairs().iter().filter(|p| p.held_out).count(), 22);
        let suspected: u32 = f.ids().map(|id| f.suspects(id).count_ones()).sum();
        assert_eq!(suspected / 2, 132, "pairs that public traits hint at");
        let hits = f
            .pairs()
            .iter()
            .filter(|p| f.suspects(p.first) & p.second.bit() != 0);
        assert_eq!(hits.count(), 46, "of them listed");
    }

    #[test]
    fn the_reference_table_is_what_the_pages_state() {
        let f = Formulary::reference();
        assert_eq!(f.archetypes().len(), 14);
        let risky = |a: &str, b: &str| {
            let (a, b) = (f.find(a).expect("listed"), f.find(b).expect("listed"));
            f.between(a, b).map(|pair| f.pair(pair).grade)
        };
        assert_eq!(risky("warfarin_like", "nsaid_like"), Some(Grade::Major));
        assert_eq!(
            risky("opioid_like", "benzodiazepine_like"),
            Some(Grade::Major)
        );
        assert_eq!(risky("statin_like", "ppi_like"), None);
        assert_eq!(f.pairs().len(), 2);
        let words = f.ids().map(|id| {
            Formulary::extended().archetypes()[f.word(id) as usize]
                .name
                .as_str()
        });
        assert!(
            words.eq(f.archetypes().iter().map(|a| a.name.as_str())),
            "one vocabulary"
        );
        let renal = f
            .archetypes()
            .iter()
            .filter(|a| a.renal_below == Some(30.0));
        let names: Vec<&str> = renal.map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["nsaid_like", "metformin_like"]);
    }
}
