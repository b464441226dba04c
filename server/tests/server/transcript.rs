//! A recorded transcript of openenv 0.10.0 (its own server around a counter), sent again: the replies
//! have the same types, codes, keys and error locations wherever they do not depend on the counter.

use serde_json::{Value, json};

use super::client::{Client, TestServer};

fn transcript() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../testdata/oracle/openenv/transcript.json"
    );
    let text = std::fs::read_to_string(path).expect("recorded data");
    serde_json::from_str(&text).expect("JSON")
}

fn keys(value: &Value) -> Vec<&str> {
    let fields = value.as_object();
    fields
        .map(|fields| fields.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// Returns type and location of each error.
fn errors(value: &Value) -> Vec<(Value, Value)> {
    let list = value.as_array().cloned().unwrap_or_default();
    list.iter()
        .map(|error| (error["type"].clone(), error["loc"].clone()))
        .collect()
}

/// Returns the action of trust that stands for an action of the counter, and `true` if it is the same
/// kind of mistake only by its code.
fn action(counter: &Value) -> (Value, bool) {
    if counter["note"] == "boom" {
        // The counter raises an exception: an action that the environment refuses.
        return (
            json!({"action_type": "skip", "session_id": "another"}),
            false,
        );
    }
    match counter["add"].as_u64() {
        Some(0..=10) if counter.get("extra").is_some() => {
            // Trust ignores unknown fields, as its specification says; a field of a wrong type is refused.
            (json!({"action_type": "skip", "reasoning": 1}), true)
        }
        Some(0..=10) => (
            json!({"action_type": "delegate", "specialist_id": "S1"}),
            false,
        ),
        Some(_) => (
            json!({"action_type": "delegate", "specialist_id": "S9"}),
            true,
        ),
        None => (json!({}), true),
    }
}

/// A recorded request, translated from the counter to trust.
struct Sent {
    method: String,
    path: String,
    body: Value,
    /// `true` if the translated action is the same kind of mistake only by its code.
    vague: bool,
}

impl Sent {
    /// Translates a recorded request, in which `session_id` stands for the recorded session; `None` for
    /// the pages of the counter's own server.
    fn from_exchange(exchange: &Value, session_id: &str) -> Option<Self> {
        let text = |key: &str| exchange[key].as_str().expect("a text").to_owned();
        let path = text("path").replace("count_env", "sentinel_env");
        if ["/docs", "/web", "/", "/openapi.json"].contains(&path.as_str()) {
            return None;
        }
        let (mut body, mut vague) = (exchange["body"].clone(), false);
        if let Some(counter) = body.get("action") {
            let (action, is_vague) = action(counter);
            (body["action"], vague) = (action, is_vague);
        }
        let named = body.pointer("/params/session_id");
        if named.is_some_and(|id| id != "unknown") {
            body["params"]["session_id"] = session_id.into();
        }
        Some(Self {
            method: text("method"),
            path,
            body,
            vague,
        })
    }

    async fn answer(&self, server: &TestServer) -> (u16, Value) {
        let text = match &self.body {
            Value::Null => None,
            Value::String(raw) => Some(raw.clone()),
            other => Some(other.to_string()),
        };
        let (method, path) = (self.method.as_str(), self.path.as_str());
        server.request(method, path, text.as_deref()).await
    }

    /// Compares an answer with the recorded exchange.
    fn compare(&self, (status, answer): (u16, &Value), exchange: &Value) {
        let (path, expected) = (self.path.as_str(), &exchange["response"]);
        let what = format!("{} {path} {}: {answer}", self.method, self.body);
        match exchange["status"].as_u64() {
            // An exception is an answer with words here, not an internal error.
            Some(500) => assert_eq!((status, keys(answer)), (400, vec!["detail"]), "{what}"),
            recorded => assert_eq!(Some(u64::from(status)), recorded, "{what}"),
        }
        match (status, path) {
            (_, "/mcp") => {
                assert_eq!(keys(answer), keys(expected), "{what}");
                assert_eq!(answer["id"], expected["id"], "{what}");
                let code = |body: &Value| body.pointer("/error/code").cloned();
                assert_eq!(code(answer), code(expected), "{what}");
            }
            (200, "/metadata" | "/state") => {
                let known = keys(answer);
                let missing = |key: &&str| !known.contains(key) && *key != "total";
                assert_eq!(keys(expected).into_iter().find(missing), None, "{what}");
            }
            (200, "/schema" | "/reset" | "/step") => {
                assert_eq!(keys(answer), keys(expected), "{what}");
            }
            (200, "/list_environments") => assert_eq!(*answer, json!(["sentinel_env"])),
            (422, _) if !self.vague => compare_field_errors(answer, expected, &what),
            (200, _) | (404 | 501, _) => assert_eq!(answer, expected, "{what}"),
            _ => {}
        }
    }
}

/// Compares type and location of the errors of two answers.
fn compare_field_errors(answer: &Value, expected: &Value, what: &str) {
    let (mut found, mut expected) = (errors(&answer["detail"]), errors(&expected["detail"]));
    // The columns of two JSON parsers differ.
    let is_json = |error: &(Value, Value)| error.0 == "json_invalid";
    if expected.first().is_some_and(is_json) {
        (expected[0].1, found[0].1) = (expected[0].1[0].clone(), found[0].1[0].clone());
    }
    assert_eq!(found, expected, "{what}");
}

#[tokio::test]
async fn recorded_http_exchanges_have_the_same_form() {
    let recorded = transcript();
    let server = TestServer::start().await;
    let (mut session_id, mut compared) = (String::new(), 0);
    for exchange in recorded["http"].as_array().expect("exchanges") {
        let Some(sent) = Sent::from_exchange(exchange, &session_id) else {
            continue;
        };
        let (status, answer) = sent.answer(&server).await;
        sent.compare((status, &answer), exchange);
        if let Some(id) = answer.pointer("/result/session_id").and_then(Value::as_str) {
            session_id = id.to_owned();
        }
        compared += 1;
    }
    assert!(compared >= 26, "{compared} exchanges were compared");
}

/// Sends the recorded frames of one session and compares the replies.
async fn replay(client: &mut Client, name: &str, log: &[Value]) -> usize {
    let mut compared = 0;
    for entry in log {
        let sent = entry["send"].as_str();
        let (mut text, mut vague) = (sent.map(str::to_owned), false);
        if let Some(mut message) = sent.and_then(|sent| serde_json::from_str::<Value>(sent).ok())
            && let Some(counter) = message.get("data").filter(|data| data.get("add").is_some())
        {
            let (action, is_vague) = action(counter);
            (message["data"], vague) = (action, is_vague);
            text = Some(message.to_string());
        }
        let what = format!("{name}: {text:?}");
        if entry.get("closed").is_some() {
            if let Some(text) = text {
                // The connection is closed by the server: sending may fail already.
                let _ = futures_util::SinkExt::send(&mut client.0, text.into()).await;
            }
            let code = entry["closed"][0].as_u64();
            assert_eq!(client.close_code().await.map(u64::from), code, "{what}");
            return compared + 1;
        }
        if let Some(text) = text {
            client.send_text(text).await;
        }
        let reply = client.receive().await;
        let expected: Value =
            serde_json::from_str(entry["recv"].as_str().expect("a frame")).expect("JSON");
        let what = format!("{what}: {reply}");
        assert_eq!(keys(&reply), keys(&expected), "{what}");
        compare_frame(&reply, &expected, vague, &what);
        compared += 1;
    }
    compared
}

fn compare_frame(reply: &Value, expected: &Value, vague: bool, what: &str) {
    if expected.get("jsonrpc").is_some() {
        assert_eq!(reply["error"]["code"], expected["error"]["code"], "{what}");
        assert_eq!(reply["id"], expected["id"], "{what}");
        return;
    }
    let (data, wanted) = (&reply["data"], &expected["data"]);
    assert_eq!(reply["type"], expected["type"], "{what}");
    match expected["type"].as_str() {
        Some("observation") => {
            for key in ["observation", "reward", "done"] {
                assert!(data.get(key).is_some(), "{what}");
            }
            assert_eq!(
                data["reward"].is_null(),
                wanted["reward"].is_null(),
                "{what}"
            );
            assert!(data["observation"]["metadata"].is_object(), "{what}");
        }
        Some("state") => assert_eq!(data["step_count"], wanted["step_count"], "{what}"),
        Some("mcp") => {
            assert_eq!(data["error"]["code"], wanted["error"]["code"], "{what}");
            assert_eq!(data["id"], wanted["id"], "{what}");
        }
        Some("error") => {
            assert_eq!(data["code"], wanted["code"], "{what}");
            assert_eq!(keys(data), keys(wanted), "{what}");
            if !vague {
                assert_eq!(errors(&data["errors"]), errors(&wanted["errors"]), "{what}");
            }
            let own_words = ["INVALID_JSON", "EXECUTION_ERROR"].map(Value::from);
            let is_object_error = wanted["message"]
                .as_str()
                .is_some_and(|words| words.contains("'list'"));
            if !own_words.contains(&wanted["code"]) && !is_object_error {
                assert_eq!(data["message"], wanted["message"], "{what}");
            }
        }
        other => panic!("{what}: a recorded frame of type {other:?}"),
    }
}

#[tokio::test]
async fn recorded_sessions_have_the_same_form() {
    let recorded = transcript();
    let server = TestServer::with(|_, limits| limits.max_sessions = 2, None).await;
    let create = r#"{"jsonrpc": "2.0", "id": 3, "method": "openenv/session/create", "params": {}}"#;
    let (_, created) = server.request("POST", "/mcp", Some(create)).await;
    let id = created["result"]["session_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let (mut held, mut compared) = (Vec::new(), 0);
    for session in recorded["ws"].as_array().expect("sessions") {
        let name = session["name"].as_str().expect("a name");
        let mut path = session["path"].as_str().expect("a path").to_owned();
        if name == "attach_http_session" {
            path = format!("/ws?session_id={id}");
        }
        let mut client = server.connect(&path).await;
        let log = session["log"].as_array().expect("frames");
        if name == "attach_http_session" {
            // A session without an episode: the counter starts one by itself, the worlds do not.
            assert_eq!(client.state().await["step_count"], 0);
            client.reset(json!({})).await;
            compared += replay(&mut client, name, &log[1..]).await;
        } else if name == "errors" {
            // The same: a reset before the first step.
            client.reset(json!({})).await;
            compared += replay(&mut client, name, log).await;
        } else {
            compared += replay(&mut client, name, log).await;
        }
        if name == "capacity_first" {
            held.push(client);
        } else {
            drop(client);
            server.wait_for_sessions(1 + held.len()).await;
        }
    }
    assert!(compared >= 25, "{compared} frames were compared");
}
