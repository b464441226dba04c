//! An episode as rows for comparison with other implementations (spec cluster §10.6).

use serde::{Serialize, Serializer};

use super::breakdown::Breakdown;
use super::message::ActionMessage;
use super::summary::{ClusterSummary, JobsSummary, evidence_summaries};
use crate::adaptive_difficulty::DifficultyProfile;
use crate::cluster::Episode;
use crate::cluster::model::{Anomalies, Attack, AttackType, Behavior, JobId, Step};
use crate::environment::{Environment, PrivilegedState};
use crate::ledger::EvidenceRow;
use crate::num::round_to;
use crate::slot::{PerSlot, SLOTS, Slot};

/// The row for the start of an episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec cluster §10.6"
)]
pub struct TraceReset {
    pub kind: &'static str,
    pub max_steps: u8,
    pub profile: [Behavior; SLOTS],
    /// Priority, memory, steps, deadline and owner of each job.
    pub jobs: Vec<(u8, u8, u8, u8, String)>,
    pub difficulty_profile: Option<DifficultyProfile>,
}

impl TraceReset {
    /// Creates the row of an episode that has not taken a step yet.
    #[must_use]
    pub fn new(episode: &Episode) -> Self {
        let (o, hidden) = (episode.observation(), episode.hidden());
        let rows = o.jobs.rows().iter().zip(hidden.priorities);
        Self {
            kind: "reset",
            max_steps: o.max_steps,
            profile: hidden.assignment.0,
            jobs: rows
                .map(|(job, priority)| {
                    let owner = format!("team-{}", job.owner);
                    (priority, job.memory, job.steps, job.deadline, owner)
                })
                .collect(),
            difficulty_profile: o.profile.adaptive.then_some(o.profile),
        }
    }
}

/// The row for one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec cluster §10.6"
)]
pub struct TraceStep {
    pub kind: &'static str,
    pub step: u8,
    pub action: ActionMessage,
    pub reward: f64,
    pub done: bool,
    pub health: f64,
    pub util: f64,
    pub gpu_states: [u8; 5],
    pub jobs: [u8; 5],
    pub trust: [f64; SLOTS],
    pub attack: Option<AttackRow>,
    /// Worker, job, stated and true progress, confidence, honest, false completion.
    pub report: Option<(Slot, JobId, f64, f64, f64, bool, bool)>,
    /// Attempts, detections, poisonings, false positives, verifications.
    pub att: [u16; 5],
    #[serde(rename = "loop")]
    pub loops: u16,
    pub drift: u16,
    pub level: u8,
    /// Rewards of the orchestrator, resource manager, auditor and worker.
    pub agents: [f64; 4],
    /// Loop avoidance, context memory, hallucination resistance, freshness.
    pub rel: [f64; 4],
    pub rhr: f64,
    pub coherence: f64,
    pub calib: f64,
}

/// The level, type and target of an attack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttackRow(pub Attack);

impl Serialize for AttackRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attack = &self.0;
        let target = match attack.kind {
            AttackType::FalseCompletion => Some(attack.job.to_string()),
            AttackType::FalseMemoryReport => Some(attack.gpu.to_string()),
            AttackType::FabricateJob => Some(format!("FAB-{:04}", attack.forged)),
            AttackType::CascadePanic | AttackType::CoordinatedMultiReport => None,
        };
        (attack.level, attack.kind, target).serialize(serializer)
    }
}

impl TraceStep {
    /// Creates the row of the step that `episode` has just taken.
    #[must_use]
    pub fn new(episode: &Episode, step: &Step) -> Self {
        let (o, g) = (episode.observation(), &step.grades);
        let (c, reliability) = (&o.counters, &g.reliability);
        Self {
            kind: "step",
            step: o.step_count,
            action: step.action.into(),
            reward: g.reward,
            done: o.done,
            health: o.health,
            util: o.utilization,
            gpu_states: episode.hidden().pool.counts(),
            jobs: o.jobs.counts(),
            trust: o.ledger.rounded_trust().0,
            attack: step.attack.map(AttackRow),
            report: step.report.map(|r| {
                let (truth, lie) = (r.honest, r.false_completion);
                (
                    r.worker,
                    r.job,
                    r.reported,
                    r.actual,
                    r.confidence,
                    truth,
                    lie,
                )
            }),
            att: [
                c.attempts,
                c.detections,
                c.poisonings,
                c.false_positives,
                c.verifications,
            ],
            loops: c.loop_events,
            drift: c.drift_events,
            level: episode.hidden().attacker.level(),
            agents: [g.orchestrator, g.resource_manager, g.auditor, g.worker],
            rel: [
                reliability.loop_avoidance,
                reliability.context_memory,
                reliability.hallucination_resistance,
                reliability.freshness,
            ],
            rhr: g.hack_resistance,
            coherence: g.coherence,
            calib: g.calibration,
        }
    }
}

/// The row for the end of an episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec cluster §10.6"
)]
pub struct TraceFinal {
    pub kind: &'static str,
    pub steps: u8,
    pub reward_events: u16,
    pub score: f64,
    pub score4: f64,
    pub total_reward: f64,
    pub terminal_reward: f64,
    pub breakdown: Breakdown,
    pub jobs: JobsSummary,
    pub cluster: ClusterSummary,
    pub coverage_modifier: f64,
    /// Numbers of attempts, detections and poisonings.
    pub attack: [u16; 3],
    pub seen_attacks: Vec<&'static str>,
    pub trust: [f64; SLOTS],
    pub fingerprints: PerSlot<EvidenceRow<1>>,
    pub anomaly: Anomalies,
    pub claims: u16,
    pub actions: u16,
    /// True progress, shown progress and step of completion of each job.
    pub job_progress: Vec<(f64, f64, Option<u8>)>,
    pub profile: [Behavior; SLOTS],
    pub rng_next: f64,
    pub adversary_rng_next: f64,
    pub policy_rng_next: Option<f64>,
}

impl TraceFinal {
    /// Creates the row of an episode whose last step was `last`; `None` while the episode is
    /// running. `policy_rng_next` is the next draw of the policy's own stream, if the caller has
    /// one.
    #[must_use]
    pub fn new(episode: &Episode, last: &Step, policy_rng_next: Option<f64>) -> Option<Self> {
        let end = last.terminal?;
        let (o, hidden, tally) = (episode.observation(), episode.hidden(), episode.tally());
        let mut seen_attacks: Vec<&str> = tally.attacks_seen().map(AttackType::name).collect();
        seen_attacks.sort_unstable();
        let rows = o.jobs.rows().iter().zip(hidden.progress);
        let c = &o.counters;
        Some(Self {
            kind: "final",
            steps: o.step_count,
            reward_events: tally.reward_events,
            score: tally.score(),
            score4: round_to(tally.score(), 4),
            total_reward: tally.total_reward,
            terminal_reward: end.reward,
            breakdown: Breakdown::Terminal(end),
            jobs: JobsSummary::from_episode(episode),
            cluster: ClusterSummary::from_episode(episode),
            coverage_modifier: episode.reliability().modifier,
            attack: [c.attempts, c.detections, c.poisonings],
            seen_attacks,
            trust: o.ledger.trust(),
            fingerprints: evidence_summaries(&o.ledger),
            anomaly: o.anomalies,
            claims: episode.audit().claim_count(),
            actions: episode.audit().action_count(),
            job_progress: rows
                .map(|(job, actual)| (actual, job.reported, job.completed_at))
                .collect(),
            profile: hidden.assignment.0,
            rng_next: hidden.peek_failures(),
            adversary_rng_next: hidden.peek_attacks(),
            policy_rng_next,
        })
    }
}
