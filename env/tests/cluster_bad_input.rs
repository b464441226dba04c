//! Bad input to the cluster world is an error that names the field, and changes nothing.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::cluster::{Action, ActionMessage, Episode, GpuId, JobId, Setup, StepError, Task};
use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;

fn message(json: &str) -> ActionMessage {
    serde_json::from_str(json).unwrap()
}

#[test]
fn an_ill_formed_message_is_named() {
    let cases = [
        ("{}", "action_type"),
        (r#"{"action_type": "explode"}"#, "explode"),
        (r#"{"action_type": "Tick"}"#, "Tick"),
        (r#"{"action_type": ""}"#, "action_type"),
        (
            r#"{"action_type": "allocate", "job_id": "JOB-1"}"#,
            "job_id",
        ),
        (
            r#"{"action_type": "verify", "job_id": "FAB-1234"}"#,
            "FAB-1234",
        ),
        (
            r#"{"action_type": "allocate", "gpu_id": "GPU-x0"}"#,
            "gpu_id",
        ),
        (
            r#"{"action_type": "allocate", "worker_id": "S9"}"#,
            "worker_id",
        ),
        (
            r#"{"action_type": "verify", "specialist_id": "s1"}"#,
            "specialist_id",
        ),
        (
            r#"{"action_type": "tick", "job_id": "nonsense"}"#,
            "nonsense",
        ),
    ];
    for (json, named) in cases {
        let error = message(json).parse().unwrap_err().to_string();
        assert!(error.contains(named), "{error} does not name {named}");
    }
}

#[test]
fn a_message_and_its_action_are_the_same() {
    let (job, worker) = (Some(JobId(3)), Some(Slot::ALL[2]));
    let gpu = Some(GpuId(11));
    let force_flag = true;
    for action in [
        Action::Allocate { job, gpu, worker },
        Action::Preempt { job, worker: None },
        Action::RequestInfo { job: None, worker },
        Action::Verify {
            job,
            worker,
            force_flag,
        },
        Action::Tick,
    ] {
        assert_eq!(ActionMessage::from(action).parse(), Ok(action));
    }
    let specialist = message(r#"{"action_type": "verify", "specialist_id": "S2"}"#);
    assert_eq!(specialist.parse().unwrap().worker(), worker);
}

#[test]
fn a_job_or_gpu_that_the_task_lacks_changes_nothing() {
    let mut episode = Episode::reset(&Setup::new(Task::Task1, 0, Streams::Reference));
    let before = episode.clone();
    let (job, gpu) = (Some(JobId(10)), Some(GpuId(8)));
    let worker = None;
    for action in [
        Action::Allocate {
            job,
            gpu: None,
            worker,
        },
        Action::Preempt { job, worker },
        Action::RequestInfo { job, worker },
        Action::Verify {
            job,
            worker,
            force_flag: false,
        },
    ] {
        let error = episode.step(action).unwrap_err();
        assert!(matches!(error, StepError::UnknownJob { .. }));
        assert!(error.to_string().contains("job_id JOB-010"), "{error}");
        assert_eq!(episode, before);
    }
    let job = None;
    let error = episode.step(Action::Allocate { job, gpu, worker });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("gpu_id GPU-08"), "{error}");
    assert_eq!(episode, before);
}

#[test]
fn a_step_after_the_end_changes_nothing() {
    let mut episode = Episode::reset(&Setup::new(Task::Task1, 0, Streams::Reference));
    while episode.step(Action::Tick).is_ok() {}
    assert!(episode.observation().done());
    let before = episode.clone();
    let error = episode.step(Action::Tick).unwrap_err();
    assert_eq!(error, StepError::Over);
    assert!(error.to_string().contains("has ended"));
    assert_eq!(episode, before);
}

/// A well-formed action that cannot be done costs its step, as in the reference.
#[test]
fn a_failed_action_costs_the_step() {
    let mut episode = Episode::reset(&Setup::new(Task::Task1, 0, Streams::Reference));
    let (job, worker) = (Some(JobId(0)), None);
    for (n, action) in [
        Action::Preempt { job, worker },
        Action::RequestInfo { job, worker },
        Action::Verify {
            job,
            worker,
            force_flag: false,
        },
    ]
    .into_iter()
    .enumerate()
    {
        let step = episode.step(action).unwrap();
        assert!(!step.success && step.drifted && step.report.is_none());
        assert_eq!(step.grades.coherence, 0.15);
        assert_eq!(usize::from(episode.observation().step_count), n + 1);
    }
    assert_eq!(episode.observation().counters.false_positives, 1);
}
