//! The WebSocket protocol: order, errors, sessions, and what an agent must not see.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use futures_util::SinkExt as _;

use super::client::TestServer;

const DELEGATE: &str = r#"{"action_type": "delegate", "specialist_id": "S1"}"#;

fn delegate() -> Value {
    serde_json::from_str(DELEGATE).expect("JSON")
}

#[tokio::test]
async fn step_before_reset_is_an_execution_error() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    let reply = client
        .ask(&json!({"type": "step", "data": delegate()}))
        .await;
    assert_eq!(reply["data"]["code"], "EXECUTION_ERROR", "{reply}");
    assert_eq!(client.state().await["step_count"], 0);
    client.reset(json!({"seed": 1})).await;
    assert_eq!(client.step(delegate()).await["done"], false);
}

#[tokio::test]
async fn every_frame_has_one_reply_in_order() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    // All are sent before the first reply is read.
    for index in 0..40 {
        let id = format!("episode-{index}");
        client
            .send_text(
                json!({"type": "reset", "data": {"seed": index, "episode_id": id}}).to_string(),
            )
            .await;
        client.send_text(json!({"type": "state"}).to_string()).await;
        client.send_text("{not json").await;
    }
    for index in 0..40 {
        assert_eq!(client.receive().await["type"], "observation");
        let state = client.receive().await;
        assert_eq!(state["data"]["episode_id"], format!("episode-{index}"));
        assert_eq!(state["data"]["seed"], index);
        assert_eq!(client.receive().await["data"]["code"], "INVALID_JSON");
    }
}

#[tokio::test]
async fn refused_messages_change_nothing() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    client.reset(json!({"seed": 7})).await;
    client.step(delegate()).await;
    let before = client.state().await;
    let refused = [
        (
            json!({"type": "step", "data": {"definitely_not_a_field": 1}}),
            "VALIDATION_ERROR",
        ),
        (
            json!({"type": "step", "data": {"action_type": "delegate", "specialist_id": "S9"}}),
            "VALIDATION_ERROR",
        ),
        (
            json!({"type": "step", "data": {"action_type": 3}}),
            "VALIDATION_ERROR",
        ),
        (
            json!({"type": "step", "data": {"action_type": "delegate"}}),
            "VALIDATION_ERROR",
        ),
        (
            json!({"type": "step", "data": {"action_type": "skip", "session_id": "another"}}),
            "EXECUTION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"world": "nowhere"}}),
            "EXECUTION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"task": "task9"}}),
            "EXECUTION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"task": 9}}),
            "EXECUTION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"world": "polyguard", "task": 3}}),
            "EXECUTION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"task": 1.5}}),
            "VALIDATION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"rules": "none"}}),
            "EXECUTION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"streams": "none"}}),
            "EXECUTION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"seed": -1}}),
            "VALIDATION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"seed": 1.5}}),
            "VALIDATION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"seed": u64::MAX}}),
            "VALIDATION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"world": 3}}),
            "VALIDATION_ERROR",
        ),
        (
            json!({"type": "reset", "data": {"episode_id": "x".repeat(256)}}),
            "VALIDATION_ERROR",
        ),
        (json!({"type": "act"}), "UNKNOWN_TYPE"),
    ];
    for (message, code) in refused {
        let reply = client.ask(&message).await;
        assert_eq!(reply["data"]["code"], code, "{message} gave {reply}");
        assert_eq!(client.state().await, before, "{message}");
    }
}

#[tokio::test]
async fn tasks_are_named_by_their_number_too() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    client.reset(json!({"task": 2, "seed": 1})).await;
    assert_eq!(client.state().await["task"], "task2");
}

#[tokio::test]
async fn step_after_the_end_is_an_execution_error() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    client.reset(json!({"task": "task1", "seed": 5})).await;
    let skip = json!({"action_type": "skip"});
    let mut last = client.step(skip.clone()).await;
    while last["done"] == false {
        last = client.step(skip.clone()).await;
    }
    assert!(last["metadata"]["score"].is_number() && last["metadata"]["digest"].is_string());
    let reply = client.ask(&json!({"type": "step", "data": skip})).await;
    assert_eq!(reply["data"]["code"], "EXECUTION_ERROR", "{reply}");
    let state = client.state().await;
    assert_eq!(state["score"], last["metadata"]["score"]);
    assert_eq!(state["digest"], last["metadata"]["digest"]);
}

