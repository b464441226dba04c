//! Tests that bad input to the PolyGuard world gives a named error or a named violation, and
//! neither a panic nor another action.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
mod polyguard_play;

use polyguard_play::{cases, only_time_passed, play_out};
use sentinel_env::polyguard::{
    ActKind, Action, CandidateId, Choice, Component, EndReason, Episode, Exploit, Message,
    MessageError, Rules, Session, Setup, Step, StepError, TaskSpec, Violation,
};

fn setup(name: &str, seed: u64, rules: Rules) -> Setup {
    Setup::new(TaskSpec::parse(name).unwrap(), seed).with_rules(rules)
}

/// Plays a completion as the first answer of an episode. Returns the session and the step.
fn play_completion(text: &str, rules: Rules) -> (Session, Step) {
    let mut session = Session::new(&setup("DDI-medium", 3, rules));
    session
        .step(&Message::completion(text.to_owned()), &mut ())
        .unwrap();
    let step = session.steps()[0];
    (session, step)
}

/// Returns the first candidate of a kind, searching over seeds, and the episode that shows it.
fn with_candidate(name: &str, kind: ActKind) -> (Episode, sentinel_env::polyguard::Candidate) {
    for seed in 0..200 {
        let episode = Episode::reset(&setup(name, seed, Rules::HARDENED));
        let found = episode
            .observation()
            .candidates
            .find(|c| c.act.kind == kind);
        if let Some(candidate) = found.copied() {
            return (episode, candidate);
        }
    }
    panic!("no {kind:?} in {name}");
}

/// Checks that a completion that names no shown candidate is invalid and earns nothing (spec
/// polyguard §9.1).
#[test]
fn unreadable_completion_uses_step_without_acting() {
    for text in [
        "",
        "no idea",
        "candidate_id=cand_99; rationale=x",
        "candidate_id=first; rationale=x",
        "cand_01 or cand_02",
        r#"{"candidate_id":"cand_01","rationale":"x","color":"red"}"#,
        r#"{"candidate_id":"cand_01","rationale":"x","confidence":7}"#,
    ] {
        let (session, step) = play_completion(text, Rules::HARDENED);
        let before = Episode::reset(session.episode().setup());
        only_time_passed(&before, session.episode());
        assert_eq!((step.total, step.reward.gated), (0.001, 0.001), "{text}");
        assert!(step.act.is_none() && step.end.is_none(), "{text}");

        let (_, step) = play_completion(text, Rules::REFERENCE);
        assert_eq!(step.total, step.reward.additive, "{text}");
        assert!(step.total > 0.1, "{text}: the published total is a mean");
        for component in [
            Component::FormatCompliance,
            Component::CandidateAlignment,
            Component::Legality,
        ] {
            assert_eq!(
                step.reward.component(component),
                0.001,
                "{text}: {component:?}"
            );
        }
        assert_eq!(step.reward.component(Component::AntiCheat), 0.999, "{text}");
    }
}

#[test]
fn candidate_not_shown_is_refused() {
    let (mut gaps, mut ends) = (0, 0);
    for case in cases() {
        for seed in 0..12 {
            for rules in [Rules::REFERENCE, Rules::HARDENED] {
                let before = Episode::reset(&Setup::new(case, seed).with_rules(rules));
                let shown = before.observation().candidates.iter().map(|c| c.id);
                let shown: Vec<CandidateId> = shown.collect();
                for id in CandidateId::all().filter(|id| !shown.contains(id)) {
                    let mut episode = before.clone();
                    let step = episode.step(Action::Choose(Choice::new(id))).unwrap();
                    only_time_passed(&before, &episode);
                    let last = shown.iter().map(|id| id.number()).max().unwrap_or(0);
                    let unknown = step.info.violation == Some(Violation::UnknownCandidate);
                    if unknown {
                        assert!(id.number() > last, "{case} {seed}: {id} of {shown:?}");
                        ends += 1;
                    } else {
                        gaps += 1;
                    }
                    assert!(step.info.violation.is_some() && step.info.act.is_none());
                    assert_eq!(
                        step.info.reward.component(Component::FormatCompliance),
                        0.001
                    );
                    assert_eq!(step.info.reward.component(Component::Legality), 0.001);
                    assert_eq!(step.info.reward.gated, 0.001);
                }
            }
        }
    }
    assert!(
        gaps > 50 && ends > 50,
        "{gaps} withheld, {ends} behind the last"
    );
}

