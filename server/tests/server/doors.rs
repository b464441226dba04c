//! An action means the same through every interface: hostile messages are sent over real sockets, byte
//! by byte as they are written in `testdata/messages.jsonl`, and compared with the native session and
//! with what the specification says of them.

use sentinel_env::num::round_to;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::protocol::{MessageError, Protocol, Session};
use sentinel_env::{EpisodeNames, EpisodeSpec, WorldName, in_world};
use sentinel_server::policy::ServedPolicy;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, TestServer};

const SEED: u64 = 7;
/// The reward of a refused step and of an exploit (spec polyguard §8).
const LEAST: f64 = 0.001;

/// The verdict of the specification on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Then {
    /// It is an error, and nothing changes.
    Refused,
    /// It is a step, and the episode goes on.
    Step,
    /// It ends the episode with the least reward.
    Exploit,
}

/// A row of `testdata/messages.jsonl`.
#[derive(Debug, Deserialize)]
struct Row {
    world: WorldName,
    message: String,
    then: Then,
}

/// The effect of a message on the first step of an episode.
#[derive(Clone, Debug, PartialEq)]
enum Effect {
    Refused,
    Step { reward: f64, done: bool },
}

impl Effect {
    fn from_reply(status: u16, reply: &Value) -> Self {
        match status {
            200 => Self::Step {
                reward: reply["reward"].as_f64().expect("a reward"),
                done: reply["done"] == true,
            },
            400 | 422 => Self::Refused,
            _ => panic!("status {status}: {reply}"),
        }
    }

    fn fits(&self, then: Then) -> bool {
        match (self, then) {
            (Self::Refused, Then::Refused) | (Self::Step { done: false, .. }, Then::Step) => true,
            (Self::Step { reward, done: true }, Then::Exploit) => *reward == LEAST,
            _ => false,
        }
    }
}

fn rows(world: WorldName) -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/messages.jsonl");
    let text = std::fs::read_to_string(path).expect("the file");
    let rows = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"));
    rows.filter(|row: &Row| row.world == world).collect()
}

/// The names of the episode in which messages are sent.
#[derive(Clone, Copy)]
struct Names {
    task: &'static str,
    rules: &'static str,
}

const fn names(world: WorldName) -> Names {
    match world {
        WorldName::Polyguard => Names {
            task: "DDI-medium",
            rules: "hardened",
        },
        // The reference's API has no other rules.
        WorldName::Trust | WorldName::Cluster => Names {
            task: "task1",
            rules: "reference",
        },
    }
}

fn native_session<W: Protocol>(names: Names) -> Session<W> {
    let episode = EpisodeNames {
        task: Some(names.task),
        streams: Some("independent"),
        rules: Some(names.rules),
    };
    let spec = EpisodeSpec::<W>::from_names(episode, SEED).expect("the names exist");
    Session::new(&spec.setup())
}

/// Sends a message to a native session. Returns its effect and the digest of the episode after it.
fn natively<W: Protocol>(names: Names, message: &str) -> (Effect, String) {
    let mut session = native_session::<W>(names);
    let effect = match session.apply_json(message, &mut W::Curriculum::default()) {
        Err(_) => Effect::Refused,
        Ok(transition) => Effect::Step {
            reward: round_to(transition.reward, 4),
            done: transition.is_last(),
        },
    };
    (effect, session.digest().digest().to_string())
}

/// The fields of a reset, as the beginning of a JSON object.
fn reset_fields(world: WorldName) -> String {
    let Names { task, rules } = names(world);
    let fields = json!({"world": world.name(), "task": task, "rules": rules, "seed": SEED,
                        "streams": "independent"});
    fields.to_string().trim_end_matches('}').to_owned()
}

/// Sends a message with `POST /step`, in an episode of its own.
async fn over_http(server: &TestServer, world: WorldName, message: &str) -> Effect {
    let body = format!("{},\"action\":{message}}}", reset_fields(world));
    let (status, reply) = server.request("POST", "/step", Some(&body)).await;
    Effect::from_reply(status, &reply)
}

/// Sends a message with `POST /step` in a session. Returns also the digest of the episode after it.
async fn in_session(
    server: &TestServer,
    id: &str,
    world: WorldName,
    message: &str,
) -> (Effect, String) {
    let body = format!("{},\"session_id\":{id}}}", reset_fields(world));
    let (status, reply) = server.request("POST", "/reset", Some(&body)).await;
    assert_eq!(status, 200, "{reply}");
    let body = format!("{{\"session_id\":{id},\"action\":{message}}}");
    let (status, reply) = server.request("POST", "/step", Some(&body)).await;
    let path = format!("/state?session_id={}", id.trim_matches('"'));
    let (_, state) = server.request("GET", &path, None).await;
    let digest = state["digest"].as_str().expect("a digest").to_owned();
    (Effect::from_reply(status, &reply), digest)
}

