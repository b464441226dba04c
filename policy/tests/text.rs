//! Tests of the text interface: prompts, completions and errors.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::EpisodeSpec;
use sentinel_env::Named;
use sentinel_env::PrivilegedState;
use sentinel_env::cluster::{self, ClusterEnv, GpuId, JobId};
use sentinel_env::polyguard::{self, PolyguardEnv, TaskSpec, Violation};
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::slot::Slot;
use sentinel_env::task::TaskName;
use sentinel_env::trust::{self, TrustEnv};
use sentinel_policy::text::{
    InvalidActionPolicy, InvalidReward, ParseErrorKind, ParserStrictness, PromptState, PromptStyle,
    TextWorld,
};

fn start<W: TextWorld>(task: W::Task, seed: u64) -> PromptState<W> {
    let streams = W::streams_or_default(Streams::Independent);
    PromptState::new(
        &EpisodeSpec::<W> {
            task,
            seed,
            streams,
            rules: Rules::REFERENCE,
        }
        .setup(),
    )
}

/// Plays scripted policies in text. Every action must survive formatting and parsing, and prompts
/// must stay short.
fn assert_plays_through_text<W: TextWorld>(names: &[&str], longest: usize, detailed: usize) {
    for task in W::Task::ALL {
        for name in names {
            let policy = W::PolicyName::parse(name).unwrap();
            for style in PromptStyle::ALL {
                let mut prompt_state = start::<W>(*task, 100_003);
                let mut player = prompt_state.player(policy);
                while let Some(action) = player.act(prompt_state.episode()) {
                    let prompt = prompt_state.prompt(style);
                    let longest = match style {
                        PromptStyle::Compact => longest,
                        PromptStyle::Detailed => detailed,
                        PromptStyle::Reference => usize::MAX,
                    };
                    assert!(prompt.len() <= longest, "{} in {prompt}", prompt.len());
                    assert!(prompt.is_ascii(), "{prompt}");
                    let completion = W::format_action(style, prompt_state.observation(), action);
                    let parsed = W::parse_action(
                        ParserStrictness::Strict,
                        &completion,
                        prompt_state.observation(),
                    )
                    .unwrap();
                    assert!(!parsed.repaired, "{completion}");
                    assert_eq!(
                        parsed.action.to_string(),
                        action.to_string(),
                        "{completion}"
                    );
                    let mut other = prompt_state.clone();
                    prompt_state.step(action).unwrap();
                    other.step(parsed.action).unwrap();
                    assert_eq!(
                        prompt_state.prompt(PromptStyle::Detailed),
                        other.prompt(PromptStyle::Detailed)
                    );
                }
                assert!(prompt_state.done());
            }
        }
    }
}

/// Every legal action survives formatting and parsing, is carried out, and is listed once; after the
/// end there is none. `policy` moves the episode on.
fn assert_legal_actions_are_playable<W: TextWorld>(policy: &str) {
    for task in W::Task::ALL {
        for style in PromptStyle::ALL {
            let mut prompt_state = start::<W>(*task, 100_004);
            let mut player = prompt_state.player(W::PolicyName::parse(policy).unwrap());
            while let Some(next) = player.act(prompt_state.episode()) {
                let o = prompt_state.observation();
                let actions = W::legal_actions(o);
                let texts = actions
                    .iter()
                    .map(|action| W::format_action(style, o, *action));
                let texts: std::collections::BTreeSet<String> = texts.collect();
                assert_eq!(texts.len(), actions.len());
                for text in &texts {
                    let parsed = W::parse_action(ParserStrictness::Strict, text, o).unwrap();
                    assert!(!parsed.repaired, "{text}");
                }
                for action in actions.iter().take(40) {
                    prompt_state.clone().step(*action).unwrap();
                }
                prompt_state.step(next).unwrap();
            }
            assert!(W::legal_actions(prompt_state.observation()).is_empty());
        }
    }
}

#[test]
fn legal_actions_are_playable() {
    assert_legal_actions_are_playable::<TrustEnv>("random");
    assert_legal_actions_are_playable::<ClusterEnv>("planner");
    assert_legal_actions_are_playable::<PolyguardEnv>("rules_only");
    let first = start::<TrustEnv>(trust::Task::Task3, 100_000);
    assert_eq!(TrustEnv::legal_actions(first.observation()).len(), 12);
}

