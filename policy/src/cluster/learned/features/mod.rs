//! Numbers that the network is given: public ones, of about unit size.

mod global;
mod gpu;
mod job;
mod worker;

pub use global::GLOBAL;
pub use gpu::PER_GPU;
pub use job::PER_JOB;
pub use worker::PER_WORKER;

use sentinel_env::cluster::{GPUS_MAX, JOBS_MAX, JobStatus, Observation};
use sentinel_env::slot::{SLOTS, Slot};

use super::history::History;
use crate::cluster::evidence::odd_gpus;

/// One observation as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// `[jobs, features]`: each job that waits, runs or holds memory.
    pub jobs: [[f32; PER_JOB]; JOBS_MAX],
    /// Which jobs these are: the others take no part.
    pub open: [bool; JOBS_MAX],
    /// `[gpus, features]`.
    pub gpus: [[f32; PER_GPU]; GPUS_MAX],
    /// How many GPUs there are: the rows after them take no part.
    pub gpu_count: u8,
    /// `[workers, features]`.
    pub workers: [[f32; PER_WORKER]; SLOTS],
    /// `[features]`: the situation.
    pub global: [f32; GLOBAL],
}

/// Makes features from the observations of one episode. Nothing but these reaches a network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observer {
    history: History,
}

impl Observer {
    /// Has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in an observation: each one of an episode once, in order.
    pub fn observe(&mut self, observation: &Observation) {
        self.history.observe(observation);
    }

    /// The features of the observation taken in last.
    #[must_use]
    pub fn features(&self, o: &Observation) -> Features {
        let odd = odd_gpus(o);
        let mut features = Features {
            jobs: [[0.0; PER_JOB]; JOBS_MAX],
            open: [false; JOBS_MAX],
            gpus: [[0.0; PER_GPU]; GPUS_MAX],
            gpu_count: o.gpus().len() as u8,
            workers: Slot::ALL.map(|slot| worker::features(slot, o, &self.history)),
            global: global::features(o, &self.history),
        };
        for (id, job) in o.jobs.iter() {
            let waits = job.status == JobStatus::Queued;
            let runs = job.status == JobStatus::Running;
            if waits || runs || job.placed.is_some() {
                let odd = job.placed.is_some_and(|gpu| odd[gpu.index()]);
                features.open[id.index()] = true;
                features.jobs[id.index()] = job::features(id, job, odd, o, &self.history);
            }
        }
        for (index, view) in o.gpus().iter().enumerate() {
            features.gpus[index] = gpu::features(view, odd[index]);
        }
        features
    }
}
