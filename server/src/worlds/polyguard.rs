//! The PolyGuard world on the server.

use schemars::JsonSchema;
use sentinel_env::polyguard::{ArgRow, ObservationPayload, PolyguardEnv, Session};
use serde_json::{Map, Value};

use super::Served;

impl Served for PolyguardEnv {
    const DEFAULT_TASK: &'static str = "DDI-easy";
    const DESCRIPTION: &'static str = "An agent makes a risky medication regimen safer under missing data; a simulation, \
                                       never for patient care";
    const SCORE_RULE: &'static str = "The score scales the mean of the step rewards by the outcome at the end, so the sum of \
                                      the step rewards is not the score";
    const WITHHELD: &'static [&'static str] = &[];

    type ActionFields = PolyguardAction;
    type Payload = ObservationPayload;

    fn agent_observation(session: &Session) -> ObservationPayload {
        session.agent_observation()
    }
}

/// An answer: either one of the listed candidates with a reason, or a completion that is parsed as one. A
/// simulation, never for patient care. An answer that does not fit is no error of the protocol: one with an
/// unknown field or a field of a wrong type is refused and costs the step, and one with two ids, or with a
/// field of a reply such as reward, is an exploit and ends the episode. Only a message that is no object,
/// that has neither completion nor candidate_id, another field beside completion, or session_id or
/// completion twice, is an error.
#[derive(JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
#[allow(dead_code, reason = "only its schema is used")]
pub struct PolyguardAction {
    /// Id of a candidate that the observation lists, such as cand_03.
    candidate_id: Option<String>,
    /// One sentence that names what it is about; required with candidate_id.
    rationale: Option<String>,
    /// Confidence in the choice, from 0 to 1.
    confidence: Option<f64>,
    /// Kind of act of the candidate; checked against the candidate if given.
    action_type: Option<String>,
    /// The medicine that the candidate is about; checked if given.
    drug: Option<String>,
    /// Argument of the act: empty, a change of the dose, or a new medicine.
    args: Option<ArgRow>,
    /// The text of a language model, in place of all other fields.
    completion: Option<String>,
    /// Empty, as clients of OpenEnv send it; else an unknown field.
    metadata: Option<Map<String, Value>>,
}
