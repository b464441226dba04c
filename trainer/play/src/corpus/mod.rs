//! Language models without tensors: demonstrations and rollouts for training, and replays with
//! prompts and completions.
//!
//! * [`demonstrate()`]: `sentinel lm corpus`, the actions of a scripted or compact policy as chat rows.
//! * [`builder`]: `sentinel lm build-corpus`, a corpus from several sources with their licenses.
//! * [`example`]: such rows, and those of other tools, parsed into examples.
//! * [`record_transcripts`]: the same as rows of a replay.
//!
//! The text format of each world is in `sentinel_policy::text`.

pub mod builder;
pub mod demonstrate;
pub mod example;
pub mod record_transcripts;
mod rename;
mod summary;
mod table_format;

pub use demonstrate::{CorpusConfig, demonstrate};
pub use example::{ChatMessage, Example, Prompt, Role, parse_example, read_corpus};
pub use summary::CorpusSummary;

use sentinel_policy::text::InvalidReward;

/// Returns the seeds for training; those below are for validation and tests, those above are held
/// out.
#[must_use]
pub const fn training_seeds() -> sentinel_base::SeedRange {
    sentinel_base::seeds::TRAINING
}

/// Returns the seeds on which a model is selected while it is trained.
#[must_use]
pub const fn validation_seeds() -> sentinel_base::SeedRange {
    sentinel_base::seeds::VALIDATION
}

pub(crate) fn parse_invalid(word: &str) -> Result<InvalidReward, String> {
    let value: f64 = sentinel_base::arg_parsers::parse_number(word)?;
    InvalidReward::new(value).map_err(|error| error.to_string())
}
