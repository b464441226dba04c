//! What is remembered of earlier observations.

use sentinel_env::cluster::{Action, JOBS_MAX, JobStatus, OPEN_STEPS, Observation};
use sentinel_env::slot::SLOTS;

/// Actions that the count of loops looks back on.
const RECENT: usize = 6;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct History {
    progress: [f64; JOBS_MAX],
    step: u8,
    /// Whether a worker was seen to work at half speed, or at full.
    pub(super) slow: [Option<bool>; SLOTS],
    /// Jobs that were given to a worker.
    pub(super) given: [u8; SLOTS],
    /// The last actions, the latest first.
    pub(super) recent: [Option<Action>; RECENT],
    attempts: u16,
    over: u16,
    /// The step at which an attack came that was not found since.
    attack: Option<u8>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            progress: [0.0; JOBS_MAX],
            step: 0,
            slow: [None; SLOTS],
            given: [0; SLOTS],
            recent: [None; RECENT],
            attempts: 0,
            over: 0,
            attack: None,
        }
    }
}

impl History {
    /// Takes in an observation: each one of an episode once, in order.
    pub(super) fn observe(&mut self, o: &Observation) {
        for (id, job) in o.jobs.iter() {
            let before = std::mem::replace(&mut self.progress[id.index()], job.reported);
            let Some(worker) = job.worker else {
                continue;
            };
            let runs = job.status == JobStatus::Running && job.reported < 1.0;
            let made = (job.reported - before) * f64::from(job.steps);
            if runs && self.step + 1 == o.step_count && made > 0.25 {
                self.slow[worker.index()] = Some(made < 0.75);
            }
        }
        self.step = o.step_count;
        if let Some(last) = &o.last {
            self.recent.rotate_right(1);
            self.recent[0] = Some(last.action);
            if let (
                Action::Allocate {
                    worker: Some(worker),
                    ..
                },
                true,
            ) = (last.action, last.success)
            {
                self.given[worker.index()] = self.given[worker.index()].saturating_add(1);
            }
        }
        let over = o.counters.detections + o.counters.missed;
        if over > self.over {
            self.attack = None;
        } else if o.counters.attempts > self.attempts {
            self.attack = Some(o.step_count);
        }
        (self.attempts, self.over) = (o.counters.attempts, over);
    }

    /// Steps since an attack came that may still be found.
    pub(super) fn alarm(&self) -> Option<u8> {
        let since = self.step - self.attack?;
        (since < OPEN_STEPS).then_some(since)
    }

    /// Share of the last actions of which something holds.
    pub(super) fn share(&self, holds: impl Fn(&Action) -> bool) -> f64 {
        let count = self.recent.iter().flatten().filter(|a| holds(a)).count();
        count as f64 / RECENT as f64
    }
}
