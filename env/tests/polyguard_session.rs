//! Tests of the replies of PolyGuard sessions: groups, info, time limits, and secrecy.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Environment;
mod polyguard_play;

use std::collections::BTreeSet;

use polyguard_play::{answer, cases, noise};
use sentinel_env::polyguard::{
    Component, EPISODE_LIMIT_MS, Elapsed, Message, ResetRequest, Rules, STEP_LIMIT_MS, Session,
    Setup, TaskSpec, patient_id, prompt, scenario_id,
};
use serde_json::Value;

fn setup(name: &str, seed: u64) -> Setup {
    Setup::new(TaskSpec::parse(name).unwrap(), seed).with_rules(Rules::HARDENED)
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

/// Adds all keys at any depth to `into`.
fn all_keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                into.insert(name.clone());
                all_keys(value, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| all_keys(item, into)),
        _ => {}
    }
}

fn reply(session: &Session) -> Value {
    serde_json::to_value(session.reply()).unwrap()
}

#[test]
fn reply_keys_match_spec() {
    for case in cases() {
        let session = Session::new(&Setup::new(case, 1));
        let reply = reply(&session);
        assert_eq!(
            keys(&reply),
            ["done", "info", "observation", "reward", "truncated"]
        );
        assert_eq!(
            keys(&reply["observation"]),
            [
                "abstention",
                "action_history",
                "burden_summary",
                "candidates",
                "comorbidities",
                "difficulty",
                "graph_safety_summary",
                "medication_table",
                "organ_function",
                "patient_summary",
                "precision_dosing_flags",
                "problem_drug",
                "research_only",
                "step_budget",
                "sub_environment",
                "suspects",
                "symptom",
                "unresolved_conflicts",
                "warning_summary",
            ]
        );
        assert_eq!(reply["observation"]["research_only"], true);
        assert_eq!(reply["info"]["research_only"], true);
        let labs = &reply["observation"]["organ_function"]["labs"];
        assert_eq!(keys(labs), ["alt", "ast", "egfr", "glucose", "inr"]);
        let shown = reply["observation"]["candidates"].as_array().unwrap();
        for candidate in shown {
            assert_eq!(
                keys(candidate),
                [
                    "action_type",
                    "args",
                    "candidate_id",
                    "drug",
                    "est_delta",
                    "est_risk"
                ]
            );
        }
        assert_eq!(shown[0]["candidate_id"], "cand_01");
        assert_eq!(shown[0]["action_type"], "KEEP_REGIMEN");
        assert_eq!(shown[0]["args"], serde_json::json!({}));
    }
}

#[test]
fn missing_lab_value_is_null() {
    let mut seen = [0, 0];
    for seed in 0..20 {
        let session = Session::new(&setup("WEB_SEARCH_MISSING_DATA-hard", seed));
        let o = session.episode().observation();
        let labs = &reply(&session)["observation"]["organ_function"]["labs"];
        assert!(o.egfr().is_none() && labs["egfr"].is_null());
        for lab in sentinel_env::polyguard::Lab::ALL {
            assert_eq!(labs[lab.name()].is_null(), o.labs.get(lab).is_none());
            seen[usize::from(labs[lab.name()].is_null())] += 1;
        }
        assert!(prompt(o).contains("egfr missing"));
    }
    assert!(seen.iter().all(|n| *n > 5), "{seen:?}");
}

