//! Tests that each change to the cluster's rules has its effect, and that all combinations can be
//! played.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::cluster::{
    Action, Change, Episode, GpuId, JobId, JobStatus, Rules, Session, Setup, StepError, Task,
    scheduler_prompt,
};
use sentinel_env::rng::Streams;
use sentinel_env::rules::RuleChange as _;
use sentinel_env::slot::Slot;

fn start(task: Task, seed: u64, rules: Rules) -> Episode {
    Episode::reset(&Setup::new(task, seed, Streams::Independent).with_rules(rules))
}

fn only(change: Change) -> Rules {
    Rules::REFERENCE.with(change)
}

fn allocate(job: u8, gpu: u8) -> Action {
    Action::Allocate {
        job: Some(JobId(job)),
        gpu: Some(GpuId(gpu)),
        worker: Some(Slot::ALL[0]),
    }
}

fn status(episode: &Episode, job: u8) -> JobStatus {
    episode.observation().jobs.rows()[usize::from(job)].status
}

#[test]
fn health_rule_rates_idle_pool_as_healthy() {
    let health = |rules| start(Task::Task1, 0, rules).observation().health;
    assert_eq!(health(Rules::REFERENCE), 0.5);
    assert_eq!(health(only(Change::Health)), 1.0);
}

#[test]
fn timeouts_rule_frees_memory_of_timed_out_job() {
    let used = |rules| {
        // Placed in the last step before its deadline, so that it cannot be completed.
        let mut episode = start(Task::Task1, 0, rules);
        let jobs = episode.observation().jobs.rows();
        let first = (0..)
            .zip(jobs)
            .min_by_key(|(_, job)| job.deadline)
            .map(|(id, job)| (id, job.deadline));
        let (job, deadline) = first.expect("there are jobs");
        for _ in 1..deadline {
            episode.step(Action::Tick).expect("it runs");
        }
        episode.step(allocate(job, 3)).expect("it runs");
        episode.step(Action::Tick).expect("it runs");
        assert_eq!(status(&episode, job), JobStatus::TimedOut);
        episode.observation().gpus()[3].used
    };
    assert!(used(Rules::REFERENCE) > 0, "quirk C2");
    assert_eq!(used(only(Change::Timeouts)), 0);
}

/// Plays until a GPU with a job fails, and returns the status of the job.
fn status_after_gpu_failure(rules: Rules) -> JobStatus {
    for seed in 0.. {
        let mut episode = start(Task::Task2, seed, rules);
        episode.step(allocate(0, 0)).expect("it runs");
        for _ in 0..3 {
            let step = episode.step(Action::Tick).expect("it runs");
            let runs = step.info.completed == 0 && status(&episode, 0) != JobStatus::Complete;
            if step.info.tick.failed == 1 && runs {
                return status(&episode, 0);
            }
        }
    }
    unreachable!("one GPU in fifty fails each step")
}

#[test]
fn failures_rule_requeues_job_of_failed_gpu() {
    assert_eq!(
        status_after_gpu_failure(Rules::REFERENCE),
        JobStatus::Running
    );
    assert_eq!(
        status_after_gpu_failure(only(Change::Failures)),
        JobStatus::Queued
    );
}

#[test]
fn waiting_rule_counts_drift_only_if_job_can_be_placed() {
    let drift = |rules, wait_at_once: bool| {
        let mut episode = start(Task::Task1, 0, rules);
        if !wait_at_once {
            for job in 0..8 {
                episode.step(allocate(job, job)).expect("it runs");
            }
        }
        let step = episode.step(Action::Tick).expect("it runs");
        let idle = episode.observation().can_allocate();
        (step.info.drifted, idle)
    };
    assert_eq!(
        drift(only(Change::Waiting), true),
        (true, true),
        "a job could be placed"
    );
    let (drifted, idle) = drift(only(Change::Waiting), false);
    assert_eq!(drifted, idle);
    assert!(drift(Rules::REFERENCE, false).0, "quirk C9");
}

