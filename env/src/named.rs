//! Enums whose variants have names: one macro for the list, the names, parsing and serialization.
//!
//! [`named_enum!`](crate::named_enum) defines such an enum, and [`Named`] is the trait for code
//! that handles several of them. Worlds in other crates can use both.

use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Visitor};

/// Re-exports that [`named_enum!`](crate::named_enum) needs in the crate that uses it.
#[doc(hidden)]
pub mod export {
    #[cfg(feature = "schema")]
    pub use schemars;
    pub use serde;
}

/// An enum of named variants, for code that handles several such enums.
pub trait Named: Copy + 'static {
    /// All variants, in declaration order.
    const ALL: &'static [Self];
    /// Names of all variants, in the same order.
    const NAMES: &'static [&'static str];

    /// Returns the name used in payloads, files and on the command line.
    fn name(self) -> &'static str;

    /// Returns the variant with this name, or `None` if there is none.
    fn parse(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|known| *known == name)?;
        Self::ALL.get(at).copied()
    }

    /// Returns the variant with this name, ignoring ASCII case.
    fn parse_ignore_case(name: &str) -> Option<Self> {
        let same = |known: &&str| known.eq_ignore_ascii_case(name);
        let at = Self::NAMES.iter().position(same)?;
        Self::ALL.get(at).copied()
    }

    /// Returns all names, separated by commas.
    fn joined_names() -> String {
        Self::NAMES.join(", ")
    }
}

/// Deserializes a variant from its name.
///
/// # Errors
/// Returns an error if the input is not a string or not one of the names, which the error lists.
pub fn deserialize<'de, T: Named, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    struct ByName<T>(PhantomData<T>);
    impl<T: Named> Visitor<'_> for ByName<T> {
        type Value = T;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "one of {}", T::joined_names())
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
            T::parse(name).ok_or_else(|| E::unknown_variant(name, T::NAMES))
        }
    }
    from.deserialize_str(ByName(PhantomData))
}

/// Defines an enum of named variants.
///
/// The enum has `ALL`, `COUNT`, `name` and `parse`, implements [`Named`](crate::named::Named) and
/// the usual traits of a plain value, and is printed, serialized and deserialized by its names.
/// Attributes of the enum and of its variants are kept, so that it can derive more traits.
///
/// ```
/// sentinel_env::named_enum! {
///     /// A kind of work.
///     #[derive(Default)]
///     pub enum Work {
///         /// Finds patterns.
///         #[default]
///         Analyze = "ANALYZE",
///         /// Decides what to do.
///         Plan = "PLAN",
///     }
/// }
///
/// assert_eq!(Work::ALL, [Work::Analyze, Work::Plan]);
/// assert_eq!(Work::Plan.name(), "PLAN");
/// assert_eq!(Work::parse("ANALYZE"), Some(Work::default()));
/// assert_eq!(Work::Plan.to_string(), "PLAN");
///
/// assert_eq!(serde_json::to_string(&Work::Plan)?, "\"PLAN\"");
/// let error = serde_json::from_str::<Work>("\"REST\"").unwrap_err();
/// assert!(error.to_string().contains("unknown variant `REST`, expected `ANALYZE` or `PLAN`"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        #[allow(dead_code, reason = "not every enum needs all of them")]
        impl $name {
            /// Number of variants in the enum.
            $vis const COUNT: usize = [$($text),+].len();
            /// All variants, in declaration order.
            $vis const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// Returns the name used in payloads, files and on the command line.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// Returns the variant with this name, or `None` if there is none.
            #[must_use]
            $vis fn parse(name: &str) -> Option<Self> {
                <Self as $crate::named::Named>::parse(name)
            }
        }

        impl $crate::named::Named for $name {
            const ALL: &'static [Self] = &Self::ALL;
            const NAMES: &'static [&'static str] = &[$($text),+];

            fn name(self) -> &'static str {
                self.name()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::named::export::serde::Serialize for $name {
            fn serialize<S: $crate::named::export::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        $crate::named_schema!($name);

        impl<'de> $crate::named::export::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::named::export::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                $crate::named::deserialize(deserializer)
            }
        }
    };
}

/// Implements `JsonSchema` for an enum of named variants; nothing without the feature `schema`.
#[cfg(feature = "schema")]
#[doc(hidden)]
#[macro_export]
macro_rules! named_schema {
    ($name:ident) => {
        impl $crate::named::export::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(
                _: &mut $crate::named::export::schemars::SchemaGenerator,
            ) -> $crate::named::export::schemars::Schema {
                $crate::schema::one_of(<Self as $crate::named::Named>::NAMES)
            }
        }
    };
}

/// Implements `JsonSchema` for an enum of named variants; nothing without the feature `schema`.
#[cfg(not(feature = "schema"))]
#[doc(hidden)]
#[macro_export]
macro_rules! named_schema {
    ($name:ident) => {};
}
