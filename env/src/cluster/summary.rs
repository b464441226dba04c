//! Summaries of the pool and the queue, as payloads and traces show them (spec cluster §7).

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Anomalies, Behaviour, Episode, GPU_MEMORY, GpuState, JobStatus};
use crate::ledger::{EvidenceRow, Ledger};
use crate::num::round_to;
use crate::slot::{PerSlot, Slot};

/// The only domain of this world.
const DOMAINS: [&str; 1] = ["GPU_JOB"];

/// What the payload shows of each worker's history.
#[must_use]
pub fn fingerprints(ledger: &Ledger<1>) -> PerSlot<EvidenceRow<1>> {
    PerSlot(Slot::ALL.map(|slot| EvidenceRow::new(ledger[slot], &DOMAINS)))
}

/// Counts by state or status, in a fixed order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    names: [&'static str; 5],
    counts: [u8; 5],
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.names.iter().zip(self.counts))
    }
}

/// The pool in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec cluster §7"
)]
pub struct ClusterSummary {
    pub num_gpus: u8,
    pub states: Counts,
    pub utilization_rate: f64,
    pub cluster_health_score: f64,
    pub memory_used: u16,
    pub memory_total: u16,
}

impl ClusterSummary {
    /// Of an episode, as its pool is.
    #[must_use]
    pub fn of(episode: &Episode) -> Self {
        let (o, pool) = (episode.observation(), &episode.hidden().pool);
        Self {
            num_gpus: pool.len(),
            states: Counts {
                names: GpuState::ALL.map(GpuState::name),
                counts: pool.counts(),
            },
            utilization_rate: o.utilization,
            cluster_health_score: o.health,
            memory_used: pool.gpus().iter().map(|gpu| gpu.used).sum(),
            memory_total: u16::from(pool.len()) * GPU_MEMORY,
        }
    }
}

/// The queue in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec cluster §7"
)]
pub struct JobsSummary {
    pub jobs_total: usize,
    pub statuses: Counts,
    pub completion_rate: f64,
    pub deadline_hit_rate: f64,
}

impl JobsSummary {
    /// Of an episode.
    #[must_use]
    pub fn of(episode: &Episode) -> Self {
        let jobs = &episode.observation().jobs;
        Self {
            jobs_total: jobs.rows().len(),
            statuses: Counts {
                names: JobStatus::ALL.map(JobStatus::name),
                counts: jobs.counts(),
            },
            completion_rate: round_to(jobs.completion(), 4),
            deadline_hit_rate: round_to(jobs.deadline_hit(), 4),
        }
    }
}

impl Serialize for Anomalies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (agent, score) in self.iter() {
            map.serialize_entry(agent.name(), &score)?;
        }
        map.end()
    }
}

/// Task, seed, every worker's hidden behaviour and the first jobs in one line (quirk C7). It is
/// part of the reference's payload and never of an [`Observation`](super::Observation).
#[must_use]
pub fn scenario_signature(episode: &Episode) -> String {
    let setup = episode.setup();
    let workers = Slot::ALL.map(|slot| {
        let behaviour: Behaviour = episode.hidden().assignment[slot];
        format!("{slot}:{}", behaviour.name())
    });
    let jobs: Vec<String> = episode
        .observation()
        .jobs
        .iter()
        .take(5)
        .map(|(id, job)| format!("{id}:{}:{}", job.memory, job.deadline))
        .collect();
    let (workers, jobs) = (workers.join("-"), jobs.join("-"));
    format!("{}|seed={}|{workers}|{jobs}", setup.task, setup.seed)
}