#[test]
fn trust_policies_play_through_text() {
    assert_plays_through_text::<TrustEnv>(&["random", "bayes", "self_solve"], 460, 750);
}

#[test]
fn cluster_policies_play_through_text() {
    assert_plays_through_text::<ClusterEnv>(&["random", "planner"], 1_050, 1_500);
}

/// The prompt names at least 97 % of the jobs and GPUs that the planner chooses. A long queue is
/// truncated at the jobs with the latest deadlines.
#[test]
fn prompt_contains_most_planner_targets() {
    let policy = cluster::Task::ALL.map(|task| {
        let (mut named, mut shown) = (0, 0);
        for seed in 100_000..100_005 {
            let mut s = start::<ClusterEnv>(task, seed);
            let mut player = s.player(Named::parse("planner").unwrap());
            while let Some(action) = player.act(s.episode()) {
                let prompt = s.prompt(PromptStyle::Compact);
                let job = action.job().map(|job| job.to_string());
                let gpu = action.gpu().map(|gpu| gpu.to_string());
                for name in [job, gpu].into_iter().flatten() {
                    named += 1;
                    shown += usize::from(prompt.contains(&name));
                }
                s.step(action).unwrap();
            }
        }
        (named, shown)
    });
    for (named, shown) in policy {
        assert!(shown * 100 >= named * 97, "{shown} of {named}");
    }
}

#[test]
fn polyguard_policies_play_through_text() {
    assert_plays_through_text::<PolyguardEnv>(&["random", "rules_only"], 1_400, 2_600);
}

#[track_caller]
fn refused<W: TextWorld>(prompt_state: &PromptState<W>, text: &str) -> &'static str {
    let error =
        W::parse_action(ParserStrictness::Strict, text, prompt_state.observation()).unwrap_err();
    assert!(
        error.to_string().starts_with(error.reason.name()),
        "{error}"
    );
    assert!(error.to_string().len() < 400, "{error}");
    error.reason.name()
}

/// Checks that each text is refused for its reason and ends the sample.
#[track_caller]
fn assert_refused(state: &PromptState<TrustEnv>, cases: &[(&str, &str)]) {
    for (text, reason) in cases {
        assert_eq!(refused(state, text), *reason, "{text}");
        let invalid_action_policy = TrustEnv::invalid_action_policy(text, state.observation());
        assert_eq!(invalid_action_policy, InvalidActionPolicy::EndSample);
    }
}

