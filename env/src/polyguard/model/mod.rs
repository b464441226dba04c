//! The plain types and tables of the world: what an episode is made from, what is seen of it, what is
//! hidden, and what can be done. Nothing here knows a rule of the dynamics or of the reward.

/// Makes an enum whose variants have names.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$v_doc:meta])* $v:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$v_doc])* $v,)*
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$v,)*];

            /// Returns the word used in files and on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$v => $text,)*
                }
            }

            /// Returns the one with this name; upper and lower case are the same.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.name().eq_ignore_ascii_case(name))
            }
        }
    };
}
pub(crate) use named;

pub(crate) mod action;
pub(crate) mod candidate;
pub(crate) mod case;
pub(crate) mod formulary;
pub(crate) mod hidden;
pub(crate) mod history;
pub(crate) mod observation;
pub(crate) mod patient;
pub(crate) mod regimen;
pub(crate) mod setup;
pub(crate) mod state;
pub(crate) mod stream;
pub(crate) mod terms;
