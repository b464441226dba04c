//! The documents of the reference's API: what there is to play, and how it is scored.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use sentinel_env::cluster::{self, text::task_goal};
use sentinel_env::rng::Streams;
use sentinel_env::trust::mission::{Mission, PROBLEM};
use sentinel_env::trust::{self, Setup};
use sentinel_env::{Slot, Task};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Shared;
use super::episode::{Kind, max_steps, to_json};
use crate::openenv::http::unprocessable;
use crate::openenv::json_response;
use crate::state::App;
use crate::validation::FieldError;

/// The routes that `/sentinel/api` lists.
const ROUTES: [&str; 27] = [
    "GET /sentinel/health",
    "GET /sentinel/api",
    "GET /sentinel/problem",
    "GET /sentinel/mission",
    "GET /sentinel/metadata",
    "GET /sentinel/tasks",
    "GET /sentinel/schema",
    "GET /sentinel/grader",
    "POST /sentinel/reset",
    "POST /sentinel/step",
    "GET /sentinel/state",
    "GET /sentinel/reward-report",
    "GET /sentinel/difficulty",
    "POST /sentinel/difficulty/reset",
    "GET /sentinel/stream",
    "POST /sentinel/mcp",
    "GET /sentinel/cluster/tasks",
    "POST /sentinel/cluster/reset",
    "POST /sentinel/cluster/step",
    "GET /sentinel/cluster/state",
    "GET /sentinel/cluster/gpus",
    "GET /sentinel/cluster/jobs",
    "GET /sentinel/cluster/workers",
    "GET /sentinel/cluster/audit",
    "GET /sentinel/cluster/ai-failure-coverage",
    "GET /sentinel/cluster/reward-report",
    "GET /sentinel/cluster/stream",
];

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/health", get(health))
        .route("/api", get(api))
        .route("/problem", get(problem))
        .route("/mission", get(mission))
        .route("/metadata", get(metadata))
        .route("/tasks", get(tasks))
        .route("/schema", get(schema))
        .route("/grader", get(grader))
        .route("/cluster/tasks", get(cluster_tasks))
}

fn ok(body: &Value) -> Response {
    json_response(StatusCode::OK, body)
}

async fn health(State(app): Shared) -> Response {
    let store = json!({
        "backend": "single_process_memory",
        "active_sessions": app.reference.len(),
        "ttl_seconds": app.reference.idle().as_secs(),
        "max_active": app.reference.max(),
        "multi_worker_safe": false,
    });
    let version = env!("CARGO_PKG_VERSION");
    ok(
        &json!({"status": "ok", "environment": "sentinel", "version": version, "session_store": store}),
    )
}

async fn api() -> Response {
    let summary = "The HTTP API of the reference: sessions of trust and cluster";
    ok(&json!({"name": "sentinel", "status": "ok", "summary": summary, "routes": ROUTES}))
}

async fn problem() -> Response {
    ok(&to_json(&PROBLEM))
}

/// The query of a mission.
#[derive(Debug, Deserialize)]
struct MissionQuery {
    task_type: Option<String>,
}

async fn mission(Query(query): Query<MissionQuery>) -> Response {
    let name = query.task_type.unwrap_or_else(|| "task3".to_owned());
    let Some(task) = Task::parse(&name) else {
        let msg = "String should match pattern '^task[1-3]$'";
        let loc = ["query", "task_type"];
        return unprocessable(&[FieldError::new(
            "string_pattern_mismatch",
            &loc,
            msg,
            &name.into(),
        )]);
    };
    ok(&json!({
        "task_type": task,
        "mission": Mission::for_task(task),
        "how_to_use": "POST /sentinel/reset with this task_type, then POST /sentinel/step until done",
    }))
}

fn task_row(kind: Kind, task: Task) -> Value {
    let (description, mission) = match kind {
        Kind::Trust => {
            let mission = Mission::for_task(task);
            (mission.name, to_json(mission))
        }
        Kind::Cluster => (
            task_goal(task),
            json!({"name": task, "goal": task_goal(task)}),
        ),
    };
    json!({
        "difficulty": task.difficulty(),
        "description": description,
        "adversary_active": task == Task::Task3,
        "max_steps": max_steps(kind, task),
        "reward": "a number from 0 to 1 for each step",
        "mission": mission,
    })
}

async fn tasks() -> Response {
    let mut rows = Map::new();
    for task in Task::ALL {
        rows.insert(task.name().to_owned(), task_row(Kind::Trust, task));
    }
    for task in Task::ALL {
        rows.insert(format!("cluster_{task}"), task_row(Kind::Cluster, task));
    }
    ok(&Value::Object(rows))
}

async fn cluster_tasks() -> Response {
    let rows = Task::ALL
        .iter()
        .map(|task| (task.name().to_owned(), task_row(Kind::Cluster, *task)));
    ok(&Value::Object(rows.collect()))
}

async fn metadata(State(app): Shared) -> Response {
    ok(&json!({
        "name": "sentinel",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Two worlds for agent oversight: trust and cluster",
        "tasks": Task::ALL.iter().flat_map(|task| [task.name().to_owned(), format!("cluster_{task}")]).collect::<Vec<_>>(),
        "specialists": Slot::ALL,
        "action_types": trust::ActionType::ALL,
        "cluster_action_types": cluster::ActionType::ALL,
        "reward_range": [0.0, 1.0],
        "deployment_contract": {"workers": 1, "session_backend": "single_process_memory"},
        "adaptive_curriculum": {"flag": "adaptive", "default": false},
        "cluster_mode": {"how_to_enable": "task_type cluster_task1 to cluster_task3, or mode cluster", "api_root": "/sentinel/cluster"},
        "reveals_hidden_state": app.options.reveal_hidden,
    }))
}

async fn schema() -> Response {
    let text = |about: &str| json!({"type": ["string", "null"], "description": about});
    ok(&json!({
        "reset_request": {"type": "object", "properties": {
            "task_type": text("task1 to task3, or cluster_task1 to cluster_task3; task3 by default"),
            "scenario_id": text("Id of a fixed scenario of trust"),
            "seed": {"type": ["integer", "null"], "minimum": 0, "description": "Seed; random if left out"},
            "adaptive": {"type": "boolean", "default": false, "description": "Take the difficulty from the curriculum"},
            "mode": text("cluster for the cluster"),
            "streams": {"type": ["string", "null"], "enum": [Streams::Reference.name(), Streams::Independent.name(), null],
                        "description": "How the random streams are seeded; reference by default"},
        }},
        "step_request": {"type": "object", "required": ["session_id", "action_type"], "properties": {
            "session_id": {"type": "string", "description": "Id of the session"},
            "action_type": {"type": "string", "description": "An action type of the session's world"},
            "specialist_id": text("S0 to S4"),
            "worker_id": text("S0 to S4, in the cluster"),
            "job_id": text("Such as JOB-004, in the cluster"),
            "gpu_id": text("Such as GPU-02, in the cluster"),
            "force_flag": {"type": ["boolean", "null"], "description": "With verify, in the cluster"},
            "subtask_response": text("The own answer, with solve_independently"),
            "reasoning": text("Recorded, not graded"),
        }},
    }))
}

async fn grader() -> Response {
    let session = trust::Session::new(&Setup::new(Task::Task1, 0, Streams::Independent));
    ok(&to_json(&session.reward_report().formula))
}
