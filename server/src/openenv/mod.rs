//! The protocol of OpenEnv 0.10: a WebSocket with one environment per connection, and HTTP routes
//! beside it.
//!
//! * [`frames`]: the messages of a WebSocket, and what is wrong with those that are refused.
//! * `socket`: a connection, from its first frame to its end.
//! * `waiting`: its frames that wait while a slow step runs.
//! * `http`: the routes.
//! * [`json_rpc`]: the sessions and tools of `/mcp`.

pub mod frames;
pub(crate) mod http;
pub mod json_rpc;
pub(crate) mod socket;
mod waiting;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

/// The name of the environment, for `/metadata` and `/list_environments`.
pub const NAME: &str = "sentinel_env";

/// Creates an answer with `{"detail": …}`.
pub(crate) fn detail(status: StatusCode, detail: impl Into<Value>) -> Response {
    json_response(status, &json!({"detail": detail.into()}))
}

/// Creates an answer with a JSON body.
pub(crate) fn json_response(status: StatusCode, body: &Value) -> Response {
    json_bytes(status, body.to_string().into_bytes())
}

/// Creates an answer whose body is JSON already.
pub(crate) fn json_bytes(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = (status, body).into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
