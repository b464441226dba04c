//! The trust world's implementations of the traits that all worlds share.

use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, ActionMessage, Observation, Setup, TrustEnv};
use serde_json::{Value, json};

use crate::playable::{Playable, Roles, scripted};
use crate::policy::{ConstantPolicy, CyclicPolicy, Policy, Routine};
use crate::replay::{Diagnostic, EpisodeRows, Fields, Recordable, RowError};
use crate::text::check_transcripts;

use super::{Heuristic, PolicyName, SELF_SOLVED};

scripted!(PolicyName, TrustEnv);

impl Recordable for TrustEnv {
    const ACTION_DIM: usize = Action::ALL.len();
    const BELIEF_SHAPE: Option<[usize; 2]> = Some([SLOTS; 2]);
    const TEXT_KEY: Option<&'static str> = Some("subtask_response");

    fn scenario_id(&self) -> String {
        self.scenario().id()
    }

    fn fallback(observation: &Observation) -> Action {
        let mut heuristic = Heuristic::REPLAY_MISS;
        heuristic.choose(observation)
    }

    fn write_action(action: Action) -> Vec<(&'static str, Value)> {
        vec![
            ("action_type", json!(action.action_type().name())),
            (
                "specialist_id",
                json!(action.slot().map(|slot| slot.name())),
            ),
        ]
    }

    fn read_action(fields: &mut Fields) -> Result<Action, RowError> {
        let message = ActionMessage {
            action_type: Some(fields.take_required_word("action_type")?),
            specialist_id: fields.take_word("specialist_id")?,
            subtask_response: fields.take_string("subtask_response")?,
            ..ActionMessage::default()
        };
        message.parse().map_err(RowError::invalid_action)
    }

    fn default_text(action: Action) -> Option<&'static str> {
        (action == Action::SolveIndependently).then_some(SELF_SOLVED)
    }

    fn check_transcripts(rows: &EpisodeRows<Self>, setup: &Setup) -> Vec<Diagnostic> {
        check_transcripts(rows, setup)
    }
}

impl Playable for TrustEnv {
    const ROLES: Roles = Roles {
        random: "random",
        heuristic: "heuristic",
        planner: "bayes",
        oracle: "oracle",
    };
    type PolicyName = PolicyName;

    /// Returns one policy per action, which always takes that action.
    fn constants() -> Vec<ConstantPolicy<Self>> {
        let always = |action: Action| ConstantPolicy {
            name: format!("always_{}", action.to_string().replace(' ', "_")),
            routine: Routine::Cycle(CyclicPolicy::new(action, Vec::new())),
        };
        Action::ALL.into_iter().map(always).collect()
    }
}