#[test]
fn choices_rule_fails_actions_without_targets() {
    let nothing = Action::Allocate {
        job: None,
        gpu: None,
        worker: None,
    };
    for (rules, done) in [(Rules::REFERENCE, true), (only(Change::Choices), false)] {
        let mut episode = start(Task::Task1, 0, rules);
        assert_eq!(episode.step(nothing).expect("it runs").info.success, done);
        let mut episode = start(Task::Task1, 0, rules);
        assert!(episode.step(allocate(0, 0)).expect("it runs").info.success);
        let ask = Action::RequestInfo {
            job: None,
            worker: None,
        };
        assert_eq!(episode.step(ask).expect("it runs").info.success, done);
    }
}

/// Plays an episode with allocations chosen without looking at it. Returns the number of steps.
fn play(episode: &mut Episode) -> u8 {
    for turn in 0u8.. {
        let o = episode.observation();
        let jobs = o.jobs.rows().len() as u8;
        let gpu = turn % o.gpus().len() as u8;
        match episode.step(allocate(turn % jobs, gpu)) {
            Ok(_) => {}
            Err(StepError::Over) => break,
            Err(error) => panic!("{error}"),
        }
    }
    episode.observation().step_count
}

/// Checks that each saved step counts as an event: there are as many events as in an episode of
/// full length.
#[test]
fn ending_rule_counts_saved_steps_as_events() {
    let mut saved = 0;
    for seed in 0..40 {
        let mut plain = start(Task::Task1, seed, Rules::REFERENCE);
        let mut changed = start(Task::Task1, seed, only(Change::Ending));
        let (steps, same) = (play(&mut plain), play(&mut changed));
        assert_eq!(steps, same);
        let events = |episode: &Episode| episode.tally().reward_events;
        assert_eq!(events(&plain), u16::from(steps) + 1);
        assert_eq!(
            events(&changed),
            u16::from(changed.observation().max_steps) + 1
        );
        saved += u16::from(changed.observation().max_steps - steps);
    }
    assert!(saved > 0, "no episode ended early");
}

/// Checks that, under every set of rules, equal setups give equal episodes that end, with valid
/// scores and counts.
#[test]
fn episodes_are_valid_under_every_rule_set() {
    for bits in 0..1u16 << Change::ALL.len() {
        let chosen = Change::ALL
            .iter()
            .filter(|change| bits >> change.index() & 1 == 1);
        let rules = chosen.fold(Rules::REFERENCE, |rules, change| rules.with(*change));
        for task in Task::ALL {
            let (mut a, mut b) = (start(task, 7, rules), start(task, 7, rules));
            play(&mut a);
            play(&mut b);
            assert_eq!(a, b, "{rules}");
            let o = a.observation();
            assert!((0.0..=1.0).contains(&a.tally().score()), "{rules}");
            assert!(
                o.counters.detections + o.counters.missed <= o.counters.attempts
                    || !rules.has(Change::Detections)
            );
            for (view, gpu) in o.gpus().iter().zip(a.hidden().pool.gpus()) {
                let held = o.jobs.rows().iter().filter(|job| {
                    job.placed
                        .is_some_and(|id| std::ptr::eq(&o.gpus()[id.index()], view))
                });
                let held: u16 = held.map(|job| u16::from(job.memory)).sum();
                assert_eq!(gpu.used, held + u16::from(gpu.invented), "{rules}");
            }
        }
    }
}

/// Checks that payload and prompt name the rules only where they differ from the reference's.
#[test]
fn payload_and_prompt_state_nonreference_rules() {
    let setup = |rules| Setup::new(Task::Task1, 3, Streams::Independent).with_rules(rules);
    let payload = |rules| {
        let session = Session::new(&setup(rules));
        let reply = serde_json::to_value(session.reply()).expect("a reply is JSON");
        reply["observation"]["rules"].clone()
    };
    assert_eq!(payload(Rules::REFERENCE), serde_json::Value::Null);
    assert_eq!(payload(Rules::HARDENED), "hardened");
    assert_eq!(payload(only(Change::Health)), "reference+health");
    let prompt = |rules| scheduler_prompt(Episode::reset(&setup(rules)).observation());
    let sentence = "An action fails that does not name";
    assert!(!prompt(Rules::REFERENCE).contains(sentence));
    assert!(prompt(only(Change::Choices)).contains(sentence));
}
