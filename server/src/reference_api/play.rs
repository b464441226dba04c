//! The sessions of the reference's API: their episodes, reports, and streams of events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use sentinel_env::cluster;
use sentinel_env::message::ParseError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::episode::{self, Kind, ReferenceEpisode, ResetFault, StepFault, reset_episode};
use super::messages::{
    Difficulty, EitherReport, EitherState, EitherStep, McpReply, McpRequest, ResetFields,
    StepFields,
};
use crate::connections::STREAMS;
use crate::envelope::{Envelope, parse_object, strict_value};
use crate::reply::{
    body_object, body_text, broken, detail, json_invalid, json_response, unprocessable,
};
use crate::route::{Operation, Route};
use crate::sessions::{Session, lock};
use crate::state::App;
use crate::validation::FieldError;

/// Ends a connection after the answer: one that had or wanted a stream waits for no further request, which would
/// take the place of others.
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Pause between two events of a stream.
const STREAM_PAUSE: Duration = Duration::from_millis(500);

pub(super) type Shared = State<Arc<App>>;
type Found = Arc<Session<ReferenceEpisode>>;

const TAG: &str = "reference";
const NO_SESSION: &str = "There is no such session, or it has ended";
const NO_ID: &str = "The query has no session_id, or a field has a wrong type";

pub(super) fn get(path: &'static str, summary: &'static str) -> Operation {
    Operation::get(path, TAG, summary)
}

fn post(path: &'static str, summary: &'static str) -> Operation {
    Operation::post(path, TAG, summary)
}

/// Adds the session that a route reads, and the errors without it.
pub(super) fn of_session(operation: Operation) -> Operation {
    operation
        .required_query::<String>("session_id", "The session")
        .fails(404, NO_SESSION)
        .fails(422, NO_ID)
}

/// Adds what a reset reads and answers, but for its reply.
fn of_reset(operation: Operation) -> Operation {
    operation
        .optional_body::<ResetFields>()
        .fails(400, "There is no such task or scenario")
        .fails(422, "A field has a wrong type")
        .fails(
            503,
            "The system gives no random numbers for the id or the seed",
        )
}

/// Adds what a step reads and answers, but for its reply.
fn of_step(operation: Operation) -> Operation {
    operation
        .query::<String>("session_id", "The session, in place of that of the body")
        .body::<StepFields>()
        .fails(
            400,
            "The action is refused, or the session is of the other world",
        )
        .fails(404, NO_SESSION)
        .fails(422, "There is no session_id, or a field has a wrong type")
}

/// Returns the routes that play episodes.
pub(crate) fn routes() -> Vec<Route<Arc<App>>> {
    let running = "The episode runs, and its report holds hidden state";
    vec![
        of_reset(post(
            "/sentinel/reset",
            "Starts an episode in a new session",
        ))
        .reply::<EitherStep>("The first observation")
        .handled_by(reset),
        of_step(post("/sentinel/step", "Takes one step in a session"))
            .reply::<EitherStep>("The observation after the step")
            .handled_by(step),
        of_session(get("/sentinel/state", "Returns the state of a session"))
            .reply::<EitherState>("The state")
            .handled_by(state),
        of_session(get(
            "/sentinel/reward-report",
            "Returns the report on a session, after its end or for evaluators",
        ))
        .reply::<EitherReport>("The report")
        .fails(409, running)
        .handled_by(reward_report),
        get(
            "/sentinel/stream",
            "Streams the short form of the state twice a second, until the end",
        )
        .query::<String>("session_id", "The session")
        .text(
            EVENTS,
            "Server-sent events, each with the short form of the state",
        )
        .fails(503, "Too many streams are open")
        .handled_by(stream_any),
        post(
            "/sentinel/mcp",
            "Answers a request of the reference's own protocol",
        )
        .body::<McpRequest>()
        .reply::<McpReply>("The answer of the method")
        .fails(
            400,
            "The method is unknown or has no session_id, or the request is refused",
        )
        .fails(404, NO_SESSION)
        .fails(422, "A field has a wrong type")
        .fails(
            503,
            "The system gives no random numbers for the id or the seed",
        )
        .handled_by(mcp),
        get(
            "/sentinel/difficulty",
            "Returns the curriculum, which all sessions share",
        )
        .reply::<Difficulty>("The difficulty of the next adaptive episode")
        .handled_by(difficulty),
        post("/sentinel/difficulty/reset", "Restarts the curriculum")
            .reply::<Difficulty>("The difficulty of the next adaptive episode")
            .handled_by(difficulty_reset),
        of_reset(post(
            "/sentinel/cluster/reset",
            "Starts an episode of the cluster in a new session",
        ))
        .reply::<cluster::StepResult>("The first observation")
        .handled_by(cluster_reset),
        of_step(post(
            "/sentinel/cluster/step",
            "Takes one step in a session of the cluster",
        ))
        .reply::<cluster::StepResult>("The observation after the step")
        .handled_by(cluster_step),
    ]
}

/// The media type of server-sent events.
pub(super) const EVENTS: &str = "text/event-stream";

