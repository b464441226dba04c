//! The views of a cluster session: its GPUs, jobs, workers, audit log and reports.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use sentinel_env::cluster::{self, Agent, AuditLog, ClusterSummary, GpuRow, JobRow, JobsSummary};
use sentinel_env::ledger::EvidenceRow;
use sentinel_env::num::round_to;
use sentinel_env::slot::{PerSlot, Slot};
use sentinel_env::{Environment as _, PrivilegedState as _};
use serde::Deserialize;
use serde_json::{Value, json};

use super::episode::{Kind, to_json};
use super::play::{
    EVENTS, SessionQuery, Shared, events, find_cluster, get, of_session, report_now, respond,
};
use crate::reply::{detail, unprocessable};
use crate::route::{Operation, Route};
use crate::state::App;
use crate::validation::FieldError;

/// Steps that `deadline_window` and `window` cover if they are left out, and at most.
const WINDOW_DEFAULT: u8 = 10;
const WINDOW_MAX: u8 = 240;

pub(super) fn routes() -> [Route<Arc<App>>; 9] {
    let of_cluster =
        |path, summary| of_session(get(path, summary)).fails(400, "The session plays trust");
    let rows = |operation: Operation| {
        operation
            .query::<bool>(
                "include_hidden",
                "Add the hidden columns; refused before the end",
            )
            .fails(
                403,
                "Hidden state is shown after the end, or with --reveal-hidden",
            )
    };
    let window = |operation: Operation, name, about| operation.query::<Window>(name, about);
    [
        of_cluster(
            "/sentinel/cluster/state",
            "Returns the state of a session of the cluster",
        )
        .reply::<cluster::StatePayload>("The state")
        .handled_by(state),
        rows(of_cluster(
            "/sentinel/cluster/gpus",
            "Returns the GPUs of a session",
        ))
        .reply::<Gpus>("The GPUs, as reported")
        .handled_by(gpus),
        window(
            rows(of_cluster(
                "/sentinel/cluster/jobs",
                "Returns the jobs of a session",
            )),
            "deadline_window",
            "Steps within which a deadline is near; 10 if left out",
        )
        .reply::<Jobs>("The jobs, and those whose deadline is near")
        .handled_by(jobs),
        of_cluster(
            "/sentinel/cluster/workers",
            "Returns the workers of a session",
        )
        .reply::<Workers>("Trust in each worker, and the evidence")
        .handled_by(workers),
        of_cluster(
            "/sentinel/cluster/audit",
            "Returns the audit log of a session",
        )
        .reply::<AuditLog>("Claims, actions and anomaly scores of all agents")
        .handled_by(audit),
        window(
            of_cluster(
                "/sentinel/cluster/audit/investigate",
                "Returns the recent records of one agent",
            )
            .required_query::<String>("agent_id", "The agent"),
            "window",
            "Steps that are covered; 10 if left out",
        )
        .reply::<cluster::Investigation>("Claims, actions and the anomaly score of the agent")
        .fails(404, "There is no such session or agent")
        .handled_by(investigate),
        of_cluster(
            "/sentinel/cluster/ai-failure-coverage",
            "Returns the eight failure modes of a session",
        )
        .reply::<cluster::FailureModes>("The failure modes")
        .handled_by(coverage),
        of_cluster(
            "/sentinel/cluster/reward-report",
            "Returns the report on a session of the cluster, after its end or for evaluators",
        )
        .reply::<cluster::RewardReport>("The report")
        .fails(409, "The episode runs, and its report holds hidden state")
        .handled_by(reward_report),
        get(
            "/sentinel/cluster/stream",
            "Streams the short form of the state twice a second, until the end",
        )
        .query::<String>("session_id", "The session")
        .text(
            EVENTS,
            "Server-sent events, each with the short form of the state",
        )
        .fails(503, "Too many streams are open")
        .handled_by(stream),
    ]
}

/// A number of steps.
#[derive(JsonSchema)]
#[schemars(inline)]
#[allow(dead_code, reason = "only its schema is used")]
struct Window(#[schemars(range(min = 1, max = WINDOW_MAX))] u8);

/// The GPUs of a session.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Gpus {
    summary: ClusterSummary,
    /// With `include_hidden` also `false_report` and `recovery_steps_remaining`.
    gpus: Vec<GpuRow>,
}