#[tokio::test]
async fn score_rewards_sum_to_the_score() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    let first = client
        .reset(json!({"task": "task1", "seed": 9, "reward": "score"}))
        .await;
    assert_eq!(first["metadata"]["reward_sum_is_score"], true);
    let mut sum = 0.0;
    let score = loop {
        let reply = client.step(delegate()).await;
        sum += reply["reward"].as_f64().expect("a number");
        if reply["done"] == true {
            break reply["metadata"]["score"].as_f64().expect("a number");
        }
    };
    assert_eq!(sum, score);
    assert!(score > 0.0);
}

#[tokio::test]
async fn resets_without_a_seed_use_training_seeds() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    let mut seeds = std::collections::BTreeSet::new();
    for _ in 0..20 {
        client.reset(json!({})).await;
        let seed = client.state().await["seed"].as_u64().expect("a seed");
        assert!((100_000..600_000).contains(&seed), "{seed}");
        seeds.insert(seed);
    }
    assert!(seeds.len() > 10, "{seeds:?}");
}

#[tokio::test]
async fn reset_publishes_budgets_and_ignored_fields() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    let reply = client.reset(json!({"seed": "12", "tsk": "task1"})).await;
    let metadata = &reply["metadata"];
    assert_eq!(metadata["ignored"], json!(["tsk"]));
    assert_eq!(metadata["budgets"]["idle_timeout_s"], 1800.0);
    assert_eq!(metadata["budgets"]["max_message_bytes"], 262_144);
    assert!(
        metadata["max_steps"]
            .as_u64()
            .is_some_and(|steps| steps > 0)
    );
    assert_eq!(metadata, &reply["observation"]["metadata"]);
    assert_eq!(reply["reward"], Value::Null);
    assert_eq!(client.state().await["seed"], 12);
}

/// Observations must not tell hidden state, and ids and seeds are hidden state in other words.
#[tokio::test]
async fn observations_hold_no_hidden_state() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    for world in ["trust", "cluster", "polyguard"] {
        let reply = client.reset(json!({"world": world, "seed": 123_457})).await;
        let state = client.state().await;
        let text = reply.to_string();
        for hidden in [
            "scenario_signature",
            "worker_profile_hidden",
            "ai_failure_coverage",
            "session_id",
            "123457",
        ] {
            assert!(!text.contains(hidden), "{world} tells {hidden}");
        }
        let id = state["episode_id"].as_str().expect("an id");
        assert!(!text.contains(id), "{world} tells the id of the episode");
        assert!(
            reply["observation"]["prompt"]
                .as_str()
                .is_some_and(|prompt| prompt.len() > 100)
        );
        let bare = client
            .reset(json!({"world": world, "seed": 1, "prompt": "none"}))
            .await;
        assert!(bare["observation"].get("prompt").is_none());
    }
}

#[tokio::test]
async fn equal_resets_give_equal_observations() {
    let server = TestServer::start().await;
    let (mut one, mut two) = (server.connect("/ws").await, server.connect("/ws").await);
    for world in ["trust", "cluster", "polyguard"] {
        let a = one
            .reset(json!({"world": world, "seed": 3, "episode_id": "a"}))
            .await;
        let b = two
            .reset(json!({"world": world, "seed": 3, "episode_id": "b"}))
            .await;
        assert_eq!(a, b);
    }
}

