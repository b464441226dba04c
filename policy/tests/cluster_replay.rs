//! Replays of the cluster world: every action of an episode can be recovered from its row.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use proptest::prelude::*;
use sentinel_env::Environment;
use sentinel_env::cluster::{Action, Change, ClusterEnv, GpuId, JobId, Rules, Setup, Size, Task};
use sentinel_env::rng::Streams;
use sentinel_env::rules::RuleChange as _;
use sentinel_env::slot::Slot;
use sentinel_env::{World, WorldName, in_world};
use sentinel_policy::cluster::{Player, PolicyName};
use sentinel_policy::policy::Policy;
use sentinel_policy::replay::{
    EpisodeId, Replay, ReplayEpisode, ReplayRow, play_replay, record_episode, to_lines, verify,
};
use sentinel_policy::rollout::run_episode;
use sentinel_policy::{Playable, Roles, Scripted};

/// A policy that takes the given actions in rotation.
struct Any(Vec<Action>, usize);

impl Policy<ClusterEnv> for Any {
    fn choose(&mut self, _: &sentinel_env::cluster::Observation) -> Action {
        self.1 += 1;
        self.0[self.1 % self.0.len()]
    }
}

fn action(task: Task) -> impl Strategy<Value = Action> {
    let Size { jobs, gpus, .. } = Size::for_task(task);
    let job = prop::option::of((0..jobs).prop_map(JobId));
    let gpu = prop::option::of((0..gpus).prop_map(GpuId));
    let worker = prop::option::of(prop::sample::select(Slot::ALL.to_vec()));
    (0..5u8, job, gpu, worker, any::<bool>()).prop_map(|(kind, job, gpu, worker, force_flag)| {
        match kind {
            0 => Action::Allocate { job, gpu, worker },
            1 => Action::Preempt { job, worker },
            2 => Action::RequestInfo { job, worker },
            3 => Action::Verify {
                job,
                worker,
                force_flag,
            },
            _ => Action::Tick,
        }
    })
}

fn setup() -> impl Strategy<Value = (Setup, Vec<Action>)> {
    let all = 1u32 << Change::ALL.len();
    let rules = (0..all).prop_map(|bits| {
        let chosen = (Change::ALL.iter().enumerate()).filter(|(place, _)| bits >> place & 1 == 1);
        chosen.fold(Rules::REFERENCE, |rules, (_, change)| rules.with(*change))
    });
    let streams = prop::sample::select(vec![Streams::Reference, Streams::Independent]);
    let task = prop::sample::select(Task::ALL.to_vec());
    (task, streams, rules, 0..=sentinel_policy::SEED_MAX).prop_flat_map(
        |(task, streams, rules, seed)| {
            let setup = Setup::new(task, seed, streams).with_rules(rules);
            (Just(setup), prop::collection::vec(action(task), 1..40))
        },
    )
}

fn record((setup, actions): (Setup, Vec<Action>)) -> Vec<ReplayRow<ClusterEnv>> {
    let mut player = Player::Public(Box::new(Any(actions, 0)));
    record_episode(&setup, &mut player, "any").1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_roundtrip_and_replay_same_episode(made in setup()) {
        let rows = record(made);
        let replay = Replay::<ClusterEnv>::parse(&to_lines(&rows).unwrap());
        prop_assert_eq!(replay.problem_count(), 0, "{:?}", replay.problems());
        let back: Vec<&ReplayRow<ClusterEnv>> = replay.iter().map(|row| &row.row).collect();
        prop_assert_eq!(back, rows.iter().collect::<Vec<_>>());
        let found = verify(&replay);
        prop_assert!(found.fits(), "{:?}", found);
        prop_assert_eq!(found.hits, rows.len());
    }

    #[test]
    fn truncated_line_loses_only_its_row(made in setup(), place in any::<prop::sample::Index>()) {
        let rows = record(made);
        let text = to_lines(&rows).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        let bad = place.index(lines.len());
        lines[bad] = &lines[bad][..lines[bad].len() / 2];
        let replay = Replay::<ClusterEnv>::parse(&lines.join("\n"));
        prop_assert_eq!((replay.row_count(), replay.problem_count()), (rows.len() - 1, 1));
        prop_assert_eq!(replay.problems()[0].line, bad + 1);
        let found = verify(&replay);
        prop_assert_eq!(found.hits + found.unused, rows.len() - 1);
    }
}

fn recorded(rules: Rules) -> Vec<ReplayRow<ClusterEnv>> {
    let setup = Setup::new(Task::Task2, 3, Streams::Independent).with_rules(rules);
    let mut player = PolicyName::Trust.start(&setup);
    record_episode(&setup, &mut player, "trust").1
}

