//! The audit ledger as a log of claims and actions, rebuilt from the steps of a session (spec cluster
//! §6).
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec cluster §6"
)]

use serde::Serialize;

use super::Session;
use crate::cluster::model::{
    ActionType, Agent, Anomalies, AttackType, ClaimKind, GPUS_MAX, GpuId, JOBS_MAX, JobId, Step,
};
use crate::environment::Environment;
use crate::num::round_to;
use crate::slot::Slot;

/// A claim of an agent: the reward that it claims, and the verdict on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimRecord {
    pub agent: &'static str,
    pub reward: f64,
    pub justification: String,
    pub timestamp: u8,
    /// The verdict; `None` for a claim without one.
    pub approved: Option<bool>,
}

/// An action of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionRecord {
    pub agent: &'static str,
    pub action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuId>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportedProgress>,
    pub timestamp: u8,
}

/// A worker's report in the log. Its honesty is public: the ledger of trust counts it at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportedProgress {
    pub reported_progress: f64,
    pub verified: bool,
    pub honest: bool,
}

/// The complete log of an episode. Flags are always empty, because no agent raises any.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditLog {
    pub claims: Vec<ClaimRecord>,
    pub actions: Vec<ActionRecord>,
    pub anomaly_scores: Anomalies,
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub flags: [(); 0],
}

/// The recent records of one agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Investigation {
    pub agent: &'static str,
    pub window: u8,
    pub claims: Vec<ClaimRecord>,
    pub actions: Vec<ActionRecord>,
    /// Mean of the rewards of these claims, 0..=1, four decimals; 0 without claims.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Share"))]
    pub avg_claimed_reward: f64,
    pub denied_claims: usize,
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub flags: [(); 0],
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Share"))]
    pub anomaly_score: f64,
}

impl AuditLog {
    /// Rebuilds the log from the steps of a session.
    #[must_use]
    pub fn from_session(session: &Session) -> Self {
        let mut log = Self {
            claims: Vec::new(),
            actions: Vec::new(),
            anomaly_scores: session.episode().observation().anomalies,
            flags: [],
        };
        for (timestamp, step) in (1..).zip(session.steps()) {
            log.push_attack(step, timestamp);
            log.push_action(step, timestamp);
            log.push_completions(session, step, timestamp);
            for gpu in (0..GPUS_MAX as u8)
                .map(GpuId)
                .filter(|gpu| step.tick.failed >> gpu.0 & 1 == 1)
            {
                log.actions.push(ActionRecord {
                    gpu: Some(gpu),
                    ..ActionRecord::new(Agent::Cluster, "gpu_failed", timestamp)
                });
            }
        }
        log
    }

    /// Returns the records of `agent` from the last `window` steps of the log on.
    #[must_use]
    pub fn investigate(&self, agent: Agent, window: u8) -> Investigation {
        let times = self.claims.iter().map(|claim| claim.timestamp);
        let times = times.chain(self.actions.iter().map(|action| action.timestamp));
        let first = times.max().unwrap_or(0).saturating_sub(window);
        let recent = |name: &str, time: u8| name == agent.name() && time >= first;
        let claims = self.claims.iter();
        let claims: Vec<ClaimRecord> = claims
            .filter(|claim| recent(claim.agent, claim.timestamp))
            .cloned()
            .collect();
        let actions = self.actions.iter();
        let actions = actions.filter(|action| recent(action.agent, action.timestamp));
        let total: f64 = claims.iter().map(|claim| claim.reward).sum();
        let denied = claims.iter().filter(|claim| claim.approved == Some(false));
        Investigation {
            agent: agent.name(),
            window,
            actions: actions.cloned().collect(),
            avg_claimed_reward: round_to(total / claims.len().max(1) as f64, 4),
            denied_claims: denied.count(),
            claims,
            flags: [],
            anomaly_score: self.anomaly_scores.score(agent),
        }
    }

    /// Adds the adversary's record of an attack. Only a forged completion and a forged GPU name their
    /// target, which the rows of jobs and GPUs show as well.
    fn push_attack(&mut self, step: &Step, timestamp: u8) {
        let Some(attack) = &step.attack else {
            return;
        };
        if attack.kind == AttackType::FalseCompletion {
            let justification = format!("reported {} as complete", attack.job);
            let claim = (Agent::Adversary, ClaimKind::Forged, timestamp);
            self.claims.push(ClaimRecord::new(claim, justification));
            return;
        }
        let is_shown = attack.kind == AttackType::FalseMemoryReport;
        self.actions.push(ActionRecord {
            gpu: Some(attack.gpu).filter(|_| is_shown),
            ..ActionRecord::new(Agent::Adversary, attack.kind.name(), timestamp)
        });
    }

    /// Adds the scheduler's action, the report that it requested, and the verdict on the report.
    fn push_action(&mut self, step: &Step, timestamp: u8) {
        let kind = step.action.action_type();
        let is_verify = kind == ActionType::Verify;
        let job = step.report.map(|report| report.job).or(step.preempted);
        if job.is_none() {
            return;
        }
        if let Some(report) = &step.report {
            let worker = Agent::Worker(report.worker);
            self.actions.push(ActionRecord {
                job,
                report: Some(ReportedProgress {
                    reported_progress: report.reported,
                    verified: is_verify,
                    honest: report.honest,
                }),
                ..ActionRecord::new(worker, "report", timestamp)
            });
            if is_verify {
                let (claim, verdict) = if step.caught {
                    (ClaimKind::Denied, "was caught")
                } else {
                    (ClaimKind::Checked, "was checked")
                };
                let justification = format!("the report on {} {verdict}", report.job);
                let claim = (worker, claim, timestamp);
                self.claims.push(ClaimRecord::new(claim, justification));
            }
        }
        let agent = if is_verify {
            Agent::Auditor
        } else {
            Agent::ResourceManager
        };
        self.actions.push(ActionRecord {
            job,
            gpu: step.action.gpu(),
            ..ActionRecord::new(agent, kind.name(), timestamp)
        });
    }