#[tokio::test]
async fn capacity_is_refused_and_freed() {
    let server = TestServer::with(|_, limits| limits.max_sessions = 2, None).await;
    let mut first = server.connect("/ws").await;
    let second = server.connect("/ws").await;
    first.reset(json!({})).await;
    server.wait_for_sessions(2).await;
    let mut third = server.connect("/ws").await;
    let reply = third.receive().await;
    assert_eq!(reply["data"]["code"], "CAPACITY_REACHED");
    assert_eq!(
        (
            &reply["data"]["active_sessions"],
            &reply["data"]["max_sessions"]
        ),
        (&json!(2), &json!(2))
    );
    assert_eq!(third.close_code().await, Some(1000));
    drop(second);
    server.wait_for_sessions(1).await;
    let mut fourth = server.connect("/ws").await;
    fourth.reset(json!({})).await;
    // A close frees the place at once.
    fourth.send_text(r#"{"type": "close"}"#).await;
    assert_eq!(fourth.close_code().await, Some(1000));
    server.wait_for_sessions(1).await;
}

#[tokio::test]
async fn malformed_frames_end_or_keep_the_session() {
    let server = TestServer::with(|_, limits| limits.max_message = 2048, None).await;
    let mut client = server.connect("/ws").await;
    for text in ["", "null", "\"x\"", "3", "[]"] {
        let mut other = server.connect("/ws").await;
        other.send_text(text).await;
        let reply = other.receive().await;
        let expected = if text.is_empty() {
            "INVALID_JSON"
        } else {
            "SESSION_ERROR"
        };
        assert_eq!(reply["data"]["code"], expected, "{text}");
        if !text.is_empty() {
            assert_eq!(other.close_code().await, Some(1000), "{text}");
        }
    }
    let deep = "[".repeat(1000);
    let reply = client.ask_text(&deep).await;
    assert_eq!(reply["data"]["code"], "INVALID_JSON");
    client.reset(json!({})).await;

    let mut binary = server.connect("/ws").await;
    binary
        .0
        .send(Message::binary(vec![0_u8; 8]))
        .await
        .expect("sends");
    assert_eq!(binary.receive().await["data"]["code"], "SESSION_ERROR");
    assert_eq!(binary.close_code().await, Some(1003));

    let mut large = server.connect("/ws").await;
    let text = json!({"type": "reset", "data": {"x": "y".repeat(4096)}}).to_string();
    large.send_text(text).await;
    assert_eq!(large.receive().await["data"]["code"], "SESSION_ERROR");
    assert_eq!(large.close_code().await, Some(1009));
    server.wait_for_sessions(1).await;
}

#[tokio::test]
async fn session_of_mcp_is_attached_once_and_outlives_the_socket() {
    let server = TestServer::start().await;
    let create = r#"{"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create", "params": {}}"#;
    let (_, created) = server.request("POST", "/mcp", Some(create)).await;
    let id = created["result"]["session_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let path = format!("/ws?session_id={id}");
    let mut client = server.connect(&path).await;
    client.reset(json!({"episode_id": "kept"})).await;
    let mut second = server.connect(&path).await;
    assert_eq!(second.receive().await["data"]["code"], "SESSION_ERROR");
    drop(client);
    // The detachment is noticed by the server, not by this client.
    let mut again = loop {
        let mut again = server.connect(&path).await;
        let reply = again.ask(&json!({"type": "state"})).await;
        if reply["type"] == "state" {
            assert_eq!(reply["data"]["episode_id"], "kept");
            break again;
        }
    };
    // HTTP requests may name it too.
    let body = json!({"action": delegate(), "session_id": id}).to_string();
    let (status, _) = server.request("POST", "/step", Some(&body)).await;
    assert_eq!(status, 200);
    assert_eq!(again.state().await["step_count"], 1);
    let close = json!({"jsonrpc": "2.0", "id": 2, "method": "openenv/session/close", "params": {"session_id": id}});
    let (_, closing) = server
        .request("POST", "/mcp", Some(&close.to_string()))
        .await;
    assert_eq!(
        closing["result"],
        json!({"session_id": id, "closed": false, "closing": true})
    );
    drop(again);
    server.wait_for_sessions(0).await;
    let (_, closed) = server
        .request("POST", "/mcp", Some(&close.to_string()))
        .await;
    assert_eq!(closed["error"]["code"], -32602);
}

impl super::client::Client {
    async fn ask_text(&mut self, text: &str) -> Value {
        self.send_text(text).await;
        self.receive().await
    }
}
