//! One line of a replay file.

use sentinel_env::rng::Streams;
use sentinel_env::rules::RuleBits;
use sentinel_env::{SLOTS, TaskBits, cluster, polyguard, trust};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::fields::RawRow;
use super::table::{rules_text, task_name};
use crate::{AnyAction, WorldName};

/// What was done at one step of an episode, and by whom.
///
/// Read with `serde_json::from_str`; the error says which field is wrong and what it may be. Keys
/// that are not known are passed over, so that files of later versions load.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "RawRow")]
pub struct ReplayRow {
    /// The task, one of the world's.
    pub task_type: TaskBits,
    /// The seed, at most [`crate::SEED_MAX`].
    pub seed: u64,
    /// The observation's `step_count` before the action. In the trust world actions cost 1 to 3, so
    /// gaps are normal.
    pub step: u8,
    /// The action.
    pub action: RecordedAction,
    /// The scenario that was played; tells a recording of another build or stream mode.
    pub scenario_id: String,
    /// Who acted.
    pub model_source: String,
    /// Left out of the file when it is the trust world.
    pub world: WorldName,
    /// Left out of the file when they are the reference's.
    pub streams: Streams,
    /// Left out of the file when they are the reference's.
    pub rules: RuleBits,
    /// Probability of each kind of action of the world, from a learned policy.
    pub probabilities: Option<Box<[f64]>>,
    /// Probability of each behaviour behind each slot (`[slot][behaviour]`), from a learned policy.
    pub belief: Option<Box<[[f64; SLOTS]; SLOTS]>>,
    /// What was asked and said, from a policy that plays in words.
    pub text: Option<Box<Spoken>>,
}

/// What a policy that plays in words was asked and said. In a file these are keys of the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spoken {
    /// The prompt.
    pub prompt: Option<String>,
    /// The completion, as it was said.
    pub completion: Option<String>,
    /// Whether text around the action was left out to read it.
    pub repaired: bool,
    /// Whether the completion was no action, and the action is [`crate::Playable::fallback`]'s.
    pub fallback: bool,
}

impl Serialize for ReplayRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("ReplayRow", 15)?;
        s.serialize_field("task_type", task_name(self.world, self.task_type))?;
        s.serialize_field("seed", &self.seed)?;
        s.serialize_field("step", &self.step)?;
        s.serialize_field("action", &self.action)?;
        s.serialize_field("scenario_id", &self.scenario_id)?;
        s.serialize_field("model_source", &self.model_source)?;
        if self.world != WorldName::default() {
            s.serialize_field("world", &self.world)?;
        }
        if self.streams != Streams::Reference {
            s.serialize_field("streams", &self.streams)?;
        }
        if !self.rules.are_reference() {
            s.serialize_field("rules", &rules_text(self.world, self.rules))?;
        }
        if let Some(probabilities) = &self.probabilities {
            s.serialize_field("probabilities", probabilities)?;
        }
        if let Some(belief) = &self.belief {
            s.serialize_field("belief", belief)?;
        }
        if let Some(text) = &self.text {
            if let Some(prompt) = &text.prompt {
                s.serialize_field("prompt", prompt)?;
            }
            if let Some(completion) = &text.completion {
                s.serialize_field("completion", completion)?;
            }
            for (name, on) in [("repaired", text.repaired), ("fallback", text.fallback)] {
                if on {
                    s.serialize_field(name, &on)?;
                }
            }
        }
        s.end()
    }
}

/// A typed action with the texts that came with it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAction {
    /// What was done.
    pub action: AnyAction,
    /// The own answer, when the subtask was solved independently.
    pub subtask_response: Option<String>,
    /// Why; free text.
    pub reasoning: Option<String>,
}

impl From<AnyAction> for RecordedAction {
    fn from(action: AnyAction) -> Self {
        let solved = action == AnyAction::Trust(trust::Action::SolveIndependently);
        Self {
            action,
            subtask_response: solved.then(|| "SELF_SOLVED".to_owned()),
            reasoning: None,
        }
    }
}

impl From<trust::Action> for RecordedAction {
    fn from(action: trust::Action) -> Self {
        AnyAction::from(action).into()
    }
}

impl From<polyguard::Action> for RecordedAction {
    fn from(action: polyguard::Action) -> Self {
        AnyAction::from(action).into()
    }
}

impl From<cluster::Action> for RecordedAction {
    fn from(action: cluster::Action) -> Self {
        AnyAction::from(action).into()
    }
}

impl Serialize for RecordedAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.action.keys(self.subtask_response.as_deref()) {
            map.serialize_entry(key, &value)?;
        }
        map.serialize_entry("reasoning", &self.reasoning)?;
        map.end()
    }
}
