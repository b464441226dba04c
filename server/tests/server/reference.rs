//! The reference's API under `/sentinel/`: sessions by id, reports, streams, and documents.

use serde_json::{Value, json};

use super::client::TestServer;

pub(crate) async fn reset(server: &TestServer, body: Value) -> Value {
    let (status, reply) = server
        .request("POST", "/sentinel/reset", Some(&body.to_string()))
        .await;
    assert_eq!(status, 200, "{reply}");
    reply
}

pub(crate) async fn step(server: &TestServer, body: &Value) -> (u16, Value) {
    server
        .request("POST", "/sentinel/step", Some(&body.to_string()))
        .await
}

#[tokio::test]
async fn episode_is_played_by_session_id() {
    let server = TestServer::start().await;
    let first = reset(&server, json!({"task_type": "task1", "seed": "7"})).await;
    let second = reset(&server, json!({"task_type": "task1", "seed": 7})).await;
    let id = first["observation"]["session_id"].clone();
    assert_ne!(
        id, second["observation"]["session_id"],
        "sessions of equal seeds are two"
    );
    for field in ["mission", "orchestrator_prompt", "environment_mode"] {
        assert!(first["info"].get(field).is_some(), "{field}");
    }
    let text = id.as_str().expect("an id");
    let path = format!("/sentinel/reward-report?session_id={text}");
    assert_eq!(
        server.request("GET", &path, None).await.0,
        409,
        "the report holds hidden state"
    );
    let action = json!({"session_id": id, "action_type": "delegate", "specialist_id": "S2"});
    let mut last = first;
    while last["done"] == false {
        let (status, reply) = step(&server, &action).await;
        assert_eq!(status, 200, "{reply}");
        last = reply;
    }
    assert!(last["info"]["reward_report"].is_object());
    assert_eq!(step(&server, &action).await.0, 400, "the episode has ended");
    let (status, report) = server.request("GET", &path, None).await;
    assert_eq!((status, &report["score"]), (200, &last["info"]["score"]));
    let (_, state) = server
        .request("GET", &format!("/sentinel/state?session_id={text}"), None)
        .await;
    assert_eq!(state["done"], true);
}

#[tokio::test]
async fn wrong_requests_are_refused_with_words() {
    let server = TestServer::start().await;
    let id = reset(&server, json!({"seed": 1})).await["observation"]["session_id"].clone();
    let unknown = json!({"session_id": "nobody", "action_type": "skip"});
    let cases = [
        (unknown, 404),
        (json!({"action_type": "skip"}), 422),
        (json!({"session_id": id}), 400),
        (json!({"session_id": id, "action_type": 3}), 422),
        (json!({"session_id": 3, "action_type": "skip"}), 422),
        (json!({"session_id": id, "action_type": "dance"}), 400),
        (json!({"session_id": id, "action_type": "delegate"}), 400),
        (
            json!({"session_id": id, "action_type": "delegate", "specialist_id": "S9"}),
            400,
        ),
    ];
    for (body, expected) in cases {
        let (status, reply) = step(&server, &body).await;
        assert_eq!(status, expected, "{body}: {reply}");
        assert!(
            reply["detail"].is_string() || reply["detail"].is_array(),
            "{reply}"
        );
    }
    for (body, expected) in [
        (json!({"task_type": "task9"}), 400),
        (json!({"scenario_id": "none"}), 400),
        (json!({"seed": 1.5}), 422),
        (json!({"seed": "abc"}), 422),
        (json!({"seed": -1}), 422),
        (json!({"seed": 1.0, "other": 3}), 200),
    ] {
        let (status, reply) = server
            .request("POST", "/sentinel/reset", Some(&body.to_string()))
            .await;
        assert_eq!(status, expected, "{body}: {reply}");
    }
    for path in [
        "/sentinel/state",
        "/sentinel/reward-report",
        "/sentinel/cluster/gpus",
    ] {
        assert_eq!(server.request("GET", path, None).await.0, 422, "{path}");
        let unknown = format!("{path}?session_id=nobody");
        assert_eq!(server.request("GET", &unknown, None).await.0, 404, "{path}");
    }
    let text = id.as_str().expect("an id");
    let path = format!("/sentinel/cluster/gpus?session_id={text}");
    assert_eq!(
        server.request("GET", &path, None).await.0,
        400,
        "a session of trust"
    );
}

