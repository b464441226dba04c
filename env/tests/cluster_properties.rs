//! Properties of every episode of the cluster world, for arbitrary actions.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::PrivilegedState;
mod cluster_play;

use cluster_play::action;
use proptest::prelude::*;
use sentinel_env::cluster::{
    Action, Behavior, Change, Episode, GPU_MEMORY, GpuState, JobId, JobStatus, Rules, Setup,
    StepError, Task,
};
use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;
use sentinel_env::{Batch, Environment};

fn setups() -> impl Strategy<Value = Setup> {
    let all = (0..3usize, any::<u64>(), any::<bool>(), any::<bool>());
    all.prop_map(|(task, seed, reference, hardened)| {
        let rules = if hardened {
            Rules::HARDENED
        } else {
            Rules::REFERENCE
        };
        let streams = if reference {
            Streams::Reference
        } else {
            Streams::Independent
        };
        Setup::new(Task::ALL[task], seed, streams).with_rules(rules)
    })
}

/// Checks the invariants that must always hold.
fn assert_invariants(episode: &Episode) {
    let (o, hidden) = (episode.observation(), episode.hidden());
    let jobs = o.jobs.rows();
    let total: u8 = o.jobs.counts().iter().sum();
    assert_eq!(usize::from(total), jobs.len());
    for (i, gpu) in hidden.pool.gpus().iter().enumerate() {
        let held = jobs
            .iter()
            .filter(|j| j.placed.is_some_and(|g| g.index() == i));
        let used: u16 = held.map(|job| u16::from(job.memory)).sum();
        let invented = u16::from(gpu.invented);
        assert_eq!(
            gpu.used,
            used + invented,
            "GPU {i} holds what its jobs take"
        );
        if gpu.state.is_operational() {
            assert_eq!(gpu.state == GpuState::Idle, gpu.used == 0);
            assert_eq!(gpu.state == GpuState::Overloaded, gpu.used > GPU_MEMORY);
        }
    }
    for (job, actual) in jobs.iter().zip(hidden.progress) {
        assert!((0.0..=1.0).contains(&actual) && job.reported >= actual);
        assert_eq!(
            job.status == JobStatus::Complete,
            job.completed_at.is_some()
        );
        assert!(job.status != JobStatus::Queued || job.placed.is_none());
    }
    assert!(o.ledger.trust().iter().all(|t| *t > 0.0 && *t < 1.0));
    assert!((0.0..=1.0).contains(&o.anomalies.max()));
    assert!((0.0..=1.0).contains(&o.utilization));
    assert!((1..=5).contains(&hidden.attacker.level()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn episode_ends_and_keeps_invariants(setup in setups(), start in 0..1_000_000u32) {
        let mut episode = Episode::reset(&setup);
        assert_invariants(&episode);
        let mut steps = 0;
        while let Ok(step) = episode.step(action(start + steps, setup.task)) {
            steps += 1;
            prop_assert!((0.01..=0.99).contains(&step.info.grades.reward));
            prop_assert_eq!(step.info.terminal.is_some(), episode.observation().done());
            assert_invariants(&episode);
        }
        let o = episode.observation();
        prop_assert!(o.done() && steps <= u32::from(o.max_steps));
        let saved = if setup.rules.has(Change::Ending) {
            u32::from(o.max_steps) - steps
        } else {
            0
        };
        prop_assert_eq!(u32::from(episode.tally().reward_events), steps + 1 + saved);
        prop_assert!((0.0..=1.0).contains(&episode.tally().score()));
    }

    /// Checks that a copy taken in the middle continues exactly as the original does.
    #[test]
    fn cloned_episode_continues_identically(
        setup in setups(), start in 0..1_000_000u32, cut in 0..100u32,
    ) {
        let mut episode = Episode::reset(&setup);
        for n in 0..cut {
            let _ = episode.step(action(start + n, setup.task));
        }
        let mut copy = episode.clone();
        for n in cut..130 {
            let next = action(start + n, setup.task);
            prop_assert_eq!(episode.step(next), copy.step(next));
        }
        prop_assert_eq!(episode, copy);
    }

    /// Checks that two episodes with different assignments look the same as long as only a slot
    /// acts that is the same in both.
    #[test]
    fn assignment_of_other_slots_is_not_observable(
        setup in setups(), start in 0..1_000_000u32, turn in 0..4usize, fixed in 0..5usize,
    ) {
        let mut a = Episode::reset(&setup);
        let mut behaviors = a.hidden().assignment.0;
        let mut others: Vec<usize> = (0..5).filter(|i| *i != fixed).collect();
        let moved: Vec<Behavior> = others.iter().map(|i| behaviors[*i]).collect();
        others.rotate_left(turn);
        for (to, behavior) in others.iter().zip(moved) {
            behaviors[*to] = behavior;
        }
        let mut b = a.clone().with_hidden(a.hidden().clone().with_assignment(behaviors));
        prop_assert_eq!(a.observation(), b.observation());
        let slot = Some(Slot::ALL[fixed]);
        for n in 0..120 {
            let next = match action(start + n, setup.task) {
                Action::Allocate { job, gpu, .. } => Action::Allocate { job, gpu, worker: slot },
                Action::RequestInfo { job, .. } => Action::RequestInfo { job, worker: slot },
                Action::Verify { job, .. } => {
                    Action::Verify { job, worker: slot, force_flag: false }
                }
                other => other,
            };
            let (x, y) = (a.step(next), b.step(next));
            prop_assert_eq!(x.map(|s| s.info.grades), y.map(|s| s.info.grades));
            prop_assert_eq!(a.observation(), b.observation());
        }
    }

    /// Checks that priorities and upcoming failures and attacks are not visible at reset, nor while
    /// waiting.
    #[test]
    fn undrawn_outcomes_are_not_observable(setup in setups(), seed in any::<u64>()) {
        let mut a = Episode::reset(&setup);
        let mut hidden = a.hidden().clone().with_outcome_seed(seed);
        for priority in &mut hidden.priorities {
            *priority = 6 - *priority;
        }
        let mut b = a.clone().with_hidden(hidden);
        prop_assert_eq!(a.observation(), b.observation());
        for _ in 0..120 {
            let (x, y) = (a.step(Action::Tick), b.step(Action::Tick));
            let attacked = |s: &Result<sentinel_env::Transition<sentinel_env::cluster::Step>, _>| {
                s.as_ref().is_ok_and(|s| s.info.attack.is_some())
            };
            if attacked(&x) || attacked(&y) {
                break;
            }
            prop_assert_eq!(a.observation(), b.observation());
        }
    }
}

/// Checks that a batch plays the same episodes as single resets, seed by seed, and restarts
/// automatically.
#[test]
fn batch_matches_single_episodes() {
    for task in Task::ALL {
        let setup = Setup::new(task, 0, Streams::Independent);
        let mut batch = Batch::<Episode>::new(&setup, 7..12, 3);
        let reset = |seed| Episode::reset(&Setup::new(task, seed, Streams::Independent));
        let mut singles: Vec<Episode> = (7..10).map(reset).collect();
        let mut seeds = (10..12).chain((7..12).cycle());
        let mut out = Vec::new();
        for n in 0..400 {
            assert_eq!(batch.episodes(), singles);
            let actions: Vec<Action> = (0..3).map(|k| action(3 * n + k, task)).collect();
            batch.step(&actions, &mut out).unwrap();
            for (index, ((single, action), out)) in
                singles.iter_mut().zip(&actions).zip(&out).enumerate()
            {
                let step = single.step(*action).unwrap();
                assert_eq!(step.reward, out.reward);
                assert_eq!(step.is_last(), out.is_last());
                if out.is_last() {
                    assert_eq!(batch.last_ended(index), Some(&*single));
                    *single = reset(seeds.next().unwrap());
                }
            }
        }
        let bad = Action::Preempt {
            job: Some(JobId(200)),
            worker: None,
        };
        let (index, error) = batch.step(&[Action::Tick, bad], &mut out).unwrap_err();
        assert_eq!(index, 1);
        assert!(matches!(error, StepError::UnknownJob { .. }));
    }
}

/// Checks that a dishonest report is visible at once, the counterpart of the property above.
#[test]
fn dishonest_report_is_observable() {
    let setup = Setup::new(Task::Task3, 5, Streams::Independent);
    let start = Episode::reset(&setup);
    let seen = |behavior| {
        let hidden = start.hidden().clone().with_assignment([behavior; 5]);
        let mut episode = start.clone().with_hidden(hidden);
        let (job, gpu, worker) = (None, None, Some(Slot::ALL[0]));
        episode.step(Action::Allocate { job, gpu, worker }).unwrap();
        *episode.observation()
    };
    let (honest, lying) = (seen(Behavior::Reliable), seen(Behavior::Overreporter));
    assert_ne!(honest, lying);
    assert!(honest.ledger[Slot::ALL[0]].trust() > lying.ledger[Slot::ALL[0]].trust());
}