/// The session of a query.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionQuery {
    pub(super) session_id: Option<String>,
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
pub(super) fn find_cluster(app: &App, id: Option<&str>) -> Result<Found, Response> {
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

pub(super) fn respond(result: Result<Value, Response>) -> Response {
    match result {
        Ok(body) => json_response(StatusCode::OK, &body),
        Err(response) => response,
    }
}

/// Starts an episode in a new session.
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
pub(crate) async fn step(
    State(app): Shared,
    Query(query): Query<SessionQuery>,
    body: Bytes,
) -> Response {
    respond(step_body(&app, query.session_id, &body, None))
}

async fn cluster_step(
    State(app): Shared,
    Query(query): Query<SessionQuery>,
    body: Bytes,
) -> Response {
    let cluster = Some(Kind::Cluster);
    respond(step_body(&app, query.session_id, &body, cluster))
}

fn step_body(
    app: &App,
    query: Option<String>,
    body: &[u8],
    kind: Option<Kind>,
) -> Result<Value, Response> {
    let request = Envelope::parse_action(body_text(body)?);
    let request = request.map_err(|error| broken(&error, &["body"]))?;
    step_now(app, query, &request, kind)
}

/// Takes the step of a request, which is an action with the id of its session.
fn step_now(
    app: &App,
    query: Option<String>,
    request: &Envelope<'_>,
    kind: Option<Kind>,
) -> Result<Value, Response> {
    let of_body = |error| broken(&error, &["body"]);
    let own = request.get("session_id").unwrap_or("null");
    let own = strict_value(own, &[]).map_err(of_body)?;
    // As in every message, an empty id counts as left out.
    let own = if own == "" { Value::Null } else { own };
    let id = match (query, own) {
        (Some(id), Value::Null) => id,
        (None, Value::String(id)) => id,
        (Some(id), Value::String(own)) if id == own => id,
        (Some(_), Value::String(_)) => {
            let words = "the query and the body name different sessions";
            return Err(detail(StatusCode::BAD_REQUEST, words));
        }
        (None, Value::Null) => {
            let whole = Value::Object(request.to_values().map_err(of_body)?);
            let missing = FieldError::missing(&["body", "session_id"], &whole);
            return Err(unprocessable(&[missing]));
        }
        (_, other) => {
            let msg = "Input should be a valid string";
            let error = FieldError::new("string_type", &["body", "session_id"], msg, &other);
            return Err(unprocessable(&[error]));
        }
    };
    let session = match kind {
        Some(Kind::Cluster) => find_cluster(app, Some(&id))?,
        _ => find(app, Some(&id))?,
    };
    let mut episode = session.lock();
    let taken = episode.step(request, &mut lock(&app.controller));
    taken.map_err(|fault| match fault {
        StepFault::Form(ParseError::NotJson(reason)) => json_invalid(&reason, 0),
        StepFault::Form(ParseError::Form(reason)) => {
            let action = request.text_without(|_, _| false);
            unprocessable(&[FieldError::not_an_action(&["body"], &reason, &action)])
        }
        StepFault::Refused(words) => detail(StatusCode::BAD_REQUEST, words),
    })?;
    app.metrics.count_step(episode.world());
    Ok(episode.reply(app.options.reveal_hidden))
}

/// Answers with the state of a session.
pub(crate) async fn state(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let found = find(&app, query.session_id.as_deref());
    respond(found.map(|session| session.lock().state(app.options.reveal_hidden)))
}

/// Answers with the report on a session, after its end or for evaluators.
pub(crate) async fn reward_report(
    State(app): Shared,
    Query(query): Query<SessionQuery>,
) -> Response {
    respond(find(&app, query.session_id.as_deref()).and_then(|session| report_now(&app, &session)))
}

pub(super) fn report_now(app: &App, session: &Found) -> Result<Value, Response> {
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
    let answer = body_text(&body).and_then(|text| {
        let of_body = |error| broken(&error, &["body"]);
        let mut request = Envelope::parse(text).map_err(of_body)?;
        let params = request.take("params").filter(|text| *text != "null");
        let params = params.unwrap_or("{}");
        let of_params = |error| broken(&error, &["body", "params"]);
        let fields = request.to_values().map_err(of_body)?;
        let method = fields.get("method").and_then(Value::as_str);
        let method = method.unwrap_or_default();
        let no_id = || detail(StatusCode::BAD_REQUEST, "params need a session_id");
        match method {
            "reset" => reset_now(&app, &parse_object(params).map_err(of_params)?, None),
            "step" => {
                let action = Envelope::parse_action(params).map_err(of_params)?;
                action.get("session_id").ok_or_else(no_id)?;
                step_now(&app, None, &action, None)
            }
            "state" => {
                let params = parse_object(params).map_err(of_params)?;
                let id = params.get("session_id").and_then(Value::as_str);
                let session = find(&app, Some(id.ok_or_else(no_id)?))?;
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
pub(super) fn events(
    app: Arc<App>,
    id: String,
    kind: Option<Kind>,
    reason: &'static str,
) -> Response {
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
