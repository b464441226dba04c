//! The input of the network: public numbers of about unit size.

mod facts;
mod global;
mod gpu;
mod job;
mod worker;

pub use global::{GLOBAL, SCHEMA as GLOBAL_SCHEMA};
pub use gpu::{PER_GPU, SCHEMA as GPU_SCHEMA};
pub use job::{PER_JOB, SCHEMA as JOB_SCHEMA};
pub use worker::{PER_WORKER, SCHEMA as WORKER_SCHEMA};

use sentinel_env::cluster::{GPUS_MAX, JOBS_MAX, JobStatus, Observation};
use sentinel_env::slot::{SLOTS, Slot};
use serde::{Deserialize, Serialize};

use self::facts::ObservationFacts;
use super::history::History;
use crate::cluster::evidence::inconsistent_gpus;
use crate::cluster::lookahead::Belief;
use crate::cluster::planner::{next_to_start, suspected_attack};
use crate::nn::Observe;

/// The features of one observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features {
    /// Job features, `[jobs, features]`; zeros for a job that neither waits, runs nor holds memory.
    #[serde(with = "crate::nn::flat_array")]
    pub jobs: [[f32; PER_JOB]; JOBS_MAX],
    /// `true` for each job that waits, runs or holds memory. Other jobs are masked out.
    #[serde(with = "crate::nn::flat_array")]
    pub open: [bool; JOBS_MAX],
    /// GPU features, `[gpus, features]`.
    #[serde(with = "crate::nn::flat_array")]
    pub gpus: [[f32; PER_GPU]; GPUS_MAX],
    /// Number of GPUs; the rows after them are masked out.
    pub gpu_count: u8,
    /// Worker features, `[workers, features]`.
    #[serde(with = "crate::nn::flat_array")]
    pub workers: [[f32; PER_WORKER]; SLOTS],
    /// Global features of the cluster, `[features]`.
    #[serde(with = "crate::nn::flat_array")]
    pub global: [f32; GLOBAL],
}

/// Computes features from the observations of one episode. Prompts use the same memory.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    pub(crate) history: History,
    pub(crate) belief: Belief,
}

impl Observe for Observer {
    type Observation = Observation;
    type Features = Features;

    fn observe(&mut self, observation: &Observation) {
        self.history.observe(observation);
        self.belief.observe(observation);
    }

    fn features(&self, o: &Observation) -> Features {
        let facts = ObservationFacts {
            o,
            history: &self.history,
            belief: &self.belief,
            posterior: self.belief.marginals(),
            odd: inconsistent_gpus(o),
            attacked: suspected_attack(o),
            next: next_to_start(o),
        };
        let mut features = Features {
            jobs: [[0.0; PER_JOB]; JOBS_MAX],
            open: [false; JOBS_MAX],
            gpus: [[0.0; PER_GPU]; GPUS_MAX],
            gpu_count: o.gpus().len() as u8,
            workers: Slot::ALL.map(|slot| worker::features(&facts, slot)),
            global: global::features(o, &self.history),
        };
        for (id, job) in o.jobs.iter() {
            let waits = job.status == JobStatus::Queued;
            let runs = job.status == JobStatus::Running;
            if waits || runs || job.placed.is_some() {
                features.open[id.index()] = true;
                features.jobs[id.index()] = job::features(&facts, id, job);
            }
        }
        for (index, view) in o.gpus().iter().enumerate() {
            features.gpus[index] = gpu::features(&facts, index, view);
        }
        features
    }
}
