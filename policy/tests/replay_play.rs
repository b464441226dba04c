//! Tests of playing, verifying and recording replays.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sentinel_env::Environment;
use sentinel_env::World;
use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{Action, Episode, Setup, Task, TrustEnv};
use sentinel_policy::replay::{
    AnyReplay, LmTranscript, PendingCheck, RawRow, Replay, ReplayEpisode, ReplayFile, ReplayRow,
    play_replay, record_episode, to_lines, verify,
};
use sentinel_policy::trust::{Heuristic, PolicyName};
use sentinel_policy::{Player, Policy, run_episode};

const CHEAP: [PolicyName; 4] = [
    PolicyName::Random,
    PolicyName::Heuristic,
    PolicyName::OracleLite,
    PolicyName::SelfSolve,
];

fn record(policy: PolicyName, streams: Streams, seeds: u64) -> Vec<ReplayRow<TrustEnv>> {
    let mut rows = Vec::new();
    for task in Task::ALL {
        for seed in 0..seeds {
            let setup = Setup::new(task, seed, streams);
            let mut player = policy.player(seed, streams);
            rows.extend(record_episode(&setup, &mut player, policy.name()).1);
        }
    }
    rows
}

#[test]
fn recorded_rows_replay_same_episodes_without_misses() {
    for policy in CHEAP {
        for streams in [Streams::Reference, Streams::Independent] {
            let text = to_lines(&record(policy, streams, 5)).unwrap();
            let replay = Replay::<TrustEnv>::parse(&text);
            assert_eq!(replay.problem_count(), 0);
            let found = verify(&replay);
            assert!(found.fits(), "{}: {found:?}", policy.name());
            assert_eq!((found.hits, found.episode_count), (replay.row_count(), 15));
            for check in &found.episodes {
                assert_eq!(check.id.streams, streams);
                let task = Task::parse(check.id.task).unwrap();
                let setup = Setup::new(task, check.id.seed, check.id.streams);
                let played = run_episode(&setup, &mut policy.player(check.id.seed, streams));
                assert_eq!(check.digest, played.digest().digest());
                assert!((check.score - played.episode().tally().score()).abs() <= 5e-5);
            }
        }
    }
}

/// A replay that counts how often its episodes are walked through and checked.
#[derive(Debug)]
struct Counting {
    replay: Replay<TrustEnv>,
    walks: Arc<AtomicUsize>,
    checks: Arc<AtomicUsize>,
}

impl AnyReplay for Counting {
    fn world(&self) -> &'static str {
        self.replay.world()
    }

    fn row_count(&self) -> usize {
        self.replay.row_count()
    }

    fn episode_count(&self) -> usize {
        self.replay.episode_count()
    }

    fn pending_checks(&self) -> Vec<PendingCheck<'_>> {
        self.walks.fetch_add(1, Ordering::Relaxed);
        let pending = self.replay.pending_checks().into_iter();
        pending
            .map(|check| -> PendingCheck<'_> {
                Box::new(move || {
                    self.checks.fetch_add(1, Ordering::Relaxed);
                    check()
                })
            })
            .collect()
    }

    fn visit_rows(&self, visit: &mut dyn FnMut(&str, Option<&LmTranscript>)) {
        self.replay.visit_rows(visit);
    }

    fn insert(&mut self, line: usize, row: RawRow, task: &str) -> Result<(), String> {
        AnyReplay::insert(&mut self.replay, line, row, task)
    }
}

/// Verification walks through a replay once and checks each episode once, so that its time is
/// linear in episodes.
#[test]
fn file_is_verified_in_one_walk() {
    let rows = record(PolicyName::Random, Streams::Independent, 40);
    let replay = Replay::from_rows(rows);
    let expected = verify(&replay);
    let (walks, checks) = (Arc::default(), Arc::default());
    let counting = Counting {
        replay,
        walks: Arc::clone(&walks),
        checks: Arc::clone(&checks),
    };
    assert_eq!(ReplayFile::new(vec![Box::new(counting)]).verify(), expected);
    assert_eq!(walks.load(Ordering::Relaxed), 1);
    assert_eq!(checks.load(Ordering::Relaxed), 40 * Task::ALL.len());
}

