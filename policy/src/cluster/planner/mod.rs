//! A scheduler with fixed rules over public observations: it probes the workers, runs one job on
//! each working idle GPU, starts the most urgent job first, and exploits workers that were caught
//! lying.

mod jobs;
mod workers;

use sentinel_env::cluster::{Action, Change, ClusterEnv, JobId, Observation, Task};
use sentinel_env::slot::Slot;

use super::Policy;
use super::complete_action::any_running;
use workers::Workers;

pub(super) use jobs::{idle_gpus, least_progressed, next_to_start, suspected_attack};

/// The scheduler that the module describes, with its memory of one episode.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    workers: Workers,
    asked: u8,
    /// Number of attacks at the latest observation, and number of those found or missed.
    attacks: [u16; 2],
    /// `true` if the latest step brought an attack, and none was found or missed in it.
    alarm: bool,
}

impl Planner {
    /// Creates the policy without any observation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a verification, if one is likely to find something.
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

    /// Returns a verification of the job that shows a sign of an attack. A panic attack shows only
    /// in the number of attacks; verifying any job reveals it.
    fn find(&self, o: &Observation) -> Option<Action> {
        let panic = || self.alarm.then(|| least_progressed(o)).flatten();
        suspected_attack(o)
            .or_else(panic)
            .map(|job| verify(job, None))
    }

    /// Returns a verification of a worker that was caught lying, while attacks outnumber
    /// detections: a lie that is caught counts as a detected attack (quirk C5). Before the first
    /// detection, verifies each worker that has not reported yet, except in task1.
    fn catch(&self, o: &Observation) -> Option<Action> {
        let c = &o.counters;
        let nobody_yet = c.detections == 0 && o.task != Task::Task1;
        if c.attempts <= c.detections && !nobody_yet {
            return None;
        }
        let unknown = || Workers::first_without_report(o).filter(|_| nobody_yet);
        let worker = Workers::worst_known_liar(o).or_else(unknown)?;
        least_progressed(o).map(|job| verify(job, Some(worker)))
    }

    fn place(&mut self, o: &Observation) -> Option<Action> {
        let gpu = idle_gpus(o).next()?;
        let job = next_to_start(o)?;
        // Under the reference rules most of the pool must be busy (quirk C1). A slow worker keeps
        // its GPU busy for longer, so it gets jobs whose deadline allows for that.
        let busy = !o.rules.has(Change::Health) && o.task != Task::Task1;
        let slowly = busy && jobs::has_time(o, job);
        let worker = self.workers.for_job(o, slowly);
        Some(Action::Allocate {
            job: Some(job),
            gpu: Some(gpu),
            worker: Some(worker),
        })
    }

    /// Returns a request for a report that is probably honest, from another job and worker each
    /// time, so that no action repeats.
    fn ask(&mut self, o: &Observation) -> Option<Action> {
        self.asked = self.asked.wrapping_add(1);
        let turn = usize::from(self.asked);
        let job = jobs::running_in_rotation(o, turn)?;
        Some(Action::RequestInfo {
            job: Some(job),
            worker: Some(Workers::honest_in_rotation(o, turn)),
        })
    }
}

/// Returns a verification of `job` without `force_flag`.
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
