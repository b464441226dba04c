//! Reading a replay file for a program that plays one world only.
#![expect(
    clippy::tests_outside_test_module,
    reason = "an integration test is one"
)]

use sentinel_env::polyguard::{Case, PolyguardEnv};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Task, TrustEnv};
use sentinel_policy::Scripted;
use sentinel_policy::polyguard;
use sentinel_policy::replay::{Replay, ReplayFile, record_episode, to_lines};
use sentinel_policy::trust::PolicyName;

/// Where one world is played, the rows of the others are named, and its own are read as ever.
#[test]
fn rows_of_another_world_do_not_fit() {
    let trust = sentinel_env::trust::Setup::new(Task::Task1, 7, Streams::Independent);
    let mut player = Scripted::start(PolicyName::Heuristic, &trust);
    let (_, ours) = record_episode::<TrustEnv>(&trust, &mut player, "heuristic");
    let case = sentinel_env::polyguard::Setup::new(Case::ALL[0], 7);
    let mut player = Scripted::start(polyguard::PolicyName::RulesOnly, &case);
    let (_, others) = record_episode::<PolyguardEnv>(&case, &mut player, "rules_only");
    let text = to_lines(&ours).expect("rows of numbers and words")
        + &to_lines(&others).expect("rows of numbers and words");
    let both = ReplayFile::default().parse(&text);
    assert_eq!(both.rows(), ours.len() + others.len());
    assert_eq!(
        both.replay::<TrustEnv>().map(Replay::rows),
        Some(ours.len())
    );
    assert!(both.verify().fits());
    let replay = Replay::<TrustEnv>::parse(&text);
    assert_eq!(
        (replay.rows(), replay.problem_count()),
        (ours.len(), others.len())
    );
    let first = replay.problems().first().map(ToString::to_string);
    let line = ours.len() + 1;
    let expected = format!("line {line}: the row is of world polyguard, and world trust is played");
    assert_eq!(first, Some(expected));
    let replay = Replay::<PolyguardEnv>::parse(&text);
    assert_eq!(
        (replay.rows(), replay.problem_count()),
        (others.len(), ours.len())
    );
}
