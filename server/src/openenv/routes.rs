//! The list of OpenEnv's routes, and the types of their messages.

use std::sync::Arc;

use schemars::JsonSchema;
use sentinel_env::{WorldName, cluster, polyguard, trust};
use serde_json::{Map, Value};

use super::http;
use crate::route::{Operation, Route};
use crate::state::App;
use crate::worlds::{
    ClusterAction, PolyguardAction, ResetRequest, StateFields, TrustAction, WorldObservation,
};

const TAG: &str = "openenv";
const SESSION: &str = "A session that /mcp created";

/// Returns the routes of OpenEnv.
pub(crate) fn routes() -> Vec<Route<Arc<App>>> {
    let get = |path, summary| Operation::get(path, TAG, summary);
    let post = |path, summary| Operation::post(path, TAG, summary);
    let mut routes = vec![
        get("/health", "Answers that the server runs")
            .open()
            .reply::<Health>("The server runs")
            .handled_by(http::health),
        get("/metadata", "Describes the environment")
            .reply::<Metadata>("Name, description, version, worlds, and the fields of a reset")
            .handled_by(http::metadata),
        get("/schema", "Returns the JSON schemas of a world")
            .query::<WorldName>("world", "Name of a world; the server's own if left out")
            .reply::<SchemaReply>("The schemas of the world")
            .fails(404, "There is no such world")
            .handled_by(http::schema),
        post("/reset", "Starts an episode and answers with its first observation")
            .optional_body::<ResetBody>()
            .reply::<EpisodeReply>("The first observation")
            .fails(400, "A name does not exist")
            .fails(404, "There is no such session")
            .fails(422, "A field has a wrong type")
            .handled_by(http::reset),
        post(
            "/step",
            "Takes one step: in the session that the body names, else in a new episode of its reset fields",
        )
        .body::<StepBody>()
        .reply::<EpisodeReply>("The observation after the step")
        .fails(400, "The environment refuses: the action, a name, or an episode that has ended")
        .fails(404, "There is no such session")
        .fails(422, "The body does not have the form of a step")
        .handled_by(http::step),
        get("/state", "Returns the state of a session, or that of a new environment")
            .query::<String>("session_id", SESSION)
            .reply::<StateFields>("The state")
            .fails(404, "There is no such session")
            .handled_by(http::state),
        post("/mcp", "Answers a JSON-RPC request: sessions, and that there are no tools")
            .body::<RpcRequest>()
            .reply::<RpcResponse>("The JSON-RPC response, also for errors")
            .handled_by(http::mcp),
        get("/mcp", "Opens a JSON-RPC connection over a WebSocket")
            .websocket("A WebSocket, each message of which is a JSON-RPC request")
            .handled_by(http::mcp_ws),
        get("/ws", "Opens a session over a WebSocket")
            .query::<String>("session_id", SESSION)
            .websocket("A WebSocket with the messages reset, step, state, mcp, act and close")
            .handled_by(http::ws),
        get("/list_environments", "Lists the names of the environments")
            .reply::<Vec<String>>("The names")
            .handled_by(http::list_environments),
        get("/metrics", "Returns the metrics of the server")
            .text(http::METRICS_TYPE, "Sessions, resets, steps, errors and requests, for Prometheus")
            .handled_by(http::metrics),
    ];
    routes.extend(task_routes());
    routes
}

/// Returns the routes of the task interface, which this environment does not have. Each is named, so
/// that they take no other path with two parts from the page.
fn task_routes() -> [Route<Arc<App>>; 5] {
    let none = |operation: Operation| {
        operation
            .fails(404, "There is no such environment")
            .fails(501, "The environment has no tasks")
    };
    let post = |path, method| {
        none(Operation::post(
            path,
            TAG,
            "Not supported: the environment has no tasks",
        ))
        .handled_by(move |name| async move { http::no_tasks(name, method) })
    };
    [
        none(Operation::get(
            "/{name}/splits",
            TAG,
            "Not supported: the environment has no tasks",
        ))
        .handled_by(|name| async { http::no_tasks(name, "list_splits") }),
        post("/{name}/tasks", "list_tasks"),
        post("/{name}/num_tasks", "num_tasks"),
        post("/{name}/task", "get_task"),
        post("/{name}/task_range", "get_task_range"),
    ]
}