#[test]
fn missing_row_falls_back_to_heuristic() {
    let mut rows = record(PolicyName::OracleLite, Streams::Reference, 1);
    rows.retain(|row| row.origin.task == Task::Task3 && row.step != 0);
    let replay = Replay::from_rows(rows);
    let setup = Setup::new(Task::Task3, 0, Streams::Reference);
    let played = play_replay(&replay, &setup);
    assert!(played.source.misses().contains(&0));
    // On the first step trust is equal for all slots, so the heuristic delegates to S0.
    let start = Episode::reset(&setup);
    let mut source = ReplayEpisode::<TrustEnv>::new(&replay, &TrustEnv::episode_spec(&setup));
    let first = source.choose(start.observation());
    assert_eq!(first, Action::Delegate(Slot::ALL[0]));
    let found = verify(&replay);
    assert_eq!(found.episodes[0].misses[0], 0);
    assert_eq!(found.hits + found.unused, replay.row_count());
    assert!(!found.fits());
}

#[test]
fn empty_replay_plays_reference_fallback_heuristic() {
    for seed in 0..10 {
        let setup = Setup::new(Task::Task3, seed, Streams::Reference);
        let played = play_replay(&Replay::<TrustEnv>::default(), &setup);
        let mut heuristic = Player::Public(Box::new(Heuristic::REPLAY_MISS));
        let expected = run_episode(&setup, &mut heuristic);
        assert_eq!(played.run.digest().digest(), expected.digest().digest());
        assert_eq!(
            played.source.misses().len(),
            usize::from(expected.episode().tally().actions)
        );
        assert!(played.source.hits().is_empty());
    }
    let nothing = verify(&Replay::<TrustEnv>::default());
    assert!(nothing.fits());
    assert_eq!(nothing.score, 0.0);
}

#[test]
fn unreached_rows_are_reported() {
    let mut rows = record(PolicyName::Heuristic, Streams::Reference, 1);
    rows.retain(|row| row.origin.task == Task::Task1);
    let mut late = rows[0].clone();
    late.step = 14;
    rows.retain(|row| row.step != 14);
    rows.push(late);
    let last = rows.len();
    let found = verify(&Replay::from_rows(rows));
    assert_eq!((found.unused, found.misses), (1, 0), "{found:?}");
    let message = found.episodes[0].findings[0].to_string();
    let expected =
        format!("line {last}: step 14 of task1 seed 0 (reference streams) is never reached");
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn wrong_stream_mode_is_detected_by_scenario() {
    let mut rows = record(PolicyName::Heuristic, Streams::Reference, 3);
    rows.iter_mut()
        .for_each(|row| row.origin.streams = Streams::Independent);
    let found = verify(&Replay::from_rows(rows));
    assert!(found.mismatches > 0 && !found.fits());
    let messages = found
        .episodes
        .iter()
        .flat_map(|e| &e.findings)
        .map(ToString::to_string);
    let named = "recorded with another build, scenario or stream mode";
    assert!(messages.into_iter().any(|text| text.contains(named)));
}

#[test]
fn replay_episode_exposes_belief_and_counts_hit_once() {
    let mut rows = record(PolicyName::Heuristic, Streams::Reference, 1);
    rows[0].belief = Some(vec![vec![0.2; 5]; 5]);
    let setup = Setup::new(Task::Task1, 0, Streams::Reference);
    let mut source =
        ReplayEpisode::<TrustEnv>::new(&Replay::from_rows(rows), &TrustEnv::episode_spec(&setup));
    assert_eq!(source.current(), None);
    let episode = Episode::reset(&setup);
    source.observe(episode.observation());
    assert_eq!(source.belief(), Some(vec![vec![0.2; 5]; 5]));
    // Choosing twice at the same step counts as one hit.
    let first = source.choose(episode.observation());
    assert_eq!(first, source.choose(episode.observation()));
    assert_eq!(source.hits().len(), 1);
    assert!(matches!(first, Action::Delegate(_)));
}