#[test]
fn trust_text_that_is_not_one_object_gives_reason() {
    let s = start::<TrustEnv>(trust::Task::Task1, 100_000);
    let long = format!(
        r#"{{"action_type":"skip","reasoning":"{}"}}"#,
        "x".repeat(5000)
    );
    let deep = format!(r#"{{"action_type":{}"#, "[".repeat(2000));
    let cases = [
        ("", "empty"),
        (" \n ", "empty"),
        ("skip", "not_json"),
        ("[]", "not_an_object"),
        ("\"skip\"", "not_an_object"),
        ("NaN", "not_json"),
        (r#"{"action_type": NaN}"#, "not_json"),
        (r#"{"action_type":"skip""#, "not_json"),
        (&deep, "not_json"),
        (&long, "too_long"),
        ("```json\n{\"action_type\":\"skip\"}\n```", "code_fence"),
        (r#"I choose {"action_type":"skip"}"#, "text_around"),
        (r#"{"action_type":"skip"} because"#, "text_around"),
        (
            r#"{"action_type":"skip"}{"action_type":"skip"}"#,
            "several_objects",
        ),
        (
            r#"{"action_type":"skip","action_type":"skip"}"#,
            "duplicate_field",
        ),
        (
            r#"{"action_type":"skip","session_id":"x"}"#,
            "unknown_field",
        ),
    ];
    assert_refused(&s, &cases);
}

#[test]
fn invalid_trust_fields_give_reason() {
    let s = start::<TrustEnv>(trust::Task::Task1, 100_000);
    let cases = [
        (r#"{"specialist_id":"S0"}"#, "missing_field"),
        (r#"{"action_type":null}"#, "missing_field"),
        (r#"{"action_type":3}"#, "wrong_type"),
        (r#"{"action_type":"Skip"}"#, "unknown_action"),
        (r#"{"action_type":"allocate"}"#, "unknown_action"),
        (r#"{"action_type":"verify"}"#, "missing_field"),
        (
            r#"{"action_type":"verify","specialist_id":"S5"}"#,
            "unknown_name",
        ),
        (
            r#"{"action_type":"verify","specialist_id":""}"#,
            "unknown_name",
        ),
        (
            r#"{"action_type":"verify","specialist_id":2}"#,
            "wrong_type",
        ),
        (
            r#"{"action_type":"skip","specialist_id":"S1"}"#,
            "unused_field",
        ),
        (r#"{"action_type":"solve_independently"}"#, "missing_field"),
        (
            r#"{"action_type":"solve_independently","subtask_response":""}"#,
            "missing_field",
        ),
        (r#"{"action_type":"skip","reasoning":7}"#, "wrong_type"),
    ];
    assert_refused(&s, &cases);
}

#[test]
fn trust_text_with_white_space_and_null_is_valid() {
    let s = start::<TrustEnv>(trust::Task::Task1, 100_000);
    let text = " {\"reasoning\":\"why not\",\"specialist_id\":null,\"action_type\":\"skip\"}\n";
    let parsed = TrustEnv::parse_action(ParserStrictness::Strict, text, s.observation()).unwrap();
    assert_eq!(
        (parsed.action, parsed.repaired),
        (trust::Action::Skip, false)
    );
}

#[test]
fn repair_strips_only_surrounding_text() {
    let s = start::<TrustEnv>(trust::Task::Task1, 100_000);
    let parse_action =
        |text: &str| TrustEnv::parse_action(ParserStrictness::Repair, text, s.observation());
    let verify = trust::Action::Verify(Slot::ALL[2]);
    for text in [
        "```json\n{\"action_type\":\"verify\",\"specialist_id\":\"S2\"}\n```",
        "I think { so: {\"action_type\":\"verify\",\"specialist_id\":\"S2\"} it is",
    ] {
        let parsed = parse_action(text).unwrap();
        assert_eq!((parsed.action, parsed.repaired), (verify, true), "{text}");
    }
    let whole = parse_action(r#"{"action_type":"verify","specialist_id":"S2"}"#).unwrap();
    assert!(!whole.repaired);
    for (text, reason) in [
        ("no object", ParseErrorKind::NotJson),
        (
            r#"{"action_type":"skip"} {"action_type":"skip"}"#,
            ParseErrorKind::SeveralObjects,
        ),
        (
            r#"so: {"action_type":"Skip"}"#,
            ParseErrorKind::UnknownAction,
        ),
        (
            r#"so: {"action_type":"skip","x":1}"#,
            ParseErrorKind::UnknownField,
        ),
    ] {
        assert_eq!(parse_action(text).unwrap_err().reason, reason, "{text}");
    }
}

#[test]
fn invalid_cluster_text_gives_reason() {
    let s = start::<ClusterEnv>(cluster::Task::Task1, 100_000);
    for (text, reason) in [
        (
            r#"{"action_type":"tick","job_id":"JOB-001"}"#,
            "unused_field",
        ),
        (
            r#"{"action_type":"preempt","gpu_id":"GPU-01"}"#,
            "unused_field",
        ),
        (
            r#"{"action_type":"allocate","force_flag":true}"#,
            "unused_field",
        ),
        (
            r#"{"action_type":"allocate","job_id":"JOB-1"}"#,
            "unknown_name",
        ),
        (
            r#"{"action_type":"allocate","job_id":"JOB-010"}"#,
            "not_here",
        ),
        (
            r#"{"action_type":"allocate","gpu_id":"GPU-08"}"#,
            "not_here",
        ),
        (
            r#"{"action_type":"verify","worker_id":"S9"}"#,
            "unknown_name",
        ),
        (
            r#"{"action_type":"verify","specialist_id":"S1"}"#,
            "unknown_field",
        ),
        (
            r#"{"action_type":"verify","force_flag":"yes"}"#,
            "wrong_type",
        ),
        (r#"{"action_type":"delegate"}"#, "unknown_action"),
    ] {
        assert_eq!(refused(&s, text), reason, "{text}");
    }
    let text =
        r#"{"action_type":"allocate","job_id":"JOB-009","gpu_id":"GPU-07","worker_id":"S4"}"#;
    let parsed = ClusterEnv::parse_action(ParserStrictness::Strict, text, s.observation()).unwrap();
    let action = cluster::Action::Allocate {
        job: Some(JobId(9)),
        gpu: Some(GpuId(7)),
        worker: Some(Slot::ALL[4]),
    };
    assert_eq!(parsed.action, action);
}

/// PolyGuard has actions for invalid text, and a completion made to confuse the parser ends the
/// episode.
#[test]
fn polyguard_maps_invalid_text_to_actions() {
    let mut s = start::<PolyguardEnv>(TaskSpec::ALL[8], 100_000);
    let text = "I would rather wait.";
    assert_eq!(refused(&s, text), "no_candidate");
    let invalid = polyguard::Action::Invalid(Violation::NoCandidate);
    let invalid_action_policy = PolyguardEnv::invalid_action_policy(text, s.observation());
    assert_eq!(invalid_action_policy, InvalidActionPolicy::Step(invalid));
    s.step(invalid).unwrap();
    assert_eq!(s.observation().invalid_count, 1);
    let text = r#"{"candidate_id":"cand_01","rationale":"x","reward":1}"#;
    assert_eq!(refused(&s, text), "parser_exploit");
    let invalid_action_policy = PolyguardEnv::invalid_action_policy(text, s.observation());
    assert_eq!(
        invalid_action_policy,
        InvalidActionPolicy::Step(polyguard::Action::Exploit)
    );
    let text = "So:\ncandidate_id=cand_01; rationale=egfr";
    assert!(
        PolyguardEnv::parse_action(ParserStrictness::Strict, text, s.observation())
            .unwrap()
            .repaired
    );
}

/// Prompts do not depend on the hidden assignment until a specialist reports.
#[test]
fn prompts_do_not_depend_on_hidden_assignment() {
    let by_variant = |variant: u8| {
        let all = (100_000..101_000).map(|seed| start::<TrustEnv>(trust::Task::Task3, seed));
        all.filter(move |s| s.observation().variant == variant)
            .take(12)
    };
    for style in PromptStyle::ALL {
        let mut prompts: Vec<String> = by_variant(7).map(|s| s.prompt(style)).collect();
        assert_eq!(prompts.len(), 12);
        prompts.dedup();
        assert_eq!(prompts.len(), 1, "twelve assignments look alike");
    }
    let mut hidden: Vec<String> = by_variant(7)
        .map(|s| format!("{:?}", TrustEnv::hidden(s.episode())))
        .collect();
    hidden.dedup();
    assert!(hidden.len() > 1, "and are not");
}

/// A compact prompt shows what the ledger does not hold: the number of steps that a slot takes.
#[test]
fn compact_prompt_shows_slot_costs() {
    let s = start::<TrustEnv>(trust::Task::Task3, 100_000);
    let seen = Slot::ALL.map(|slot| {
        let mut s = s.clone();
        s.step(trust::Action::Verify(slot)).unwrap();
        let prompt = s.prompt(PromptStyle::Compact);
        let line = prompt.lines().find(|line| line.starts_with(slot.name()));
        line.unwrap().contains("cost 2")
    });
    assert_eq!(seen.iter().filter(|slow| **slow).count(), 1, "{seen:?}");
}

#[test]
fn player_started_mid_episode_matches_player_from_start() {
    let policy = sentinel_policy::trust::PolicyName::parse("bayes").unwrap();
    let mut s = start::<TrustEnv>(trust::Task::Task3, 100_004);
    let mut whole = s.player(policy);
    while let Some(action) = whole.act(s.episode()) {
        assert_eq!(s.player(policy).act(s.episode()), Some(action));
        s.step(action).unwrap();
    }
}

#[test]
fn invalid_reward_is_validated_and_below_action_rewards() {
    for good in [0.0, -1.0, -0.25] {
        assert_eq!(InvalidReward::new(good).unwrap().value(), good);
    }
    for bad in [0.01, -1.5, f64::NAN, f64::INFINITY] {
        let error = InvalidReward::new(bad).unwrap_err().to_string();
        assert!(error.contains("from -1 to 0"), "{error}");
    }
    // The least reward of an action in trust and cluster (spec trust §2).
    assert!(InvalidReward::default().value() < 0.01);
}
