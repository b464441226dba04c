//! The trust world, for code that serves all worlds.

use sentinel_env::trust::{Action, ActionMessage, Episode, Observation, Task, TrustWorld};
use serde_json::{Value, json};

use crate::play::{Cycle, Policy};
use crate::replay::{Fields, RowError};
use crate::world::{AnyAction, Constant, Playable, Roles, Routine, WorldName, scripted};
use crate::{Heuristic, PolicyName};

scripted!(PolicyName, TrustWorld);

impl Playable for TrustWorld {
    const WORLD: WorldName = WorldName::Trust;
    const ROLES: Roles = Roles {
        random: "random",
        heuristic: "heuristic",
        planner: "bayes",
        oracle: "oracle",
    };
    type PolicyName = PolicyName;

    /// Each action, always.
    fn constants() -> Vec<Constant<Self>> {
        let always = |action: Action| Constant {
            name: format!("always_{}", action.to_string().replace(' ', "_")),
            routine: Routine::Cycle(Cycle::new(action, Vec::new())),
        };
        Action::ALL.into_iter().map(always).collect()
    }

    fn scenario_id(episode: &Episode) -> String {
        episode.scenario().id()
    }

    fn fallback(observation: &Observation) -> Action {
        let mut heuristic = Heuristic::REPLAY_MISS;
        heuristic.choose(observation)
    }

    fn widen(action: Action) -> AnyAction {
        AnyAction::Trust(action)
    }

    fn narrow(action: AnyAction) -> Option<Action> {
        match action {
            AnyAction::Trust(action) => Some(action),
            AnyAction::Cluster(_) | AnyAction::Polyguard(_) => None,
        }
    }

    fn keys(action: Action, answer: Option<&str>) -> Vec<(&'static str, Value)> {
        vec![
            ("action_type", json!(action.action_type().name())),
            (
                "specialist_id",
                json!(action.slot().map(|slot| slot.name())),
            ),
            ("subtask_response", json!(answer)),
        ]
    }

    fn read(fields: &mut Fields, _task: Task) -> Result<(Action, Option<String>), RowError> {
        let message = ActionMessage {
            action_type: Some(fields.required("action_type")?),
            specialist_id: fields.short_text("specialist_id")?,
            subtask_response: fields.text("subtask_response")?,
            ..ActionMessage::default()
        };
        let action = message.parse().map_err(RowError::action)?;
        Ok((action, message.subtask_response))
    }
}
