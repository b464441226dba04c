//! The last object of an evaluation's file: what was played, by which program, and from which
//! inputs.

use std::path::PathBuf;

use sentinel_base::SeedRange;
use sentinel_base::provenance::Provenance;
use sentinel_env::rng::Streams;
use serde::Serialize;

use super::Diagnostics;

/// The origin of a result. It is stored under the key `sentinel`, after the keys of the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvalOrigin {
    /// The name of the world.
    pub world: &'static str,
    /// The model that played, by folder or name; `null` for none.
    pub model: Option<String>,
    /// The address of the API behind which the model is; left out for one in this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The adapter of the model; left out for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<PathBuf>,
    /// The replay that was played; left out for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<PathBuf>,
    /// The seeds of each task.
    pub seeds: SeedRange,
    /// The mode in which random streams were seeded.
    pub streams: Streams,
    /// The name of the rules.
    pub rules: String,
    /// The behavior of each policy by split; left out in worlds without such statistics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostics>,
    /// Warnings about files of a language model, its tokenizer and its stop tokens; left out for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The program, the digests of the files that it read, and the fallbacks.
    #[serde(flatten)]
    pub provenance: Provenance,
}

/// A world's own file with [`EvalOrigin`] appended.
#[derive(Serialize)]
pub(super) struct WithOrigin<'a, F> {
    #[serde(flatten)]
    pub(super) file: F,
    pub(super) sentinel: &'a EvalOrigin,
}
