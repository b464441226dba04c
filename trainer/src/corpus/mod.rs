//! Language models without a tensor: demonstrations to learn from, rollouts to learn by, and
//! replays of what was said.
//!
//! * [`demonstrate()`]: `sentinel lm corpus`, a scripted policy's actions as chat rows.
//! * [`read`]: such rows, and those of others, back into examples.
//! * [`rollout`]: episodes played by whoever completes prompts, with rewards and what betrays a
//!   model that plays the rewards instead of the world.
//! * [`record`]: the same as rows of a replay.
//!
//! How a world is put into words is in `sentinel_policy::text`.

pub mod demonstrate;
pub mod read;
pub mod record;
pub mod rollout;
mod summary;

pub use demonstrate::{CorpusConfig, demonstrate};
pub use read::{Example, Prompt, Role, Turn, read_corpus, read_example};
pub use summary::CorpusSummary;

use sentinel_policy::text::InvalidReward;

/// Seeds that are learned from; those below are for validation and tests, those above are held out.
#[must_use]
pub const fn training_seeds() -> crate::SeedRange {
    crate::seeds::TRAINING
}

/// Seeds to choose a model by, while it is trained.
#[must_use]
pub const fn validation_seeds() -> crate::SeedRange {
    crate::seeds::VALIDATION
}

pub(crate) fn parse_invalid(word: &str) -> Result<InvalidReward, String> {
    let value: f64 = crate::args::parse_number(word)?;
    InvalidReward::new(value).map_err(|error| error.to_string())
}
