//! Scripted policies by name, for files, the command line and the page.

use sentinel_env::named::Named;
use sentinel_env::{Environment, World};

use crate::policy::{Constant, Player};
use crate::replay::Recordable;

/// A scripted policy of a world, by name; each world has an enum of its own, made by
/// [`named_enum!`](sentinel_env::named_enum).
pub trait Scripted: Named + Eq + std::fmt::Debug + Send + Sync {
    /// Where it plays.
    type World: World;

    /// Returns whether the policy reads hidden state.
    fn is_privileged(self) -> bool;
    /// Returns a fresh player for an episode.
    fn start(self, setup: &<Self::World as Environment>::Setup) -> Player<Self::World>;
}

/// Names of the policies that must come in this order, from worst to best, where a world is worth
/// learning in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Acts at random.
    pub random: &'static str,
    /// Plain rules: what no constant policy may beat.
    pub heuristic: &'static str,
    /// The best that public observations were shown to allow.
    pub planner: &'static str,
    /// Knows hidden state.
    pub oracle: &'static str,
}

impl Roles {
    /// From worst to best.
    #[must_use]
    pub const fn in_order(&self) -> [&'static str; 4] {
        [self.random, self.heuristic, self.planner, self.oracle]
    }
}

/// A world with scripted policies.
pub trait Playable: Recordable {
    /// Who plays the parts that every world has. A part may name a policy that is not there yet.
    const ROLES: Roles;
    /// Its scripted policies.
    type PolicyName: Scripted<World = Self>;

    /// Returns policies that learn nothing from what they see.
    fn constants() -> Vec<Constant<Self>>;
}

/// Makes an enum of policies, with its own `is_privileged` and `player`, a [`Scripted`].
macro_rules! scripted {
    ($name:ty, $world:ty) => {
        impl $crate::playable::Scripted for $name {
            type World = $world;

            fn is_privileged(self) -> bool {
                self.is_privileged()
            }

            fn start(
                self,
                setup: &<$world as ::sentinel_env::Environment>::Setup,
            ) -> $crate::policy::Player<$world> {
                self.player(setup.seed, setup.streams)
            }
        }
    };
}
pub(crate) use scripted;
