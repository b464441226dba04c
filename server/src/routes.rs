//! The routes of a server: OpenEnv at the root, the reference's API under `/sentinel/`, a language
//! model under `/v1/`, the policy, the description of the API, the metrics, and the page.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Redirect, Response};
use schemars::JsonSchema;
use sentinel_env::WorldName;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutLayer};

use crate::access::{self, Access};
use crate::completions;
use crate::envelope::{Envelope, strict_value};
use crate::environment::{AnyEnvironment, Failure};
use crate::errors;
use crate::openapi;
use crate::openenv;
use crate::page::PageFiles;
use crate::policy::{ActError, ActJob};
use crate::reference_api;
use crate::reply::{
    body_text, broken, detail, json_bytes, json_invalid, json_response, unprocessable,
};
use crate::route::{Operation, Route};
use crate::state::App;
use crate::validation::FieldError;
use crate::worlds::ResetRequest;

/// Most actions of an episode that a request of `/act` describes.
const ACTIONS_MAX: usize = 1000;

/// Returns all routes but those of the page.
fn all() -> Vec<Route<Arc<App>>> {
    let mut routes = openenv::routes::routes();
    routes.extend([
        Operation::post(
            "/act",
            "policy",
            "Returns the action that the server's policy would take",
        )
        .body::<ActRequest>()
        .reply::<ActReply>("The action and the name of the policy")
        .fails(
            400,
            "The described episode names something that does not exist",
        )
        .fails(404, "There is no policy, or no such session")
        .fails(409, "The policy cannot be asked about this episode")
        .fails(422, "A field has a wrong type")
        .handled_by(act),
        Operation::get(
            "/policy/model_status",
            "policy",
            "Returns which policy the server has",
        )
        .reply::<ModelStatus>("The policy; null without one")
        .handled_by(model_status),
    ]);
    routes.extend(completions::http::routes());
    routes.extend(reference_api::routes());
    let own =
        Operation::get("/openapi.json", "server", "Returns this document").document("The document");
    let listed = routes.iter().map(|route| &route.operation);
    let text = openapi::document(listed.chain([&own])).to_string();
    routes
        .push(own.handled_by(move || async move { json_bytes(StatusCode::OK, text.into_bytes()) }));
    routes
}

/// A request to the policy: a session, an observation with its session, or an episode.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum ActRequest {
    /// A session of a WebSocket or of /sentinel/.
    Session { session_id: String },
    /// An observation of /sentinel/, which has the id of its session.
    Observation { observation: ObservedSession },
    /// The fields of a reset, and the actions so far.
    Episode { episode: DescribedEpisode },
}

/// An observation, of which the session counts.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct ObservedSession {
    session_id: String,
}

/// An episode: the fields of its reset, and the actions so far.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct DescribedEpisode {
    #[schemars(length(max = ACTIONS_MAX))]
    actions: Option<Vec<Map<String, Value>>>,
    #[schemars(flatten)]
    reset: ResetRequest,
}

/// The action that the policy would take.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct ActReply {
    /// An action of the episode's world.
    action: Map<String, Value>,
    /// Name of the policy.
    policy: String,
}

/// The policy of the server.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct ModelStatus {
    /// Name of the policy.
    policy: Option<String>,
    /// The world that it plays.
    world: Option<WorldName>,
    /// `scripted`, `compact` or `language`.
    kind: Option<String>,
    /// More about a learned policy.
    details: Option<Value>,
}

/// Returns the router of a server.
pub(crate) fn router(app: &Arc<App>, access: &Arc<Access>) -> Router {
    let limits = app.limits;
    let add = |router: Router<Arc<App>>, route: Route<Arc<App>>| {
        router.route(route.operation.path, route.handler)
    };
    let (open, guarded): (Vec<_>, Vec<_>) =
        all().into_iter().partition(|route| route.operation.is_open);
    let api = guarded
        .into_iter()
        .fold(Router::new(), add)
        // Within the checks, which ask for the size of a body: this layer hides it.
        .route_layer(RequestBodyTimeoutLayer::new(limits.request_timeout))
        .route_layer(middleware::from_fn_with_state(
            Arc::clone(access),
            access::check,
        ));
    // A container's platform asks for the health without a token.
    let api = (open.into_iter().fold(api, add))
        .method_not_allowed_fallback(|| async { StatusCode::METHOD_NOT_ALLOWED });
    let page = app.options.page.as_deref().map(PageFiles::new);
    let api = api.fallback(move |request: Request| {
        let page = page.clone();
        async move {
            match (without_slash(request.uri()), page) {
                (Some(path), _) => Redirect::temporary(&path).into_response(),
                (None, Some(files)) => files.serve(request).await.into_response(),
                (None, None) => StatusCode::NOT_FOUND.into_response(),
            }
        }
    });
    let api =
        api.layer(DefaultBodyLimit::max(limits.max_message))
            .layer(TimeoutLayer::with_status_code(
                StatusCode::REQUEST_TIMEOUT,
                limits.request_timeout,
            ));
    access::guard_names(api, access)
        .layer(middleware::from_fn_with_state(limits, errors::form_errors))
        .layer(middleware::from_fn_with_state(Arc::clone(app), count))
        .with_state(Arc::clone(app))
}

