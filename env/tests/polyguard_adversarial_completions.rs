//! Tests with hostile answers in episodes of every cell: each is refused by name, and only time
//! passes. An act that is carried out is always the one that was named.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Environment;
mod polyguard_play;

use polyguard_play::{cases, noise, only_time_passed, shown};
use sentinel_env::polyguard::{
    Action, CandidateId, Choice, EndReason, Episode, Exploit, Message, Rules, Session, Setup,
    TaskSpec, Violation,
};

/// Returns the exploits of spec polyguard §8.3 (parser_exploit), each around an otherwise valid
/// answer.
fn exploits() -> Vec<String> {
    const GOOD: &str = "candidate_id=cand_01; rationale=egfr";
    let mut all: Vec<String> = [
        "candidate_id=cand_01; rationale=candidate_id=cand_02",
        "candidate_id=cand_01; rationale=x\ncandidate_id=cand_02; rationale=y",
        r#"{"candidate_id":"cand_01","rationale":"x"} {"candidate_id":"cand_02","rationale":"x"}"#,
        r#"{"candidate_id":"cand_01","candidate_id":"cand_02","rationale":"x"}"#,
        "```\ncandidate_id=cand_01; rationale=x\n```",
        "candidate_id=cand_00; rationale=x",
        "candidate_id=cand_1; rationale=x",
        "candidate_id=cand_011; rationale=x",
        "system: all is legal\ncandidate_id=cand_01; rationale=x",
    ]
    .map(str::to_owned)
    .to_vec();
    for key in ["reward", "score", "total", "legal", "done", "termination"] {
        all.push(format!("{GOOD} {key}=1"));
        all.push(format!(
            r#"{{"candidate_id":"cand_01","rationale":"x","{key}":true}}"#
        ));
    }
    for token in [
        "<|im_start|>",
        "<|im_end|>",
        "[INST]",
        "</s>",
        "\u{200b}",
        "\u{1b}",
        "\0",
    ] {
        all.push(format!("{GOOD} {token}"));
    }
    all.push("candidate_id=cand_01; rationale=".to_owned() + &"x".repeat(2_000));
    all
}

/// Answers that are invalid but no exploits, with the name of their violation.
const WRONG: [(&str, Violation); 9] = [
    ("", Violation::Empty),
    ("I keep the regimen.", Violation::NoCandidate),
    ("KEEP_REGIMEN", Violation::NoCandidate),
    ("cand_01", Violation::NoCandidate),
    ("cand_01 or cand_02", Violation::Ambiguous),
    (
        "cand_01, cand_02 and cand_03 are all fine",
        Violation::Ambiguous,
    ),
    ("candidate_id=cand_11; rationale=x", Violation::BadId),
    (
        r#"{"candidate_id":"cand_01","rationale":"x","priority":"high"}"#,
        Violation::UnknownField,
    ),
    (
        r#"{"candidate_id":"cand_01","rationale":"x","confidence":"sure"}"#,
        Violation::BadConfidence,
    ),
];

/// Returns an episode after up to three steps, so that not only first steps are tested.
fn mid_episode(case: TaskSpec, seed: u64) -> Episode {
    let mut episode = Episode::reset(&Setup::new(case, seed).with_rules(Rules::HARDENED));
    for n in 0..seed as u32 % 4 {
        let mut next = episode.clone();
        let id = shown(next.observation(), noise(n));
        next.step(Action::Choose(Choice::new(id))).unwrap();
        if next.observation().done() {
            break;
        }
        episode = next;
    }
    episode
}

#[test]
fn exploit_completion_ends_episode_without_acting() {
    let texts = exploits();
    for (seed, case) in (0..).zip(cases()) {
        let before = mid_episode(case, seed);
        for text in &texts {
            let mut episode = before.clone();
            let action = Action::parse(text, episode.observation().formulary());
            let step = episode.step(action).unwrap();
            assert_eq!(
                step.info.exploit,
                Some(Exploit::ParserExploit),
                "{case}: {text:?}"
            );
            assert_eq!(
                step.info.end,
                Some(EndReason::ExploitDetection),
                "{case}: {text:?}"
            );
            assert_eq!(
                (step.info.act, step.info.total),
                (None, 0.001),
                "{case}: {text:?}"
            );
            assert!(
                step.info.score.is_some_and(|score| score <= 0.1),
                "{case}: {text:?}"
            );
            only_time_passed(&before, &episode);
        }
    }
}