#[tokio::test]
async fn stream_ends_after_the_last_snapshot() {
    let server = TestServer::start().await;
    let (_, text) = server
        .request_text("GET", "/sentinel/stream?session_id=nobody", None, None)
        .await;
    assert_eq!(
        text.trim(),
        "event: close\ndata: {\"reason\":\"session_not_found\"}"
    );
    let reply = reset(&server, json!({"task_type": "task1", "seed": 2})).await;
    let id = reply["observation"]["session_id"].clone();
    loop {
        let action = json!({"session_id": id, "action_type": "skip"});
        if step(&server, &action).await.1["done"] == true {
            break;
        }
    }
    let path = format!(
        "/sentinel/stream?session_id={}",
        id.as_str().expect("an id")
    );
    let (status, text) = server.request_text("GET", &path, None, None).await;
    let data = text.trim().strip_prefix("data: ").expect("one event");
    let snapshot: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!((status, &snapshot["done"]), (200, &json!(true)));
}

#[tokio::test]
async fn documents_are_answered() {
    let server = TestServer::start().await;
    for path in [
        "health",
        "api",
        "problem",
        "mission",
        "metadata",
        "tasks",
        "schema",
        "grader",
        "difficulty",
        "cluster",
        "cluster/metadata",
        "cluster/tasks",
    ] {
        let (status, body) = server
            .request("GET", &format!("/sentinel/{path}"), None)
            .await;
        assert!(status == 200 && body.is_object(), "{path}: {status} {body}");
    }
    let (status, _) = server
        .request("GET", "/sentinel/mission?task_type=task9", None)
        .await;
    assert_eq!(status, 422);
    let mcp = json!({"method": "reset", "params": {"seed": 3}}).to_string();
    let (status, body) = server.request("POST", "/sentinel/mcp", Some(&mcp)).await;
    assert_eq!(
        (status, body["result"]["done"].clone()),
        (200, json!(false))
    );
    for (body, expected) in [
        (json!({"method": "nope"}), 400),
        (json!({"method": "step"}), 400),
        (
            json!({"method": "state", "params": {"session_id": "nobody"}}),
            404,
        ),
    ] {
        assert_eq!(
            server
                .request("POST", "/sentinel/mcp", Some(&body.to_string()))
                .await
                .0,
            expected
        );
    }
}

#[tokio::test]
async fn oldest_sessions_make_room() {
    let server = TestServer::start().await;
    let first = reset(&server, json!({"seed": 0})).await["observation"]["session_id"].clone();
    for seed in 1..=256 {
        reset(&server, json!({"seed": seed})).await;
    }
    let path = format!(
        "/sentinel/state?session_id={}",
        first.as_str().expect("an id")
    );
    assert_eq!(server.request("GET", &path, None).await.0, 404);
    let (_, health) = server.request("GET", "/sentinel/health", None).await;
    assert_eq!(health["session_store"]["active_sessions"], 256);
}

#[tokio::test]
async fn documents_have_the_fields_of_the_reference() {
    let server = TestServer::start().await;
    let fields = |body: &Value| -> Vec<String> {
        body.as_object()
            .into_iter()
            .flat_map(|body| body.keys().cloned())
            .collect()
    };
    for (path, expected) in [
        (
            "metadata",
            "tasks scenarios observation_features real_world_bridge cluster_mode",
        ),
        (
            "difficulty",
            "adversarial_threshold high_stakes_ratio how_to_enable",
        ),
        ("cluster", "name summary session_lifecycle routes"),
        (
            "cluster/metadata",
            "tasks action_types workers scoring terminal controller",
        ),
        ("cluster/tasks", "task1 task2 task3"),
        ("health", "status environment version session_store"),
    ] {
        let (_, body) = server
            .request("GET", &format!("/sentinel/{path}"), None)
            .await;
        let found = fields(&body);
        for field in expected.split(' ') {
            assert!(
                found.iter().any(|name| name == field),
                "{path} has no {field}: {body}"
            );
        }
    }
    let (_, metadata) = server.request("GET", "/sentinel/metadata", None).await;
    assert_eq!(metadata["scenarios"]["total"], 120);
    assert_eq!(metadata["scenarios"]["task2"], 40);
    assert_eq!(metadata["scenarios"]["subtasks_per_task"]["task3"], 20);
    assert_eq!(fields(&metadata["tasks"]).len(), 6);
    let (_, tasks) = server.request("GET", "/sentinel/cluster/tasks", None).await;
    let expected = json!({"jobs": 20, "gpus": 12, "max_steps": 60, "failure_probability": 0.02});
    for field in fields(&expected) {
        assert_eq!(tasks["task2"][&field], expected[&field], "{field}");
    }
}

#[tokio::test]
async fn listed_routes_exist() {
    let server = TestServer::start().await;
    let (_, index) = server.request("GET", "/sentinel/api", None).await;
    for route in index["routes"].as_array().expect("a list") {
        let (method, path) = route
            .as_str()
            .and_then(|text| text.split_once(' '))
            .expect("two words");
        let (status, body) = server
            .request(method, path, (method == "POST").then_some("{}"))
            .await;
        assert!(![404, 405].contains(&status), "{route}: {status} {body}");
    }
}
