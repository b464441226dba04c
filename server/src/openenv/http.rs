//! The HTTP routes of OpenEnv. `/reset` and `/step` have no session of their own: each request plays
//! in a new environment, unless it names a session that `/mcp` created.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequestParts, Path, Query, Request, State, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use sentinel_env::WorldName;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::socket::{self, Dialect};
use super::{NAME, json_rpc};
use crate::connections::ConnectionPermit;
use crate::envelope::{Envelope, strict_value};
use crate::environment::{AnyEnvironment, Failure, ResetFields, Transport};
use crate::reply::{
    body_object, body_text, broken, detail, json_bytes, json_invalid, json_response, unprocessable,
};
use crate::sessions::Session;
use crate::state::App;
use crate::validation::{FieldError, FieldReader};
use crate::worlds::readme;

type Shared = State<Arc<App>>;

fn failed(failure: Failure, within_body: bool) -> Response {
    match failure {
        Failure::NotJson(reason) => json_invalid(&reason, 0),
        Failure::Invalid(errors) if within_body => {
            let errors: Vec<_> = errors
                .into_iter()
                .map(|error| error.within("body"))
                .collect();
            unprocessable(&errors)
        }
        Failure::Invalid(errors) => unprocessable(&errors),
        Failure::Execution(reason) => detail(StatusCode::BAD_REQUEST, reason),
    }
}

fn reply(environment: &AnyEnvironment) -> Response {
    let mut out = Vec::with_capacity(8 * 1024);
    environment.write_reply(Transport::Http, &mut out);
    json_bytes(StatusCode::OK, out)
}

fn unknown_session(id: &str) -> Response {
    let shown: String = id.chars().take(64).collect();
    let words = format!("no session {shown:?}: create one with openenv/session/create on /mcp");
    detail(StatusCode::NOT_FOUND, words)
}

/// Removes the session that a body names, if it names one.
fn named_session(
    app: &App,
    fields: &mut Map<String, Value>,
) -> Result<Option<Arc<Session<AnyEnvironment>>>, Response> {
    let mut reader = FieldReader::new(fields, &["body"]);
    let id = reader.text("session_id", usize::MAX);
    reader.finish().map_err(|errors| unprocessable(&errors))?;
    let session = match id {
        None => None,
        Some(id) => Some(app.sessions.get(id).ok_or_else(|| unknown_session(id))?),
    };
    fields.remove("session_id");
    Ok(session)
}

/// Starts an episode and answers with its first observation.
pub(crate) async fn reset(State(app): Shared, body: Bytes) -> Response {
    reset_now(&app, &body).unwrap_or_else(|response| response)
}

fn reset_now(app: &App, body: &[u8]) -> Result<Response, Response> {
    let mut fields = body_object(body)?;
    let session = named_session(app, &mut fields)?;
    let start = |environment: &mut AnyEnvironment| {
        environment
            .reset(&fields)
            .map_err(|failure| failed(failure, true))?;
        app.metrics.count_reset(environment.world());
        Ok(reply(environment))
    };
    match session {
        Some(session) => start(&mut session.lock()),
        None => start(&mut AnyEnvironment::new(&app.defaults, "")),
    }
}

/// Takes one step: in the session that the body names, else in a new episode of its reset fields.
pub(crate) async fn step(State(app): Shared, body: Bytes) -> Response {
    step_now(&app, &body).unwrap_or_else(|response| response)
}

fn step_now(app: &App, body: &[u8]) -> Result<Response, Response> {
    let of_body = |error| broken(&error, &["body"]);
    let mut envelope = Envelope::parse(body_text(body)?).map_err(of_body)?;
    let action = envelope.take("action");
    let mut fields = envelope.to_values().map_err(of_body)?;
    let Some(action) = action else {
        let whole = Value::Object(fields);
        let missing = FieldError::missing(&["body", "action"], &whole);
        return Err(unprocessable(&[missing]));
    };
    if !action.starts_with('{') {
        let loc = ["body", "action"];
        let found = strict_value(action, &[]).map_err(|error| broken(&error, &loc))?;
        return Err(unprocessable(&[FieldError::not_an_object(&loc, &found)]));
    }
    let mut own = FieldReader::new(&fields, &["body"]);
    own.positive("timeout_s");
    own.text("request_id", 255);
    own.finish().map_err(|errors| unprocessable(&errors))?;
    fields.remove("timeout_s");
    fields.remove("request_id");
    let session = named_session(app, &mut fields)?;
    let take = |environment: &mut AnyEnvironment| {
        environment
            .step(action)
            .map_err(|failure| failed(failure, false))?;
        app.metrics.count_step(environment.world());
        Ok(reply(environment))
    };
    match session {
        Some(session) => {
            // Fields of a reset beside a session are not used, and still have to be well-formed.
            ResetFields::parse(&fields).map_err(|errors| failed(Failure::Invalid(errors), true))?;
            take(&mut session.lock())
        }
        None => {
            let mut environment = AnyEnvironment::new(&app.defaults, "");
            environment
                .reset(&fields)
                .map_err(|failure| failed(failure, true))?;
            take(&mut environment)
        }
    }
}

