//! Tests that invalid messages and requests give errors that name the field, and that a bad answer
//! is a step.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Environment;
use sentinel_env::JsonEnv;
use sentinel_env::polyguard::{
    Message, PolyguardEnv, ResetRequest, Rules, Session, Setup, TaskSpec,
};

fn setup(name: &str, seed: u64, rules: Rules) -> Setup {
    Setup::new(TaskSpec::parse(name).unwrap(), seed).with_rules(rules)
}

fn message(json: &str) -> Message {
    serde_json::from_str(json).unwrap()
}

/// Checks that JSON that is not a message gives an error that names the field, and that a bad answer
/// is a step.
#[test]
fn invalid_message_is_error_and_bad_answer_uses_step() {
    let cases = [
        ("7", "a number"),
        ("null", "null"),
        (r#""candidate_id=cand_01; rationale=x""#, "a text"),
        ("[]", "an array"),
        ("{}", "needs completion or candidate_id"),
        (r#"{"color": "red"}"#, "color"),
        (r#"{"rationale": "x"}"#, "needs completion or candidate_id"),
        (r#"{"completion": 7}"#, "completion should be a text"),
        (r#"{"completion": null}"#, "needs completion"),
        (r#"{"completion": "x", "color": "red"}"#, "color"),
        (
            r#"{"completion": "x", "candidate_id": "cand_01"}"#,
            "candidate_id",
        ),
        (
            r#"{"completion": "x", "completion": "y"}"#,
            "completion twice",
        ),
        (
            r#"{"candidate_id": "cand_01", "session_id": 7}"#,
            "session_id",
        ),
    ];
    for (json, named) in cases {
        let error = serde_json::from_str::<Message>(json)
            .unwrap_err()
            .to_string();
        assert!(error.contains(named), "{json}: {error}");
    }
    let wasted = [
        (r#"{"candidate_id": "cand_01"}"#, "empty", "rationale"),
        (
            r#"{"candidate_id": 1, "rationale": "x"}"#,
            "bad_id",
            "a number",
        ),
        (
            r#"{"candidate_id": "cand_01", "rationale": "x", "color": "red"}"#,
            "unknown_field",
            "color",
        ),
        (
            r#"{"candidate_id": "cand_01", "rationale": "x", "confidence": 2}"#,
            "bad_confidence",
            "2",
        ),
        (
            r#"{"candidate_id": "cand_01", "rationale": "x", "reward": 1}"#,
            "parser_exploit",
            "verifier",
        ),
        (
            r#"{"candidate_id": "cand_01", "candidate_id": "cand_02", "rationale": "x"}"#,
            "parser_exploit",
            "candidate_id",
        ),
        (r#"{"completion": ""}"#, "empty", "nothing"),
    ];
    for (json, reason, named) in wasted {
        let mut session = Session::new(&setup("DDI-easy", 0, Rules::HARDENED));
        let reply = session.step(&message(json), &mut ());
        let reply = reply.unwrap();
        assert_eq!(reply.info.failure_reasons, [reason], "{json}");
        let detail = reply.info.failure_detail.unwrap();
        assert!(detail.contains(named), "{json}: {detail}");
        assert_eq!((reply.reward, reply.info.step_count), (0.001, 1), "{json}");
    }
}

#[test]
fn message_for_other_session_keeps_state() {
    let mut session = Session::new(&setup("DDI-easy", 0, Rules::HARDENED));
    let own = session.session_id().to_owned();
    let other = message(r#"{"completion": "x", "session_id": "somebody-else"}"#);
    let error = session.step(&other, &mut ()).unwrap_err().to_string();
    assert!(
        error.contains("somebody-else") && error.contains(&own),
        "{error}"
    );
    assert_eq!(session.episode().observation().step_count, 0);
    let json = format!(r#"{{"candidate_id":"cand_01","rationale":"egfr","session_id":"{own}"}}"#);
    assert!(session.step(&message(&json), &mut ()).is_ok());
}

#[test]
fn invalid_reset_request_error_names_value() {
    let request = |json: &str| serde_json::from_str::<ResetRequest>(json);
    for (json, named) in [
        (r#"{"difficulty": "harder"}"#, "harder"),
        (r#"{"sub_environment": "DDX"}"#, "DDX"),
        (r#"{"formulary": "mine"}"#, "mine"),
        (r#"{"split": "test"}"#, "split"),
        (r#"{"rules": "harsh"}"#, "harsh"),
        (
            r#"{"formulary": "reference", "difficulty": "hard"}"#,
            "hard",
        ),
        (r#"{"scenario_id": "scn_1"}"#, "scenario_id"),
        (r#"{"patient_id": "pt_1"}"#, "patient_id"),
    ] {
        let error = Session::from_request(&request(json).unwrap(), &())
            .unwrap_err()
            .to_string();
        assert!(error.contains(named), "{json}: {error}");
    }
    for (json, named) in [
        (r#"{"color": "red"}"#, "color"),
        (r#"{"debug": true}"#, "debug"),
        (r#"{"seed": -1}"#, "-1"),
        (r#"{"seed": "x"}"#, "x"),
    ] {
        let error = request(json).unwrap_err().to_string();
        assert!(error.contains(named), "{json}: {error}");
    }
}

#[test]
fn refused_reset_keeps_running_episode() {
    let mut env = JsonEnv::<PolyguardEnv>::default();
    let keep = message(r#"{"candidate_id": "cand_01", "rationale": "egfr"}"#);
    let early = env.step(&keep, &mut ()).unwrap_err();
    assert!(early.to_string().contains("reset before"), "{early}");
    env.reset(&ResetRequest::default(), &()).unwrap();
    env.step(&keep, &mut ()).unwrap();
    let wrong = ResetRequest {
        split: Some("none".to_owned()),
        ..ResetRequest::default()
    };
    assert!(env.reset(&wrong, &()).is_err());
    assert_eq!(env.session().unwrap().episode().observation().step_count, 1);
}
