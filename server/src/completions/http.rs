//! The routes under `/v1/`.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::chat::{Answer, ChatChoice, ChatRequest, ChatResponse};
use super::protocol::{
    Choice, CompletionRequest, CompletionResponse, ErrorInfo, ErrorResponse, LoadAdapter, LogProbs,
    ModelList, SamplingParams, UnloadAdapter, Usage,
};
use super::{CompletionEngine, EngineError, Generated, MAX_COMPLETIONS};
use crate::envelope::parse_object;
use crate::reply::json_response;
use crate::route::{Operation, Route};
use crate::state::App;

type Shared = State<Arc<App>>;
type Engine = Arc<dyn CompletionEngine>;

pub(crate) const TAG: &str = "completions";

/// Returns the routes of the language model.
pub(crate) fn routes() -> [Route<Arc<App>>; 5] {
    let no_model = |operation: Operation| {
        operation.fails_with::<ErrorResponse>(
            404,
            "There is no such model or adapter, or no model at all",
        )
    };
    let wrong = "A field is wrong or not supported";
    [
        no_model(Operation::post("/v1/completions", TAG, "Generates completions of prompts"))
            .body::<CompletionRequest>()
            .reply::<CompletionResponse>("The completions")
            .fails_with::<ErrorResponse>(400, wrong)
            .fails_with::<ErrorResponse>(500, "The computation failed")
            .handled_by(completions),
        no_model(Operation::post("/v1/chat/completions", TAG, "Generates answers to a conversation"))
            .body::<ChatRequest>()
            .reply::<ChatResponse>("The answers")
            .fails_with::<ErrorResponse>(400, wrong)
            .fails_with::<ErrorResponse>(500, "The computation failed")
            .handled_by(chat_completions),
        no_model(Operation::get("/v1/models", TAG, "Lists the model and its adapters"))
            .reply::<ModelList>("The model and its adapters")
            .handled_by(models),
        no_model(Operation::post("/v1/load_lora_adapter", TAG, "Loads an adapter under a new name"))
            .body::<LoadAdapter>()
            .text(TEXT, "The adapter is loaded")
            .fails_with::<ErrorResponse>(
                400,
                "The name is in use, there are too many adapters, or the folder has no adapter of this model",
            )
            .fails_with::<ErrorResponse>(500, "The computation failed")
            .handled_by(load_lora_adapter),
        no_model(Operation::post("/v1/unload_lora_adapter", TAG, "Unloads an adapter and frees its name"))
            .body::<UnloadAdapter>()
            .text(TEXT, "The adapter is unloaded")
            .fails_with::<ErrorResponse>(400, wrong)
            .handled_by(unload_lora_adapter),
    ]
}

/// The media type of a plain text.
const TEXT: &str = "text/plain; charset=utf-8";

/// Creates an answer with an error in the form of vLLM.
pub(crate) fn failure(status: StatusCode, kind: &str, message: impl Into<String>) -> Response {
    let error = ErrorInfo {
        message: message.into(),
        kind: kind.to_owned(),
        param: None,
        code: status.as_u16(),
    };
    json_response(status, &json!(ErrorResponse { error }))
}

fn invalid(message: impl Into<String>) -> Response {
    failure(StatusCode::BAD_REQUEST, "BadRequestError", message)
}

