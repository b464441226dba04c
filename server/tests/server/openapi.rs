//! The description of the API is true: every route is in it, every answer fits it, and bodies without a
//! required field are refused.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use sentinel_env::WorldName;
use sentinel_server::policy::ServedPolicy;
use serde_json::{Value, json};

use super::client::TestServer;

/// A server, its description, and the operations that were called.
struct Described {
    server: TestServer,
    document: Value,
    /// The validators of schemas, by their text.
    validators: BTreeMap<String, Validator>,
    called: BTreeSet<(String, String)>,
}

impl Described {
    async fn start() -> Self {
        let policy = ServedPolicy::scripted(WorldName::Trust, "heuristic");
        let policy = policy.and_then(Result::ok);
        let server = TestServer::with(|options, _| options.reveal_hidden = true, policy).await;
        let (_, document) = server.request("GET", "/openapi.json", None).await;
        Self {
            server,
            document,
            validators: BTreeMap::new(),
            called: BTreeSet::new(),
        }
    }

    /// Asserts that a value fits a schema, which may refer to components.
    fn assert_fits(&mut self, schema: &Value, value: &Value, what: &str) {
        let validator = self
            .validators
            .entry(schema.to_string())
            .or_insert_with(|| {
                let mut schema = schema.clone();
                schema["components"] = self.document["components"].clone();
                jsonschema::validator_for(&schema).expect("a schema")
            });
        let errors: Vec<String> = (validator.iter_errors(value))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{what}: {errors:?} in {value}");
    }

    /// Makes a request and returns status and body, which are as the description says.
    async fn call(&mut self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let what = format!("{method} {path}");
        let route = path.split('?').next().expect("a path").to_owned();
        let method_name = method.to_ascii_lowercase();
        let operation = self.document["paths"][&route][&method_name].clone();
        assert!(operation.is_object(), "{what} is not described");
        let text = body.as_ref().map(Value::to_string);
        let (status, answer) = self.server.request(method, path, text.as_deref()).await;
        let mut response = operation["responses"][status.to_string()].clone();
        if let Some(reference) = response["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#').to_owned();
            response = self.document.pointer(&pointer).expect("a response").clone();
        }
        assert!(
            response.is_object(),
            "{what}: {status} is not described: {answer}"
        );
        let json = &response["content"]["application/json"]["schema"];
        if !json.is_null() {
            self.assert_fits(json, &answer, &what);
        }
        if status == 200 {
            if let Some(body) = &body {
                let own = &operation["requestBody"]["content"]["application/json"]["schema"];
                self.assert_fits(own, body, &what);
            }
            self.called.insert((route, method_name));
        }
        (status, answer)
    }

