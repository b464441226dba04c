//! The views of a cluster session: its GPUs, jobs, workers, anomalies and reports.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use sentinel_env::Environment as _;
use sentinel_env::cluster::{self, GpuRow, JobRow, JobsSummary};
use serde::Deserialize;
use serde_json::{Value, json};

use super::episode::{Kind, to_json};
use super::{SessionQuery, Shared, events, find_cluster, report_now, respond};
use crate::openenv::detail;
use crate::state::App;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/cluster/state", get(state))
        .route("/cluster/gpus", get(gpus))
        .route("/cluster/jobs", get(jobs))
        .route("/cluster/workers", get(workers))
        .route("/cluster/audit", get(audit))
        .route("/cluster/ai-failure-coverage", get(coverage))
        .route("/cluster/reward-report", get(reward_report))
        .route("/cluster/stream", get(stream))
}

/// The query of rows.
#[derive(Debug, Deserialize)]
struct RowsQuery {
    session_id: Option<String>,
    #[serde(default)]
    include_hidden: bool,
    deadline_window: Option<u8>,
}

/// Answers with a view of a cluster session.
fn view(
    app: &App,
    id: Option<&str>,
    build: impl FnOnce(&cluster::Session) -> Value,
) -> Result<Value, Response> {
    let session = find_cluster(app, id)?;
    let episode = session.lock();
    Ok(episode.cluster().map(build).unwrap_or_default())
}

fn refuse_hidden(query: &RowsQuery) -> Result<(), Response> {
    if query.include_hidden {
        let words = "rows with hidden state are not served: leave out include_hidden";
        return Err(detail(StatusCode::FORBIDDEN, words));
    }
    Ok(())
}

async fn state(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let found = find_cluster(&app, query.session_id.as_deref());
    respond(found.map(|session| session.lock().state(app.options.reveal_hidden)))
}

async fn gpus(State(app): Shared, Query(query): Query<RowsQuery>) -> Response {
    let rows = |session: &cluster::Session| {
        let o = session.episode().observation();
        let summary = json!({
            "num_gpus": o.gpus().len(),
            "utilization_rate": o.utilization,
            "cluster_health_score": o.health,
        });
        json!({"summary": summary, "gpus": GpuRow::all(o)})
    };
    respond(refuse_hidden(&query).and_then(|()| view(&app, query.session_id.as_deref(), rows)))
}

async fn jobs(State(app): Shared, Query(query): Query<RowsQuery>) -> Response {
    let window = query.deadline_window.unwrap_or(10);
    if !(1..=240).contains(&window) {
        let words = "deadline_window should be from 1 to 240";
        return detail(StatusCode::UNPROCESSABLE_ENTITY, words);
    }
    let rows = |session: &cluster::Session| {
        let o = session.episode().observation();
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
        let summary = JobsSummary::from_episode(session.episode());
        json!({"summary": summary, "jobs": rows, "deadline_pressure": pressure})
    };
    respond(refuse_hidden(&query).and_then(|()| view(&app, query.session_id.as_deref(), rows)))
}

async fn workers(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let rows = |session: &cluster::Session| {
        let o = to_json(&session.agent_observation());
        json!({
            "available": o["available_workers"],
            "trust_snapshot": o["trust_snapshot"],
            "behavioral_fingerprints": o["behavioral_fingerprints"],
        })
    };
    respond(view(&app, query.session_id.as_deref(), rows))
}

async fn audit(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let rows = |session: &cluster::Session| {
        let o = session.episode().observation();
        let c = &o.counters;
        json!({
            "anomaly_scores": o.anomalies,
            "attack_detections": c.detections,
            "loop_events": c.loop_events,
            "drift_events": c.drift_events,
        })
    };
    respond(view(&app, query.session_id.as_deref(), rows))
}

async fn coverage(State(app): Shared, Query(query): Query<SessionQuery>) -> Response {
    let answer = find_cluster(&app, query.session_id.as_deref()).and_then(|session| {
        let episode = session.lock();
        if !episode.is_done() && !app.options.reveal_hidden {
            let words = "the coverage names every worker's behavior: ask after the end, or start the server with \
                         --reveal-hidden";
            return Err(detail(StatusCode::CONFLICT, words));
        }
        let coverage = |session: &cluster::Session| cluster::FailureModes::from_episode(session.episode());
        Ok(episode.cluster().map(|session| to_json(&coverage(session))).unwrap_or_default())
    });
    respond(answer)
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
