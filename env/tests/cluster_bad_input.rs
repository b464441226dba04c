//! Tests that bad input to the cluster world gives an error that names the field, and changes
//! nothing.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Environment;
use sentinel_env::cluster::{
    Action, ActionMessage, Episode, GpuId, JobId, JobStatus, Setup, StepError, Task,
};
use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;

fn message(json: &str) -> ActionMessage {
    serde_json::from_str(json).unwrap()
}

#[test]
fn malformed_message_error_names_field_or_value() {
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

/// Checks that a message with an unknown field, or a field of the wrong type, is refused.
#[test]
fn unknown_or_mistyped_field_error_names_field() {
    let cases = [
        (r#"{"action_type": "tick", "color": "red"}"#, "color"),
        (r#"{"action_type": "tick", "Job_id": "JOB-001"}"#, "Job_id"),
        (r#"{"action_type": "allocate", "job_id": 3}"#, "job_id"),
        (
            r#"{"action_type": "allocate", "gpu_id": ["GPU-00"]}"#,
            "gpu_id",
        ),
        (
            r#"{"action_type": "verify", "worker_id": {"id": "S0"}}"#,
            "worker_id",
        ),
        (
            r#"{"action_type": "verify", "force_flag": "yes"}"#,
            "force_flag",
        ),
        (r#"{"action_type": 7}"#, "action_type"),
    ];
    for (json, named) in cases {
        let error = serde_json::from_str::<ActionMessage>(json).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
    for json in ["[]", "7", "null", r#"{"action_type": "tick""#, ""] {
        assert!(
            serde_json::from_str::<ActionMessage>(json).is_err(),
            "{json}"
        );
    }
    let null = message(r#"{"action_type": "allocate", "job_id": null, "force_flag": null}"#);
    assert_eq!(null.parse().unwrap().job(), None);
}

/// Checks that a failed GPU accepts no job and a completed job cannot be preempted; the step is
/// used up.
#[test]
fn failed_gpu_and_completed_job_refuse_actions() {
    let allocate = |job, gpu| Action::Allocate {
        job: Some(JobId(job)),
        gpu: Some(GpuId(gpu)),
        worker: Some(Slot::ALL[0]),
    };
    let (mut refused, mut done) = (0, 0);
    for seed in 0..60 {
        let setup = Setup::new(Task::Task2, seed, Streams::Independent);
        let mut episode = Episode::reset(&setup);
        for n in 0..20 {
            let down = episode
                .observation()
                .gpus()
                .iter()
                .position(|gpu| !gpu.state.is_operational());
            let Ok(step) = episode.step(allocate(n, down.unwrap_or(0) as u8)) else {
                break;
            };
            if down.is_some() {
                assert!(!step.info.success && step.info.report.is_none());
                refused += 1;
            }
            let o = episode.observation();
            let complete = o
                .jobs
                .iter()
                .find(|(_, job)| job.status == JobStatus::Complete);
            if let Some((job, row)) = complete.map(|(id, job)| (id, *job)) {
                let preempt = Action::Preempt {
                    job: Some(job),
                    worker: None,
                };
                let step = episode.step(preempt).unwrap();
                assert!(!step.info.success);
                assert_eq!(episode.observation().jobs.rows()[job.index()], row);
                done += 1;
            }
        }
    }
    assert!(refused > 10 && done > 10, "{refused} and {done} times");
}

#[test]
fn action_roundtrips_through_message() {
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
fn unknown_job_or_gpu_errors_and_keeps_state() {
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
fn step_after_end_errors_and_keeps_state() {
    let mut episode = Episode::reset(&Setup::new(Task::Task1, 0, Streams::Reference));
    while episode.step(Action::Tick).is_ok() {}
    assert!(episode.observation().done());
    let before = episode.clone();
    let error = episode.step(Action::Tick).unwrap_err();
    assert_eq!(error, StepError::Over);
    assert!(error.to_string().contains("has ended"));
    assert_eq!(episode, before);
}

/// Checks that a well-formed action that cannot be carried out uses up its step, as in the
/// reference.
#[test]
fn failed_action_uses_up_step() {
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
        assert!(!step.info.success && step.info.drifted && step.info.report.is_none());
        assert_eq!(step.info.grades.coherence, 0.15);
        assert_eq!(usize::from(episode.observation().step_count), n + 1);
    }
    assert_eq!(episode.observation().counters.false_positives, 1);
}