/// The jobs of a session.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Jobs {
    summary: JobsSummary,
    /// With `include_hidden` also `priority` and `actual_progress`.
    jobs: Vec<JobRow>,
    deadline_pressure: Vec<cluster::JobId>,
}

/// The workers of a session.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Workers {
    available: Vec<Slot>,
    trust_snapshot: PerSlot<f64>,
    behavioral_fingerprints: PerSlot<EvidenceRow<1>>,
    /// After the end, or with --reveal-hidden.
    #[schemars(with = "PerSlot<f64>", skip_serializing_if = "Option::is_none")]
    public_ground_truth_reliability: Option<PerSlot<f64>>,
}

/// The query of a view. Values are texts, so that a wrong one is answered with its place.
#[derive(Debug, Deserialize)]
struct ViewQuery {
    session_id: Option<String>,
    include_hidden: Option<String>,
    deadline_window: Option<String>,
    agent_id: Option<String>,
    window: Option<String>,
}

impl ViewQuery {
    /// Returns `include_hidden`, written as the reference accepts it.
    fn hidden(&self) -> Result<bool, FieldError> {
        let text = self.include_hidden.as_deref().unwrap_or("false");
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" | "t" | "y" => Ok(true),
            "false" | "0" | "no" | "off" | "f" | "n" => Ok(false),
            _ => {
                let msg = "Input should be a valid boolean, unable to interpret input";
                let loc = ["query", "include_hidden"];
                Err(FieldError::new("bool_parsing", &loc, msg, &text.into()))
            }
        }
    }
}

/// Returns a number of steps from 1 to 240.
fn parse_window(name: &str, given: Option<&str>) -> Result<u8, FieldError> {
    let Some(text) = given else {
        return Ok(WINDOW_DEFAULT);
    };
    let loc = ["query", name];
    let refuse = |kind, msg: String| FieldError::new(kind, &loc, msg, &text.into());
    let Ok(number) = text.parse::<i64>() else {
        let msg = "Input should be a valid integer, unable to parse string as an integer";
        return Err(refuse("int_parsing", msg.to_owned()));
    };
    match u8::try_from(number) {
        Ok(window @ 1..=WINDOW_MAX) => Ok(window),
        _ if number < 1 => {
            let msg = "Input should be greater than or equal to 1".to_owned();
            Err(refuse("greater_than_equal", msg))
        }
        _ => {
            let msg = format!("Input should be less than or equal to {WINDOW_MAX}");
            Err(refuse("less_than_equal", msg))
        }
    }
}

fn refuse_field(error: FieldError) -> Response {
    unprocessable(&[error])
}

/// Answers with a view of a cluster session, which `build` makes from the session and from whether its
/// hidden state may be shown.
fn view(
    app: &App,
    id: Option<&str>,
    build: impl FnOnce(&cluster::Session, bool) -> Result<Value, Response>,
) -> Result<Value, Response> {
    let session = find_cluster(app, id)?;
    let episode = session.lock();
    let shown = app.options.reveal_hidden || episode.is_done();
    let built = episode.cluster().map(|session| build(session, shown));
    built.unwrap_or(Ok(Value::Null))
}

/// Answers with a view that has hidden columns if the query asks for them, which is refused before the
/// end of the episode.
fn rows(
    app: &App,
    query: &ViewQuery,
    build: impl FnOnce(&cluster::Session, bool) -> Value,
) -> Result<Value, Response> {
    let hidden = query.hidden().map_err(refuse_field)?;
    view(app, query.session_id.as_deref(), |session, shown| {
        if hidden && !shown {
            let words = "hidden state is shown after the end, or by a server that was started with --reveal-hidden: \
                         leave out include_hidden";
            return Err(detail(StatusCode::FORBIDDEN, words));
        }
        Ok(build(session, hidden))
    })
}

async fn state(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let found = find_cluster(&app, query.session_id.as_deref());
    respond(found.map(|session| session.lock().state(app.options.reveal_hidden)))
}

