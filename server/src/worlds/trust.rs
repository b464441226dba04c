//! The trust world on the server.

use sentinel_env::trust::{Session, TrustEnv};
use serde::Serialize;

use super::Served;

impl Served for TrustEnv {
    const DEFAULT_TASK: &'static str = "task3";
    const DESCRIPTION: &'static str =
        "An orchestrator learns which of five specialists with hidden behaviors to believe";
    const SCORE_RULE: &'static str = "The score is the mean of all reward events, and the last step pays the terminal reward \
                                      in place of its own, so the sum of the step rewards is not the score";
    const SCHEMAS: &'static str = include_str!("trust.schema.json");

    fn agent_observation(session: &Session) -> impl Serialize {
        session.agent_observation()
    }
}