/// The answer of a server that runs.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Health {
    #[schemars(extend("const" = "healthy"))]
    status: String,
}

/// The description of the environment.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Metadata {
    name: String,
    /// Description of the server's own world.
    description: String,
    /// Description of all worlds, in Markdown.
    readme_content: String,
    version: String,
    author: Option<String>,
    documentation_url: Option<String>,
    /// The world of resets that name none.
    world: WorldName,
    worlds: Vec<WorldName>,
    /// JSON schema of the fields of a reset.
    reset: Map<String, Value>,
}

/// The JSON schemas of a world.
#[derive(JsonSchema)]
#[schemars(rename = "Schemas")]
#[allow(dead_code, reason = "only its schema is used")]
struct SchemaReply {
    /// Schema of an action. It is open: the rules of the world judge an action that does not fit.
    action: Map<String, Value>,
    /// Schema of an observation, with its reward.
    observation: Map<String, Value>,
    /// Schema of the state.
    state: Map<String, Value>,
    /// Schema of the first observation of an episode.
    reset_observation: Map<String, Value>,
}

/// The body of a reset.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct ResetBody {
    /// The session to play in, one that /mcp created; a new episode if left out.
    session_id: Option<String>,
    #[schemars(flatten)]
    reset: ResetRequest,
}

/// The body of a step.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct StepBody {
    /// The action of the world.
    action: AnyAction,
    /// Accepted, and ignored so far.
    #[schemars(extend("exclusiveMinimum" = 0))]
    timeout_s: Option<f64>,
    /// Accepted, and ignored so far.
    #[schemars(length(max = 255))]
    request_id: Option<String>,
    /// The session to play in, one that /mcp created; a new episode if left out.
    session_id: Option<String>,
    #[schemars(flatten)]
    reset: ResetRequest,
}

/// An action of the episode's world.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum AnyAction {
    Trust(TrustAction),
    Cluster(ClusterAction),
    Polyguard(PolyguardAction),
    /// Any other object: the rules of the world judge it.
    Other(Map<String, Value>),
}

/// The answer to a reset or a step.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct EpisodeReply {
    observation: AnyObservation,
    /// Reward of the action; null after a reset.
    #[schemars(range(min = 0, max = 1))]
    reward: Option<f64>,
    /// True once the episode has ended.
    done: bool,
    /// The metadata of the observation, or null if there are none.
    metadata: Option<Map<String, Value>>,
}

/// An observation of the episode's world.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(
    dead_code,
    clippy::large_enum_variant,
    reason = "only its schema is used"
)]
enum AnyObservation {
    Trust(WorldObservation<trust::ObservationPayload>),
    Cluster(WorldObservation<cluster::ObservationPayload>),
    Polyguard(WorldObservation<polyguard::ObservationPayload>),
}

/// A JSON-RPC 2.0 request.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct RpcRequest {
    #[schemars(extend("const" = "2.0"))]
    jsonrpc: String,
    id: Option<RpcId>,
    /// Name of the method, such as `openenv/session/create`.
    method: String,
    /// `session_id`, where the method needs one.
    params: Option<Map<String, Value>>,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[allow(dead_code, reason = "only its schema is used")]
enum RpcId {
    Number(f64),
    Text(String),
}

/// A JSON-RPC 2.0 response.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct RpcResponse {
    #[schemars(extend("const" = "2.0"))]
    jsonrpc: String,
    id: Option<RpcId>,
    #[schemars(with = "Map<String, Value>", skip_serializing_if = "Option::is_none")]
    result: Option<Map<String, Value>>,
    #[schemars(with = "RpcError", skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

/// The error of a JSON-RPC response.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct RpcError {
    code: i32,
    message: String,
    data: Option<Map<String, Value>>,
}