async fn gpus(State(app): Shared, Query(query): Query<ViewQuery>) -> Response {
    let build = |session: &cluster::Session, hidden: bool| {
        let (episode, o) = (session.episode(), session.episode().observation());
        let visible = to_json(&GpuRow::all(o));
        if !hidden {
            return json!({"summary": ClusterSummary::from_observation(o), "gpus": visible});
        }
        let rows = visible.as_array().into_iter().flatten();
        let rows = rows.zip(episode.hidden().pool.gpus()).map(|(row, gpu)| {
            let (mut row, view) = (row.clone(), gpu.view(false));
            let report = json!({"state": view.state, "memory_free": view.free});
            row["state"] = to_json(&gpu.state);
            row["memory_free"] = cluster::GPU_MEMORY.saturating_sub(gpu.used).into();
            row["false_report"] = if gpu.forged { report } else { Value::Null };
            row["recovery_steps_remaining"] = gpu.recovery.into();
            row
        });
        json!({"summary": ClusterSummary::from_episode(episode), "gpus": rows.collect::<Vec<_>>()})
    };
    respond(rows(&app, &query, build))
}

async fn jobs(State(app): Shared, Query(query): Query<ViewQuery>) -> Response {
    let window = match parse_window("deadline_window", query.deadline_window.as_deref()) {
        Ok(window) => window,
        Err(error) => return refuse_field(error),
    };
    let build = |session: &cluster::Session, hidden: bool| {
        let (episode, truth) = (session.episode(), session.episode().hidden());
        let o = episode.observation();
        let latest = o.step_count.saturating_add(window);
        let rows = JobRow::all(o);
        let near = |row: &&JobRow| {
            let open = matches!(
                row.status,
                cluster::JobStatus::Queued | cluster::JobStatus::Running
            );
            open && (o.step_count..=latest).contains(&row.deadline)
        };
        let pressure: Vec<_> = rows.iter().filter(near).map(|row| row.job_id).collect();
        let rows = rows.iter().map(|row| {
            let mut shown = to_json(row);
            if hidden {
                shown["priority"] = truth.priorities[row.job_id.index()].into();
                shown["actual_progress"] = round_to(truth.progress_of(row.job_id), 3).into();
            }
            shown
        });
        let rows: Vec<Value> = rows.collect();
        let summary = JobsSummary::from_episode(episode);
        json!({"summary": summary, "jobs": rows, "deadline_pressure": pressure})
    };
    respond(rows(&app, &query, build))
}

async fn workers(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let build = |session: &cluster::Session, shown: bool| {
        let o = to_json(&session.agent_observation());
        let mut view = json!({
            "available": o["available_workers"],
            "trust_snapshot": o["trust_snapshot"],
            "behavioral_fingerprints": o["behavioral_fingerprints"],
        });
        if shown {
            let reliability = PerSlot(session.episode().hidden().reliability());
            view["public_ground_truth_reliability"] = to_json(&reliability);
        }
        Ok(view)
    };
    respond(view(&app, query.session_id.as_deref(), build))
}

async fn audit(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let build = |session: &cluster::Session, _| Ok(to_json(&AuditLog::from_session(session)));
    respond(view(&app, query.session_id.as_deref(), build))
}

async fn investigate(State(app): Shared, Query(query): Query<ViewQuery>) -> Response {
    let missing = || FieldError::missing(&["query", "agent_id"], &Value::Null);
    let asked = parse_window("window", query.window.as_deref())
        .and_then(|window| Ok((query.agent_id.as_deref().ok_or_else(missing)?, window)))
        .map_err(refuse_field);
    let answer = asked.and_then(|(name, window)| {
        view(&app, query.session_id.as_deref(), |session, _| {
            let agent = Agent::parse(name).ok_or_else(|| {
                let shown: String = name.chars().take(64).collect();
                let names = Agent::ALL.map(Agent::name).join(", ");
                let words = format!("Agent '{shown}' not found: use one of {names}");
                detail(StatusCode::NOT_FOUND, words)
            })?;
            let log = AuditLog::from_session(session);
            Ok(to_json(&log.investigate(agent, window)))
        })
    });
    respond(answer)
}

async fn coverage(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let found = find_cluster(&app, query.session_id.as_deref());
    respond(found.map(|session| session.lock().coverage(app.options.reveal_hidden)))
}

async fn reward_report(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let found = find_cluster(&app, query.session_id.as_deref());
    respond(found.and_then(|session| report_now(&app, &session)))
}

async fn stream(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let reason = "session_not_found_or_not_cluster";
    events(
        app,
        query.session_id.unwrap_or_default(),
        Some(Kind::Cluster),
        reason,
    )
}
