//! The routes under `/v1/` with an engine that repeats its prompts.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use sentinel_server::completions::chat::{ChatMessage, ChatPrompt};
use sentinel_server::completions::protocol::{CompletionRequest, ModelEntry, Prompts};
use sentinel_server::completions::{CompletionEngine, EngineError, Generated};
use sentinel_server::{Limits, ServeOptions};
use serde_json::{Value, json};

use super::client::TestServer;

/// An engine whose completions are the prompt, with the seed as first token.
#[derive(Default)]
struct Echo(Mutex<BTreeSet<String>>);

impl CompletionEngine for Echo {
    fn models(&self) -> Vec<ModelEntry> {
        let named = |id: &str| ModelEntry {
            id: id.to_owned(),
            ..ModelEntry::default()
        };
        let adapters = self.0.lock().expect("a lock");
        std::iter::once("base")
            .chain(adapters.iter().map(String::as_str))
            .map(named)
            .collect()
    }

    /// The prompt has a token for each message: the length of its text.
    fn chat_prompt(
        &self,
        _model: &str,
        messages: &[ChatMessage],
    ) -> Result<ChatPrompt, EngineError> {
        if messages.iter().any(|message| message.role == "tool") {
            return Err(EngineError::Invalid("no tools".to_owned()));
        }
        let length = |message: &ChatMessage| u32::try_from(message.text().len()).expect("a length");
        Ok(ChatPrompt {
            ids: messages.iter().map(length).collect(),
            context: 100,
        })
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Vec<Generated>, EngineError> {
        let known = self.models().iter().any(|model| model.id == request.model);
        if !known {
            return Err(EngineError::UnknownModel(request.model.clone()));
        }
        let prompts = match &request.prompt {
            Prompts::Ids(ids) => vec![ids.clone()],
            Prompts::IdLists(all) => all.clone(),
            _ => return Err(EngineError::Invalid("no texts".to_owned())),
        };
        let seed = request.sampling.seed.expect("the server sets it");
        let rows = prompts
            .into_iter()
            .flat_map(|prompt| std::iter::repeat_n(prompt, request.sampling.n));
        let echo = |prompt: Vec<u32>| Generated {
            ids: std::iter::once(seed as u32)
                .chain(prompt.iter().copied())
                .collect(),
            logps: vec![-0.5; prompt.len() + 1],
            stopped: prompt.last() == Some(&9),
            prompt_ids: prompt,
            text: "echo".to_owned(),
        };
        Ok(rows.map(echo).collect())
    }

    fn load_adapter(&self, name: &str, folder: &Path) -> Result<(), EngineError> {
        if folder.as_os_str() != "/adapters/a" {
            return Err(EngineError::Invalid("no such folder".to_owned()));
        }
        self.0.lock().expect("a lock").insert(name.to_owned());
        Ok(())
    }

    fn unload_adapter(&self, name: &str) -> Result<(), EngineError> {
        let removed = self.0.lock().expect("a lock").remove(name);
        let unknown = || EngineError::UnknownAdapter(name.to_owned());
        removed.then_some(()).ok_or_else(unknown)
    }
}

async fn start(change: impl FnOnce(&mut ServeOptions, &mut Limits)) -> TestServer {
    let engine = Arc::new(Echo::default());
    TestServer::with_engine(change, None, Some(engine)).await
}

async fn post(server: &TestServer, route: &str, body: &Value) -> (u16, Value) {
    let body = body.to_string();
    server
        .request("POST", &format!("/v1/{route}"), Some(&body))
        .await
}

#[tokio::test]
async fn chat_has_the_fields_of_openai() {
    let server = start(|_, _| {}).await;
    let messages =
        json!([{"role": "system", "content": "ab"}, {"role": "user", "content": "123456789"}]);
    let request = json!({"model": "base", "messages": messages, "n": 2, "max_completion_tokens": 5, "stream": false});
    let (status, answer) = post(&server, "chat/completions", &request).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["object"], "chat.completion");
    assert!(
        answer["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("chatcmpl-")),
        "{answer}"
    );
    assert_eq!(
        answer["choices"][1],
        json!({"index": 1, "message": {"role": "assistant", "content": "echo"}, "logprobs": null,
            "finish_reason": "stop"})
    );
    assert_eq!(
        answer["usage"],
        json!({"prompt_tokens": 2, "completion_tokens": 6, "total_tokens": 8})
    );
    for (wrong, status, word) in [
        (json!({"model": "other"}), 404, "other"),
        (
            json!({"messages": [{"role": "tool", "content": "a"}]}),
            400,
            "no tools",
        ),
        (json!({"messages": "a"}), 400, "messages"),
        (json!({"tools": [{"type": "function"}]}), 400, "tools"),
        (json!({"n": 0}), 400, "0 completions"),
        (json!({"n": 1025}), 400, "1025 completions"),
        (json!({"temperature": "warm"}), 400, "warm"),
    ] {
        let mut request = request.clone();
        for (name, value) in wrong.as_object().expect("fields") {
            request[name] = value.clone();
        }
        let (found, answer) = post(&server, "chat/completions", &request).await;
        assert_eq!(found, status, "{answer}");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.contains(word), "{message}");
    }
}

