//! The worlds by name, and what the command line and the page need to know of each.

use sentinel_env::cluster::{self, ClusterWorld};
use sentinel_env::polyguard::{self, PolyguardWorld};
use sentinel_env::protocol::Protocol;
use sentinel_env::trust::{self, TrustWorld};
use sentinel_env::world::World;

use serde_json::Value;

use crate::play::{Cycle, Player, Policy};
use crate::replay::{Fields, RowError};

/// The world that an episode plays in.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum WorldName {
    /// Five specialists with hidden behaviours; the only world of the reference's replays.
    #[default]
    Trust,
    /// Jobs on failing GPUs, workers that lie, and an adversary.
    Cluster,
    /// A risky medication regimen; a simulation.
    Polyguard,
}

/// Evaluates an expression for the world that a [`WorldName`] names: in it, `$W` is that world's
/// type. The only place that tells the worlds apart by name.
#[macro_export]
macro_rules! in_world {
    ($name:expr, $W:ident => $body:expr) => {
        match $name {
            $crate::WorldName::Trust => {
                type $W = ::sentinel_env::trust::TrustWorld;
                $body
            }
            $crate::WorldName::Cluster => {
                type $W = ::sentinel_env::cluster::ClusterWorld;
                $body
            }
            $crate::WorldName::Polyguard => {
                type $W = ::sentinel_env::polyguard::PolyguardWorld;
                $body
            }
        }
    };
}

impl WorldName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Trust, Self::Cluster, Self::Polyguard];

    /// The name used in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trust => TrustWorld::NAME,
            Self::Cluster => ClusterWorld::NAME,
            Self::Polyguard => PolyguardWorld::NAME,
        }
    }

    /// The world with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|world| world.name() == name)
    }
}

/// An action of some world, where actions of several worlds meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnyAction {
    /// Of the trust world.
    Trust(trust::Action),
    /// Of the cluster world.
    Cluster(cluster::Action),
    /// Of the polyguard world.
    Polyguard(polyguard::Action),
}

impl AnyAction {
    /// The keys of the action in a replay, in their order; `answer` is the own answer to a subtask.
    #[must_use]
    pub fn keys(self, answer: Option<&str>) -> Vec<(&'static str, Value)> {
        match self {
            Self::Trust(action) => TrustWorld::keys(action, answer),
            Self::Cluster(action) => ClusterWorld::keys(action, answer),
            Self::Polyguard(action) => PolyguardWorld::keys(action, answer),
        }
    }
}

impl From<trust::Action> for AnyAction {
    fn from(action: trust::Action) -> Self {
        Self::Trust(action)
    }
}

impl From<polyguard::Action> for AnyAction {
    fn from(action: polyguard::Action) -> Self {
        Self::Polyguard(action)
    }
}

impl From<cluster::Action> for AnyAction {
    fn from(action: cluster::Action) -> Self {
        Self::Cluster(action)
    }
}

/// A scripted policy of a world, by name; each world has an enum of its own.
pub trait Scripted: Copy + Eq + std::fmt::Debug + Send + Sync + 'static {
    /// Where it plays.
    type World: World;
    /// All of them.
    const EVERY: &'static [Self];

    /// The name used in files and on the command line.
    fn label(self) -> &'static str;
    /// Whether the policy reads hidden state.
    fn sees_all(self) -> bool;
    /// A fresh player for an episode.
    fn start(self, setup: &<Self::World as World>::Setup) -> Player<Self::World>;

    /// The policy called `name`.
    #[must_use]
    fn named(name: &str) -> Option<Self> {
        Self::EVERY.iter().copied().find(|p| p.label() == name)
    }
}

/// A policy that learns nothing from what it sees.
#[derive(Clone, Debug)]
pub struct Constant<W: World> {
    /// What it is called in tables; no two of a world have the same name.
    pub name: String,
    /// What it does.
    pub routine: Routine<W>,
}

/// What a constant policy does.
#[derive(Debug)]
pub enum Routine<W: World> {
    /// Repeats the same actions.
    Cycle(Cycle<W>),
    /// Takes what is offered by one simple habit, where actions have no fixed names.
    Habit(fn(&W::Observation) -> W::Action),
}

// A derive would ask the same of observations, which only stand in a signature.
impl<W: World> Clone for Routine<W> {
    fn clone(&self) -> Self {
        match self {
            Self::Cycle(cycle) => Self::Cycle(cycle.clone()),
            Self::Habit(habit) => Self::Habit(*habit),
        }
    }
}

impl<W: World> PartialEq for Constant<W> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<W: World> Policy<W> for Routine<W> {
    fn choose(&mut self, observation: &W::Observation) -> W::Action {
        match self {
            Self::Cycle(cycle) => cycle.choose(observation),
            Self::Habit(habit) => habit(observation),
        }
    }
}

impl<W: World> Constant<W> {
    /// A fresh player.
    #[must_use]
    pub fn player(&self) -> Player<W> {
        Player::Public(Box::new(self.routine.clone()))
    }
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

/// A world with policies.
pub trait Playable: Protocol {
    /// Its name as a value.
    const WORLD: WorldName;
    /// Who plays the parts that every world has. A part may name a policy that is not there yet.
    const ROLES: Roles;
    /// Its scripted policies.
    type PolicyName: Scripted<World = Self>;

    /// Policies that make nothing of what they see.
    fn constants() -> Vec<Constant<Self>>;

    /// The name of what an episode was drawn: tells a recording of another build or stream mode.
    fn scenario_id(episode: &Self::Episode) -> String;
    /// Who acts where a replay has no row.
    fn fallback(observation: &Self::Observation) -> Self::Action;
    /// The action for where worlds meet.
    fn widen(action: Self::Action) -> AnyAction;
    /// The action, if it is one of this world.
    fn narrow(action: AnyAction) -> Option<Self::Action>;
    /// The keys of an action in a replay, in their order.
    fn keys(action: Self::Action, answer: Option<&str>) -> Vec<(&'static str, Value)>;
    /// Reads what [`Playable::keys`] wrote: the action, and the own answer to a subtask.
    ///
    /// # Errors
    /// Names what is no action of the task.
    fn read(
        fields: &mut Fields,
        task: Self::Task,
    ) -> Result<(Self::Action, Option<String>), RowError>;
}

/// Makes an enum of policies, with its own `ALL`, `name`, `cheats` and `player`, a [`Scripted`].
macro_rules! scripted {
    ($name:ty, $world:ty) => {
        impl $crate::world::Scripted for $name {
            type World = $world;
            const EVERY: &'static [Self] = &Self::ALL;

            fn label(self) -> &'static str {
                self.name()
            }

            fn sees_all(self) -> bool {
                self.cheats()
            }

            fn start(
                self,
                setup: &<$world as ::sentinel_env::world::World>::Setup,
            ) -> $crate::play::Player<$world> {
                self.player(setup.seed, setup.streams)
            }
        }
    };
}
pub(crate) use scripted;