/// The session of a query.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionQuery {
    pub(crate) session_id: Option<String>,
}

/// Answers with the state of a session, or with that of a new environment.
pub(crate) async fn state(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let state = match query.session_id {
        None => AnyEnvironment::new(&app.defaults, "").state(),
        Some(id) => match app.sessions.get(&id) {
            Some(session) => session.lock().state(),
            None => return unknown_session(&id),
        },
    };
    json_response(StatusCode::OK, &state)
}

/// The world of a query.
#[derive(Debug, Deserialize)]
pub(crate) struct WorldQuery {
    world: Option<String>,
}

/// Answers with the JSON schemas of a world.
pub(crate) async fn schema(State(app): Shared, Query(query): Query<WorldQuery>) -> Response {
    let world = match query.world.as_deref() {
        None => app.defaults.world(),
        Some(name) => match WorldName::parse(name) {
            Some(world) => world,
            None => {
                let shown: String = name.chars().take(64).collect();
                let words = format!(
                    "no world {shown:?}: use {}",
                    WorldName::joined_names(" or ")
                );
                return detail(StatusCode::NOT_FOUND, words);
            }
        },
    };
    json_response(StatusCode::OK, &app.defaults.schemas(world).to_json())
}

/// Answers with the description of the environment.
pub(crate) async fn metadata(State(app): Shared) -> Response {
    let world = app.defaults.world();
    let body = json!({
        "name": NAME,
        "description": crate::worlds::description(world),
        "readme_content": readme(),
        "version": env!("CARGO_PKG_VERSION"),
        "author": null,
        "documentation_url": null,
        "world": world.name(),
        "worlds": WorldName::ALL,
        "reset": app.defaults.schemas(world).reset,
    });
    json_response(StatusCode::OK, &body)
}

/// Answers that the server runs.
pub(crate) async fn health() -> Response {
    json_response(StatusCode::OK, &json!({"status": "healthy"}))
}

/// Answers a JSON-RPC request: sessions, and that there are no tools.
pub(crate) async fn mcp(State(app): Shared, body: Bytes) -> Response {
    json_response(StatusCode::OK, &json_rpc::answer_bytes(&app, None, &body))
}

/// Returns the upgrade to a WebSocket with the limits of the server.
async fn upgrade(app: &App, request: Request) -> Result<WebSocketUpgrade, Response> {
    let (mut parts, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await;
    let upgrade = upgrade.map_err(|error| {
        detail(
            StatusCode::BAD_REQUEST,
            format!("this is a WebSocket: {}", error.body_text()),
        )
    })?;
    let most = app.limits.max_message;
    // The buffer grows with a message; idle connections keep it small.
    Ok(upgrade
        .max_message_size(most)
        .max_frame_size(most)
        .read_buffer_size(2048)
        .write_buffer_size(0))
}

/// Opens a session over a WebSocket.
pub(crate) async fn ws(
    State(app): Shared,
    Query(query): Query<SessionQuery>,
    request: Request,
) -> Response {
    open_socket(app, request, Dialect::OpenEnv(query.session_id)).await
}

/// Opens a JSON-RPC connection over a WebSocket.
pub(crate) async fn mcp_ws(State(app): Shared, request: Request) -> Response {
    open_socket(app, request, Dialect::JsonRpc).await
}

/// Answers with the upgrade to a WebSocket, which keeps the permit of its connection.
async fn open_socket(app: Arc<App>, request: Request, dialect: Dialect) -> Response {
    let permit = request.extensions().get::<Arc<ConnectionPermit>>().cloned();
    match upgrade(&app, request).await {
        Ok(upgrade) => {
            let token = app.sockets.token();
            upgrade.on_upgrade(move |socket| async move {
                socket::serve(socket, app, dialect).await;
                drop((token, permit));
            })
        }
        Err(response) => response,
    }
}

/// Answers with the names of the environments.
pub(crate) async fn list_environments() -> Response {
    json_response(StatusCode::OK, &json!([NAME]))
}

/// Answers a route of the task interface, which this environment does not have.
pub(crate) fn no_tasks(Path(name): Path<String>, method: &'static str) -> Response {
    if name != NAME {
        let shown: String = name.chars().take(64).collect();
        return detail(
            StatusCode::NOT_FOUND,
            format!("unknown environment '{shown}'"),
        );
    }
    let words = format!("{method} is not supported for this environment");
    detail(StatusCode::NOT_IMPLEMENTED, words)
}

/// The media type of the metrics.
pub(crate) const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers with the metrics in the text format of Prometheus.
pub(crate) async fn metrics(State(app): Shared) -> Response {
    (
        [(axum::http::header::CONTENT_TYPE, METRICS_TYPE)],
        app.metrics.text(),
    )
        .into_response()
}
