//! Named rule sets: the reference's rules, and changes to them that can be switched individually.
//!
//! Parity with the Python reference is defined for [`Rules::REFERENCE`]. [`Rules::HARDENED`] makes
//! every change of a world. Most changes correct something that the specs list as a quirk (spec
//! trust §16, spec cluster §12).

use std::fmt::{self, Debug};
use std::marker::PhantomData;

use crate::schema::impl_json_schema;
use crate::truncate::abbreviate;

/// Maximum length, in characters, of a rule set's name that an error quotes.
const QUOTED_MAX: usize = 40;

/// A change to a world's published rules; each world has an enum of its own.
pub trait RuleChange: Copy + Eq + Debug + Send + Sync + 'static {
    /// All changes, in the order of the documentation. More than 16 do not compile.
    const ALL: &'static [Self];

    /// Returns the name used in files, addresses and on the command line.
    fn name(self) -> &'static str;

    /// Returns one sentence that tells a reader what the change does.
    fn describe(self) -> &'static str;

    /// Returns the position of the change in [`RuleChange::ALL`].
    fn index(self) -> u8;
}

/// Maximum number of changes that a world can have: [`Rules`] stores one bit for each.
const CHANGES_MAX: usize = u16::BITS as usize;

/// Defines the changes of a world: an enum with a name and a sentence for each.
macro_rules! changes {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal: $sentence:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $crate::rules::RuleChange for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            fn describe(self) -> &'static str {
                match self {
                    $(Self::$variant => $sentence,)+
                }
            }

            #[inline]
            fn index(self) -> u8 {
                self as u8
            }
        }
    };
}
pub(crate) use changes;

/// The empty set of changes, for worlds whose rules cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRuleChange {}

impl RuleChange for NoRuleChange {
    const ALL: &'static [Self] = &[];

    fn name(self) -> &'static str {
        match self {}
    }

    fn describe(self) -> &'static str {
        match self {}
    }

    fn index(self) -> u8 {
        match self {}
    }
}

/// A rule set: the reference's rules with a set of changes.
pub struct Rules<C> {
    bits: u16,
    of: PhantomData<fn() -> C>,
}

/// The error for a text that does not name a rule set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// The text starts with neither of the two sets.
    #[error(
        "unknown rules {0:?}: use reference or hardened, with changes as in reference+{1} or hardened-{1}"
    )]
    UnknownSet(String, &'static str),
    /// The rules of this world cannot be changed.
    #[error("unknown rules {0:?}: this world has no changes to the reference's rules")]
    NoChanges(String),
    /// The world has no change of this name.
    #[error("unknown change {name:?} in the rules: this world has {known}")]
    UnknownChange {
        /// The unknown name in the text.
        name: String,
        /// The names of the world's changes.
        known: String,
    },
}

impl<C: RuleChange> Rules<C> {
    /// The rules of the Python reference, without changes.
    pub const REFERENCE: Self = Self::from_bits(0);
    /// The reference's rules with every change of the world.
    pub const HARDENED: Self = Self::from_bits(((1u32 << C::ALL.len()) - 1) as u16);

    const fn from_bits(bits: u16) -> Self {
        const {
            assert!(
                C::ALL.len() <= CHANGES_MAX,
                "rules have one bit for each of 16 changes"
            );
        };
        Self {
            bits,
            of: PhantomData,
        }
    }

    /// Returns `true` if the rule set includes the change.
    #[must_use]
    #[inline]
    pub fn has(self, change: C) -> bool {
        self.bits >> change.index() & 1 == 1
    }

    /// Returns `true` for the reference's rules, whose name payloads leave out.
    #[must_use]
    pub(crate) fn is_reference(&self) -> bool {
        *self == Self::REFERENCE
    }

    /// Returns `true` if the set has more than half of the world's changes. Its name then begins with
    /// `hardened`, and a policy that was trained under the hardened rules suits it better than one that
    /// was trained under the reference's.
    #[must_use]
    pub fn is_mostly_hardened(self) -> bool {
        2 * self.bits.count_ones() as usize > C::ALL.len()
    }

    /// Returns the same rule set with one more change.
    #[must_use]
    pub fn with(self, change: C) -> Self {
        Self::from_bits(self.bits | 1 << change.index())
    }

    /// Returns the same rule set without one change.
    #[must_use]
    pub fn without(self, change: C) -> Self {
        Self::from_bits(self.bits & !(1 << change.index()))
    }

    /// Iterates over the included changes, in the order of [`RuleChange::ALL`].
    pub fn changes(self) -> impl Iterator<Item = C> {
        C::ALL
            .iter()
            .copied()
            .filter(move |change| self.has(*change))
    }

