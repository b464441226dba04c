//! The policy of a server: `/act`, and pings while it thinks.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use sentinel_env::trust::{Action, Setup, Task, TrustEnv};
use sentinel_env::{Environment as _, Slot, WorldName, in_world, rng::Streams};
use sentinel_policy::text::PromptState;
use sentinel_policy::trust::PolicyName;
use sentinel_policy::{Playable, run_episode};
use sentinel_server::policy::{Actor, ServedPolicy};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::client::TestServer;

fn heuristic() -> ServedPolicy {
    ServedPolicy::scripted(WorldName::Trust, "heuristic")
        .expect("a policy")
        .expect("public")
}

/// An episode whose actions are those of `/act` is the episode that the policy plays natively.
#[tokio::test]
async fn act_plays_the_policy() {
    let server = TestServer::with(|_, _| {}, Some(heuristic())).await;
    let mut client = server.connect("/ws").await;
    client.reset(json!({"task": "task2", "seed": 77})).await;
    let id = client.state().await["session_id"].clone();
    let mut actions = Vec::new();
    let last = loop {
        let by_session = json!({"session_id": id}).to_string();
        let (status, answer) = server.request("POST", "/act", Some(&by_session)).await;
        assert_eq!(status, 200, "{answer}");
        let episode = json!({"episode": {"task": "task2", "seed": 77, "actions": actions}});
        let (_, described) = server
            .request("POST", "/act", Some(&episode.to_string()))
            .await;
        assert_eq!(answer, described);
        let over_ws = client.ask(&json!({"type": "act"})).await;
        assert_eq!(
            (&over_ws["type"], &over_ws["data"]),
            (&json!("action"), &answer["action"])
        );
        actions.push(answer["action"].clone());
        let reply = client.step(answer["action"].clone()).await;
        if reply["done"] == true {
            break reply;
        }
    };
    let setup = Setup::new(Task::Task2, 77, Streams::Independent);
    let run = run_episode(
        &setup,
        &mut PolicyName::Heuristic.player(77, Streams::Independent),
    );
    assert_eq!(
        last["metadata"]["digest"],
        run.digest().digest().to_string()
    );
    assert_eq!(last["metadata"]["score"], run.episode().score());
    let (status, over) = server
        .request("POST", "/act", Some(&json!({"session_id": id}).to_string()))
        .await;
    assert_eq!(status, 409, "{over}");
}

#[tokio::test]
async fn act_refuses_with_words() {
    let without = TestServer::start().await;
    let (status, body) = without.request("POST", "/act", Some("{}")).await;
    assert_eq!(status, 404);
    assert!(
        body["detail"]
            .as_str()
            .is_some_and(|words| words.contains("--policy"))
    );
    assert_eq!(
        without.request("GET", "/policy/model_status", None).await.1["policy"],
        Value::Null
    );

    let server = TestServer::with(|_, _| {}, Some(heuristic())).await;
    let status = |body: Value| {
        let server = &server;
        async move {
            server
                .request("POST", "/act", Some(&body.to_string()))
                .await
                .0
        }
    };
    assert_eq!(status(json!({})).await, 422);
    assert_eq!(status(json!({"session_id": "nobody"})).await, 404);
    assert_eq!(
        status(json!({"observation": {"session_id": "nobody"}})).await,
        404
    );
    assert_eq!(status(json!({"session_id": 3})).await, 422);
    let both = json!({"session_id": "nobody", "episode": {"seed": 1}});
    assert_eq!(status(both).await, 422);
    assert_eq!(status(json!({"episode": []})).await, 422);
    assert_eq!(status(json!({"episode": {"world": "cluster"}})).await, 409);
    assert_eq!(status(json!({"episode": {"task": "task9"}})).await, 400);
    assert_eq!(status(json!({"episode": {"actions": [3]}})).await, 422);
    assert_eq!(
        status(json!({"episode": {"actions": [{"action_type": "no"}]}})).await,
        422
    );
    let (_, model) = server.request("GET", "/policy/model_status", None).await;
    assert_eq!(
        (&model["policy"], &model["kind"]),
        (&json!("heuristic"), &json!("scripted"))
    );
}

#[test]
fn privileged_policies_are_refused() {
    for &world in WorldName::ALL {
        in_world!(world, W => {
            for policy in <W as Playable>::PolicyName::ALL {
                let served = ServedPolicy::scripted(world, policy.name()).expect("a policy");
                assert_eq!(served.is_err(), policy.is_privileged(), "{policy:?} of {world:?}");
            }
            let oracle = ServedPolicy::scripted(world, W::ROLES.oracle).expect("a policy");
            assert!(oracle.is_err(), "the oracle of {world:?}");
        });
        assert!(ServedPolicy::scripted(world, "nobody").is_none());
    }
}

/// A policy that answers once the test lets it.
struct Waits(Mutex<mpsc::Receiver<()>>);

impl Actor<TrustEnv> for Waits {
    fn act(&self, _: &PromptState<TrustEnv>) -> Result<Action, String> {
        let gate = self.0.lock().expect("no panic");
        gate.recv().map_err(|error| error.to_string())?;
        Ok(Action::Delegate(Slot::ALL[2]))
    }
}

pub(super) fn waiting() -> (mpsc::Sender<()>, ServedPolicy) {
    let (open, gate) = mpsc::channel();
    let actor = Box::new(Waits(Mutex::new(gate)));
    let policy =
        ServedPolicy::new::<TrustEnv>(WorldName::Trust, "waits", "test", Value::Null, actor);
    (open, policy)
}

#[tokio::test]
async fn pings_are_answered_while_the_policy_thinks() {
    let (open, policy) = waiting();
    let server = TestServer::with(|_, _| {}, Some(policy)).await;
    let mut client = server.connect("/ws").await;
    client.reset(json!({"seed": 1})).await;
    client.send_text(r#"{"type": "act"}"#).await;
    client.send_text(r#"{"type": "state"}"#).await;
    client
        .0
        .send(Message::Ping(b"still there?".to_vec().into()))
        .await
        .expect("sends");
    // The pong comes before the answer, which cannot come before the policy may go on.
    let next = client.0.next().await.expect("a frame").expect("a frame");
    assert_eq!(next, Message::Pong(b"still there?".to_vec().into()));
    open.send(()).expect("the policy waits");
    let action = client.receive().await;
    assert_eq!(
        action,
        json!({"type": "action", "data": {"action_type": "delegate", "specialist_id": "S2"}})
    );
    assert_eq!(
        client.receive().await["type"],
        "state",
        "replies keep their order"
    );
}

#[tokio::test]
async fn stopping_server_finishes_the_running_step() {
    let (open, policy) = waiting();
    let mut server = TestServer::with(|_, _| {}, Some(policy)).await;
    let mut client = server.connect("/ws").await;
    client.reset(json!({"seed": 1})).await;
    client.send_text(r#"{"type": "act"}"#).await;
    client
        .0
        .send(Message::Ping(Vec::new().into()))
        .await
        .expect("sends");
    let pong = client.0.next().await.expect("a frame").expect("a frame");
    assert!(pong.is_pong(), "the policy runs now");
    server.ask_to_stop();
    let stopped = Arc::new(tokio::sync::Notify::new());
    let told = Arc::clone(&stopped);
    let stopping = tokio::spawn(async move {
        let ended = server.stop().await;
        told.notify_one();
        ended
    });
    open.send(()).expect("the policy waits");
    assert_eq!(client.receive().await["type"], "action");
    assert_eq!(client.close_code().await, Some(1001));
    assert!(stopping.await.expect("no panic"));
    stopped.notified().await;
}
