//! Scripted policies by name, for replay files, the command line and the page.

use sentinel_env::named::Named;
use sentinel_env::{Environment, World};

use crate::policy::{ConstantPolicy, Player};
use crate::replay::Recordable;

/// A named scripted policy of a world. Each world implements it for an enum defined with
/// [`named_enum!`](sentinel_env::named_enum).
pub trait Scripted: Named + Eq + std::fmt::Debug + Send + Sync {
    /// The world that the policy acts in.
    type World: World;

    /// Returns `true` if the policy reads hidden state.
    fn is_privileged(self) -> bool;
    /// Creates a player for one episode of `setup`, with no memory of earlier episodes.
    fn start(self, setup: &<Self::World as Environment>::Setup) -> Player<Self::World>;
}

/// Names of the four policies that every world ranks, from worst to best.
///
/// A world is worth learning in only if their mean scores come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Name of the policy that acts at random.
    pub random: &'static str,
    /// Name of the rule-based policy, which no constant policy may outscore.
    pub heuristic: &'static str,
    /// Name of the strongest known policy that sees public observations only.
    pub planner: &'static str,
    /// Name of the privileged policy that reads hidden state.
    pub oracle: &'static str,
}

impl Roles {
    /// Returns the four names, from worst to best.
    #[must_use]
    pub const fn in_order(&self) -> [&'static str; 4] {
        [self.random, self.heuristic, self.planner, self.oracle]
    }
}

/// A world that has scripted policies.
pub trait Playable: Recordable {
    /// The policies that fill the standard roles. A role may name a policy that does not exist yet.
    const ROLES: Roles;
    /// The enum of the world's scripted policies.
    type PolicyName: Scripted<World = Self>;

    /// Returns the constant policies of the world, which do not learn during an episode.
    fn constants() -> Vec<ConstantPolicy<Self>>;
}

/// Implements [`Scripted`] for an enum of policies that has `is_privileged` and `player` methods.
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