    /// Adds the claims of workers whose jobs were completed. A completed job keeps its worker.
    fn push_completions(&mut self, session: &Session, step: &Step, timestamp: u8) {
        let jobs = &session.episode().observation().jobs;
        for id in (0..JOBS_MAX as u8).map(JobId) {
            if step.completed >> id.0 & 1 == 1 {
                let worker = jobs.get(id).and_then(|job| job.worker);
                let worker = Agent::Worker(worker.unwrap_or(Slot::ALL[0]));
                let claim = (worker, ClaimKind::Completed, timestamp);
                self.claims
                    .push(ClaimRecord::new(claim, format!("completed {id}")));
            }
        }
    }
}

impl ClaimRecord {
    fn new((agent, kind, timestamp): (Agent, ClaimKind, u8), justification: String) -> Self {
        Self {
            agent: agent.name(),
            reward: kind.reward(),
            justification,
            timestamp,
            approved: kind.approved(),
        }
    }
}

impl ActionRecord {
    const fn new(agent: Agent, action: &'static str, timestamp: u8) -> Self {
        Self {
            agent: agent.name(),
            action,
            job: None,
            gpu: None,
            report: None,
            timestamp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::model::{Action, Setup};
    use crate::rng::Streams;
    use crate::slot::SLOTS;
    use crate::task::Task;

    /// Returns a mix of all actions, by step.
    fn action(step: usize) -> Action {
        let worker = Some(Slot::ALL[step * 7 % SLOTS]);
        match step % 11 {
            0 | 1 | 4 | 6 => Action::Allocate {
                job: None,
                gpu: None,
                worker,
            },
            2 | 7 | 8 => Action::Verify {
                job: None,
                worker,
                force_flag: false,
            },
            9 if step.is_multiple_of(3) => Action::Preempt { job: None, worker },
            10 => Action::Tick,
            _ => Action::RequestInfo { job: None, worker },
        }
    }

    /// Returns the anomaly score of claims by the formula of the specification.
    fn score(claims: &[&ClaimRecord]) -> f64 {
        if claims.is_empty() {
            return 0.0;
        }
        let n = claims.len() as f64;
        let share = |is: fn(&ClaimRecord) -> bool| {
            claims.iter().filter(|claim| is(claim)).count() as f64 / n
        };
        let mean = claims.iter().map(|claim| claim.reward).sum::<f64>() / n;
        let squares = claims.iter().map(|claim| (claim.reward - mean).powi(2));
        let deviation = (squares.sum::<f64>() / n).sqrt();
        let high = share(|claim| claim.reward >= 0.90);
        let denied = share(|claim| claim.approved == Some(false));
        0.35 * high
            + 0.25 * (mean - 0.70).max(0.0) / 0.30
            + 0.20 * (deviation / 0.40).min(1.0)
            + 0.20 * denied
    }

    #[test]
    fn log_has_the_records_that_the_ledger_counts() {
        for (task, seed) in Task::ALL
            .into_iter()
            .flat_map(|task| (0..6).map(move |seed| (task, seed)))
        {
            let mut session = Session::new(&Setup::new(task, seed, Streams::Reference));
            for step in 0.. {
                if session.act(action(step)).is_err() {
                    break;
                }
                let (log, audit) = (AuditLog::from_session(&session), session.episode().audit());
                assert_eq!(log.claims.len(), usize::from(audit.claim_count()));
                assert_eq!(log.actions.len(), usize::from(audit.action_count()));
            }
            let log = AuditLog::from_session(&session);
            for agent in Agent::ALL {
                let own = |claim: &&ClaimRecord| claim.agent == agent.name();
                let claims: Vec<&ClaimRecord> = log.claims.iter().filter(own).collect();
                let listed = log.anomaly_scores.score(agent);
                assert!(
                    (score(&claims) - listed).abs() < 6e-5,
                    "{task} {seed} {}",
                    agent.name()
                );
            }
        }
    }

    #[test]
    fn investigation_keeps_the_window_of_one_agent() {
        let mut session = Session::new(&Setup::new(Task::Task3, 5, Streams::Reference));
        for step in 0..60 {
            session.act(action(step)).expect("runs");
        }
        let log = AuditLog::from_session(&session);
        let last = session.steps().len() as u8;
        for agent in Agent::ALL {
            let (all, near) = (log.investigate(agent, 240), log.investigate(agent, 10));
            let own = |name: &&str| **name == *agent.name();
            let names = log.claims.iter().map(|claim| claim.agent);
            assert_eq!(all.claims.len(), names.filter(own).count());
            assert!(near.claims.len() <= all.claims.len());
            assert!(
                near.actions
                    .iter()
                    .all(|action| action.timestamp + 10 >= last)
            );
            assert!((0.0..=1.0).contains(&all.avg_claimed_reward));
            assert!(all.denied_claims <= all.claims.len());
        }
        let denied = |agent| log.investigate(agent, 240).denied_claims;
        assert!(
            Slot::ALL
                .into_iter()
                .any(|slot| denied(Agent::Worker(slot)) > 0)
        );
        assert!(
            log.investigate(Agent::Adversary, 240)
                .claims
                .iter()
                .all(|claim| claim.approved.is_none())
        );
    }
}