#[test]
fn step_reply_reports_outcome_and_reward() {
    let mut session = Session::new(&setup("DDI-medium", 42));
    let start = reply(&session);
    assert_eq!(start["reward"], 0.0);
    assert!(start["info"]["primary_reward_channels"].is_null());
    assert!(start["info"]["checks"]["legal"].is_null());
    let message: Message = serde_json::from_str(
        r#"{"completion": "candidate_id=cand_01; rationale=egfr is known, nothing to do"}"#,
    )
    .unwrap();
    let sent = session.step(&message, &mut ()).unwrap();
    let reply = reply(&session);
    assert_eq!(serde_json::to_value(sent).unwrap(), reply);
    let info = &reply["info"];
    assert_eq!(info["step_count"], 1);
    assert_eq!(info["safety_report"]["legal"], true);
    assert_eq!(info["failure_reasons"], serde_json::json!([]));
    assert_eq!(info["anti_cheat_reasons"], serde_json::json!([]));
    assert_eq!(info["invalid_action_count"], 0);
    assert!(info["termination_reason"].is_null() && info["score"].is_null());
    for check in [
        "readable",
        "candidate_shown",
        "claim_agrees",
        "legal",
        "honest",
    ] {
        assert_eq!(info["checks"][check], true, "{check}");
    }
    let channels = &info["primary_reward_channels"];
    assert_eq!(
        keys(channels),
        [
            "clinical_improvement",
            "dosing_quality",
            "process_integrity",
            "safety_legality"
        ]
    );
    assert_eq!(reply["reward"], session.steps()[0].total);
    assert_eq!(
        reply["observation"]["action_history"][0]["action_type"],
        "KEEP_REGIMEN"
    );
}

#[test]
fn two_to_ten_candidates_are_shown() {
    for case in cases() {
        let session = Session::new(&Setup::new(case, 5));
        let rows = session.reply().observation.candidates;
        assert!((2..=10).contains(&rows.len()));
    }
}

#[test]
fn debug_info_is_present_only_when_requested() {
    let request = ResetRequest {
        sub_environment: Some("NEW_DRUG_DECOMPOSITION".to_owned()),
        difficulty: Some("hard".to_owned()),
        ..ResetRequest::default()
    };
    let mut plain = Session::from_request(&request, &()).unwrap();
    let debug = ResetRequest {
        debug: true,
        ..request
    };
    let mut open = Session::from_request(&debug, &()).unwrap();
    assert!(
        reply(&open)["info"].get("debug").is_none(),
        "no step, no delta"
    );
    let keep = Message::completion("candidate_id=cand_01; rationale=egfr".to_owned());
    plain.step(&keep, &mut ()).unwrap();
    open.step(&keep, &mut ()).unwrap();
    let (mut debug_reply, plain_reply) = (reply(&open), reply(&plain));
    assert!(plain_reply["info"].get("debug").is_none());
    let debug = debug_reply["info"]
        .as_object_mut()
        .unwrap()
        .remove("debug")
        .unwrap();
    assert_eq!(debug_reply, plain_reply, "nothing else differs");
    assert_eq!(
        keys(&debug),
        ["additive", "gated", "reward_breakdown", "transition_delta"]
    );
    let names: BTreeSet<&str> = Component::ALL.iter().map(|c| c.name()).collect();
    assert_eq!(
        keys(&debug["reward_breakdown"]),
        names.into_iter().collect::<Vec<_>>()
    );
    assert_eq!(
        keys(&debug["transition_delta"]),
        [
            "burden",
            "issues_resolved",
            "progress",
            "safety_risk",
            "stability"
        ]
    );
}

/// Checks that no key of a reply to an agent refers to hidden state, in any state of an episode.
#[test]
fn replies_have_no_hidden_state_keys() {
    let mut seen = BTreeSet::new();
    for case in cases() {
        for seed in 0..6 {
            let mut session = Session::new(&Setup::new(case, seed));
            for n in 0.. {
                all_keys(&reply(&session), &mut seen);
                let o = session.episode().observation();
                if o.done() || session.act(answer(o, noise(n + seed as u32))).is_err() {
                    break;
                }
            }
        }
    }
    for secret in [
        "seed",
        "kappa",
        "exposure",
        "needed",
        "unflagged",
        "issues",
        "issues_resolved",
        "truth",
        "risk",
        "true_risk",
        "safety_risk",
        "stability",
        "benign",
        "culprit",
        "intolerant",
        "progress",
        "delta",
        "transition_delta",
        "reward_breakdown",
        "withheld",
        "debug",
    ] {
        assert!(!seen.contains(secret), "{secret}");
    }
    assert!(seen.contains("level") && seen.contains("components") && seen.contains("status"));
}