/// Sends a message as a frame. Returns also the digest of the episode after it.
async fn over_websocket(client: &mut Client, world: WorldName, message: &str) -> (Effect, String) {
    let reset = format!(r#"{{"type":"reset","data":{}}}}}"#, reset_fields(world));
    client.send_text(reset).await;
    assert_eq!(client.receive().await["type"], "observation");
    let frame = format!(r#"{{"type":"step","data":{message}}}"#);
    client.send_text(frame).await;
    let reply = client.receive().await;
    let effect = match reply["type"].as_str() {
        Some("observation") => Effect::from_reply(200, &reply["data"]),
        Some("error") => Effect::Refused,
        _ => panic!("{reply}"),
    };
    let state = client.state().await;
    (
        effect,
        state["digest"].as_str().expect("a digest").to_owned(),
    )
}

/// Sends a message as the only action of an episode that `/act` is asked about. Returns `true` if it is
/// refused.
async fn is_refused_by_act(server: &TestServer, world: WorldName, message: &str) -> bool {
    let episode = format!("{},\"actions\":[{message}]}}", reset_fields(world));
    let body = format!("{{\"episode\":{episode}}}");
    let (status, reply) = server.request("POST", "/act", Some(&body)).await;
    match status {
        // 409: the episode has ended.
        200 | 409 => false,
        400 | 422 => true,
        _ => panic!("status {status}: {reply}"),
    }
}

/// Starts a session of the reference's API and returns its id.
async fn reference_session(server: &TestServer, world: WorldName) -> String {
    let path = match world {
        WorldName::Cluster => "/sentinel/cluster/reset",
        _ => "/sentinel/reset",
    };
    let body = json!({"task_type": "task1", "seed": SEED, "streams": "independent"});
    let (_, reply) = server.request("POST", path, Some(&body.to_string())).await;
    reply["info"]["session_id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

/// Returns the effect of a reply of the reference's API, whose reward is an object.
fn reference_effect(status: u16, mut reply: Value) -> Effect {
    if let Some(value) = reply["reward"]["value"].as_f64() {
        reply["reward"] = round_to(value, 4).into();
    }
    Effect::from_reply(status, &reply)
}

/// Sends a message to the reference's API, which has two ways to it.
async fn over_reference(server: &TestServer, world: WorldName, message: &str) -> [Effect; 2] {
    let step = match world {
        WorldName::Cluster => "/sentinel/cluster/step",
        _ => "/sentinel/step",
    };
    let id = reference_session(server, world).await;
    let state = format!("/sentinel/state?session_id={id}");
    let before = server.request("GET", &state, None).await;
    let path = format!("{step}?session_id={id}");
    let (status, reply) = server.request("POST", &path, Some(message)).await;
    let direct = reference_effect(status, reply);
    if direct == Effect::Refused {
        assert_eq!(
            server.request("GET", &state, None).await,
            before,
            "{message}"
        );
    }
    if message.contains("session_id") {
        return [direct.clone(), direct];
    }
    // The id stands among the parameters, which are the action.
    let id = reference_session(server, world).await;
    let params = match message.trim_start_matches([' ', '\t']).strip_prefix('{') {
        Some(rest) if rest.trim_start_matches([' ', '\t']).starts_with('}') => {
            format!(r#"{{"session_id":"{id}"{rest}"#)
        }
        Some(rest) => format!(r#"{{"session_id":"{id}",{rest}"#),
        None => message.to_owned(),
    };
    let body = format!(r#"{{"method":"step","params":{params}}}"#);
    let (status, mut reply) = server.request("POST", "/sentinel/mcp", Some(&body)).await;
    if status == 200 {
        reply = reply["result"].take();
    }
    [direct, reference_effect(status, reply)]
}

async fn compare(world: WorldName) {
    let policy = match world {
        WorldName::Trust => "heuristic",
        WorldName::Cluster => "random",
        WorldName::Polyguard => "rules_only",
    };
    let policy = ServedPolicy::scripted(world, policy)
        .expect("a policy")
        .expect("public");
    let server = TestServer::with(|_, _| {}, Some(policy)).await;
    let mut client = server.connect("/ws").await;
    let create = r#"{"jsonrpc":"2.0","id":1,"method":"openenv/session/create"}"#;
    let (_, created) = server.request("POST", "/mcp", Some(create)).await;
    let id = created["result"]["session_id"].to_string();
    let mut wrong = Vec::new();
    for row in rows(world) {
        let message = row.message.as_str();
        let (effect, digest) = in_world!(world, W => natively::<W>(names(world), message));
        let mut check = |door: &str, found: &dyn std::fmt::Debug, fits: bool| {
            if !fits {
                let shown: String = message.chars().take(120).collect();
                wrong.push(format!("{door}: {found:?}, not {:?}: {shown}", row.then));
            }
        };
        check("native", &effect, effect.fits(row.then));
        let found = over_http(&server, world, message).await;
        check("POST /step", &found, found == effect);
        let found = in_session(&server, &id, world, message).await;
        check(
            "POST /step in a session",
            &found,
            found == (effect.clone(), digest.clone()),
        );
        let found = over_websocket(&mut client, world, message).await;
        check("WebSocket", &found, found == (effect.clone(), digest));
        // Two objects are two actions there.
        if !message.contains("},{\"") {
            let refused = is_refused_by_act(&server, world, message).await;
            check(
                "POST /act",
                &refused,
                refused == (effect == Effect::Refused),
            );
        }
        if world != WorldName::Polyguard {
            let found = over_reference(&server, world, message).await;
            check(
                "reference's API",
                &found,
                found.iter().all(|found| *found == effect),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn trust_actions_mean_the_same_through_every_door() {
    compare(WorldName::Trust).await;
}

#[tokio::test]
async fn cluster_actions_mean_the_same_through_every_door() {
    compare(WorldName::Cluster).await;
}

#[tokio::test]
async fn polyguard_actions_mean_the_same_through_every_door() {
    compare(WorldName::Polyguard).await;
}

/// A broken envelope is an error of the protocol: it costs nothing and changes nothing.
#[tokio::test]
async fn broken_envelopes_change_nothing() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    client
        .reset(json!({"world": "polyguard", "seed": SEED}))
        .await;
    let before = client.state().await;
    let action = r#"{"candidate_id":"cand_01","rationale":"egfr"}"#;
    for (frame, code) in [
        (
            format!(r#"{{"type":"step","data":{action},"data":{action}}}"#),
            "VALIDATION_ERROR",
        ),
        (
            format!(r#"{{"type":"step","type":"step","data":{action}}}"#),
            "VALIDATION_ERROR",
        ),
        (
            format!(r#"{{"type":"step","data":{action},"x":1}}"#),
            "VALIDATION_ERROR",
        ),
        (
            format!(r#"{{"type":"step","data":{action},"x":"\ud800"}}"#),
            "INVALID_JSON",
        ),
        (
            format!(r#"{{"type":"step","data":{action}"#),
            "INVALID_JSON",
        ),
        (
            r#"{"type":"step","data":null}"#.to_owned(),
            "VALIDATION_ERROR",
        ),
        (
            r#"{"type":"reset","data":{"seed":1,"seed":2}}"#.to_owned(),
            "VALIDATION_ERROR",
        ),
        (
            r#"{"type":"reset","data":{"x":{"y":1,"y":1}}}"#.to_owned(),
            "VALIDATION_ERROR",
        ),
    ] {
        client.send_text(frame.as_str()).await;
        let reply = client.receive().await;
        assert_eq!(reply["data"]["code"], code, "{frame}: {reply}");
        assert_eq!(client.state().await, before, "{frame}");
    }
    for body in [
        format!(r#"{{"action":{action},"action":{action}}}"#),
        format!(r#"{{"world":"polyguard","world":"trust","action":{action}}}"#),
        format!(r#"{{"world":"polyguard","action":{action}}} x"#),
        r#"{"world":"polyguard"}"#.to_owned(),
    ] {
        let (status, reply) = server.request("POST", "/step", Some(&body)).await;
        assert_eq!(status, 422, "{body}: {reply}");
    }
}

/// After the end every message is refused for that reason, also one that cannot be read.
#[tokio::test]
async fn messages_after_the_end_change_nothing() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    let world = WorldName::Polyguard;
    let exploit = r#"{"candidate_id":"cand_01","candidate_id":"cand_02","rationale":"x"}"#;
    let (effect, _) = over_websocket(&mut client, world, exploit).await;
    assert!(effect.fits(Then::Exploit), "{effect:?}");
    let before = client.state().await;
    let mut session = native_session::<PolyguardEnv>(names(world));
    session.apply_json(exploit, &mut ()).expect("a step");
    for message in [
        "{}",
        r#"{"completion":"a","completion":"b"}"#,
        r#"{"candidate_id":1e400}"#,
    ] {
        let refused = session.apply_json(message, &mut ());
        assert!(matches!(refused, Err(MessageError::Step(_))), "{refused:?}");
        client
            .send_text(format!(r#"{{"type":"step","data":{message}}}"#))
            .await;
        let reply = client.receive().await;
        assert_eq!(
            reply["data"]["code"], "EXECUTION_ERROR",
            "{message}: {reply}"
        );
        assert_eq!(client.state().await, before, "{message}");
    }
}
