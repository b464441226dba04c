//! Reading and playing a replay never panics, for any content of the file.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use proptest::prelude::*;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, Session, Setup, Task, TrustEnv};
use sentinel_env::{Environment, World};
use sentinel_policy::SEED_MAX;
use sentinel_policy::replay::{RecordedAction, Replay, ReplayFile, ReplayRow, to_lines, verify};

fn task() -> impl Strategy<Value = Task> {
    prop::sample::select(Task::ALL.to_vec())
}

fn streams() -> impl Strategy<Value = Streams> {
    prop::sample::select(vec![Streams::Reference, Streams::Independent])
}

/// Generates an episode of random actions, as rows.
fn episode() -> impl Strategy<Value = Vec<ReplayRow<TrustEnv>>> {
    let actions = prop::collection::vec(prop::sample::select(Action::ALL.to_vec()), 45);
    (
        task(),
        streams(),
        0..=SEED_MAX,
        actions,
        any::<Option<String>>(),
    )
        .prop_map(|(task, streams, seed, actions, reasoning)| {
            let setup = Setup::new(task, seed, streams);
            let (mut session, origin) = (Session::new(&setup), TrustEnv::episode_spec(&setup));
            let mut rows = Vec::new();
            for action in actions {
                let step = session.episode().observation().step_count;
                let scenario_id = session.episode().scenario().id();
                let recorded = RecordedAction::new(session.episode().observation(), action);
                if session.act(action).is_err() {
                    break;
                }
                let action = RecordedAction {
                    reasoning: reasoning.clone(),
                    ..recorded
                };
                rows.push(ReplayRow {
                    origin,
                    step: u32::from(step),
                    action,
                    scenario_id,
                    model_source: "any".to_owned(),
                    probabilities: (step == 0).then(|| vec![1.0 / 12.0; 12]),
                    belief: None,
                    transcript: None,
                });
            }
            rows
        })
}

/// Generates text close to a replay: pieces of rows in any order, so that more than the first check
/// is reached.
fn almost_rows() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\n",
        "\\",
        "null",
        "NaN",
        "-Infinity",
        "1e999",
        "-1",
        "9223372036854775808",
        "\"task_type\":\"task1\"",
        "\"seed\":3",
        "\"step\":4",
        "\"action\":",
        "\"action_type\":\"skip\"",
        "\"streams\":\"independent\"",
        "\"probabilities\":[",
        "é",
        "\u{feff}",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..60).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut file = ReplayFile::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            file.push_bytes(line);
        }
        let episodes: usize = file.worlds().map(|replay| replay.episode_count()).sum();
        prop_assert_eq!(file.verify().episode_count, episodes);
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in prop_oneof![".{0,400}", almost_rows()]) {
        let replay = Replay::<TrustEnv>::parse(&text);
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        prop_assert!(replay.row_count() + replay.problem_count() <= lines);
        let _ = verify(&replay);
    }

    #[test]
    fn rows_roundtrip_and_replay_same_episode(rows in episode()) {
        let text = to_lines(&rows).unwrap();
        let replay = Replay::<TrustEnv>::parse(&text);
        prop_assert_eq!(replay.problem_count(), 0, "{:?}", replay.problems());
        let back: Vec<&ReplayRow<TrustEnv>> = replay.iter().map(|row| &row.row).collect();
        prop_assert_eq!(back, rows.iter().collect::<Vec<_>>());
        let found = verify(&replay);
        prop_assert!(found.fits(), "{:?}", found);
        prop_assert_eq!(found.hits, rows.len());
    }

    #[test]
    fn truncated_line_loses_only_its_row(
        rows in episode(),
        place in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = to_lines(&rows).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        let bad = place.index(lines.len());
        let ends: Vec<usize> = lines[bad].char_indices().map(|(i, _)| i).skip(1).collect();
        lines[bad] = &lines[bad][..ends[cut.index(ends.len())]];
        let replay = Replay::<TrustEnv>::parse(&lines.join("\n"));
        prop_assert_eq!(replay.row_count(), rows.len() - 1);
        prop_assert_eq!(replay.problem_count(), 1);
        prop_assert_eq!(replay.problems()[0].line, bad + 1);
        let found = verify(&replay);
        prop_assert_eq!(found.hits + found.unused, rows.len() - 1);
    }

    #[test]
    fn duplicate_rows_do_not_change_verification(rows in episode()) {
        let twice = rows.iter().chain(&rows).cloned();
        let replay = Replay::from_rows(twice);
        prop_assert_eq!(replay.problem_count(), rows.len());
        prop_assert_eq!(verify(&replay), verify(&Replay::from_rows(rows)));
    }
}
