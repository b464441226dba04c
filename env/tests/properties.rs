//! Properties of every episode of the trust world, for arbitrary actions.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use proptest::prelude::*;
use sentinel_env::PrivilegedState;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, Behavior, Episode, Session, Setup, Task};
use sentinel_env::{Batch, Environment};

fn setups() -> impl Strategy<Value = Setup> {
    (0..3usize, any::<u64>(), any::<bool>()).prop_map(|(task, seed, reference)| {
        let streams = if reference {
            Streams::Reference
        } else {
            Streams::Independent
        };
        Setup::new(Task::ALL[task], seed, streams)
    })
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec((0..12usize).prop_map(|i| Action::ALL[i]), 46)
}

/// Returns all orders of the five behaviors.
fn assignments() -> Vec<[Behavior; 5]> {
    fn extend(taken: &[Behavior], out: &mut Vec<[Behavior; 5]>) {
        if let Ok(full) = taken.try_into() {
            out.push(full);
            return;
        }
        for behavior in Behavior::ALL.into_iter().filter(|b| !taken.contains(b)) {
            extend(&[taken, &[behavior]].concat(), out);
        }
    }
    let mut out = Vec::new();
    extend(&[], &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn episode_ends_and_values_stay_in_bounds(setup in setups(), actions in actions()) {
        let mut session = Session::new(&setup);
        let mut taken = 0;
        for action in actions {
            let Ok(step) = session.act(action) else { break };
            taken += 1;
            prop_assert!((0.01..=0.99).contains(&step.info.grades.reward));
            let o = session.episode().observation();
            prop_assert!(o.ledger.trust().iter().all(|t| *t > 0.0 && *t < 1.0));
            // The last action may exceed the budget by its cost beyond one step.
            prop_assert!(o.step_count < o.max_steps + 3);
        }
        let o = session.episode().observation();
        prop_assert!(o.done());
        prop_assert!(session.episode().hidden().draws_taken() <= 40);
        prop_assert_eq!(session.episode().tally().reward_events, taken + 1);
        prop_assert_eq!(session.events().len(), usize::from(taken) + 1);
        prop_assert!((0.0..=1.0).contains(&session.episode().tally().score()));
    }

    /// Checks that a copy taken in the middle continues exactly as the original does.
    #[test]
    fn copied_episode_continues_identically(setup in setups(), actions in actions(), cut in 0..20usize) {
        let mut episode = Episode::reset(&setup);
        for action in &actions[..cut] {
            let _ = episode.step(*action);
        }
        let mut copy = episode;
        for action in &actions[cut..] {
            prop_assert_eq!(episode.step(*action), copy.step(*action));
        }
        prop_assert_eq!(episode, copy);
    }

    /// Checks that two episodes with different assignments look the same until a slot that differs
    /// is called.
    #[test]
    fn assignment_is_hidden_until_differing_slot_is_called(
        setup in setups(), actions in actions(), other in 0..120usize,
    ) {
        let mut a = Episode::reset(&setup);
        let mut b = a.with_hidden(a.hidden().with_assignment(assignments()[other]));
        prop_assert_eq!(a.observation(), b.observation());
        for action in actions {
            let same = action.slot().is_none_or(|slot| {
                a.hidden().assignment[slot] == b.hidden().assignment[slot]
            });
            if !same {
                break;
            }
            let (step_a, step_b) = (a.step(action), b.step(action));
            prop_assert_eq!(step_a.map(|s| s.info.grades), step_b.map(|s| s.info.grades));
            prop_assert_eq!(a.observation(), b.observation());
            if a.observation().done() {
                break;
            }
        }
    }

    /// Checks that a batch plays the same episodes as single resets, seed by seed.
    #[test]
    fn batch_matches_single_episodes(start in 0..u64::MAX / 2, task in 0..3usize, size in 1..20usize) {
        let task = Task::ALL[task];
        let setup = Setup::new(task, 0, Streams::Independent);
        let mut batch = Batch::<Episode>::new(&setup, start..start + 1000, size);
        for (k, episode) in batch.episodes().iter().enumerate() {
            let single = Episode::reset(&Setup::new(task, start + k as u64, Streams::Independent));
            prop_assert_eq!(episode, &single);
        }
        let mut singles: Vec<Episode> = batch.episodes().to_vec();
        let actions: Vec<Action> = (0..size).map(|i| Action::ALL[i % 12]).collect();
        let mut out = Vec::new();
        batch.step(&actions, &mut out).unwrap();
        for ((single, action), out) in singles.iter_mut().zip(&actions).zip(&out) {
            prop_assert_eq!(single.step(*action).unwrap().reward, out.reward);
        }
    }
}

/// Checks every sequence of three actions at the start of task1.
#[test]
fn every_three_action_prefix_keeps_invariants() {
    let start = Episode::reset(&Setup::new(Task::Task1, 3, Streams::Reference));
    let mut count = 0;
    for a in Action::ALL {
        for b in Action::ALL {
            for c in Action::ALL {
                let mut episode = start;
                for action in [a, b, c] {
                    let before = *episode.observation();
                    let step = episode.step(action).unwrap();
                    let after = episode.observation();
                    assert!(after.step_count > before.step_count);
                    assert_eq!(step.info.success.is_none(), action == Action::Skip);
                    let moved = after.progress.position() - before.progress.position();
                    assert!(moved <= 1, "one action resolves one subtask at most");
                    let called = action.slot().map_or(0, |slot| {
                        after.ledger[slot].calls - before.ledger[slot].calls
                    });
                    assert_eq!(called, u16::from(action.slot().is_some()));
                }
                count += 1;
            }
        }
    }
    assert_eq!(count, 12 * 12 * 12);
}
