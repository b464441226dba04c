//! One line of a replay file.

use sentinel_env::SLOTS;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, Task};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::raw::RawRow;

/// The world that an episode plays in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum World {
    /// Five specialists with hidden behaviours; the only world of the reference's files.
    #[default]
    Trust,
}

impl World {
    /// The name used in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trust => "trust",
        }
    }

    /// The world with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        (name == Self::Trust.name()).then_some(Self::Trust)
    }
}

/// What was done at one step of an episode, and by whom.
///
/// Read with `serde_json::from_str`; the error says which field is wrong and what it may be. Keys
/// that are not known are passed over, so that files of later versions load.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "RawRow")]
pub struct ReplayRow {
    /// The task.
    pub task_type: Task,
    /// The seed, at most [`crate::SEED_MAX`].
    pub seed: u64,
    /// The observation's `step_count` before the action. Actions cost 1 to 3, so gaps are normal.
    pub step: u8,
    /// The action.
    pub action: RecordedAction,
    /// The scenario that was played; tells a recording of another build or stream mode.
    pub scenario_id: String,
    /// Who acted.
    pub model_source: String,
    /// Left out of the file when it is the trust world.
    #[serde(skip_serializing_if = "is_default")]
    pub world: World,
    /// Left out of the file when they are the reference's.
    #[serde(skip_serializing_if = "is_reference")]
    pub streams: Streams,
    /// Probability of each of [`Action::ALL`], from a learned policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<Box<[f64; 12]>>,
    /// Probability of each behaviour behind each slot (`[slot][behaviour]`), from a learned policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub belief: Option<Box<[[f64; SLOTS]; SLOTS]>>,
}

fn is_default(world: &World) -> bool {
    *world == World::default()
}

fn is_reference(streams: &Streams) -> bool {
    *streams == Streams::Reference
}

/// A typed action with the texts that came with it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAction {
    /// What was done.
    pub action: Action,
    /// The own answer, when the subtask was solved independently.
    pub subtask_response: Option<String>,
    /// Why; free text.
    pub reasoning: Option<String>,
}

impl From<Action> for RecordedAction {
    fn from(action: Action) -> Self {
        let solved = action == Action::SolveIndependently;
        Self {
            action,
            subtask_response: solved.then(|| "SELF_SOLVED".to_owned()),
            reasoning: None,
        }
    }
}

impl Serialize for RecordedAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("RecordedAction", 4)?;
        s.serialize_field("action_type", self.action.action_type().name())?;
        s.serialize_field("specialist_id", &self.action.slot())?;
        s.serialize_field("subtask_response", &self.subtask_response)?;
        s.serialize_field("reasoning", &self.reasoning)?;
        s.end()
    }
}
