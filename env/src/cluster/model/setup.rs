//! What an episode is made from, and the changes that make the world's rules fair (the quirks C1 to
//! C11 of spec cluster §12).

use crate::controller::DifficultyProfile;
use crate::environment::Seeded;
use crate::rng::Streams;
use crate::rules::{self, changes};
use crate::task::Task;

changes! {
    /// A change to the reference's rules.
    pub enum Change {
        /// Quirk C1.
        Health = "health":
            "Health counts what is lost or overloaded, not what has nothing to do",
        /// Quirk C4.
        Answers = "answers":
            "A forged completion counts only when it was not checked in time",
        /// Quirk C5.
        Detections = "detections":
            "Detections count attacks that were found, each once",
        /// Quirk C6.
        Escalation = "escalation":
            "Attacks of every level do harm until they are found",
        /// Quirk C3.
        Failures = "failures":
            "A GPU that fails throws its jobs back into the queue",
        /// Quirk C2.
        Timeouts = "timeouts":
            "A job that times out gives its memory back",
        /// Quirk C9.
        Waiting = "waiting":
            "Waiting is no drift where nothing can be placed",
        /// Quirk C10.
        Ending = "ending":
            "Steps that are saved by finishing early count like the end",
        /// Quirk C11.
        Choices = "choices":
            "An action fails that leaves its job, GPU or worker to the environment",
    }
}

/// The rules of an episode.
pub type Rules = rules::Rules<Change>;

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
    /// Creates a setup with default difficulty and the reference's rules.
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

    /// Returns the same setup under other rules.
    #[must_use]
    pub const fn under(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }
}

impl Seeded for Setup {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}
