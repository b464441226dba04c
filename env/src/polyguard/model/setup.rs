//! The setup of an episode: its case, its seed and its rules.

use super::task_spec::TaskSpec;
use crate::rules::{self, changes};

changes! {
    /// A change to the published rules.
    pub enum Change {
        /// A step that is refused or an exploit earns 0.001.
        Gated = "gated":
            "a step that is illegal, invalid or an exploit earns .001 instead of a weighted mean",
    }
}

/// The rules of an episode in this world.
pub type Rules = rules::Rules<Change>;

/// The setup of an episode. The same setup and actions give the same trajectory everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The case to play.
    pub task: TaskSpec,
    /// Seed of the random stream.
    pub seed: u64,
    /// The rules in force, as changes to the published rules.
    pub rules: Rules,
}

impl Setup {
    /// Creates a setup under the published rules.
    #[must_use]
    pub const fn new(task: TaskSpec, seed: u64) -> Self {
        Self {
            task,
            seed,
            rules: Rules::REFERENCE,
        }
    }

    /// Returns the same setup under other rules.
    #[must_use]
    pub const fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }
}
