//! The setup of an episode, and the changes that correct flaws in the world's rules (quirks C1 to
//! C11 of spec cluster §12).

use crate::adaptive_difficulty::DifficultyProfile;
use crate::environment::Seeded;
use crate::rng::Streams;
use crate::rules::{self, changes};
use crate::task::Task;

changes! {
    /// A change to the reference's rules. `docs/cluster-rules.md` has the reasons and effects.
    pub enum Change {
        /// Idle GPUs no longer reduce health (quirk C1).
        Health = "health":
            "Idle GPUs no longer lower health",
        /// A forged completion counts as poisoning only if it is not found in time (quirk C4).
        Answers = "answers":
            "A forged completion counts only when it was not checked in time",
        /// Detections count attacks that were found, each once (quirk C5).
        Detections = "detections":
            "Detections count attacks that were found, each once",
        /// Attacks of every level have effects until they are found (quirk C6).
        Escalation = "escalation":
            "Attacks of every level do harm until they are found",
        /// A failing GPU returns its jobs to the queue (quirk C3).
        Failures = "failures":
            "A GPU that fails returns its jobs to the queue",
        /// A job that times out releases its memory (quirk C2).
        Timeouts = "timeouts":
            "A job that times out gives its memory back",
        /// Waiting counts as drift only while a job could be placed (quirk C9).
        Waiting = "waiting":
            "Waiting counts as drift only while a job could be placed",
        /// Steps saved by finishing early count as much as the terminal reward (quirk C10).
        Ending = "ending":
            "Steps saved by finishing early count as much as the end",
        /// An action that leaves its job, GPU or worker to the environment fails (quirk C11).
        Choices = "choices":
            "Actions must name a job, a GPU and a worker",
    }
}

/// The rules of an episode in this world.
pub type Rules = rules::Rules<Change>;

/// The configuration of an episode. The same setup and actions give the same trajectory everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// The task to play.
    pub task: Task,
    /// Seed of the random streams.
    pub seed: u64,
    /// The mode in which the streams are seeded.
    pub streams: Streams,
    /// The difficulty, from a [`crate::adaptive_difficulty::DifficultyController`] or the default.
    pub profile: DifficultyProfile,
    /// The rules in force, as changes to the reference's rules.
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
    pub const fn with_rules(mut self, rules: Rules) -> Self {
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
