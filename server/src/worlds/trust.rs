//! The trust world on the server.

use schemars::JsonSchema;
use sentinel_env::Slot;
use sentinel_env::trust::{ActionType, ObservationPayload, Session, TrustEnv};
use serde_json::{Map, Value};

use super::Served;

impl Served for TrustEnv {
    const DEFAULT_TASK: &'static str = "task3";
    const DESCRIPTION: &'static str =
        "An orchestrator learns which of five specialists with hidden behaviors to believe";
    const WITHHELD: &'static [&'static str] = &["session_id"];

    type ActionFields = TrustAction;
    type Payload = ObservationPayload;

    fn agent_observation(session: &Session) -> ObservationPayload {
        session.agent_observation()
    }
}

/// One control step of the orchestrator: who works on the current subtask, and whether the answer is
/// checked. An action that does not fit is no error of the protocol: an unknown field is ignored, and
/// a field of a wrong type, a field that occurs twice and an unknown name are refused without a step.
#[derive(JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
#[allow(dead_code, reason = "only its schema is used")]
pub struct TrustAction {
    /// delegate believes the specialist's answer (1 step); verify also checks it (2 steps);
    /// solve_independently is the orchestrator's own answer (the dearest); skip leaves the subtask undone.
    /// Delegate if left out.
    action_type: Option<ActionType>,
    /// The specialist to ask, S0 to S4; required by delegate and verify.
    specialist_id: Option<Slot>,
    /// The own answer, any text that is not empty; required by solve_independently.
    subtask_response: Option<String>,
    /// A short reason; recorded, not graded.
    reasoning: Option<String>,
    /// Empty, as clients of OpenEnv send it; else a field like any other.
    metadata: Option<Map<String, Value>>,
}
