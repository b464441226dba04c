//! The HTTP API of the Python reference, under `/sentinel/`: sessions by id, reports, and streams of
//! events. It offers the worlds trust and cluster, as the reference does.
//!
//! Differences: unknown names are errors 400 instead of 500, a session stays until its time is over so
//! that its report can be read after the end, and hidden state is left out before the end unless the
//! server was started with `--reveal-hidden`. `docs/reference/server.md` has the complete list.

mod documents;
mod episode;
mod views;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use episode::ReferenceEpisode;
use episode::{Kind, ResetFault, reset_episode};

use crate::connections::STREAMS;
use crate::openenv::http::{body_object, unprocessable};
use crate::openenv::{detail, json_response};
use crate::sessions::{Session, lock};
use crate::state::App;
use crate::validation::FieldError;

/// Ends a connection after the answer: one that had or wanted a stream waits for no further request, which would
/// take the place of others.
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Pause between two events of a stream.
const STREAM_PAUSE: Duration = Duration::from_millis(500);

type Shared = State<Arc<App>>;
type Found = Arc<Session<ReferenceEpisode>>;

/// Returns the routes, without the prefix `/sentinel`.
pub(crate) fn routes() -> Router<Arc<App>> {
    documents::routes()
        .merge(views::routes())
        .route("/reset", post(reset))
        .route("/step", post(step))
        .route("/state", get(state))
        .route("/reward-report", get(reward_report))
        .route("/stream", get(stream_any))
        .route("/mcp", post(mcp))
        .route("/difficulty", get(difficulty))
        .route("/difficulty/reset", post(difficulty_reset))
        .route("/cluster/reset", post(cluster_reset))
        .route("/cluster/step", post(cluster_step))
}

/// The session of a query.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionQuery {
    session_id: Option<String>,
}

/// Returns the answer for an unknown session.
fn unknown(id: &str) -> Response {
    let shown: String = id.chars().take(64).collect();
    let words = format!("Session '{shown}' not found: start one with POST /sentinel/reset");
    detail(StatusCode::NOT_FOUND, words)
}

/// Returns the session that a query names.
fn find(app: &App, id: Option<&str>) -> Result<Found, Response> {
    let missing = || unprocessable(&[FieldError::missing(&["query", "session_id"], &Value::Null)]);
    let id = id.ok_or_else(missing)?;
    app.reference.get(id).ok_or_else(|| unknown(id))
}

/// Returns the session that a query names, if it plays the cluster.
fn find_cluster(app: &App, id: Option<&str>) -> Result<Found, Response> {
    let found = find(app, id)?;
    let kind = found.lock().kind();
    match kind {
        Kind::Cluster => Ok(found),
        Kind::Trust => {
            let words = "this session plays trust: start one of the cluster with POST /sentinel/cluster/reset";
            Err(detail(StatusCode::BAD_REQUEST, words))
        }
    }
}

fn respond(result: Result<Value, Response>) -> Response {
    match result {
        Ok(body) => json_response(StatusCode::OK, &body),
        Err(response) => response,
    }
}

/// Starts an episode in a new session.
#[utoipa::path(post, path = "/sentinel/reset", tag = "reference",
    request_body(content = Object, description = "task_type, scenario_id, seed, adaptive, mode, streams; all optional"),
    responses((status = 200, description = "observation, reward, done, info"), (status = 400, description = "unknown task or scenario"),
              (status = 422, description = "a field has a wrong type")))]
pub(crate) async fn reset(State(app): Shared, body: Bytes) -> Response {
    respond(body_object(&body).and_then(|fields| reset_now(&app, &fields, None)))
}

async fn cluster_reset(State(app): Shared, body: Bytes) -> Response {
    respond(body_object(&body).and_then(|fields| reset_now(&app, &fields, Some(Kind::Cluster))))
}

