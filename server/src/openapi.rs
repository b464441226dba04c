//! The description of the API, made from the handlers.

use axum::http::StatusCode;
use axum::response::Response;
use utoipa::OpenApi;

use crate::completions::http as completions;
use crate::openenv::{detail, http, json_bytes};
use crate::{reference_api, routes};

/// The description of the API. OpenEnv's validation reads its version as that of the protocol.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sentinel",
        version = "1.0.0",
        description = "Worlds for agent oversight: OpenEnv at the root, the reference's API under /sentinel/, a language model under /v1/",
        license(name = "MIT")
    ),
    paths(
        http::reset, http::step, http::state, http::schema, http::metadata, http::health, http::mcp, http::ws,
        http::list_environments, http::metrics, routes::act, routes::model_status,
        completions::completions, completions::models, completions::load_lora_adapter,
        completions::unload_lora_adapter, reference_api::reset,
        reference_api::step, reference_api::state, reference_api::reward_report, reference_api::stream_any
    ),
    tags(
        (name = "openenv", description = "The protocol of OpenEnv 0.10"),
        (name = "policy", description = "The policy of the server"),
        (name = "completions", description = "A language model, in the dialect of vLLM's server"),
        (name = "reference", description = "The HTTP API of the Python reference"),
        (name = "server", description = "The server itself")
    )
)]
struct Description;

/// Answers with the description of the API.
pub(crate) async fn document() -> Response {
    match Description::openapi().to_json() {
        Ok(text) => json_bytes(StatusCode::OK, text.into_bytes()),
        Err(error) => detail(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
