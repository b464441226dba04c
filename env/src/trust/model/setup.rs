//! What an episode is made from, and the changes that make the world's rules fair (the quirks of
//! spec trust §16).

use crate::controller::DifficultyProfile;
use crate::environment::Seeded;
use crate::rng::Streams;
use crate::rules::{self, changes};
use crate::task::Task;

changes! {
    /// A change to the reference's rules. `docs/trust.md` has the reasons, formulas and effects.
    pub enum Change {
        /// Quirk Q4: solving alone earns half of the accuracy.
        SelfSolving = "self_solving":
            "A subtask solved alone earns half of the accuracy",
        /// Quirk Q2: task1 ends with its share of completed subtasks.
        Completion = "completion":
            "Task 1 ends with the share of subtasks that were completed",
        /// Quirks Q2, Q3: each subtask that is open at the end counts as an event without reward.
        Unfinished = "unfinished":
            "A subtask left open at the end counts as an event without reward",
        /// Quirk Q6: a checked wrong answer is mended, for a step and half of the accuracy.
        Verification = "verification":
            "Checking mends an honest mistake, for one step more and half of the accuracy",
        /// Quirk Q7: caught poison has to be mended like a mistake.
        KnownLiar = "known_liar":
            "Caught poison must be mended like a mistake: it is no free answer",
        /// Quirks Q8, Q17: without encounters, detection is not graded.
        Detection = "detection":
            "Who met no poison is not graded on detecting it",
        /// Quirk Q10: trust is held against how right those who were called could be.
        Calibration = "calibration":
            "Trust is graded on the slots that were called, by what they could do there",
    }
}

/// The rules of an episode.
pub type Rules = rules::Rules<Change>;

/// What an episode is made from. The same setup and actions give the same trajectory everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// The task.
    pub task: Task,
    /// The number of a fixed scenario of the task, 0-based, instead of the one that the seed picks.
    pub variant: Option<u8>,
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
    /// Creates a setup with default difficulty, the reference's rules and the scenario that the seed picks.
    #[must_use]
    pub fn new(task: Task, seed: u64, streams: Streams) -> Self {
        Self {
            task,
            variant: None,
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