fn reset_now(
    app: &App,
    fields: &Map<String, Value>,
    kind: Option<Kind>,
) -> Result<Value, Response> {
    let episode = reset_episode(fields, kind, &lock(&app.controller));
    let episode = episode.map_err(|fault| match fault {
        ResetFault::Fields(errors) => unprocessable(&errors),
        ResetFault::Unknown(words) => detail(StatusCode::BAD_REQUEST, words),
        ResetFault::NoEntropy(error) => detail(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    })?;
    let opened = app.reference.open(|id| episode.with_session_id(id));
    let session =
        opened.map_err(|error| detail(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
    app.metrics.count_reset(session.lock().world());
    let reply = session.lock().reply(app.options.reveal_hidden);
    Ok(reply)
}

/// Takes one step in a session.
#[utoipa::path(post, path = "/sentinel/step", tag = "reference", params(("session_id" = Option<String>, Query, description = "The session")),
    request_body(content = Object, description = "session_id, action_type and the fields of the action"),
    responses((status = 200, description = "observation, reward, done, info"), (status = 400, description = "the action is not valid"),
              (status = 404, description = "no such session"), (status = 422, description = "a field has a wrong type")))]
pub(crate) async fn step(
    State(app): Shared,
    Query(query): Query<SessionQuery>,
    body: Bytes,
) -> Response {
    let taken =
        body_object(&body).and_then(|fields| step_now(&app, query.session_id, fields, None));
    respond(taken)
}

async fn cluster_step(
    State(app): Shared,
    Query(query): Query<SessionQuery>,
    body: Bytes,
) -> Response {
    let cluster = Some(Kind::Cluster);
    respond(body_object(&body).and_then(|fields| step_now(&app, query.session_id, fields, cluster)))
}

fn step_now(
    app: &App,
    query: Option<String>,
    mut fields: Map<String, Value>,
    kind: Option<Kind>,
) -> Result<Value, Response> {
    let whole = Value::Object(fields.clone());
    let id = match (query, fields.remove("session_id")) {
        (Some(id), None | Some(Value::Null)) => id,
        (None, Some(Value::String(id))) => id,
        (Some(id), Some(Value::String(own))) if id == own => id,
        (Some(_), Some(Value::String(_))) => {
            let words = "the query and the body name different sessions";
            return Err(detail(StatusCode::BAD_REQUEST, words));
        }
        (_, Some(other)) if !other.is_null() => {
            let msg = "Input should be a valid string";
            let error = FieldError::new("string_type", &["body", "session_id"], msg, &other);
            return Err(unprocessable(&[error]));
        }
        _ => {
            return Err(unprocessable(&[FieldError::missing(
                &["body", "session_id"],
                &whole,
            )]));
        }
    };
    let session = match kind {
        Some(Kind::Cluster) => find_cluster(app, Some(&id))?,
        _ => find(app, Some(&id))?,
    };
    let mut episode = session.lock();
    let errors = episode.check(&fields);
    if !errors.is_empty() {
        return Err(unprocessable(&errors));
    }
    let taken = episode.step(fields, &mut lock(&app.controller));
    taken.map_err(|words| detail(StatusCode::BAD_REQUEST, words))?;
    app.metrics.count_step(episode.world());
    Ok(episode.reply(app.options.reveal_hidden))
}

/// Answers with the state of a session.
#[utoipa::path(get, path = "/sentinel/state", tag = "reference", params(("session_id" = String, Query, description = "The session")),
    responses((status = 200, description = "the state"), (status = 404, description = "no such session")))]
pub(crate) async fn state(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let found = find(&app, query.session_id.as_deref());
    respond(found.map(|session| session.lock().state(app.options.reveal_hidden)))
}

/// Answers with the report on a session, after its end or for evaluators.
#[utoipa::path(get, path = "/sentinel/reward-report", tag = "reference", params(("session_id" = String, Query, description = "The session")),
    responses((status = 200, description = "the report"), (status = 404, description = "no such session"),
              (status = 409, description = "the episode runs, and its report holds hidden state")))]
pub(crate) async fn reward_report(
    State(app): Shared,
    Query(query): Query<SessionQuery>,
) -> Response {
    respond(find(&app, query.session_id.as_deref()).and_then(|session| report_now(&app, &session)))
}

fn report_now(app: &App, session: &Found) -> Result<Value, Response> {
    let episode = session.lock();
    if !episode.is_done() && !app.options.reveal_hidden {
        let words = "the report holds hidden state: ask after the end, or start the server with --reveal-hidden";
        return Err(detail(StatusCode::CONFLICT, words));
    }
    Ok(episode.reward_report())
}

