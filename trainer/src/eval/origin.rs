//! The last object of an evaluation's file: what was played, by which program, and what it rests on.

use std::path::PathBuf;

use sentinel_env::rng::Streams;
use serde::Serialize;

use crate::SeedRange;
use crate::provenance::Provenance;

/// What a result was measured by and on. It stands under the key `sentinel`, behind the keys that the
/// reference has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvalOrigin {
    /// The world, by name.
    pub world: &'static str,
    /// The model that played, by folder or name; `null` for none.
    pub model: Option<String>,
    /// Its adapter; left out for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<PathBuf>,
    /// The replay that was played; left out for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<PathBuf>,
    /// The seeds of each task.
    pub seeds: SeedRange,
    /// How the streams were seeded.
    pub streams: Streams,
    /// The rules, by name.
    pub rules: String,
    /// The program, the digests of what it read, and the fallbacks.
    #[serde(flatten)]
    pub provenance: Provenance,
}

/// A world's own file with [`EvalOrigin`] behind it.
#[derive(Serialize)]
pub(super) struct WithOrigin<'a, F> {
    #[serde(flatten)]
    pub(super) file: F,
    pub(super) sentinel: &'a EvalOrigin,
}
