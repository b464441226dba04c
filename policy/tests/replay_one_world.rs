//! Tests of parsing a replay file for a single world, and of PolyGuard's rows.
#![expect(
    clippy::tests_outside_test_module,
    reason = "an integration test is one"
)]

use sentinel_env::polyguard::{Action, Candidate, Claim, Observation, PolyguardEnv, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Task, TrustEnv};
use sentinel_policy::Scripted;
use sentinel_policy::policy::{Player, Policy};
use sentinel_policy::polyguard;
use sentinel_policy::replay::{Replay, ReplayFile, record_episode, to_lines, verify};
use sentinel_policy::trust::PolicyName;

/// A parser for one world reports the rows of other worlds, and parses its own as usual.
#[test]
fn rows_of_other_world_are_reported() {
    let trust = sentinel_env::trust::Setup::new(Task::Task1, 7, Streams::Independent);
    let mut player = Scripted::start(PolicyName::Heuristic, &trust);
    let (_, ours) = record_episode::<TrustEnv>(&trust, &mut player, "heuristic");
    let case = sentinel_env::polyguard::Setup::new(TaskSpec::ALL[0], 7);
    let mut player = Scripted::start(polyguard::PolicyName::RulesOnly, &case);
    let (_, others) = record_episode::<PolyguardEnv>(&case, &mut player, "rules_only");
    let text = to_lines(&ours).expect("rows of numbers and words")
        + &to_lines(&others).expect("rows of numbers and words");
    let both = ReplayFile::default().parse(&text);
    assert_eq!(both.row_count(), ours.len() + others.len());
    assert_eq!(
        both.replay::<TrustEnv>().map(Replay::row_count),
        Some(ours.len())
    );
    assert!(both.verify().fits());
    let replay = Replay::<TrustEnv>::parse(&text);
    assert_eq!(
        (replay.row_count(), replay.problem_count()),
        (ours.len(), others.len())
    );
    let first = replay.problems().first().map(ToString::to_string);
    let line = ours.len() + 1;
    let expected = format!("line {line}: the row is of world polyguard, and world trust is played");
    assert_eq!(first, Some(expected));
    let replay = Replay::<PolyguardEnv>::parse(&text);
    assert_eq!(
        (replay.row_count(), replay.problem_count()),
        (others.len(), ours.len())
    );
}

/// A world without reference streams reports that, also for a row without the key, whose default
/// they are.
#[test]
fn unsupported_streams_error_names_world_and_remedy() {
    let case = sentinel_env::polyguard::Setup::new(TaskSpec::ALL[0], 7);
    let mut player = Scripted::start(polyguard::PolicyName::RulesOnly, &case);
    let (_, rows) = record_episode::<PolyguardEnv>(&case, &mut player, "rules_only");
    let text = to_lines(&rows[..1]).expect("a row of numbers and words");
    let key = r#","streams":"independent""#;
    for (given, reason) in [
        (
            r#","streams":"reference""#,
            "world polyguard has no reference streams: use independent",
        ),
        (
            "",
            "world polyguard has no reference streams, which a row without the key means: use independent",
        ),
    ] {
        assert!(text.contains(key), "{text}");
        let replay = Replay::<PolyguardEnv>::parse(&text.replace(key, given));
        let found = replay
            .problems()
            .first()
            .map(|problem| problem.reason.clone());
        assert_eq!(found.as_deref(), Some(reason));
    }
}

/// A policy that chooses as `inner` does, and states the act of the chosen candidate, or of another
/// one, beside the id.
struct Claiming {
    inner: Player<PolyguardEnv>,
    truthful: bool,
}

impl Policy<PolyguardEnv> for Claiming {
    fn choose(&mut self, o: &Observation) -> Action {
        let Player::Public(inner) = &mut self.inner else {
            unreachable!("the rules are not a privileged policy")
        };
        let mut action = inner.choose(o);
        if let Action::Choose(choice) = &mut action {
            let stated = o
                .candidates
                .iter()
                .find(|c| (c.id == choice.id) == self.truthful);
            let act = |candidate: &Candidate| Claim {
                kind: Some(candidate.act.kind),
                drug: Some(candidate.act.drug),
                arg: Some(candidate.act.arg),
                unknown: false,
            };
            choice.claim = stated.map(act).unwrap_or_default();
        }
        action
    }
}

/// A file records whether the stated act matches the id, which suffices to replay the same episode.
#[test]
fn only_false_claims_are_recorded_as_mismatch() {
    for (truthful, mismatches) in [(true, false), (false, true)] {
        for case in TaskSpec::ALL {
            let setup = sentinel_env::polyguard::Setup::new(case, 7);
            let inner = Scripted::start(polyguard::PolicyName::RulesOnly, &setup);
            let mut player = Player::Public(Box::new(Claiming { inner, truthful }));
            let (run, rows) = record_episode::<PolyguardEnv>(&setup, &mut player, "claiming");
            let text = to_lines(&rows).expect("rows of numbers and words");
            assert_eq!(text.contains("mismatch"), mismatches, "{text}");
            let replay = Replay::<PolyguardEnv>::parse(&text);
            let found = verify(&replay);
            assert!(found.fits(), "{case}: {found:?}");
            let played: Vec<_> = found.episodes.iter().map(|check| check.digest).collect();
            assert_eq!(played, [run.digest().digest()], "{case}");
        }
    }
}
