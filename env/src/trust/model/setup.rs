//! The setup of an episode, and the changes that correct flaws in the world's rules (the quirks of
//! spec trust §16).

use crate::adaptive_difficulty::DifficultyProfile;
use crate::environment::Seeded;
use crate::rng::Streams;
use crate::rules::{self, changes};
use crate::task::Task;

changes! {
    /// A change to the reference's rules. `docs/trust-rules.md` has the reasons, formulas and effects.
    pub enum Change {
        /// A subtask solved alone earns half of the accuracy (quirk Q4).
        SelfSolving = "self_solving":
            "A subtask solved alone earns half of the accuracy",
        /// The terminal reward of task1 is its fraction of completed subtasks (quirk Q2).
        Completion = "completion":
            "Task 1 ends with the share of subtasks that were completed",
        /// Each subtask that is open at the end counts as an event with reward 0 (quirks Q2, Q3).
        Unfinished = "unfinished":
            "A subtask left open at the end counts as an event without reward",
        /// Verifying a wrong answer also corrects it, for one more step and half of the accuracy
        /// (quirk Q6).
        Verification = "verification":
            "Checking corrects an honest mistake, for one more step and half of the accuracy",
        /// Caught poison has to be corrected like an honest mistake (quirk Q7).
        KnownLiar = "known_liar":
            "Caught poison must be corrected like a mistake: it is not a free answer",
        /// Detection is not graded in an episode without encounters (quirks Q8, Q17).
        Detection = "detection":
            "Detection counts only if there was something to detect",
        /// Trust is compared with the success chances of the calls that were made (quirk Q10).
        Calibration = "calibration":
            "Trust is graded on the slots that were called, by what they could do there",
    }
}

/// The rules of an episode in this world.
pub type Rules = rules::Rules<Change>;

/// The configuration of an episode. The same setup and actions give the same trajectory everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// The task to play.
    pub task: Task,
    /// Number, from 0, of a fixed scenario of the task, which replaces the one that the seed picks.
    pub variant: Option<u8>,
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
    /// Creates a setup with default difficulty, the reference's rules, and the scenario that the
    /// seed picks.
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
