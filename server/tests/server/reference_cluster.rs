//! The cluster behind the reference's API: views, audit log, dashboards, and hidden state.

use serde_json::{Value, json};

use super::client::TestServer;
use super::reference::{reset, step};

/// Starts a cluster session and returns its id.
async fn start(server: &TestServer, task: &str, seed: u64) -> String {
    let reply = reset(
        server,
        json!({"task_type": format!("cluster_{task}"), "seed": seed}),
    )
    .await;
    let id = reply["observation"]["session_id"].as_str();
    id.expect("an id").to_owned()
}

/// Returns a view of a session, which must succeed.
async fn view(server: &TestServer, path: &str, id: &str) -> Value {
    let (status, body) = get(server, path, id).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

async fn get(server: &TestServer, path: &str, id: &str) -> (u16, Value) {
    let sign = if path.contains('?') { '&' } else { '?' };
    let path = format!("/sentinel/{path}{sign}session_id={id}");
    server.request("GET", &path, None).await
}

/// Takes one step of a mix of actions.
async fn mixed_step(server: &TestServer, id: &str, number: usize) -> Value {
    let worker = format!("S{}", number % 5);
    let kind = ["allocate", "allocate", "verify", "request_info"][number % 4];
    let action = json!({"session_id": id, "action_type": kind, "worker_id": worker});
    let (status, reply) = step(server, &action).await;
    assert_eq!(status, 200, "{reply}");
    reply
}

/// Plays an episode to its end and checks every reply.
async fn play(server: &TestServer, id: &str, mut check: impl FnMut(&Value)) -> Value {
    for number in 0.. {
        let reply = mixed_step(server, id, number).await;
        if reply["done"] == true {
            return reply;
        }
        check(&reply);
    }
    unreachable!("every episode ends")
}

#[tokio::test]
async fn workers_are_hidden_until_the_end() {
    for reveal in [false, true] {
        let server = TestServer::with(|options, _| options.reveal_hidden = reveal, None).await;
        let id = start(&server, "task3", 4).await;
        let state = view(&server, "state", &id).await;
        assert_eq!(state.get("worker_profile_hidden").is_some(), reveal);
        for path in [
            "gpus",
            "jobs",
            "workers",
            "audit",
            "state",
            "ai-failure-coverage",
        ] {
            let body = view(&server, &format!("cluster/{path}"), &id).await;
            let names_hidden = [
                "worker_profile_hidden",
                "scenario_signature",
                "ground_truth",
            ]
            .iter()
            .any(|name| body.to_string().contains(name));
            let has_some = ["workers", "state", "ai-failure-coverage"].contains(&path);
            assert_eq!(names_hidden, reveal && has_some, "{path}: {body}");
        }
        let last = play(&server, &id, |reply| {
            assert_eq!(reply.to_string().contains("scenario_signature"), reveal);
            assert!(reply["info"]["cluster"]["states"]["IDLE"].is_number());
            assert!(reply["info"]["ai_failure_coverage"]["ai_reliability_modifier"].is_number());
        });
        assert!(last.await["info"]["reward_report"].is_object());
        let workers = view(&server, "cluster/workers", &id).await;
        let reliability = &workers["public_ground_truth_reliability"];
        assert!(
            reliability["S0"].is_number(),
            "shown after the end: {workers}"
        );
        let coverage = view(&server, "cluster/ai-failure-coverage", &id).await;
        assert!(coverage["evaluation_collapse"]["scenario_signature"].is_string());
    }
}

/// Checks that the summary of the pool before the end is made from what an agent sees: a forged row
/// counts as idle.
#[tokio::test]
async fn summary_before_the_end_is_that_of_the_visible_rows() {
    let server = TestServer::start().await;
    let id = start(&server, "task3", 11).await;
    for number in 0..40 {
        let reply = mixed_step(&server, &id, number).await;
        if reply["done"] == true {
            break;
        }
        let rows = reply["observation"]["gpu_pool"].as_array().expect("rows");
        let summary = &reply["info"]["cluster"];
        for state in ["IDLE", "ALLOCATED", "OVERLOADED", "FAILED", "RECOVERING"] {
            let seen = rows.iter().filter(|row| row["state"] == state).count();
            assert_eq!(summary["states"][state], seen, "{state}");
        }
        let used: u64 = rows
            .iter()
            .filter_map(|row| row["memory_used"].as_u64())
            .sum();
        assert_eq!(summary["memory_used"], used);
        let gpus = view(&server, "cluster/gpus", &id).await;
        assert_eq!(
            (&gpus["summary"], &gpus["gpus"]),
            (summary, &reply["observation"]["gpu_pool"])
        );
    }
}

#[tokio::test]
async fn hidden_columns_are_shown_after_the_end_or_to_evaluators() {
    for reveal in [false, true] {
        let server = TestServer::with(|options, _| options.reveal_hidden = reveal, None).await;
        let id = start(&server, "task3", 4).await;
        for path in ["gpus", "jobs"] {
            let asked = format!("cluster/{path}?include_hidden=true");
            let (status, body) = get(&server, &asked, &id).await;
            assert_eq!(status, if reveal { 200 } else { 403 }, "{body}");
        }
        play(&server, &id, |_| {}).await;
        let gpus = view(&server, "cluster/gpus?include_hidden=1", &id).await;
        let jobs = view(&server, "cluster/jobs?include_hidden=yes", &id).await;
        assert!(gpus["gpus"][0].get("false_report").is_some());
        assert!(gpus["gpus"][0]["recovery_steps_remaining"].is_number());
        assert!(jobs["jobs"][0]["priority"].is_number());
        assert!(jobs["jobs"][0]["actual_progress"].is_number());
        let plain = view(&server, "cluster/jobs?include_hidden=false", &id).await;
        assert!(plain["jobs"][0].get("priority").is_none());
    }
}

#[tokio::test]
async fn audit_log_grows_with_the_episode() {
    let server = TestServer::start().await;
    let id = start(&server, "task3", 5).await;
    let empty = view(&server, "cluster/audit", &id).await;
    assert_eq!(
        empty,
        json!({"claims": [], "actions": [], "anomaly_scores": {}, "flags": []})
    );
    let mut steps = 0;
    play(&server, &id, |_| steps += 1).await;
    let log = view(&server, "cluster/audit", &id).await;
    let claims = log["claims"].as_array().expect("claims");
    for claim in claims {
        let timestamp = claim["timestamp"].as_u64().expect("a step");
        let reward = claim["reward"].as_f64().expect("a reward");
        assert!((1..=steps + 1).contains(&timestamp) && (0.0..=1.0).contains(&reward));
        assert!(claim["justification"].is_string() && claim.get("approved").is_some());
    }
    let denied = |name: &str| {
        let own = claims.iter().filter(|claim| claim["agent"] == name);
        own.filter(|claim| claim["approved"] == false).count()
    };
    for agent in [
        "S0",
        "S1",
        "S2",
        "S3",
        "S4",
        "adversary",
        "auditor",
        "cluster",
    ] {
        let path = format!("cluster/audit/investigate?agent_id={agent}&window=240");
        let found = view(&server, &path, &id).await;
        assert_eq!(
            (&found["agent"], &found["window"]),
            (&json!(agent), &json!(240))
        );
        assert_eq!(found["denied_claims"], denied(agent), "{agent}");
        let actions = found["actions"].as_array().expect("actions");
        assert!(actions.iter().all(|action| action["agent"] == agent));
        let listed = &log["anomaly_scores"][agent];
        assert!(
            listed.is_null() || *listed == found["anomaly_score"],
            "{agent}"
        );
    }
    let near = view(&server, "cluster/audit/investigate?agent_id=auditor", &id).await;
    assert_eq!(near["window"], 10, "the default");
}

#[tokio::test]
async fn wrong_queries_of_views_name_their_place() {
    let server = TestServer::start().await;
    let id = start(&server, "task1", 5).await;
    for (path, kind) in [
        ("cluster/jobs?deadline_window=0", "greater_than_equal"),
        ("cluster/jobs?deadline_window=241", "less_than_equal"),
        (
            "cluster/jobs?deadline_window=99999999999",
            "less_than_equal",
        ),
        ("cluster/jobs?deadline_window=ten", "int_parsing"),
        ("cluster/gpus?include_hidden=perhaps", "bool_parsing"),
        ("cluster/audit/investigate", "missing"),
        (
            "cluster/audit/investigate?agent_id=S0&window=-1",
            "greater_than_equal",
        ),
    ] {
        let (status, body) = get(&server, path, &id).await;
        assert_eq!(
            (status, &body["detail"][0]["type"]),
            (422, &json!(kind)),
            "{path}: {body}"
        );
        assert_eq!(body["detail"][0]["loc"][0], "query");
    }
    let asked = "cluster/audit/investigate?agent_id=nobody";
    let (status, body) = get(&server, asked, &id).await;
    assert_eq!(status, 404, "{body}");
    assert!(
        body["detail"].to_string().contains("resource_manager"),
        "{body}"
    );
    assert_eq!(
        get(&server, "cluster/audit/investigate?agent_id=S0", "nobody")
            .await
            .0,
        404
    );
}

#[tokio::test]
async fn dashboards_are_pages_with_the_escaped_id() {
    let server = TestServer::start().await;
    for name in ["trust-dashboard", "cluster-dashboard"] {
        let path = format!("/sentinel/{name}?session_id=%22%3E%3Cscript%3E%27%26");
        let (status, page) = server.request_text("GET", &path, None, None).await;
        assert_eq!(status, 200);
        assert!(page.contains(r#"value="&quot;&gt;&lt;script&gt;&#x27;&amp;""#));
        assert!(!page.contains("{{"), "every placeholder is filled");
        for words in [
            "<title>Sentinel live dashboard",
            "Cluster health",
            "EventSource",
        ] {
            assert!(page.contains(words), "{words}");
        }
    }
    let (_, page) = server
        .request_text("GET", "/sentinel/trust-dashboard", None, None)
        .await;
    assert!(page.contains(r#"value="""#), "no session");
}
