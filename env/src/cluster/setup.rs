//! What an episode is made from.

use super::{Rules, Task};
use crate::controller::DifficultyProfile;
use crate::rng::Streams;

/// What an episode is made from. The same setup and actions give the same trajectory everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// The task.
    pub task: Task,
    /// The seed.
    pub seed: u64,
    /// How the streams are seeded.
    pub streams: Streams,
    /// Difficulty, from a [`crate::controller::Controller`] or the default.
    pub profile: DifficultyProfile,
    /// What differs from the reference's rules.
    pub rules: Rules,
}

impl Setup {
    /// A setup with default difficulty and the reference's rules.
    #[must_use]
    pub fn new(task: Task, seed: u64, streams: Streams) -> Self {
        Self {
            task,
            seed,
            streams,
            profile: DifficultyProfile::default(),
            rules: Rules::REFERENCE,
        }
    }

    /// The same under other rules.
    #[must_use]
    pub const fn under(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }
}
