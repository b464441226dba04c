//! The reference's API under `/sentinel/`: sessions by id, reports, streams, and hidden state.

use serde_json::{Value, json};

use super::client::TestServer;

async fn reset(server: &TestServer, body: Value) -> Value {
    let (status, reply) = server
        .request("POST", "/sentinel/reset", Some(&body.to_string()))
        .await;
    assert_eq!(status, 200, "{reply}");
    reply
}

async fn step(server: &TestServer, body: &Value) -> (u16, Value) {
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
        (json!({"session_id": id}), 422),
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
async fn cluster_hides_the_workers_until_the_end() {
    for reveal in [false, true] {
        let server = TestServer::with(|options, _| options.reveal_hidden = reveal, None).await;
        let reply = reset(&server, json!({"task_type": "cluster_task1", "seed": 4})).await;
        let id = reply["observation"]["session_id"]
            .as_str()
            .expect("an id")
            .to_owned();
        assert_eq!(reply.to_string().contains("scenario_signature"), reveal);
        let (_, state) = server
            .request("GET", &format!("/sentinel/state?session_id={id}"), None)
            .await;
        assert_eq!(state.get("worker_profile_hidden").is_some(), reveal);
        let coverage = format!("/sentinel/cluster/ai-failure-coverage?session_id={id}");
        assert_eq!(
            server.request("GET", &coverage, None).await.0,
            if reveal { 200 } else { 409 }
        );
        for path in ["gpus", "jobs", "workers", "audit", "state"] {
            let path = format!("/sentinel/cluster/{path}?session_id={id}");
            let (status, view) = server.request("GET", &path, None).await;
            assert_eq!(status, 200, "{path}: {view}");
            assert_eq!(
                view.to_string().contains("worker_profile_hidden"),
                reveal && path.contains("state")
            );
        }
        let hidden = format!("/sentinel/cluster/gpus?session_id={id}&include_hidden=true");
        assert_eq!(server.request("GET", &hidden, None).await.0, 403);
        let tick = json!({"session_id": id, "action_type": "tick"});
        let mut last = step(&server, &tick).await.1;
        while last["done"] == false {
            assert_eq!(last.to_string().contains("scenario_signature"), reveal);
            last = step(&server, &tick).await.1;
        }
        assert!(last["info"]["reward_report"].is_object());
    }
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