#[tokio::test]
async fn answer_has_the_fields_of_vllm() {
    let server = start(|_, _| {}).await;
    let request = json!({"model": "base", "prompt": [[1, 2], [3, 9]], "n": 2, "seed": 7, "logprobs": 0,
        "return_token_ids": true, "stop_token_ids": [9], "top_k": -1, "unknown_field": 1});
    let (status, answer) = post(&server, "completions", &request).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        (&answer["object"], &answer["model"]),
        (&json!("text_completion"), &json!("base"))
    );
    assert_eq!(
        answer["usage"],
        json!({"prompt_tokens": 4, "completion_tokens": 12, "total_tokens": 16})
    );
    let choices = answer["choices"].as_array().expect("choices");
    assert_eq!(choices.len(), 4);
    for (index, choice) in choices.iter().enumerate() {
        assert_eq!(choice["index"], index);
    }
    assert_eq!(choices[1]["prompt_token_ids"], json!([1, 2]));
    assert_eq!(choices[1]["token_ids"], json!([7, 1, 2]));
    assert_eq!(choices[1]["finish_reason"], "length");
    assert_eq!(
        (&choices[2]["finish_reason"], &choices[2]["stop_reason"]),
        (&json!("stop"), &json!(9))
    );
    assert_eq!(
        choices[2]["logprobs"]["token_logprobs"],
        json!([-0.5, -0.5, -0.5])
    );
    assert_eq!(choices[2]["logprobs"]["tokens"][1], "token_id:3");

    let plain = json!({"model": "base", "prompt": [1]});
    let (_, first) = post(&server, "completions", &plain).await;
    assert_eq!(
        (
            &first["choices"][0]["token_ids"],
            &first["choices"][0]["logprobs"]
        ),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(first["choices"][0]["text"], "echo");
}

#[tokio::test]
async fn adapters_are_models_until_they_are_unloaded() {
    let server = start(|_, _| {}).await;
    let load = json!({"lora_name": "a", "lora_path": "/adapters/a", "load_inplace": false});
    let (status, text) = post(&server, "load_lora_adapter", &load).await;
    assert!(
        status == 200 && text.to_string().contains("'a' added successfully"),
        "{text}"
    );
    let (_, models) = server.request("GET", "/v1/models", None).await;
    assert_eq!(
        (&models["object"], &models["data"][1]["id"]),
        (&json!("list"), &json!("a"))
    );
    let (status, answer) = post(
        &server,
        "completions",
        &json!({"model": "a", "prompt": [1]}),
    )
    .await;
    assert!(status == 200 && answer["model"] == "a", "{answer}");
    let unload = json!({"lora_name": "a"});
    assert_eq!(post(&server, "unload_lora_adapter", &unload).await.0, 200);
    for (route, body) in [
        ("completions", json!({"model": "a", "prompt": [1]})),
        ("unload_lora_adapter", unload),
    ] {
        let (status, answer) = post(&server, route, &body).await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (404, &json!(404)),
            "{answer}"
        );
        assert_eq!(answer["error"]["type"], "NotFoundError");
    }
}

#[tokio::test]
async fn wrong_requests_are_refused_with_words() {
    let server = start(|_, limits| limits.max_message = 4096).await;
    let base = |name: &str, value: Value| {
        let mut fields = json!({"model": "base", "prompt": [1]});
        fields[name] = value;
        fields
    };
    for (route, body, word) in [
        ("completions", json!([]), "not a JSON object"),
        ("completions", json!({"model": "base"}), "prompt"),
        ("completions", base("n", json!(0)), "1 to 1024"),
        ("completions", base("n", json!(1025)), "1025 completions"),
        (
            "completions",
            base("logprobs", json!(3)),
            "logprobs should be 0",
        ),
        (
            "completions",
            base("structured_outputs", json!({"regex": "a"})),
            "structured_outputs",
        ),
        ("load_lora_adapter", json!({"lora_name": "a"}), "lora_path"),
        (
            "load_lora_adapter",
            json!({"lora_name": "a", "lora_path": "/", "load_inplace": true}),
            "new name",
        ),
        (
            "load_lora_adapter",
            json!({"lora_name": "a", "lora_path": "/"}),
            "no such folder",
        ),
    ] {
        let (status, answer) = post(&server, route, &body).await;
        assert_eq!(
            (status, &answer["error"]["type"]),
            (400, &json!("BadRequestError")),
            "{answer}"
        );
        let message = answer["error"]["message"].as_str().expect("words");
        assert!(message.contains(word), "{message}");
    }
    let long = json!({"model": "base", "prompt": vec![1; 4096]});
    assert_eq!(post(&server, "completions", &long).await.0, 413);
}

#[tokio::test]
async fn server_without_engine_names_the_option() {
    let server = TestServer::start().await;
    for route in ["completions", "load_lora_adapter", "unload_lora_adapter"] {
        let (status, answer) = post(&server, route, &json!({})).await;
        assert_eq!(status, 404);
        assert!(
            answer["error"]["message"].to_string().contains("--model"),
            "{answer}"
        );
    }
    assert_eq!(server.request("GET", "/v1/models", None).await.0, 404);
}

#[tokio::test]
async fn routes_ask_for_the_token_and_are_described() {
    let server = start(|options, _| options.token = Some("secret".into())).await;
    let (status, _) = server.request_text("GET", "/v1/models", None, None).await;
    assert_eq!(status, 401);
    let (status, _) = server
        .request_text("GET", "/v1/models", None, Some("secret"))
        .await;
    assert_eq!(status, 200);
    let (_, text) = server
        .request_text("GET", "/openapi.json", None, Some("secret"))
        .await;
    for route in [
        "completions",
        "models",
        "load_lora_adapter",
        "unload_lora_adapter",
    ] {
        assert!(text.contains(&format!("\"/v1/{route}\"")), "{route}");
    }
}
