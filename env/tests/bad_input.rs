//! Tests that bad input to the trust world gives an error that names the problem, and leaves the
//! episode unchanged.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Environment;
use sentinel_env::JsonEnv;
use sentinel_env::adaptive_difficulty::DifficultyController;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{ActionMessage, ResetRequest, Task, TrustEnv};

fn request(task: &str) -> ResetRequest {
    ResetRequest {
        task_type: Some(task.to_owned()),
        scenario_id: None,
        seed: 7,
        streams: Streams::Reference,
        adaptive: false,
    }
}

fn message(action_type: &str, specialist_id: Option<&str>) -> ActionMessage {
    ActionMessage {
        action_type: Some(action_type.to_owned()),
        specialist_id: specialist_id.map(str::to_owned),
        ..ActionMessage::default()
    }
}

#[test]
fn bad_action_error_names_value_and_keeps_state() {
    let (mut env, mut controller) = (JsonEnv::<TrustEnv>::default(), DifficultyController::new());
    let early = env
        .step(&message("skip", None), &mut controller)
        .unwrap_err();
    assert!(early.to_string().contains("reset before"), "{early}");
    env.reset(&request("task1"), &controller).unwrap();
    env.step(&message("delegate", Some("S1")), &mut controller)
        .unwrap();

    let other_session = ActionMessage {
        session_id: Some("somebody-else".to_owned()),
        ..message("skip", None)
    };
    let cases = [
        (message("delegate", None), "specialist_id"),
        (message("verify", Some("")), "specialist_id"),
        (message("delegate", Some("S9")), "S9"),
        (message("delegate", Some("s1")), "s1"),
        (message("trust", Some("S1")), "trust"),
        (message("", Some("S1")), "action_type"),
        (message("solve_independently", None), "subtask_response"),
        (other_session, "somebody-else"),
    ];
    for (bad, named) in cases {
        let before = *env.session().unwrap().episode();
        let events = env.session().unwrap().events().len();
        let error = env.step(&bad, &mut controller).unwrap_err();
        assert!(
            error.to_string().contains(named),
            "{error} does not name {named}"
        );
        assert_eq!(*env.session().unwrap().episode(), before, "{error}");
        assert_eq!(env.session().unwrap().events().len(), events, "{error}");
    }
}

#[test]
fn step_after_end_errors_and_keeps_state() {
    for adaptive in [false, true] {
        let (mut env, mut controller) =
            (JsonEnv::<TrustEnv>::default(), DifficultyController::new());
        env.reset(
            &ResetRequest {
                adaptive,
                ..request("task3")
            },
            &controller,
        )
        .unwrap();
        while !env.session().unwrap().episode().observation().done() {
            env.step(&message("verify", Some("S2")), &mut controller)
                .unwrap();
        }
        let before = *env.session().unwrap().episode();
        let learned = controller.current_profile();
        let error = env
            .step(&message("skip", None), &mut controller)
            .unwrap_err();
        assert!(error.to_string().contains("has ended"), "{error}");
        assert_eq!(*env.session().unwrap().episode(), before);
        assert_eq!(
            controller.current_profile(),
            learned,
            "the controller was told twice"
        );
    }
}

#[test]
fn unknown_task_or_scenario_keeps_running_episode() {
    let (mut env, controller) = (JsonEnv::<TrustEnv>::default(), DifficultyController::new());
    env.reset(&request("task2"), &controller).unwrap();
    let before = *env.session().unwrap().episode();
    let error = env.reset(&request("task9"), &controller).unwrap_err();
    assert!(error.to_string().contains("task9") && error.to_string().contains("task1"));
    let scenario = ResetRequest {
        scenario_id: Some("SCN-TASK1-041".to_owned()),
        ..request("task1")
    };
    let error = env.reset(&scenario, &controller).unwrap_err();
    assert!(error.to_string().contains("SCN-TASK1-041"), "{error}");
    assert_eq!(*env.session().unwrap().episode(), before);
}

/// Checks that a scenario's task takes precedence over the requested task, as in the reference.
#[test]
fn scenario_id_overrides_requested_task() {
    let (mut env, controller) = (JsonEnv::<TrustEnv>::default(), DifficultyController::new());
    let asked = ResetRequest {
        scenario_id: Some("SCN-TASK2-006".to_owned()),
        ..request("nonsense")
    };
    let result = env.reset(&asked, &controller).unwrap();
    assert_eq!(result.observation.task_type, Task::Task2);
    assert_eq!(result.observation.scenario_id, "SCN-TASK2-006");
}