/// Checks that the first choice of a withheld candidate is only refused, and the second one is an
/// exploit.
#[test]
fn second_choice_of_withheld_candidate_is_exploit() {
    for seed in 0..200 {
        let mut episode = Episode::reset(&setup("REGIMEN_RISK-hard", seed, Rules::HARDENED));
        let mut hits = 0;
        for _ in 0..3 {
            let o = episode.observation();
            let last = o.candidates.iter().map(|c| c.id).max();
            let mut ids = CandidateId::all();
            let gap = ids.find(|id| o.candidates.get(*id).is_none() && Some(*id) < last);
            let Some(gap) = gap else { break };
            let step = episode.step(Action::Choose(Choice::new(gap))).unwrap();
            hits += 1;
            let second = hits == 2;
            assert_eq!(step.info.exploit == Some(Exploit::IllegalChoice), second);
            assert_eq!(step.info.end == Some(EndReason::ExploitDetection), second);
            assert!(step.info.violation.is_some());
            if second {
                return;
            }
        }
    }
    panic!("no episode withholds two candidates");
}

/// Checks that an id stands for its current candidate, and not for the one of an earlier step.
#[test]
fn candidate_of_earlier_step_is_not_executed() {
    let mut changed = 0;
    for seed in 0..60 {
        let mut episode = Episode::reset(&setup("DDI-medium", seed, Rules::HARDENED));
        let old = episode.observation().candidates.clone();
        let first = Action::Choose(Choice::new(CandidateId::FIRST));
        episode.step(first).unwrap();
        for stale in old.iter().filter(|c| c.id != CandidateId::FIRST) {
            let mut copy = episode.clone();
            // An answer with the id of the earlier step and the details of its act.
            let claim = sentinel_env::polyguard::Claim {
                kind: Some(stale.act.kind),
                drug: Some(stale.act.drug),
                arg: Some(stale.act.arg),
                unknown: false,
            };
            let step = copy.step(Action::Choose(Choice {
                claim,
                ..Choice::new(stale.id)
            }));
            let step = step.unwrap();
            match episode.observation().candidates.get(stale.id) {
                Some(now) if now.act == stale.act => assert_eq!(step.info.act, Some(now.act)),
                Some(now) => {
                    assert_eq!(step.info.act, Some(now.act));
                    assert_eq!(step.info.violation, Some(Violation::CandidateMismatch));
                    assert_eq!(step.info.exploit, Some(Exploit::CandidateMismatch));
                    only_time_passed(&episode, &copy);
                    changed += 1;
                }
                None => {
                    assert!(step.info.violation.is_some() && step.info.act.is_none());
                    changed += 1;
                }
            }
        }
    }
    assert!(changed > 100, "{changed}");
}

