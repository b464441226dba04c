//! The registry of worlds: one line per world, from which names, dispatch and parsing are
//! generated.
//!
//! To add a world, write its module and add its line to the list in this file.

use serde::{Deserialize, Serialize};

use crate::environment::World;
use crate::schema::impl_json_schema;

/// Declares [`WorldName`] and `in_world!` from lines of the form `Name => module`, where
/// `module::Episode` is the world's episode type. The first world is the default for files that
/// name none.
macro_rules! worlds {
    ($dollar:tt $($(#[$doc:meta])* $Name:ident => $module:ident,)+) => {
        /// The name of a world in this crate.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum WorldName {
            $($(#[$doc])* $Name,)+
        }

        impl WorldName {
            /// All worlds, in the order of the registry.
            pub const ALL: &'static [Self] = &[$(Self::$Name),+];

            /// Returns the name used in files and on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Name => <crate::$module::Episode as World>::NAME,)+
                }
            }
        }

        /// Evaluates an expression for the world that a [`WorldName`](crate::WorldName) names:
        /// within the expression, `$W` is the type of that world's episodes.
        #[macro_export]
        macro_rules! in_world {
            ($dollar name:expr, $dollar W:ident => $dollar body:expr) => {
                match $dollar name {
                    $($crate::WorldName::$Name => {
                        type $dollar W = $crate::$module::Episode;
                        $dollar body
                    })+
                }
            };
        }
    };
}

worlds! { $
    /// Five specialists with hidden behaviors.
    Trust => trust,
    /// Jobs on failing GPUs, workers that lie, and an adversary.
    Cluster => cluster,
    /// A risky medication regimen; a simulation.
    Polyguard => polyguard,
}

impl WorldName {
    /// The world of files that name none.
    pub const DEFAULT: Self = Self::ALL[0];

    /// Returns the world with this name, or `None` if there is none.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|world| world.name() == name)
    }

    /// Returns all names for a message: commas between them, and `last` before the last one.
    #[must_use]
    pub fn joined_names(last: &str) -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|world| world.name()).collect();
        crate::task::join_names(&names, last)
    }
}

impl_json_schema!([] WorldName, "WorldName", |_generator| {
    let names: Vec<&str> = Self::ALL.iter().map(|world| world.name()).collect();
    crate::schema::one_of(&names)
});

impl Default for WorldName {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl std::fmt::Display for WorldName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
