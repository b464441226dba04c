//! The PolyGuard world on the server.

use sentinel_env::polyguard::{PolyguardEnv, Session};
use serde::Serialize;

use super::Served;

impl Served for PolyguardEnv {
    const DEFAULT_TASK: &'static str = "DDI-easy";
    const DESCRIPTION: &'static str = "An agent makes a risky medication regimen safer under missing data; a simulation, \
                                       never for patient care";
    const SCORE_RULE: &'static str = "The score scales the mean of the step rewards by the outcome at the end, so the sum of \
                                      the step rewards is not the score";
    const SCHEMAS: &'static str = include_str!("polyguard.schema.json");

    fn agent_observation(session: &Session) -> impl Serialize {
        session.agent_observation()
    }
}
