//! The closed vocabularies of a formulary: conditions and tags.

use crate::named_enum;
use crate::num::set_bits;

/// Makes an enum with names, and a set of them in one word of bits.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $set:ident, $bits:ty, $($(#[$word_doc:meta])* $word:ident = $text:literal,)*) => {
        named_enum! {
            $(#[$doc])*
            pub enum $name {
                $($(#[$word_doc])* $word = $text,)*
            }
        }

        /// A set of them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $set($bits);

        impl $set {
            /// Nothing.
            pub const EMPTY: Self = Self(0);

            /// Makes those listed.
            #[must_use]
            pub const fn of(words: &[$name]) -> Self {
                let (mut bits, mut at) = (0, 0);
                while at < words.len() {
                    bits |= 1 << words[at] as u32;
                    at += 1;
                }
                Self(bits)
            }

            /// Returns whether the word is in it.
            #[must_use]
            #[inline]
            pub const fn has(self, word: $name) -> bool {
                self.0 >> word as u32 & 1 == 1
            }

            /// Puts the word in.
            pub const fn insert(&mut self, word: $name) {
                self.0 |= 1 << word as u32;
            }

            /// Takes the word out.
            pub const fn remove(&mut self, word: $name) {
                self.0 &= !(1 << word as u32);
            }

            /// Returns what is in both.
            #[must_use]
            #[inline]
            pub const fn and(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// Returns what is in either.
            #[must_use]
            #[inline]
            pub const fn or(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Returns whether there is nothing in it.
            #[must_use]
            #[inline]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Returns how many there are.
            #[must_use]
            pub const fn len(self) -> u32 {
                self.0.count_ones()
            }

            /// Returns the bits, one a word in the order of the numbers.
            #[must_use]
            pub const fn bits(self) -> $bits {
                self.0
            }

            /// Returns the words, in the order of their numbers.
            pub fn iter(self) -> impl Iterator<Item = $name> {
                set_bits(u64::from(self.0)).map_while(|at| $name::ALL.get(usize::from(at)).copied())
            }
        }
    };
}

words! {
    /// What a medicine is taken for.
    Condition, Conditions, u32,
    /// Risk of clots.
    ClotRisk = "clot_risk",
    /// Ischaemic heart disease.
    IschaemicHeart = "ischaemic_heart",
    /// Pain.
    Pain = "pain",
    /// Nerve pain.
    Neuropathy = "neuropathy",
    /// Sleeplessness.
    Sleep = "sleep",
    /// Anxiety.
    Anxiety = "anxiety",
    /// Depression.
    Depression = "depression",
    /// Psychosis.
    Psychosis = "psychosis",
    /// Failing memory.
    Cognition = "cognition",
    /// Bipolar disorder.
    Bipolar = "bipolar",
    /// High blood pressure.
    Hypertension = "hypertension",
    /// Irregular heartbeat.
    Arrhythmia = "arrhythmia",
    /// Heart failure.
    HeartFailure = "heart_failure",
    /// Blood lipids.
    Lipid = "lipid",
    /// Vascular disease.
    Vascular = "vascular",
    /// Diabetes.
    Diabetes = "diabetes",
    /// Reflux.
    Reflux = "reflux",
    /// Overactive bladder.
    Bladder = "bladder",
    /// Allergy.
    Allergy = "allergy",
    /// Epilepsy.
    Epilepsy = "epilepsy",
    /// An infection.
    Infection = "infection",
    /// Muscle spasm.
    Spasm = "spasm",
}

words! {
    /// A public trait that hints at interactions.
    Tag, Tags, u16,
    /// Raises the risk of bleeding.
    Bleeding = "bleeding",
    /// Slows breathing.
    RespiratoryDepression = "respiratory_depression",
    /// Acts on serotonin.
    Serotonergic = "serotonergic",
    /// Blocks acetylcholine.
    Anticholinergic = "anticholinergic",
    /// Lengthens the QT interval.
    Qt = "qt",
    /// Slows the heart.
    Bradycardia = "bradycardia",
    /// Raises potassium.
    Hyperkalaemia = "hyperkalaemia",
    /// Lowers blood pressure.
    Hypotension = "hypotension",
    /// Inhibits a cytochrome.
    CypInh = "cyp_inh",
    /// Induces a cytochrome.
    CypInd = "cyp_ind",
    /// Is broken down by a cytochrome.
    CypSub = "cyp_sub",
    /// Changes renal clearance of others.
    RenalClear = "renal_clear",
    /// Harms the kidney.
    RenalInjury = "renal_injury",
    /// Leaves by the kidney.
    RenalSub = "renal_sub",
    /// Sedates.
    Sedation = "sedation",
    /// Causes falls.
    Falls = "falls",
}
