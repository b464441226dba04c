//! A scheduler by plain rules over what is public: probe the workers, one job for each idle GPU that
//! works, what must start first before the rest, and use what was caught.

mod jobs;
mod workers;

use sentinel_env::cluster::{Action, Change, ClusterEnv, JobId, Observation, Task};
use sentinel_env::slot::Slot;

use super::Policy;
use super::build::any_running;
use workers::Workers;

pub(super) use jobs::{attacked, idle_gpus, least_done, next};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    workers: Workers,
    asked: u8,
    /// Attacks at the last observation, and those of them that were found or missed.
    attacks: [u16; 2],
    /// Whether an attack came with the last step and was not found in it.
    alarm: bool,
}

impl Planner {
    /// Knows nobody yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A verification where it finds something.
    fn check(&self, o: &Observation) -> Option<Action> {
        if !any_running(o) {
            return None;
        }
        if o.rules.has(Change::Detections) || o.rules.has(Change::Escalation) {
            self.find(o)
        } else {
            self.catch(o)
        }
    }

    /// The job that an attack shows on. A panic shows nowhere but in the count of attacks, and any
    /// job tells that there is nothing to it.
    fn find(&self, o: &Observation) -> Option<Action> {
        let panic = || self.alarm.then(|| least_done(o)).flatten();
        attacked(o).or_else(panic).map(|job| verify(job, None))
    }

    /// Whoever was caught, while attacks outnumber detections: what is caught counts as an attack
    /// (quirk C5). Before the first one, everybody once.
    fn catch(&self, o: &Observation) -> Option<Action> {
        let c = &o.counters;
        let nobody_yet = c.detections == 0 && o.task != Task::Task1;
        if c.attempts <= c.detections && !nobody_yet {
            return None;
        }
        let unknown = || Workers::unknown(o).filter(|_| nobody_yet);
        let worker = Workers::liar(o).or_else(unknown)?;
        least_done(o).map(|job| verify(job, Some(worker)))
    }

    fn place(&mut self, o: &Observation) -> Option<Action> {
        let gpu = idle_gpus(o).next()?;
        let job = next(o)?;
        // Most of the pool must be busy under the reference's rules (quirk C1): a worker that takes
        // its time keeps it so, where the deadline allows.
        let busy = !o.rules.has(Change::Health) && o.task != Task::Task1;
        let slowly = busy && jobs::has_time(o, job);
        let worker = self.workers.for_job(o, slowly);
        Some(Action::Allocate {
            job: Some(job),
            gpu: Some(gpu),
            worker: Some(worker),
        })
    }

    /// A report that is likely honest: another job and worker each time, so that nothing repeats.
    fn ask(&mut self, o: &Observation) -> Option<Action> {
        self.asked = self.asked.wrapping_add(1);
        let turn = usize::from(self.asked);
        let job = jobs::running(o, turn)?;
        Some(Action::RequestInfo {
            job: Some(job),
            worker: Some(Workers::honest(o, turn)),
        })
    }
}

/// A verification of `job`, without force.
pub(super) const fn verify(job: JobId, worker: Option<Slot>) -> Action {
    Action::Verify {
        job: Some(job),
        worker,
        force_flag: false,
    }
}

impl Policy<ClusterEnv> for Planner {
    fn observe(&mut self, o: &Observation) {
        self.workers.observe(o);
        let c = &o.counters;
        let attacks = [c.attempts, c.detections + c.missed];
        self.alarm = attacks[0] > self.attacks[0] && attacks[1] == self.attacks[1];
        self.attacks = attacks;
    }

    fn choose(&mut self, o: &Observation) -> Action {
        self.check(o)
            .or_else(|| self.place(o))
            .or_else(|| self.ask(o))
            .unwrap_or(Action::Tick)
    }
}
