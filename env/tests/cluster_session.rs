//! Tests of the protocol around an episode of the cluster world: messages, ids, log, and summaries.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

mod cluster_play;

use cluster_play::action;
use sentinel_env::JsonEnv;
use sentinel_env::adaptive_difficulty::DifficultyController;
use sentinel_env::cluster::{
    Action, ActionMessage, Behavior, ClusterEnv, MessageError, ResetRequest, Session, Setup, Task,
};
use sentinel_env::rng::Streams;

fn request(task: &str, adaptive: bool) -> ResetRequest {
    ResetRequest {
        task_type: Some(task.to_owned()),
        seed: 5,
        streams: Streams::Independent,
        adaptive,
    }
}

fn played(task: Task, seed: u64) -> Session {
    let mut session = Session::new(&Setup::new(task, seed, Streams::Independent));
    for n in 0.. {
        if session.act(action(n, task)).is_err() {
            break;
        }
    }
    session
}

#[test]
fn invalid_message_or_session_id_keeps_state() {
    let mut controller = DifficultyController::new();
    let mut session = Session::from_request(&request("task2", false), &controller).unwrap();
    let before = session.episode().clone();
    let message = |json: &str| serde_json::from_str::<ActionMessage>(json).unwrap();
    let cases = [
        (
            r#"{"action_type": "tick", "session_id": "somebody-else"}"#,
            "somebody-else",
        ),
        (r#"{"action_type": "nonsense"}"#, "nonsense"),
        (
            r#"{"action_type": "verify", "job_id": "JOB-020"}"#,
            "JOB-020",
        ),
        (
            r#"{"action_type": "allocate", "gpu_id": "GPU-12"}"#,
            "GPU-12",
        ),
    ];
    for (json, named) in cases {
        let error = session.step(&message(json), &mut controller).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
        assert_eq!(*session.episode(), before);
        assert!(session.events().is_empty());
    }
    assert!(Session::from_request(&request("task9", false), &controller).is_err());
}

#[test]
fn refused_reset_keeps_running_episode() {
    let (mut env, mut controller) = (
        JsonEnv::<ClusterEnv>::default(),
        DifficultyController::new(),
    );
    let tick = ActionMessage::from(Action::Tick);
    let early = env.step(&tick, &mut controller).unwrap_err();
    assert!(early.to_string().contains("reset before"), "{early}");
    env.reset(&request("task1", false), &controller).unwrap();
    env.step(&tick, &mut controller).unwrap();
    let before = env.session().unwrap().episode().clone();
    let error = env.reset(&request("task9", false), &controller);
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("task9") && error.contains("task1"),
        "{error}"
    );
    assert_eq!(*env.session().unwrap().episode(), before);
}

#[test]
fn adaptive_episode_updates_controller_once() {
    let mut controller = DifficultyController::new();
    let mut session = Session::from_request(&request("task3", true), &controller).unwrap();
    let mut last = session.reply();
    for n in 0.. {
        let message = action(n, Task::Task3).into();
        match session.step(&message, &mut controller) {
            Ok(result) => last = result,
            Err(error) => {
                assert!(matches!(error, MessageError::Step(_)), "{error}");
                break;
            }
        }
    }
    assert!(last.done && last.info.reward_report.is_some());
    assert_eq!(controller.current_profile().episodes_seen, 1);
    // The payload of the last step shows the profile after the episode was reported.
    assert_eq!(
        last.observation.difficulty_profile,
        controller.current_profile()
    );
    let error = session.step(&action(0, Task::Task3).into(), &mut controller);
    assert!(error.unwrap_err().to_string().contains("has ended"));
    assert_eq!(controller.current_profile().episodes_seen, 1);
}

#[test]
fn payloads_repeat_and_session_ids_differ_by_seed() {
    let (a, b, c) = (
        played(Task::Task3, 1),
        played(Task::Task3, 1),
        played(Task::Task3, 2),
    );
    assert_eq!(a.reply(), b.reply());
    assert_eq!(a.state(), b.state());
    assert_ne!(a.state().session_id, c.state().session_id);
    assert_ne!(a.state().session_id, a.state().episode_id);
}

/// Checks that the summary, which agents read, names no behavior and no attack.
#[test]
fn action_summary_does_not_reveal_hidden_state() {
    for seed in 0..10 {
        let mut session = Session::new(&Setup::new(Task::Task3, seed, Streams::Independent));
        for n in 0..60 {
            if session.act(action(n, Task::Task3)).is_err() {
                break;
            }
            let summary = session.stream().last_action_summary.unwrap();
            for behavior in Behavior::ALL {
                assert!(!summary.contains(behavior.name()), "{summary}");
            }
            for word in ["attack", "forged", "caught", "honest"] {
                assert!(!summary.contains(word), "{summary}");
            }
        }
    }
}

/// Checks that a report can be serialized for every kind of attack and behavior.
#[test]
fn reward_report_covers_all_attacks_and_behaviors() {
    let mut covered = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let report = serde_json::to_value(played(Task::Task3, seed).reward_report()).unwrap();
        for event in report["events"].as_array().unwrap() {
            for part in ["/attack/attack_type", "/worker_report/metadata/behavior"] {
                if let Some(word) = event.pointer(part).and_then(|word| word.as_str()) {
                    covered.insert(word.to_owned());
                }
            }
        }
    }
    assert_eq!(covered.len(), 10, "{covered:?}");
}
