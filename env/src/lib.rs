//! Deterministic environments for agent oversight.
//!
//! A world is a plain value: the same task, seed, stream mode and actions give the same trajectory
//! bit for bit on every target. The crate uses no clock, files, threads or OS randomness, and its
//! only globals are constant tables.
//!
//! * [`trust`]: an orchestrator learns which of five specialists with hidden behaviors to believe.
//! * [`cluster`]: a scheduler runs jobs on failing GPUs while workers lie and an adversary attacks.
//! * [`polyguard`]: an agent makes a risky medication regimen safer under missing data; a
//!   simulation.
//! * [`Environment`]: the interface of every episode; [`Batch`] and [`JsonEnv`] work on any of
//!   them.
//! * [`rng`]: CPython-compatible random streams, and the two modes of seeding them.
//! * [`strict_json`]: strict parsing of untrusted JSON that keeps every field.
//! * [`ledger`]: evidence about each slot and the trust derived from it.
//! * [`adaptive_difficulty`]: adaptive difficulty, as a value that the caller owns.
//! * [`named`]: enums whose variants have names, defined by [`named_enum!`].
//! * [`schema`]: JSON schemas of the payloads, with a feature of the same name.
//! * [`rules`]: named changes to the reference's rules, which can be switched individually.
//! * [`task`]: the common interface of the tasks of all worlds.
//! * [`digest`]: digests for comparing two runs.

pub mod adaptive_difficulty;
pub mod batch;
pub mod cluster;
pub mod digest;
pub mod environment;
pub mod ledger;
pub mod message;
pub mod named;
pub mod num;
pub mod polyguard;
pub mod protocol;
pub mod registry;
pub mod rng;
pub mod rules;
pub mod schema;
pub mod slot;
pub mod strict_json;
pub mod task;
pub mod truncate;
pub mod trust;

pub use batch::Batch;
pub use environment::{
    AdaptiveDifficulty, Environment, EpisodeNameError, EpisodeNames, EpisodeSpec, PrivilegedState,
    RESET_LANES, RewardTermInfo, Seeded, Transition, World,
};
pub use named::Named;
pub use protocol::{JsonEnv, Protocol, Session, TrajectoryDigest};
pub use registry::WorldName;
pub use slot::{PerSlot, SLOTS, Slot};
pub use task::{Task, TaskName};

/// Compiles the code examples of the book as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../../docs/trust.md")]
#[doc = include_str!("../../docs/adding-a-world.md")]
mod book {}