#[test]
fn timeout_ends_episode_without_acting() {
    let cases = [
        (STEP_LIMIT_MS, EPISODE_LIMIT_MS, None),
        (STEP_LIMIT_MS + 1, 0, Some("step_timeout")),
        (0, EPISODE_LIMIT_MS + 1, Some("wall_clock_timeout")),
        (
            STEP_LIMIT_MS + 1,
            EPISODE_LIMIT_MS + 1,
            Some("wall_clock_timeout"),
        ),
    ];
    assert_eq!((STEP_LIMIT_MS, EPISODE_LIMIT_MS), (2_500, 45_000));
    for (step_ms, episode_ms, end) in cases {
        let mut session = Session::new(&setup("DDI-easy", 1));
        let keep = Message::completion("candidate_id=cand_01; rationale=egfr".to_owned());
        let elapsed = Elapsed {
            step_ms,
            episode_ms,
        };
        let reply = session.step_within(&keep, elapsed).unwrap();
        assert_eq!(reply.info.termination_reason, end);
        assert_eq!(
            (reply.done, reply.truncated),
            (end.is_some(), end.is_some())
        );
        assert_eq!(reply.info.step_timeout, end == Some("step_timeout"));
        assert_eq!(
            reply.info.wall_clock_timeout,
            end == Some("wall_clock_timeout")
        );
        let Some(end) = end else {
            assert_eq!(session.steps().len(), 1);
            continue;
        };
        assert_eq!(reply.reward, 0.001);
        assert_eq!(reply.info.failure_reasons, [end]);
        assert!(
            session.steps().is_empty(),
            "what comes too late is not looked at"
        );
        assert!(reply.info.score.unwrap() <= 0.1 && reply.info.success == Some(false));
        assert!(reply.observation.candidates.is_empty());
        assert!(session.step(&keep, &mut ()).is_err());
    }
}

#[test]
fn reset_request_selects_setup() {
    let plain = Session::from_request(&serde_json::from_str("{}").unwrap(), &()).unwrap();
    let first = Setup::new(TaskSpec::ALL[0], 42);
    assert_eq!(*plain.episode().setup(), first);
    let full = format!(
        r#"{{"seed": 7, "sub_environment": "regimen_risk", "difficulty": "hard", "split": "holdout",
            "formulary": "extended", "rules": "hardened", "scenario_id": "{}", "patient_id": "{}"}}"#,
        scenario_id(&setup("REGIMEN_RISK-hard-holdout", 7)),
        patient_id(&setup("REGIMEN_RISK-hard-holdout", 7)),
    );
    let request: ResetRequest = serde_json::from_str(&full).unwrap();
    assert!(!request.debug);
    let session = Session::from_request(&request, &()).unwrap();
    assert_eq!(
        *session.episode().setup(),
        setup("REGIMEN_RISK-hard-holdout", 7)
    );
    assert_eq!(session.reply().info.scenario_id, session.scenario_id());
}

#[test]
fn ids_are_unique_per_setup() {
    let mut ids = BTreeSet::new();
    for case in cases() {
        for seed in 0..5 {
            let setup = Setup::new(case, seed);
            assert_eq!(scenario_id(&setup), scenario_id(&setup.clone()));
            assert_ne!(
                scenario_id(&setup),
                scenario_id(&setup.with_rules(Rules::HARDENED))
            );
            assert_eq!(
                patient_id(&setup),
                patient_id(&setup.with_rules(Rules::HARDENED))
            );
            assert!(ids.insert(scenario_id(&setup)) && ids.insert(patient_id(&setup)));
            assert!(ids.insert(Session::new(&setup).session_id().to_owned()));
        }
    }
}
