//! Enums whose variants have names: one macro for the list, the names, parsing and serialisation.

/// Defines an enum of named variants with `ALL`, `COUNT`, `name` and `parse`; it prints and
/// serialises as its name.
///
/// ```ignore
/// named! {
///     /// A kind of work.
///     pub enum Domain {
///         /// Find patterns.
///         Analyze = "ANALYZE",
///     }
/// }
/// ```
macro_rules! named {
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
            /// How many there are.
            $vis const COUNT: usize = [$($text),+].len();
            /// All of them, in order.
            $vis const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// Returns the name used in payloads, files and on the command line.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// Returns the variant with this name.
            #[must_use]
            $vis fn parse(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.name() == name)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}
pub(crate) use named;