#[test]
fn row_key_includes_rules() {
    let mut rows = recorded(Rules::REFERENCE);
    let count = rows.len();
    rows.extend(recorded(Rules::HARDENED));
    let replay = Replay::<ClusterEnv>::parse(&to_lines(&rows).unwrap());
    assert_eq!(
        (replay.row_count(), replay.problem_count()),
        (rows.len(), 0)
    );
    let found = verify(&replay);
    assert!(found.fits(), "{found:?}");
    let means: Vec<&str> = found.means.iter().map(|mean| mean.rules.as_str()).collect();
    assert_eq!(means, ["reference", "hardened"]);
    let names: Vec<String> = replay
        .episodes()
        .map(|origin| EpisodeId::from(*origin).to_string())
        .collect();
    assert_eq!(
        names,
        [
            "cluster task2 seed 3 (independent streams)",
            "cluster task2 seed 3 (independent streams, hardened rules)"
        ]
    );
    // The same rows twice: the second copy is reported, and the first is kept.
    let twice = Replay::from_rows(rows[..count].iter().chain(&rows[..count]).cloned());
    assert_eq!((twice.row_count(), twice.problem_count()), (count, count));
    let message = twice.problems()[0].to_string();
    let expected = "a second row for cluster task2 seed 3 (independent streams) step 0";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn missing_row_falls_back_to_trust_policy() {
    let mut rows = recorded(Rules::REFERENCE);
    rows.remove(4);
    let setup = Setup::new(Task::Task2, 3, Streams::Independent);
    let played = play_replay(&Replay::from_rows(rows), &setup);
    assert_eq!(
        played.source.misses().iter().copied().collect::<Vec<u32>>(),
        [4]
    );
    // The fallback policy is the recorded one, so nothing else changes.
    let whole = run_episode(&setup, &mut PolicyName::Trust.start(&setup));
    assert_eq!(played.run.rewards(), whole.rewards());
}

#[test]
fn probabilities_have_one_entry_per_action_type() {
    let mut rows = recorded(Rules::REFERENCE);
    rows[0].probabilities = Some(vec![0.5, 0.125, 0.125, 0.25, 0.0]);
    let line = to_lines(&rows[..1]).unwrap();
    let replay = Replay::<ClusterEnv>::parse(&line);
    assert_eq!(replay.problem_count(), 0, "{:?}", replay.problems());
    let setup = Setup::new(Task::Task2, 3, Streams::Independent);
    let key = ClusterEnv::episode_spec(&setup);
    let mut source = ReplayEpisode::<ClusterEnv>::new(&replay, &key);
    let episode = sentinel_env::cluster::Episode::reset(&setup);
    source.observe(episode.observation());
    assert_eq!(
        source.probabilities(),
        Some(vec![0.5, 0.125, 0.125, 0.25, 0.0])
    );
    let bad = Replay::<ClusterEnv>::parse(&line.replace("[0.5,", "["));
    let message = bad.problems()[0].to_string();
    assert!(
        message.contains("probabilities must be a list of 5 numbers"),
        "{message}"
    );
}

#[test]
fn world_names_roles_and_constants_are_consistent() {
    for world in WorldName::ALL.iter().copied() {
        assert_eq!(WorldName::parse(world.name()), Some(world));
        assert_eq!(in_world!(world, W => W::NAME), world.name());
        let Roles {
            random, heuristic, ..
        } = in_world!(world, W => W::ROLES);
        for role in [random, heuristic] {
            assert!(in_world!(world, W => <W as Playable>::PolicyName::parse(role).is_some()));
        }
        let names: Vec<String> =
            in_world!(world, W => W::constants().into_iter().map(|c| c.name).collect());
        for (place, name) in names.iter().enumerate() {
            assert!(!names[..place].contains(name), "{name} twice");
        }
    }
}

#[test]
fn constant_policies_repeat_their_named_action() {
    let setup = Setup::new(Task::Task1, 0, Streams::Independent);
    for constant in ClusterEnv::constants() {
        let rows = record_episode(&setup, &mut constant.player(), &constant.name).1;
        let kinds: Vec<&str> = rows
            .iter()
            .map(|row| row.action.action.action_type().name())
            .collect();
        assert!(
            constant.name.contains(kinds[0]),
            "{} does {}",
            constant.name,
            kinds[0]
        );
        let period = if constant.name.ends_with("in_turn") {
            2
        } else {
            1
        };
        assert!(
            kinds
                .windows(period + 1)
                .all(|seen| seen[0] == seen[period])
        );
    }
}
