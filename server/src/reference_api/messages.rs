//! The bodies and answers of the sessions of the reference's API, for schemas.

use schemars::JsonSchema;
use sentinel_env::adaptive_difficulty::DifficultyProfile;
use sentinel_env::rng::Streams;
use sentinel_env::{cluster, trust};
use sentinel_policy::SEED_MAX;
use serde_json::{Map, Value};

/// The fields of a reset.
#[derive(JsonSchema)]
#[schemars(rename = "ReferenceReset")]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct ResetFields {
    /// task1 to task3, or cluster_task1 to cluster_task3; task3 by default.
    #[schemars(extend("enum" = [
        "task1", "task2", "task3", "cluster_task1", "cluster_task2", "cluster_task3", null
    ]))]
    task_type: Option<String>,
    /// Id of a fixed scenario of trust.
    #[schemars(length(max = 64))]
    scenario_id: Option<String>,
    /// Seed, also as the text of an integer; random if left out.
    #[schemars(range(min = 0, max = SEED_MAX))]
    seed: Option<u64>,
    /// Take the difficulty from the curriculum; false by default.
    adaptive: Option<bool>,
    /// cluster for the cluster.
    #[schemars(length(max = 64))]
    mode: Option<String>,
    /// Mode in which the random streams are seeded; reference by default.
    streams: Option<Streams>,
}

/// The fields of a step: a session, which the query may name as well, and an action of its world. A bad
/// action is judged by the world's rules, as in every interface.
#[derive(JsonSchema)]
#[schemars(rename = "ReferenceStep", extend("additionalProperties" = true))]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct StepFields {
    /// Id of the session.
    session_id: Option<String>,
    /// An action type of the session's world.
    action_type: Option<String>,
    /// Name of a specialist, S0 to S4.
    specialist_id: Option<String>,
    /// S0 to S4, in the cluster.
    worker_id: Option<String>,
    /// Such as JOB-004, in the cluster.
    job_id: Option<String>,
    /// Such as GPU-02, in the cluster.
    gpu_id: Option<String>,
    /// With verify, in the cluster.
    force_flag: Option<bool>,
    /// The own answer, with solve_independently.
    subtask_response: Option<String>,
    /// Reason, which is recorded and not graded.
    reasoning: Option<String>,
}

/// A request of the reference's own protocol.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct McpRequest {
    /// `reset`, `step` or `state`.
    #[schemars(extend("enum" = ["reset", "step", "state"]))]
    method: String,
    /// The fields of a reset or of a step; `session_id` for the state.
    params: Option<Map<String, Value>>,
}

/// The answer of a method.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct McpReply {
    /// The reply of the route with the name of the method.
    result: Map<String, Value>,
}

/// State of the curriculum.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct Difficulty {
    #[schemars(flatten)]
    profile: DifficultyProfile,
    /// The field of a reset that takes part in it.
    how_to_enable: String,
}

/// The reply to a reset or a step, in the form of the session's world.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(
    dead_code,
    clippy::large_enum_variant,
    reason = "only its schema is used"
)]
pub(super) enum EitherStep {
    Trust(trust::StepResult),
    Cluster(cluster::StepResult),
}

/// The state, in the form of the session's world.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(
    dead_code,
    clippy::large_enum_variant,
    reason = "only its schema is used"
)]
pub(super) enum EitherState {
    Trust(trust::StatePayload),
    Cluster(cluster::StatePayload),
}

/// The report, in the form of the session's world.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(
    dead_code,
    clippy::large_enum_variant,
    reason = "only its schema is used"
)]
pub(super) enum EitherReport {
    Trust(trust::RewardReport),
    Cluster(cluster::RewardReport),
}