    /// Parses `reference` or `hardened`, followed by the changes to add or remove:
    /// `reference+health`, `hardened-health-timeouts`. [`fmt::Display`] writes the same format.
    ///
    /// ```
    /// use sentinel_env::cluster::{Change, Rules};
    ///
    /// let rules = Rules::parse("hardened-timeouts")?;
    /// assert!(rules.has(Change::Health) && !rules.has(Change::Timeouts));
    /// assert_eq!(rules.to_string(), "hardened-timeouts");
    /// # Ok::<(), sentinel_env::rules::RulesError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error that names the unknown part and the valid names.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        let end = text.find(['+', '-']).unwrap_or(text.len());
        let (set, mut rest) = text.split_at(end);
        let mut rules = match set {
            "reference" => Self::REFERENCE,
            "hardened" if !C::ALL.is_empty() => Self::HARDENED,
            _ => {
                let text = abbreviate(text, QUOTED_MAX);
                return Err(match C::ALL.first() {
                    Some(change) => RulesError::UnknownSet(text, change.name()),
                    None => RulesError::NoChanges(text),
                });
            }
        };
        while let Some(sign) = rest.chars().next() {
            let tail = &rest[1..];
            let end = tail.find(['+', '-']).unwrap_or(tail.len());
            let (name, next) = tail.split_at(end);
            let found = C::ALL.iter().copied().find(|change| change.name() == name);
            let change = found.ok_or_else(|| Self::unknown(name))?;
            rules = match sign {
                '+' => rules.with(change),
                _ => rules.without(change),
            };
            rest = next;
        }
        Ok(rules)
    }

    fn unknown(name: &str) -> RulesError {
        if C::ALL.is_empty() {
            return RulesError::NoChanges(abbreviate(name, QUOTED_MAX));
        }
        let names: Vec<&str> = C::ALL.iter().map(|change| change.name()).collect();
        RulesError::UnknownChange {
            name: abbreviate(name, QUOTED_MAX),
            known: names.join(", "),
        }
    }
}

impl<C: RuleChange> fmt::Display for Rules<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mostly = self.is_mostly_hardened();
        f.write_str(if mostly { "hardened" } else { "reference" })?;
        let sign = if mostly { '-' } else { '+' };
        for change in C::ALL.iter().filter(|change| self.has(**change) != mostly) {
            write!(f, "{sign}{}", change.name())?;
        }
        Ok(())
    }
}

impl<C: RuleChange> serde::Serialize for Rules<C> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl_json_schema!([C: RuleChange] Rules<C>, "Rules", |_generator| schemars::json_schema!({"type": "string"}));

// Implemented by hand because derives would require the same traits of `C`, which is only a marker.
impl<C> Clone for Rules<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Rules<C> {}

impl<C> PartialEq for Rules<C> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<C> Eq for Rules<C> {}

/// Orders by the bit mask of the changes; the published rules come first.
impl<C> Ord for Rules<C> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bits.cmp(&other.bits)
    }
}

impl<C> PartialOrd for Rules<C> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<C> std::hash::Hash for Rules<C> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

impl<C: RuleChange> Default for Rules<C> {
    fn default() -> Self {
        Self::REFERENCE
    }
}

impl<C: RuleChange> fmt::Debug for Rules<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster;

    type Cluster = Rules<cluster::Change>;

    #[test]
    fn rule_sets_roundtrip_through_text() {
        for bits in 0..=Cluster::HARDENED.bits {
            let rules = Cluster::from_bits(bits);
            let name = rules.to_string();
            assert_eq!(Cluster::parse(&name), Ok(rules));
            assert_eq!(rules.is_mostly_hardened(), name.starts_with("hardened"));
        }
        assert_eq!(Cluster::REFERENCE.to_string(), "reference");
        assert_eq!(Cluster::HARDENED.to_string(), "hardened");
    }

    #[test]
    fn rules_without_changes_parse_only_reference() {
        type Fixed = Rules<NoRuleChange>;
        assert_eq!(Fixed::parse("reference"), Ok(Fixed::REFERENCE));
        let error = Fixed::parse("hardened")
            .expect_err("no changes")
            .to_string();
        assert!(
            error.contains("hardened") && error.contains("no changes"),
            "{error}"
        );
    }

    #[test]
    fn unknown_rules_error_names_value_and_choices() {
        let error = Cluster::parse("harsh")
            .expect_err("no such set")
            .to_string();
        assert!(
            error.contains("harsh") && error.contains("hardened"),
            "{error}"
        );
        let error = Cluster::parse("hardened-luck")
            .expect_err("no such change")
            .to_string();
        assert!(
            error.contains("luck") && error.contains("timeouts"),
            "{error}"
        );
        for bad in [
            "",
            "+",
            "reference+",
            "reference-",
            "reference++health",
            "référence",
        ] {
            assert!(Cluster::parse(bad).is_err(), "{bad}");
        }
    }
}