async fn difficulty(State(app): Shared) -> Response {
    json_response(StatusCode::OK, &difficulty_state(&app))
}

async fn difficulty_reset(State(app): Shared) -> Response {
    *lock(&app.controller) = Default::default();
    json_response(StatusCode::OK, &difficulty_state(&app))
}

fn difficulty_state(app: &App) -> Value {
    let mut state = episode::to_json(&lock(&app.controller).current_profile());
    state["how_to_enable"] = "send adaptive=true with a reset".into();
    state
}

/// Answers a request of the reference's own `/mcp`: `{method: reset | step | state, params}`.
async fn mcp(State(app): Shared, body: Bytes) -> Response {
    let answer = body_object(&body).and_then(|mut fields| {
        let params = match fields.remove("params") {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let id = params
            .get("session_id")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let method = fields
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let needs_session = matches!(method, "step" | "state");
        if needs_session && id.is_none() {
            return Err(detail(StatusCode::BAD_REQUEST, "params need a session_id"));
        }
        match method {
            "reset" => reset_now(&app, &params, None),
            "step" => step_now(&app, None, params, None),
            "state" => {
                let session = find(&app, id.as_deref())?;
                let state = session.lock().state(app.options.reveal_hidden);
                Ok(state)
            }
            _ => Err(detail(
                StatusCode::BAD_REQUEST,
                "unknown method: use reset, step or state",
            )),
        }
    });
    respond(answer.map(|result| json!({"result": result})))
}

/// Streams the short form of the state twice a second, until the end of the episode.
#[utoipa::path(get, path = "/sentinel/stream", tag = "reference", params(("session_id" = String, Query, description = "The session")),
    responses((status = 200, description = "server-sent events", content_type = "text/event-stream")))]
pub(crate) async fn stream_any(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    events(
        app,
        query.session_id.unwrap_or_default(),
        None,
        "session_not_found",
    )
}

/// The progress of a stream.
enum StreamState {
    First,
    Later,
    Ended,
}

/// Answers with a stream of a session's snapshots; `reason` is that of its end without a session.
///
/// A stream does not count as a use of its session: both end when the session is idle or too old.
fn events(app: Arc<App>, id: String, kind: Option<Kind>, reason: &'static str) -> Response {
    let Ok(permit) = Arc::clone(&app.streams).try_acquire_owned() else {
        let words = format!("{STREAMS} streams are open: try again, or ask for the state instead");
        let mut response = detail(StatusCode::SERVICE_UNAVAILABLE, words);
        let pause = HeaderValue::from_static("5");
        response.headers_mut().insert(header::RETRY_AFTER, pause);
        response.headers_mut().insert(header::CONNECTION, CLOSE);
        return response;
    };
    let next = move |state: StreamState| {
        // The stream owns this function, and so the permit.
        let _held = &permit;
        let (app, id) = (Arc::clone(&app), id.clone());
        async move {
            match state {
                StreamState::First => {}
                StreamState::Later => tokio::select! {
                    () = tokio::time::sleep(STREAM_PAUSE) => {}
                    () = app.shutdown.cancelled() => return None,
                },
                StreamState::Ended => return None,
            }
            let found = app.reference.get(&id);
            let found =
                found.filter(|session| kind.is_none_or(|kind| session.watch().kind() == kind));
            let Some(session) = found else {
                let event = Event::default()
                    .event("close")
                    .data(json!({"reason": reason}).to_string());
                return Some((Ok::<_, Infallible>(event), StreamState::Ended));
            };
            let episode = session.watch();
            let snapshot = episode.stream(app.options.reveal_hidden);
            let after = if episode.is_done() {
                StreamState::Ended
            } else {
                StreamState::Later
            };
            Some((Ok(Event::default().data(snapshot.to_string())), after))
        }
    };
    let mut response = Sse::new(stream::unfold(StreamState::First, next)).into_response();
    let no = HeaderValue::from_static("no");
    response.headers_mut().insert("x-accel-buffering", no);
    response.headers_mut().insert(header::CONNECTION, CLOSE);
    response
}
