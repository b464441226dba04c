//! The closed vocabularies of a formulary: conditions and tags.

use crate::named_enum;
use crate::num::set_bits;

/// Defines an enum of named words, and a bit set of them.
macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident, $set:ident, $bits:ty, $($(#[$word_doc:meta])* $word:ident = $text:literal,)*) => {
        named_enum! {
            $(#[$doc])*
            pub enum $name {
                $($(#[$word_doc])* $word = $text,)*
            }
        }

        /// A set of these words, stored as bits.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $set($bits);

        impl $set {
            /// The empty set of words.
            pub const EMPTY: Self = Self(0);

            /// Creates the set of the listed words.
            #[must_use]
            pub const fn from_slice(words: &[$name]) -> Self {
                let (mut bits, mut at) = (0, 0);
                while at < words.len() {
                    bits |= 1 << words[at] as u32;
                    at += 1;
                }
                Self(bits)
            }

            /// Returns `true` if the set contains the word.
            #[must_use]
            #[inline]
            pub const fn contains(self, word: $name) -> bool {
                self.0 >> word as u32 & 1 == 1
            }

            /// Adds a word to the set.
            pub const fn insert(&mut self, word: $name) {
                self.0 |= 1 << word as u32;
            }

            /// Removes a word from the set.
            pub const fn remove(&mut self, word: $name) {
                self.0 &= !(1 << word as u32);
            }

            /// Returns the intersection of two sets.
            #[must_use]
            #[inline]
            pub const fn intersection(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// Returns the union of two sets.
            #[must_use]
            #[inline]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Returns `true` if the set is empty.
            #[must_use]
            #[inline]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Returns the number of words in the set.
            #[must_use]
            pub const fn len(self) -> u32 {
                self.0.count_ones()
            }

            /// Returns the bits, one per word in declaration order.
            #[must_use]
            pub const fn bits(self) -> $bits {
                self.0
            }

            /// Iterates over the words, in declaration order.
            pub fn iter(self) -> impl Iterator<Item = $name> {
                set_bits(u64::from(self.0)).map_while(|at| $name::ALL.get(usize::from(at)).copied())
            }
        }
    };
}

vocabulary! {
    /// A condition for which a medicine is taken.
    Condition, Conditions, u32,
    /// Risk of blood clots.
    ClotRisk = "clot_risk",
    /// Ischaemic heart disease.
    IschaemicHeart = "ischaemic_heart",
    /// Pain of any kind but nerve pain.
    Pain = "pain",
    /// Pain caused by damaged nerves.
    Neuropathy = "neuropathy",
    /// Difficulty falling or staying asleep.
    Sleep = "sleep",
    /// Anxiety that needs treatment.
    Anxiety = "anxiety",
    /// Depression that needs treatment.
    Depression = "depression",
    /// Psychosis that needs treatment.
    Psychosis = "psychosis",
    /// Failing memory and thinking.
    Cognition = "cognition",
    /// Bipolar mood disorder.
    Bipolar = "bipolar",
    /// High blood pressure.
    Hypertension = "hypertension",
    /// Irregular or fast heartbeat.
    Arrhythmia = "arrhythmia",
    /// Heart failure of any degree.
    HeartFailure = "heart_failure",
    /// Raised lipids in the blood.
    Lipid = "lipid",
    /// Disease of the blood vessels.
    Vascular = "vascular",
    /// Diabetes, with raised blood glucose.
    Diabetes = "diabetes",
    /// Reflux of stomach acid.
    Reflux = "reflux",
    /// Overactive bladder.
    Bladder = "bladder",
    /// Allergic reactions of any kind.
    Allergy = "allergy",
    /// Epilepsy with recurring seizures.
    Epilepsy = "epilepsy",
    /// An infection by bacteria.
    Infection = "infection",
    /// Painful muscle spasms.
    Spasm = "spasm",
}

vocabulary! {
    /// A public trait that suggests interactions.
    Tag, Tags, u16,
    /// Raises the risk of bleeding.
    Bleeding = "bleeding",
    /// Slows or weakens breathing.
    RespiratoryDepression = "respiratory_depression",
    /// Acts on the serotonin system.
    Serotonergic = "serotonergic",
    /// Blocks the effect of acetylcholine.
    Anticholinergic = "anticholinergic",
    /// Lengthens the QT interval.
    Qt = "qt",
    /// Slows the heart rate.
    Bradycardia = "bradycardia",
    /// Raises the potassium level.
    Hyperkalaemia = "hyperkalaemia",
    /// Lowers the blood pressure.
    Hypotension = "hypotension",
    /// Inhibits a cytochrome enzyme.
    CypInh = "cyp_inh",
    /// Induces a cytochrome enzyme.
    CypInd = "cyp_ind",
    /// Is metabolised by a cytochrome enzyme.
    CypSub = "cyp_sub",
    /// Changes the renal clearance of others.
    RenalClear = "renal_clear",
    /// Can injure the kidney.
    RenalInjury = "renal_injury",
    /// Is cleared by the kidney.
    RenalSub = "renal_sub",
    /// Causes sleepiness or sedation.
    Sedation = "sedation",
    /// Raises the risk of falls.
    Falls = "falls",
}