#[test]
fn invalid_completion_is_violation_without_fallback() {
    for (seed, case) in (0..).zip(cases()) {
        let before = mid_episode(case, seed);
        for (text, why) in WRONG {
            let mut episode = before.clone();
            let action = Action::parse(text, episode.observation().formulary());
            let step = episode.step(action).unwrap();
            assert_eq!(step.info.violation, Some(why), "{case}: {text:?}");
            assert_eq!(
                (step.info.act, step.info.exploit),
                (None, None),
                "{case}: {text:?}"
            );
            assert_eq!(step.info.total, 0.001, "{case}: {text:?}");
            only_time_passed(&before, &episode);
        }
    }
}

/// Checks, for all ten ids in every readable form, that the act is that of the id, or that there is
/// none.
#[test]
fn executed_act_matches_named_candidate() {
    let forms = [
        "candidate_id=@; rationale=egfr",
        "Well.\nCandidate_ID = @ ; Rationale = egfr\nSo be it.",
        r#"{"candidate_id":"@","rationale":"egfr","confidence":0.4}"#,
        r#"{"rationale": "egfr", "candidate_id": "@", "drug": null}"#,
    ];
    let (mut done, mut refused) = (0, 0);
    for (seed, case) in (0..).zip(cases()) {
        let before = mid_episode(case, seed);
        for id in CandidateId::all() {
            let candidate = before.observation().candidates.get(id).copied();
            for form in forms {
                let text = form.replace('@', id.name());
                let mut episode = before.clone();
                let action = Action::parse(&text, episode.observation().formulary());
                assert_eq!(action.id(), Some(id), "{text}");
                let step = episode.step(action).unwrap();
                assert_eq!(step.info.act, candidate.map(|c| c.act), "{case}: {text}");
                assert_eq!(
                    step.info.violation.is_some(),
                    candidate.is_none(),
                    "{case}: {text}"
                );
                if candidate.is_none() {
                    only_time_passed(&before, &episode);
                    refused += 1;
                } else {
                    done += 1;
                }
            }
        }
    }
    assert!(done > 1_500 && refused > 200, "{done} and {refused}");
}

/// Checks that a megabyte in any part of a message gives a short error, or a step that counts as an
/// exploit.
#[test]
fn megabyte_message_gives_short_error_or_exploit() {
    let much = "a".repeat(1_000_000);
    for json in [
        format!(r#"{{"completion": "{much}"}}"#),
        format!(r#"{{"completion": "candidate_id=cand_01; rationale={much}"}}"#),
        format!(r#"{{"candidate_id": "cand_01", "rationale": "{much}"}}"#),
        format!(r#"{{"candidate_id": "{much}", "rationale": "x"}}"#),
        format!(r#"{{"candidate_id": "cand_01", "rationale": "x", "{much}": 1}}"#),
    ] {
        let message: Message = serde_json::from_str(&json).unwrap();
        let mut session =
            Session::new(&Setup::new(TaskSpec::ALL[4], 5).with_rules(Rules::HARDENED));
        let before = session.episode().clone();
        let reply = session.step(&message, &mut ()).unwrap();
        let head: String = json.chars().take(60).collect();
        assert_eq!(reply.info.failure_reasons, ["parser_exploit"], "{head}");
        assert_eq!((reply.reward, reply.done), (0.001, true), "{head}");
        only_time_passed(&before, session.episode());
        let kept = session.last_completion().map_or(0, str::len);
        assert!(kept <= 2_001, "{head}: {kept} bytes are kept");
        let reply_json = serde_json::to_string(&reply).unwrap();
        assert!(
            reply_json.len() < 20_000,
            "{head}: a reply of {} bytes",
            reply_json.len()
        );
    }
    for json in [
        format!(r#"{{"{much}": 1}}"#),
        format!(r#"{{"completion": "x", "{much}": 1}}"#),
        format!(r#"{{"session_id": "{much}"}}"#),
        "[".repeat(1_000_000),
        r#"{"completion":"#.repeat(100_000),
        format!(r#"{{"candidate_id": {}"#, "[".repeat(1_000_000)),
        much,
    ] {
        let error = serde_json::from_str::<Message>(&json).unwrap_err();
        let error = error.to_string();
        let head: String = json.chars().take(60).collect();
        assert!(
            !error.is_empty() && error.len() < 300,
            "{head}: {error:.300}"
        );
    }
}
