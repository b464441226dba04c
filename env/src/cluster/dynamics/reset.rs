//! The first state of an episode: queue, pool, who is who, and the streams to come (spec cluster §1,
//! §2).

use crate::cluster::model::{
    AdversaryState, Anomalies, Audit, Behaviour, Counters, Hidden, JOBS_MAX, Job, Jobs,
    Observation, Pool, Setup, Size, State, Tally, health,
};
use crate::controller::DifficultyProfile;
use crate::ledger::Ledger;
use crate::rng::{Mt19937, PyRandom};
use crate::slot::PerSlot;

/// The stream that makes the jobs.
const JOBS_STREAM: u64 = 5;
/// The stream that shuffles behaviours over slots.
const ASSIGNMENT_STREAM: u64 = 2;
/// The stream that decides which GPUs fail.
const FAILURES_STREAM: u64 = 6;
/// The stream that decides when and what the adversary attacks.
const ATTACKS_STREAM: u64 = 7;

impl State {
    /// Creates the state at reset.
    pub(crate) fn new(setup: &Setup) -> Self {
        let size = Size::for_task(setup.task);
        let (jobs, hidden) = generate_hidden(setup);
        let observation = Observation {
            task: setup.task,
            step_count: 0,
            max_steps: size.max_steps,
            jobs,
            health: health(hidden.pool.counts(), setup.rules),
            utilization: hidden.pool.utilization(),
            ledger: Ledger::default(),
            anomalies: Anomalies::default(),
            counters: Counters::default(),
            attack_types: 0,
            profile: setup.profile,
            rules: setup.rules,
            last: None,
            done: false,
            gpus: Default::default(),
            gpu_count: size.gpus,
        };
        let mut state = Self {
            observation,
            hidden,
            audit: Audit::default(),
            tally: Tally::default(),
        };
        state.refresh_observation();
        state
    }
}

/// Returns the queue and the hidden state that a setup gives.
fn generate_hidden(setup: &Setup) -> (Jobs, Hidden) {
    let (size, profile) = (Size::for_task(setup.task), &setup.profile);
    let ids = [
        JOBS_STREAM,
        ASSIGNMENT_STREAM,
        FAILURES_STREAM,
        ATTACKS_STREAM,
    ];
    let seeds = ids.map(|id| setup.streams.seed(setup.seed, id));
    let [mut queue, mut slots, failures, attacks] = Mt19937::from_seeds(seeds).map(PyRandom::over);
    let (jobs, priorities) = generate_jobs(&size, profile, &mut queue);
    let mut behaviours = Behaviour::cast(setup.task);
    slots.shuffle(&mut behaviours);
    let hidden = Hidden {
        assignment: PerSlot(behaviours),
        worker_adversary: profile.adversary(),
        attacker: AdversaryState::new(&size, profile),
        pool: Pool::new(&size),
        priorities,
        progress: [0.0; JOBS_MAX],
        degrading_calls: 0,
        failures,
        attacks,
    };
    (jobs, hidden)
}

/// Returns the queue that the stream `random` makes, and the hidden priorities (1..=5).
pub(super) fn generate_jobs(
    size: &Size,
    profile: &DifficultyProfile,
    random: &mut PyRandom,
) -> (Jobs, [u8; JOBS_MAX]) {
    let (earliest, latest) = deadlines(size.max_steps, profile);
    let mut rows = [Job::default(); JOBS_MAX];
    let mut priorities = [0; JOBS_MAX];
    let both = rows.iter_mut().zip(&mut priorities);
    for (job, priority) in both.take(usize::from(size.jobs)) {
        *priority = random.randint(1, 5) as u8;
        job.memory = random.randint(10, 75) as u8;
        job.steps = random.randint(2, 12) as u8;
        job.deadline = random.randint(earliest, latest) as u8;
        job.owner = random.randint(1, 4) as u8;
    }
    (Jobs::new(rows, size.jobs), priorities)
}

/// Returns the range of deadlines, in steps (spec cluster §2).
fn deadlines(max_steps: u8, profile: &DifficultyProfile) -> (u32, u32) {
    let steps = u32::from(max_steps);
    let earliest = (steps / 5).max(8);
    if !profile.adaptive {
        return (earliest, steps);
    }
    let shortened = f64::from(steps) * (1.0 - 0.20 * profile.high_stakes_ratio);
    (earliest, (steps / 3).max(8).max(shortened as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::model::{JobId, JobStatus};
    use crate::task::Task;

    #[test]
    fn a_harder_curriculum_shortens_deadlines() {
        let hard = DifficultyProfile {
            adaptive: true,
            high_stakes_ratio: 0.80,
            ..DifficultyProfile::default()
        };
        assert_eq!(deadlines(120, &DifficultyProfile::default()), (24, 120));
        assert_eq!(deadlines(120, &hard), (24, 100));
        assert_eq!(deadlines(30, &DifficultyProfile::default()), (8, 30));
    }

    #[test]
    fn counts_follow_every_change() {
        let size = Size::for_task(Task::Task1);
        let profile = DifficultyProfile::default();
        let (mut jobs, priorities) = generate_jobs(&size, &profile, &mut PyRandom::new(0));
        assert_eq!((jobs.rows()[0].memory, priorities[0]), (63, 4));
        jobs.set_status(JobId(3), JobStatus::Running);
        jobs.set_status(JobId(3), JobStatus::Complete);
        assert_eq!(jobs.counts(), [9, 0, 1, 0, 0]);
        assert_eq!(jobs.completion(), 0.1);
        assert_eq!(jobs.with(JobStatus::Queued).nth(3), Some(JobId(4)));
    }
}