#[test]
fn claim_that_contradicts_candidate_is_exploit() {
    let (episode, candidate) = with_candidate("DDI-easy", ActKind::SubstituteWithinClass);
    let id = candidate.id;
    let formulary = episode.observation().formulary();
    let drug = candidate.act.drug.unwrap().name(formulary);
    for stated in [
        r#""action_type":"KEEP_REGIMEN""#.to_owned(),
        r#""action_type":"PRESCRIBE""#.to_owned(),
        r#""drug":"aspirin""#.to_owned(),
        r#""drug":"none""#.to_owned(),
        r#""args":{"bucket_delta":1}"#.to_owned(),
        format!(r#""args":{{"target":"{drug}"}}"#),
        r#""args":{}"#.to_owned(),
    ] {
        let text = format!(r#"{{"candidate_id":"{id}","rationale":"x",{stated}}}"#);
        let mut copy = episode.clone();
        let step = copy.step(Action::parse(&text, formulary)).unwrap();
        assert_eq!(
            step.info.violation,
            Some(Violation::CandidateMismatch),
            "{text}"
        );
        assert_eq!(
            step.info.exploit,
            Some(Exploit::CandidateMismatch),
            "{text}"
        );
        assert_eq!(step.info.end, Some(EndReason::ExploitDetection), "{text}");
        assert_eq!(step.info.total, 0.001);
        assert!(step.info.score.unwrap() <= 0.1);
        only_time_passed(&episode, &copy);
    }
    let Some(sentinel_env::polyguard::ActArg::Target(target)) = Some(candidate.act.arg) else {
        panic!("a substitution has a target")
    };
    let target = target.name(formulary);
    let right = format!(
        r#"{{"candidate_id":"{id}","rationale":"{drug}","action_type":"substitute_within_class",
            "drug":"{drug}","args":{{"target":"{target}"}}}}"#
    );
    let step = episode
        .clone()
        .step(Action::parse(&right, formulary))
        .unwrap();
    assert_eq!((step.info.violation, step.info.exploit), (None, None));
}

#[test]
fn parser_exploit_ends_episode() {
    for text in [
        "candidate_id=cand_01; rationale=candidate_id=cand_02",
        "candidate_id=cand_01; rationale=reward=1",
        "candidate_id=cand_01; rationale=x <|im_end|>",
        "```\ncandidate_id=cand_01; rationale=x\n```",
        "candidate_id=cand_1; rationale=x",
        "candidate_id=cand_01; rationale=\u{200b}x",
        r#"{"candidate_id":"cand_01","rationale":"x"} {"candidate_id":"cand_01","rationale":"x"}"#,
        &"a".repeat(1_000_000),
    ] {
        for rules in [Rules::REFERENCE, Rules::HARDENED] {
            let (session, step) = play_completion(text, rules);
            let short: String = text.chars().take(60).collect();
            assert_eq!(step.exploit, Some(Exploit::ParserExploit), "{short}");
            assert_eq!(step.end, Some(EndReason::ExploitDetection), "{short}");
            assert_eq!(step.reward.gated, 0.001, "{short}");
            assert_eq!(
                step.reward.component(Component::AntiCheat),
                0.001,
                "{short}"
            );
            let reply = session.reply();
            assert!(reply.done && !reply.truncated, "{short}");
            assert_eq!(reply.info.failure_reasons, ["parser_exploit"], "{short}");
            assert_eq!(reply.info.termination_reason, Some("exploit_detection"));
            assert!(session.last_completion().unwrap().len() <= 2_001);
            let again = Action::parse(
                session.last_completion().unwrap(),
                session.episode().observation().formulary(),
            );
            assert_eq!(again, Action::Exploit, "what is kept of it reads the same");
        }
    }
}

#[test]
fn third_invalid_action_ends_episode() {
    let mut session = Session::new(&setup("DDI-hard", 1, Rules::HARDENED));
    let nonsense = Message::completion("hm".to_owned());
    for n in 1..=3 {
        let reply = session.step(&nonsense, &mut ()).unwrap();
        assert_eq!(reply.info.invalid_action_count, n);
        assert_eq!(reply.info.failure_reasons, ["no_candidate"]);
        assert_eq!(reply.done, n == 3);
    }
    assert_eq!(
        session.reply().info.termination_reason,
        Some("repeated_invalid")
    );
    assert!(matches!(
        session.step(&nonsense, &mut ()),
        Err(MessageError::Step(StepError::Over))
    ));
}

#[test]
fn step_after_end_errors_and_keeps_state() {
    let mut episode = Episode::reset(&setup("DDI-easy", 0, Rules::HARDENED));
    play_out(&mut episode, 7);
    let before = format!("{:?} {:?}", episode.observation(), episode.hidden());
    let error = episode.step(Action::Exploit).unwrap_err();
    assert_eq!(error, StepError::Over);
    assert!(error.to_string().contains("over"));
    assert_eq!(
        before,
        format!("{:?} {:?}", episode.observation(), episode.hidden())
    );
}
