//! Reports of the cluster world.

use sentinel_env::cluster::{Action, ClusterEnv, Session, Step, text};
use sentinel_env::{Environment as _, PrivilegedState as _};
use serde::Serialize;
use serde_json::{Value, json};

use super::{RewardReportable, StepExplanation};

/// The health below which it is the main cause of what a step lacks.
const HEALTHY: f64 = 0.7;

impl RewardReportable for ClusterEnv {
    fn report<'a>(session: &'a Session, _notes: &'a [StepExplanation]) -> impl Serialize + 'a {
        session.reward_report()
    }

    fn visible_state(session: &Session) -> Value {
        let o = session.episode().observation();
        json!({
            "trust": o.ledger.rounded_trust(),
            "cluster_health": o.health,
            "utilization_rate": o.utilization,
        })
    }

    fn hidden_truth(session: &Session) -> Value {
        json!({ "workers": session.episode().hidden().assignment })
    }

    fn step_truth(_session: &Session, step: &Step) -> Value {
        let attack = step.attack.map(|attack| {
            json!({
                "level": attack.level,
                "attack_type": attack.kind,
                "detected": attack.detected,
            })
        });
        let report = step.report.map(|report| {
            json!({
                "worker": report.worker,
                "reported_progress": report.reported,
                "actual_progress": report.actual,
                "honest": report.honest,
                "false_completion": report.false_completion,
            })
        });
        json!({ "attack": attack, "worker_report": report, "caught": step.caught })
    }

    fn components(_session: &Session, step: &Step) -> Vec<(&'static str, f64)> {
        let g = &step.grades;
        vec![
            ("orchestrator", g.orchestrator),
            ("resource_manager", g.resource_manager),
            ("auditor", g.auditor),
            ("worker", g.worker),
            ("cluster_health_score", g.health),
            ("ai_reliability_modifier", g.reliability.modifier),
        ]
    }

    fn explain_reward(_session: &Session, step: &Step) -> String {
        text::explain_reward(step)
    }

    fn loss_cause(_session: &Session, step: &Step) -> &'static str {
        let believed = step.report.is_some_and(|report| !report.honest) && !step.caught;
        if step.attack.is_some_and(|attack| !attack.detected) {
            "attack not detected"
        } else if believed {
            "believed a dishonest report"
        } else if step.looped {
            "repeated the same action"
        } else if !step.success {
            "action failed"
        } else if step.tick.failed != 0 {
            "GPU failed"
        } else if step.drifted {
            "did not serve the goal"
        } else if matches!(step.action, Action::Tick) {
            "waited"
        } else if step.grades.health < HEALTHY {
            "low cluster health"
        } else {
            "succeeded, reward below 1"
        }
    }
}
