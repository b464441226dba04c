//! Enums whose variants have names: one macro for the list, the names, parsing and serialisation.

/// An enum of named variants, for code that serves several.
pub(crate) trait Named: Copy + 'static {
    /// All variants, in order.
    const ALL: &'static [Self];

    /// Returns the name used in payloads, files and on the command line.
    fn name(self) -> &'static str;

    /// Returns the variant with this name, in upper or lower case.
    fn parse_ignore_case(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|variant| variant.name().eq_ignore_ascii_case(name))
    }

    /// Returns all names with commas between.
    fn names() -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|variant| variant.name()).collect();
        names.join(", ")
    }
}

/// Defines an enum of named variants with `ALL`, `COUNT`, `name` and `parse`; it prints, serialises and
/// implements [`Named`] by its name.
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
                let mut all = Self::ALL.iter().copied();
                all.find(|variant| variant.name() == name)
            }
        }

        impl $crate::named::Named for $name {
            const ALL: &'static [Self] = &Self::ALL;

            fn name(self) -> &'static str {
                self.name()
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
