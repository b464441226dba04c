//! The cluster world on the server.

use sentinel_env::cluster::{ClusterEnv, Session};
use serde::Serialize;

use super::Served;

impl Served for ClusterEnv {
    const DEFAULT_TASK: &'static str = "task3";
    const DESCRIPTION: &'static str =
        "A scheduler runs jobs on failing GPUs while workers lie and an adversary attacks";
    const SCHEMAS: &'static str = include_str!("cluster.schema.json");

    fn agent_observation(session: &Session) -> impl Serialize {
        session.agent_observation()
    }
}
