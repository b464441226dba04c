//! The trust world on the server.

use sentinel_env::trust::{Session, TrustEnv};
use serde::Serialize;

use super::Served;

impl Served for TrustEnv {
    const DEFAULT_TASK: &'static str = "task3";
    const DESCRIPTION: &'static str =
        "An orchestrator learns which of five specialists with hidden behaviors to believe";
    const SCHEMAS: &'static str = include_str!("trust.schema.json");

    fn agent_observation(session: &Session) -> impl Serialize {
        session.agent_observation()
    }
}