/// Returns the path and query of a route that a request names with a slash at the end, which FastAPI's servers,
/// such as OpenEnv's, redirect to the route.
fn without_slash(uri: &Uri) -> Option<String> {
    let path = uri.path().strip_suffix('/')?;
    let is_named = |route: &Route<Arc<App>>| {
        let is_same = |(wanted, given): (&str, &str)| {
            wanted == given || (wanted.starts_with('{') && !given.is_empty())
        };
        let named = route.operation.path;
        named.split('/').zip(path.split('/')).all(is_same)
            && named.split('/').count() == path.split('/').count()
    };
    if path.is_empty() || !all().iter().any(is_named) {
        return None;
    }
    let query = uri.query().map(|query| format!("?{query}"));
    Some(format!("{path}{}", query.unwrap_or_default()))
}

/// Counts a request and logs it.
async fn count(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(|| "other".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().clone();
    let start = std::time::Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    app.metrics.count_request(&route, status);
    tracing::debug!(%method, route, status, micros = start.elapsed().as_micros(), "request");
    response
}

/// Answers with the action that the server's policy would take.
pub(crate) async fn act(State(app): State<Arc<App>>, body: Bytes) -> Response {
    let job = match act_job(&app, &body) {
        Ok(job) => job,
        Err(response) => return response,
    };
    let name = app.policy.as_ref().map(|policy| policy.name().to_owned());
    match app.compute(&app.metrics.policy_seconds, job).await {
        Ok(action) => json_response(StatusCode::OK, &json!({"action": action, "policy": name})),
        Err(reason) => detail(StatusCode::CONFLICT, reason),
    }
}

fn act_job(app: &App, body: &[u8]) -> Result<ActJob, Response> {
    let Some(policy) = &app.policy else {
        let words = "this server has no policy: start it with --policy NAME or --policy MODEL";
        return Err(detail(StatusCode::NOT_FOUND, words));
    };
    let refused = |error: ActError| detail(StatusCode::CONFLICT, error.to_string());
    let of_body = |error| broken(&error, &["body"]);
    let mut envelope = Envelope::parse(body_text(body)?).map_err(of_body)?;
    let episode = envelope.take("episode");
    let fields = envelope.to_values().map_err(of_body)?;
    let of_observation = fields
        .get("observation")
        .and_then(|observation| observation.get("session_id"));
    let id = fields.get("session_id").filter(|id| !id.is_null());
    let id = id.or(of_observation).filter(|id| !id.is_null());
    match id {
        Some(id) if episode.is_some_and(|episode| episode != "null") => {
            let words = "name a session or an episode, not both";
            let loc = ["body", "episode"];
            return Err(unprocessable(&[FieldError::new(
                "value_error",
                &loc,
                words,
                id,
            )]));
        }
        Some(Value::String(id)) => {
            if let Some(session) = app.sessions.get(id) {
                return session.lock().act(policy).map_err(refused);
            }
            if let Some(session) = app.reference.get(id) {
                return session.lock().act(policy).map_err(refused);
            }
            let shown: String = id.chars().take(64).collect();
            let words = format!("no session {shown:?}: it has ended, or its id is another one");
            return Err(detail(StatusCode::NOT_FOUND, words));
        }
        Some(other) => {
            let msg = "Input should be a valid string";
            let error = FieldError::new("string_type", &["body", "session_id"], msg, other);
            return Err(unprocessable(&[error]));
        }
        None => {}
    }
    match episode {
        Some(episode) => described_episode(app, episode)?
            .act(policy)
            .map_err(refused),
        None => {
            let words = "name a session_id, an observation with its session_id, or an episode";
            let whole = Value::Object(fields);
            Err(unprocessable(&[FieldError::new(
                "missing",
                &["body", "session_id"],
                words,
                &whole,
            )]))
        }
    }
}

/// Plays the episode that a request describes: the fields of a reset, and the actions so far.
fn described_episode(app: &App, episode: &str) -> Result<AnyEnvironment, Response> {
    let loc = ["body", "episode"];
    let of_episode = |error| broken(&error, &loc);
    let refused = |failure: Failure| match failure {
        Failure::NotJson(reason) => json_invalid(&reason, 0),
        Failure::Invalid(errors) => {
            let errors = errors
                .into_iter()
                .map(|error| error.within("episode").within("body"));
            unprocessable(&errors.collect::<Vec<_>>())
        }
        Failure::Execution(reason) => detail(StatusCode::BAD_REQUEST, reason),
    };
    let mut envelope = Envelope::parse(episode).map_err(of_episode)?;
    let actions = envelope.take("actions").unwrap_or("null");
    let fields = envelope.to_values().map_err(of_episode)?;
    let listed: Option<Vec<&RawValue>> = serde_json::from_str(actions).ok();
    let actions = match listed {
        None if actions == "null" => Vec::new(),
        Some(actions) if actions.len() <= ACTIONS_MAX => actions,
        _ => {
            let msg = format!("Input should be a list of at most {ACTIONS_MAX} actions");
            let loc = ["body", "episode", "actions"];
            let found = strict_value(actions, &[]).map_err(of_episode)?;
            return Err(unprocessable(&[FieldError::new(
                "list_type",
                &loc,
                msg,
                &found,
            )]));
        }
    };
    let mut environment = AnyEnvironment::new(&app.defaults, "");
    environment.reset(&fields).map_err(refused)?;
    for action in actions {
        environment.step(action.get()).map_err(refused)?;
    }
    Ok(environment)
}

/// Answers which policy the server has.
pub(crate) async fn model_status(State(app): State<Arc<App>>) -> Response {
    let none = json!({"policy": null, "world": null, "kind": null, "details": null});
    let status = app.policy.as_ref().map_or(&none, |policy| policy.status());
    json_response(StatusCode::OK, status)
}