    async fn ok(&mut self, method: &str, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self.call(method, path, body).await;
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    /// Plays an episode of the reference's API to its end and returns its session.
    async fn play(&mut self, prefix: &str, reset: Value, action: Value) -> String {
        let first = self
            .ok("POST", &format!("{prefix}/reset"), Some(reset))
            .await;
        let id = first["observation"]["session_id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let path = format!("{prefix}/step?session_id={id}");
        for _ in 0..200 {
            if self.ok("POST", &path, Some(action.clone())).await["done"] == true {
                return id;
            }
        }
        panic!("the episode does not end");
    }
}

async fn call_documents(api: &mut Described) {
    for path in [
        "/health",
        "/metadata",
        "/schema",
        "/schema?world=cluster",
        "/state",
        "/list_environments",
        "/metrics",
        "/policy/model_status",
        "/openapi.json",
        "/sentinel",
        "/sentinel/api",
        "/sentinel/health",
        "/sentinel/problem",
        "/sentinel/mission?task_type=task1",
        "/sentinel/metadata",
        "/sentinel/tasks",
        "/sentinel/schema",
        "/sentinel/grader",
        "/sentinel/difficulty",
        "/sentinel/trust-dashboard",
        "/sentinel/cluster-dashboard",
        "/sentinel/cluster",
        "/sentinel/cluster/metadata",
        "/sentinel/cluster/tasks",
        "/sentinel/stream?session_id=none",
        "/sentinel/cluster/stream",
    ] {
        api.ok("GET", path, None).await;
    }
}

async fn call_environments(api: &mut Described) {
    for (world, action) in [
        ("trust", json!({"action_type": "skip"})),
        ("cluster", json!({"action_type": "tick", "metadata": {}})),
        (
            "polyguard",
            json!({"candidate_id": "cand_01", "rationale": "risk"}),
        ),
    ] {
        api.ok("POST", "/reset", Some(json!({"world": world, "seed": 1})))
            .await;
        let step = json!({"world": world, "seed": 1, "action": action, "timeout_s": 5.5});
        api.ok("POST", "/step", Some(step)).await;
    }
    let create = json!({"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"});
    let id = api.ok("POST", "/mcp", Some(create)).await["result"]["session_id"].clone();
    api.ok(
        "POST",
        "/mcp",
        Some(json!({"jsonrpc": "2.0", "method": "tools/list"})),
    )
    .await;
    api.ok(
        "POST",
        "/reset",
        Some(json!({"session_id": id, "prompt": "none"})),
    )
    .await;
    api.ok(
        "GET",
        &format!("/state?session_id={}", id.as_str().expect("an id")),
        None,
    )
    .await;
    api.ok("POST", "/act", Some(json!({"session_id": id})))
        .await;
    let episode = json!({"task": "task1", "seed": 3, "actions": [{"action_type": "skip"}]});
    api.ok("POST", "/act", Some(json!({"episode": episode})))
        .await;
}

async fn call_reference(api: &mut Described) {
    let verify = json!({"action_type": "verify", "specialist_id": "S1"});
    let trust = api
        .play("/sentinel", json!({"seed": 1, "adaptive": true}), verify)
        .await;
    let allocate = json!({"action_type": "request_info", "worker_id": "S2"});
    let cluster = api
        .play("/sentinel/cluster", json!({"seed": 1}), allocate.clone())
        .await;
    api.play(
        "/sentinel",
        json!({"task_type": "cluster_task2", "seed": 2}),
        allocate,
    )
    .await;
    for id in [&trust, &cluster] {
        for view in ["state", "reward-report", "stream"] {
            api.ok("GET", &format!("/sentinel/{view}?session_id={id}"), None)
                .await;
        }
    }
    for view in [
        "state",
        "reward-report",
        "stream",
        "gpus",
        "jobs",
        "workers",
        "audit",
        "ai-failure-coverage",
    ] {
        api.ok(
            "GET",
            &format!("/sentinel/cluster/{view}?session_id={cluster}"),
            None,
        )
        .await;
    }
    for query in [
        "gpus?include_hidden=true",
        "jobs?deadline_window=5",
        "audit/investigate?agent_id=auditor",
    ] {
        api.ok(
            "GET",
            &format!("/sentinel/cluster/{query}&session_id={cluster}"),
            None,
        )
        .await;
    }
    let state = json!({"method": "state", "params": {"session_id": trust}});
    api.ok("POST", "/sentinel/mcp", Some(state)).await;
    api.ok("POST", "/sentinel/difficulty/reset", None).await;
}

#[tokio::test]
async fn every_answer_fits_the_description() {
    let mut api = Described::start().await;
    call_documents(&mut api).await;
    call_environments(&mut api).await;
    call_reference(&mut api).await;

    // What is left has no answer 200 here: WebSockets, the tasks, and the language model.
    let paths = api.document["paths"].as_object().expect("paths");
    let listed = paths.iter().flat_map(|(path, operations)| {
        let operations = operations.as_object().expect("operations");
        operations
            .keys()
            .map(move |method| (path.clone(), method.clone()))
    });
    let left: Vec<String> = listed
        .filter(|route| !api.called.contains(route))
        .map(|(path, method)| format!("{method} {path}"))
        .collect();
    let expected = [
        "get /mcp",
        "post /v1/chat/completions",
        "post /v1/completions",
        "post /v1/load_lora_adapter",
        "get /v1/models",
        "post /v1/unload_lora_adapter",
        "get /ws",
        "post /{name}/num_tasks",
        "get /{name}/splits",
        "post /{name}/task",
        "post /{name}/task_range",
        "post /{name}/tasks",
    ];
    assert_eq!(left, expected);
}

#[tokio::test]
async fn every_error_fits_the_description() {
    let mut api = Described::start().await;
    let trust = api
        .ok("POST", "/sentinel/reset", Some(json!({"seed": 1})))
        .await;
    let trust = trust["observation"]["session_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for (method, path, body, expected) in [
        ("GET", "/schema?world=none", None, 404),
        ("GET", "/state?session_id=none", None, 404),
        ("GET", "/mcp", None, 400),
        ("GET", "/ws", None, 400),
        ("POST", "/reset", Some(json!({"task": "none"})), 400),
        ("POST", "/reset", Some(json!({"seed": "none"})), 422),
        ("POST", "/reset", Some(json!({"session_id": "none"})), 404),
        (
            "POST",
            "/step",
            Some(json!({"action": {"action_type": "none"}})),
            422,
        ),
        ("POST", "/act", Some(json!({"session_id": "none"})), 404),
        (
            "POST",
            "/act",
            Some(json!({"episode": {"world": "none"}})),
            400,
        ),
        (
            "POST",
            "/act",
            Some(json!({"episode": {"world": "cluster"}})),
            409,
        ),
        (
            "POST",
            "/v1/completions",
            Some(json!({"model": "none", "prompt": "a"})),
            404,
        ),
        ("GET", "/v1/models", None, 404),
        ("GET", "/sentinel/mission?task_type=none", None, 422),
        ("GET", "/sentinel/state", None, 422),
        ("GET", "/sentinel/state?session_id=none", None, 404),
        (
            "GET",
            &format!("/sentinel/cluster/gpus?session_id={trust}"),
            None,
            400,
        ),
        ("GET", "/sentinel/cluster/jobs?deadline_window=0", None, 422),
        (
            "GET",
            "/sentinel/cluster/audit/investigate?session_id=none",
            None,
            422,
        ),
        (
            "POST",
            "/sentinel/reset",
            Some(json!({"task_type": "none"})),
            400,
        ),
        (
            "POST",
            "/sentinel/mcp",
            Some(json!({"method": "none"})),
            400,
        ),
    ] {
        let (status, answer) = api.call(method, path, body).await;
        assert_eq!(status, expected, "{method} {path}: {answer}");
    }
}

#[tokio::test]
async fn bodies_without_a_required_field_are_refused() {
    let api = Described::start().await;
    let (mut required, mut optional) = (0, 0);
    for (path, operations) in api.document["paths"].as_object().expect("paths") {
        let body = &operations["post"]["requestBody"];
        let Some(reference) = body["content"]["application/json"]["schema"]["$ref"].as_str() else {
            continue;
        };
        let schema = api
            .document
            .pointer(reference.trim_start_matches('#'))
            .expect("a schema");
        let (status, answer) = api.server.request("POST", path, Some("{}")).await;
        if schema["required"]
            .as_array()
            .is_some_and(|fields| !fields.is_empty())
        {
            let refused = [400, 404, 422].contains(&status) || answer["error"].is_object();
            assert!(refused, "{path}: {status} {answer}");
            required += 1;
        } else if body["required"] == false {
            assert_eq!(status, 200, "{path}: {answer}");
            optional += 1;
        }
    }
    assert_eq!((required, optional), (7, 3));
}

#[tokio::test]
async fn common_answers_are_described() {
    let api = Described::start().await;
    for (path, operations) in api.document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let has = |status: &str| operation["responses"].get(status).is_some();
            let is_open = path == "/health";
            assert!(has("408"), "{method} {path}");
            for status in ["400", "401", "403", "429"] {
                assert_eq!(has(status), !is_open, "{method} {path} {status}");
            }
            let too_many = &operation["responses"]["429"];
            assert_eq!(
                too_many.get("$ref").is_some(),
                !is_open && !path.starts_with("/v1/"),
                "{method} {path}: vLLM's errors have a form of their own"
            );
            let is_post = method == "post";
            assert!(
                has("413") == is_post && has("415") == is_post,
                "{method} {path}"
            );
        }
    }
    let token = &api.document["components"]["securitySchemes"]["token"];
    assert_eq!(
        (&token["type"], &token["scheme"]),
        (&json!("http"), &json!("bearer"))
    );
}
