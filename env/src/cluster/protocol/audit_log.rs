//! The audit log of a session: every claim and action, and what an investigation finds
//! (spec cluster §6).

use serde::Serialize;

use super::text;
use crate::cluster::Episode;
use crate::cluster::model::{Action, Agent, Anomalies, AttackType, ClaimKind, JobId, Step};
use crate::environment::Environment;
use crate::num::round_to;
use crate::slot::Slot;

/// One claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimRow {
    /// For whom.
    pub agent: Agent,
    /// Claimed reward, 0..1.
    pub reward: f64,
    /// Why.
    pub justification: String,
    /// The step.
    pub timestamp: u8,
    /// What the auditor said of it, if anything.
    pub approved: Option<bool>,
}

/// One action.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionRow {
    /// Who acted.
    pub agent: Agent,
    /// What was done.
    pub action: &'static str,
    /// The step.
    pub timestamp: u8,
}

/// What an investigation of one agent finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Investigation {
    /// Who.
    pub agent: Agent,
    /// Claims in the window.
    pub claims: Vec<ClaimRow>,
    /// Actions in the window.
    pub actions: Vec<ActionRow>,
    /// Mean claimed reward in the window, four decimals; 0 without claims.
    pub avg_claimed_reward: f64,
    /// Denied claims in the window.
    pub denied_claims: usize,
    /// Flags; nobody raises any.
    pub flags: u16,
    /// The agent's score over the whole episode.
    pub anomaly_score: f64,
}

/// Everything in the log, and the scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditSnapshot {
    /// All claims.
    pub claims: Vec<ClaimRow>,
    /// All actions.
    pub actions: Vec<ActionRow>,
    /// Scores in the order of names, where the reference's order changes from run to run.
    pub anomaly_scores: Anomalies,
    /// Flags; nobody raises any.
    pub flags: Vec<String>,
}

/// Claims and actions in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AuditLog {
    claims: Vec<ClaimRow>,
    actions: Vec<ActionRow>,
}

impl AuditLog {
    /// Takes in the step that `episode` just took.
    pub(super) fn push(&mut self, episode: &Episode, step: &Step) {
        let timestamp = episode.observation().step_count;
        self.attack(step, timestamp);
        if let Some(report) = &step.report {
            let worker = Agent::Worker(report.worker);
            self.act(worker, "reported on a job", timestamp);
            if matches!(step.action, Action::Verify { .. }) {
                let kind = if step.caught {
                    ClaimKind::Denied
                } else {
                    ClaimKind::Checked
                };
                self.claim(worker, kind, report.job, timestamp);
            }
        }
        let agent = match step.action {
            Action::Verify { .. } => Agent::Auditor,
            _ => Agent::ResourceManager,
        };
        if step.report.is_some() || step.preempted.is_some() {
            self.act(agent, text::deed(step.action), timestamp);
        }
        for (id, job) in episode.observation().jobs.iter() {
            if step.completed >> id.0 & 1 == 1 {
                let worker = job.worker.unwrap_or(Slot::ALL[0]);
                self.claim(Agent::Worker(worker), ClaimKind::Completed, id, timestamp);
            }
        }
        for _ in 0..step.tick.failed.count_ones() {
            self.act(Agent::Cluster, "lost a GPU", timestamp);
        }
    }

    fn attack(&mut self, step: &Step, timestamp: u8) {
        let Some(attack) = &step.attack else {
            return;
        };
        match attack.kind {
            AttackType::FalseCompletion => {
                self.claim(Agent::Adversary, ClaimKind::Forged, attack.job, timestamp);
            }
            AttackType::FalseMemoryReport => {}
            kind => self.act(Agent::Adversary, text::attack(kind), timestamp),
        }
    }

    fn act(&mut self, agent: Agent, action: &'static str, timestamp: u8) {
        self.actions.push(ActionRow {
            agent,
            action,
            timestamp,
        });
    }

    fn claim(&mut self, agent: Agent, kind: ClaimKind, job: JobId, timestamp: u8) {
        let why = match kind {
            ClaimKind::Denied => "report denied",
            ClaimKind::Checked => "report checked",
            ClaimKind::Completed => "job complete",
            ClaimKind::Forged => "completion claimed",
        };
        self.claims.push(ClaimRow {
            agent,
            reward: kind.reward(),
            justification: format!("{job}: {why}"),
            timestamp,
            approved: kind.approved(),
        });
    }

    /// What is known of an agent from the last `window` steps before the log's last entry.
    pub(super) fn investigate(
        &self,
        agent: Agent,
        window: u8,
        scores: &Anomalies,
    ) -> Investigation {
        let claimed = self.claims.last().map_or(0, |claim| claim.timestamp);
        let acted = self.actions.last().map_or(0, |action| action.timestamp);
        let since = claimed.max(acted).saturating_sub(window);
        let claims = self.claims.iter();
        let claims: Vec<ClaimRow> = claims
            .filter(|claim| claim.agent == agent && claim.timestamp >= since)
            .cloned()
            .collect();
        let actions = self.actions.iter();
        let sum: f64 = claims.iter().map(|claim| claim.reward).sum();
        Investigation {
            agent,
            avg_claimed_reward: round_to(sum / claims.len().max(1) as f64, 4),
            denied_claims: claims.iter().filter(|c| c.approved == Some(false)).count(),
            claims,
            actions: actions
                .filter(|action| action.agent == agent && action.timestamp >= since)
                .cloned()
                .collect(),
            flags: 0,
            anomaly_score: scores.score(agent),
        }
    }

    /// The whole log.
    pub(super) fn snapshot(&self, scores: &Anomalies) -> AuditSnapshot {
        AuditSnapshot {
            claims: self.claims.clone(),
            actions: self.actions.clone(),
            anomaly_scores: *scores,
            flags: Vec::new(),
        }
    }
}
