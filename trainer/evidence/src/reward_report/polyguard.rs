//! Reports of the PolyGuard world.

use std::collections::BTreeMap;

use sentinel_env::num::round_to;
use sentinel_env::polyguard::{
    Component, PolyguardEnv, Session, Step, TraceFinal, TraceReset, text,
};
use sentinel_env::{Environment as _, World as _};
use serde::Serialize;
use serde_json::{Value, json};

use super::{PlainEvent, RewardReportable, StepExplanation, plain_report};

/// The report, with the keys of the other worlds where they mean the same.
#[derive(Serialize)]
struct Report<'a> {
    research_only: bool,
    episode_id: &'a str,
    session_id: &'a str,
    scenario_id: String,
    patient_id: String,
    task_type: &'static str,
    score: f64,
    total_reward: f64,
    reward_events: usize,
    /// The means over steps, rounded to four decimals.
    component_averages: BTreeMap<&'a str, f64>,
    events: Vec<PlainEvent<'a>>,
    outcome: Option<TraceFinal>,
}

impl RewardReportable for PolyguardEnv {
    fn report<'a>(session: &'a Session, notes: &'a [StepExplanation]) -> impl Serialize + 'a {
        let mut sums = BTreeMap::<&str, f64>::new();
        for (name, value) in notes.iter().flat_map(|note| &note.components) {
            *sums.entry(name).or_default() += value;
        }
        let count = notes.len().max(1) as f64;
        let plain = plain_report(session, notes);
        Report {
            research_only: true,
            episode_id: session.episode_id(),
            session_id: session.session_id(),
            scenario_id: session.scenario_id(),
            patient_id: session.patient_id(),
            task_type: Self::episode_spec(session.episode().setup()).task.name(),
            score: round_to(plain.score, 4),
            total_reward: round_to(plain.total_reward, 4),
            reward_events: plain.reward_events,
            component_averages: sums
                .into_iter()
                .map(|(name, sum)| (name, round_to(sum / count, 4)))
                .collect(),
            events: plain.events,
            outcome: TraceFinal::new(session, None),
        }
    }

    fn visible_state(session: &Session) -> Value {
        let o = session.episode().observation();
        json!({
            "observed_risk": o.risk,
            "uncertainty": o.uncertainty,
            "medicines": o.regimen.len(),
        })
    }

    fn hidden_truth(session: &Session) -> Value {
        // The rows that `trace` writes; a world's own row is always an object.
        serde_json::to_value(TraceReset::new(session).truth).unwrap_or_default()
    }

    fn step_truth(_session: &Session, step: &Step) -> Value {
        let rounded = |pair: [f64; 2]| pair.map(|value| round_to(value, 4));
        json!({
            "safety_risk": rounded(step.risk),
            "burden": rounded(step.burden),
            "stability": rounded(step.stability),
            "issues_resolved": step.resolved,
            "progress": step.progress,
        })
    }

    fn components(_session: &Session, step: &Step) -> Vec<(&'static str, f64)> {
        let named = Component::ALL.iter().map(|part| part.name());
        named.zip(step.reward.components).collect()
    }

    fn explain_reward(session: &Session, step: &Step) -> String {
        let formulary = session.episode().observation().formulary();
        let mut reason = text::step_summary(step, formulary);
        if let Some(exploit) = step.exploit {
            reason.push_str(&format!("; exploit: {}", exploit.name()));
        }
        if let Some(end) = step.end {
            reason.push_str(&format!("; the episode ends: {}", end.name()));
        }
        reason
    }

    fn loss_cause(_session: &Session, step: &Step) -> &'static str {
        if step.exploit.is_some() {
            "exploit"
        } else if step.violation.is_some() && step.act.is_none() {
            "unreadable or unknown choice"
        } else if step.violation.is_some() {
            "refused as unsafe or illegal"
        } else if step.risk[1] > step.risk[0] {
            "raised the risk"
        } else if step.resolved[1] > step.resolved[0] || step.progress {
            "progress, reward below 1"
        } else if step.gained {
            "gathered information"
        } else if step.end.is_some() {
            "ended the episode"
        } else {
            "no progress"
        }
    }
}