fn refused(error: &EngineError) -> Response {
    let (status, kind) = match error {
        EngineError::UnknownModel(_) | EngineError::UnknownAdapter(_) => {
            (StatusCode::NOT_FOUND, "NotFoundError")
        }
        EngineError::Invalid(_) => (StatusCode::BAD_REQUEST, "BadRequestError"),
        EngineError::Failed(_) => (StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError"),
    };
    failure(status, kind, error.to_string())
}

fn engine(app: &App) -> Result<Engine, Response> {
    app.engine.get().map(Arc::clone).ok_or_else(|| {
        let words = "this server has no language model: start it with --model MODEL";
        failure(StatusCode::NOT_FOUND, "NotFoundError", words)
    })
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Response> {
    let text = std::str::from_utf8(body).map_err(|error| invalid(error.to_string()))?;
    parse_object(text).map_err(|error| invalid(format!("the body is not a JSON object: {error}")))
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Response> {
    serde_json::from_slice(body).map_err(|error| invalid(error.to_string()))
}

fn answer(value: &impl Serialize) -> Response {
    match serde_json::to_value(value) {
        Ok(value) => json_response(StatusCode::OK, &value),
        Err(error) => refused(&EngineError::Failed(error.to_string())),
    }
}

/// Runs a computation of the engine on a thread of its own.
async fn run<T: Send + 'static>(
    app: &App,
    job: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, Response> {
    let done = app.compute(&app.metrics.completion_seconds, job).await;
    done.map_err(|error| refused(&error))
}

/// Generates completions of prompts.
pub(crate) async fn completions(State(app): Shared, body: Bytes) -> Response {
    complete(&app, &body).await.unwrap_or_else(|error| error)
}

async fn complete(app: &App, body: &[u8]) -> Result<Response, Response> {
    let engine = engine(app)?;
    let mut request = CompletionRequest::from_fields(object(body)?).map_err(invalid)?;
    check_count(request.completions())?;
    if request.logprobs.is_some_and(|more| more > 0) {
        return Err(invalid(
            "logprobs should be 0: alternatives of tokens are not returned",
        ));
    }
    set_seed(&mut request.sampling)?;
    let asked = request.clone();
    let generated = run(app, move || engine.complete(&asked)).await?;
    Ok(answer(&response(&request, generated)))
}

/// Checks the number of completions that a request asks for.
fn check_count(asked: usize) -> Result<(), Response> {
    if asked == 0 || asked > MAX_COMPLETIONS {
        let words =
            format!("{asked} completions are asked for: use 1 to {MAX_COMPLETIONS} a request");
        return Err(invalid(words));
    }
    Ok(())
}

/// Generates answers to a conversation.
pub(crate) async fn chat_completions(State(app): Shared, body: Bytes) -> Response {
    chat(&app, &body).await.unwrap_or_else(|error| error)
}

async fn chat(app: &App, body: &[u8]) -> Result<Response, Response> {
    let engine = engine(app)?;
    let mut request = ChatRequest::from_fields(object(body)?).map_err(invalid)?;
    check_count(request.sampling.n)?;
    set_seed(&mut request.sampling)?;
    let job = move || {
        let prompt = engine.chat_prompt(&request.model, &request.messages)?;
        let completion = request.completion(prompt);
        let generated = engine.complete(&completion)?;
        Ok((completion, generated))
    };
    let (completion, generated) = run(app, job).await?;
    let response = response(&completion, generated);
    let choice = |choice: Choice| ChatChoice {
        index: choice.index,
        message: Answer {
            role: "assistant".to_owned(),
            content: choice.text,
        },
        logprobs: None,
        finish_reason: choice.finish_reason.unwrap_or_default(),
    };
    Ok(answer(&ChatResponse {
        id: format!("chat{}", response.id),
        object: "chat.completion".to_owned(),
        created: response.created,
        model: response.model,
        choices: response.choices.into_iter().map(choice).collect(),
        usage: response.usage,
    }))
}

/// Sets a random seed if the request has none.
fn set_seed(sampling: &mut SamplingParams) -> Result<(), Response> {
    if sampling.seed.is_none() {
        let drawn = getrandom::u64().map_err(|error| {
            let words = format!("the system gives no random numbers ({error}): send a seed");
            refused(&EngineError::Failed(words))
        })?;
        sampling.seed = Some(drawn.cast_signed());
    }
    Ok(())
}

fn response(request: &CompletionRequest, generated: Vec<Generated>) -> CompletionResponse {
    let created = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut usage = Usage::default();
    let choice = |(index, made): (usize, Generated)| {
        // The tokens of a prompt count once.
        if index % request.sampling.n.max(1) == 0 {
            usage.prompt_tokens += made.prompt_ids.len();
        }
        usage.completion_tokens += made.ids.len();
        let last = made.ids.last().filter(|_| made.stopped);
        let own = last.filter(|id| request.sampling.stop_token_ids.contains(id));
        let logprobs = request.logprobs.map(|_| LogProbs {
            token_logprobs: made.logps.iter().map(|l| Some(f64::from(*l))).collect(),
            tokens: made.ids.iter().map(|id| format!("token_id:{id}")).collect(),
            ..LogProbs::default()
        });
        Choice {
            index,
            text: made.text,
            logprobs,
            finish_reason: Some(if made.stopped { "stop" } else { "length" }.to_owned()),
            stop_reason: own.map(|id| json!(id)),
            token_ids: request.return_token_ids.then_some(made.ids),
            prompt_token_ids: request.return_token_ids.then_some(made.prompt_ids),
        }
    };
    let choices: Vec<Choice> = generated.into_iter().enumerate().map(choice).collect();
    usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
    CompletionResponse {
        id: format!("cmpl-{:016x}", request.sampling.seed.unwrap_or_default()),
        object: "text_completion".to_owned(),
        created: created.map_or(0, |time| time.as_secs()),
        model: request.model.clone(),
        choices,
        usage,
    }
}

/// Answers with the model and its adapters.
pub(crate) async fn models(State(app): Shared) -> Response {
    match engine(&app) {
        Ok(engine) => answer(&ModelList {
            object: "list".to_owned(),
            data: engine.models(),
        }),
        Err(error) => error,
    }
}

/// Loads an adapter under a new name.
pub(crate) async fn load_lora_adapter(State(app): Shared, body: Bytes) -> Response {
    let load = async {
        let engine = engine(&app)?;
        let LoadAdapter {
            lora_name,
            lora_path,
            load_inplace,
        } = parsed(&body)?;
        if load_inplace {
            return Err(invalid(
                "load_inplace is not supported: load new weights under a new name",
            ));
        }
        let words = format!("Success: LoRA adapter '{lora_name}' added successfully.");
        run(&app, move || {
            engine.load_adapter(&lora_name, Path::new(&lora_path))
        })
        .await?;
        Ok(words.into_response())
    };
    load.await.unwrap_or_else(|error| error)
}

/// Unloads an adapter and frees its name.
pub(crate) async fn unload_lora_adapter(State(app): Shared, body: Bytes) -> Response {
    let unload = async {
        let engine = engine(&app)?;
        let UnloadAdapter { lora_name } = parsed(&body)?;
        engine
            .unload_adapter(&lora_name)
            .map_err(|error| refused(&error))?;
        let words = format!("Success: LoRA adapter '{lora_name}' removed successfully.");
        Ok(words.into_response())
    };
    unload.await.unwrap_or_else(|error| error)
}
