//! The scheduler's prompt: one observation as text for a language model (spec cluster §10.8).
//!
//! The reference's prompt also states the reliability modifier, which reveals the number of
//! different behaviors. This prompt states the public counts instead from which the modifier is
//! computed.

use std::fmt::Write as _;

use super::text;
use crate::cluster::model::{Change, Observation};
use crate::protocol::sorted_json;

/// Examples that are complete under all rules: none leaves a choice to the environment.
const EXAMPLES: [&str; 5] = [
    r#"{"action_type": "allocate", "job_id": "JOB-004", "gpu_id": "GPU-02", "worker_id": "S1"}"#,
    r#"{"action_type": "preempt", "job_id": "JOB-001"}"#,
    r#"{"action_type": "request_info", "job_id": "JOB-001", "worker_id": "S3"}"#,
    r#"{"action_type": "verify", "job_id": "JOB-001", "worker_id": "S3"}"#,
    r#"{"action_type": "tick"}"#,
];

/// Returns the prompt for the current observation.
#[must_use]
pub fn scheduler_prompt(o: &Observation) -> String {
    let mut out = String::with_capacity(1600);
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        out,
        "You schedule jobs on a cluster of GPUs through five workers, some of whom may lie."
    );
    let _ = writeln!(out, "Mission ({}): {}", o.task, text::task_goal(o.task));
    let _ = writeln!(out, "Step: {} / {}", o.step_count, o.max_steps);
    let _ = writeln!(out, "Cluster health: {:.3}", o.health);
    let _ = writeln!(out, "Utilization: {:.3}", o.utilization);
    let _ = writeln!(out, "Trust: {}", sorted_json(&o.ledger.rounded_trust()));
    let _ = writeln!(out, "Anomalies: {}", sorted_json(&o.anomalies));
    let (loops, drift) = (o.counters.loop_events, o.counters.drift_events);
    let _ = writeln!(
        out,
        "Repeated actions: {loops}. Actions beside the goal: {drift}."
    );
    let _ = writeln!(out, "\nReturn exactly one JSON object, like one of these:");
    for example in EXAMPLES {
        let _ = writeln!(out, "{example}");
    }
    let _ = writeln!(
        out,
        "Verify workers whose reports look odd, keep GPUs busy, and mind the deadlines."
    );
    if o.rules.has(Change::Choices) {
        let _ = writeln!(
            out,
            "An action fails that does not name its job, its GPU or its worker."
        );
    }
    out
}
