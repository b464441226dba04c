//! Tests of the bound and of the limits that it is made of.

use super::EpisodeBound;
use super::step_limits::{Limits, idle_events};
use crate::Scripted as _;
use crate::cluster::PolicyName;
use sentinel_env::cluster::{
    Action, Change, Episode, GpuId, Job, JobId, JobStatus, Rules, Setup, Size, Step, Task,
};
use sentinel_env::rng::{PyRandom, Streams};
use sentinel_env::rules::RuleChange as _;
use sentinel_env::slot::{SLOTS, Slot};
use sentinel_env::{Environment as _, PrivilegedState as _};

/// Number above the sum of all rounding in a step reward.
const ROUNDING: f64 = 4e-4;
/// Number above the rounding of one component to four decimals.
const LAST_DECIMAL: f64 = 1e-4;

/// Both sets of rules, and each with one change.
fn rule_sets() -> Vec<Rules> {
    let mut sets = vec![Rules::REFERENCE, Rules::HARDENED];
    for change in Change::ALL {
        sets.push(Rules::REFERENCE.with(*change));
        sets.push(Rules::HARDENED.without(*change));
    }
    sets
}

/// An episode of each task under all rules.
fn setups(first_seed: u64) -> Vec<Setup> {
    let mut setups = Vec::new();
    for (seed, rules) in (first_seed..).zip(rule_sets()) {
        for task in Task::ALL {
            setups.push(Setup::new(task, seed, Streams::Independent).with_rules(rules));
        }
    }
    setups
}

/// Returns a random action, most of the time one that can succeed.
fn random_action(episode: &Episode, random: &mut PyRandom) -> Action {
    let (o, size) = (episode.observation(), Size::for_task(episode.setup().task));
    let with = |random: &mut PyRandom, status: JobStatus| {
        let jobs = o.jobs.iter().filter(|(_, job)| job.status == status);
        let ids: Vec<JobId> = jobs.map(|(id, _)| id).collect();
        let any = JobId(random.below(u32::from(size.jobs)) as u8);
        let chosen = ids.get(random.below(ids.len().max(1) as u32) as usize);
        Some(chosen.copied().unwrap_or(any))
    };
    let worker = Some(Slot::ALL[random.below(SLOTS as u32) as usize]);
    match random.below(10) {
        0..=4 => Action::Allocate {
            job: with(random, JobStatus::Queued),
            gpu: Some(GpuId(random.below(u32::from(size.gpus)) as u8)),
            worker,
        },
        5 => Action::Preempt {
            job: with(random, JobStatus::Running),
            worker,
        },
        6 => Action::RequestInfo {
            job: with(random, JobStatus::Running),
            worker,
        },
        7 | 8 => Action::Verify {
            job: with(random, JobStatus::Running),
            worker,
            force_flag: random.below(4) == 0,
        },
        _ => Action::Tick,
    }
}

/// Plays random actions, or those of the planner in every second episode. Calls `check` with the state
/// before the first step and after each, and what happened in the step.
fn play(setup: &Setup, mut check: impl FnMut(&Episode, Option<&Step>)) -> Episode {
    let mut episode = Episode::reset(setup);
    let mut random = PyRandom::new(setup.seed);
    let mut planner = PolicyName::Planner.start(setup);
    check(&episode, None);
    while !episode.observation().done() {
        let action = if setup.seed.is_multiple_of(2) {
            random_action(&episode, &mut random)
        } else {
            planner.choose(&episode).expect("a running episode")
        };
        let transition = episode.step(action).expect("a running episode");
        check(&episode, Some(&transition.info));
    }
    episode
}

#[test]
fn no_policy_is_above_the_bound() {
    for setup in setups(30_000).into_iter().chain(setups(40_001)) {
        let bound = EpisodeBound::new(&Episode::reset(&setup)).score;
        let is_quick =
            |name: &&PolicyName| !matches!(name, PolicyName::Lookahead | PolicyName::Oracle);
        for name in PolicyName::ALL.iter().filter(is_quick) {
            let run = crate::rollout::run_episode(&setup, &mut name.start(&setup));
            let score = run.episode().score();
            assert!(score <= bound, "{name:?} {setup:?} {score} {bound}");
        }
    }
}

#[test]
fn privileged_search_is_not_above_the_bound() {
    for (seed, rules) in (50_000..).zip([Rules::REFERENCE, Rules::HARDENED]) {
        for task in Task::ALL {
            for seed in [seed, seed + 10] {
                let setup = Setup::new(task, seed, Streams::Independent).with_rules(rules);
                let bound = EpisodeBound::new(&Episode::reset(&setup)).score;
                let mut oracle = PolicyName::Oracle.start(&setup);
                let run = crate::rollout::run_episode(&setup, &mut oracle);
                let score = run.episode().score();
                assert!(score <= bound, "{setup:?} {score} {bound}");
            }
        }
    }
}

#[test]
fn bounds_of_all_states_of_an_episode_hold_for_its_score() {
    for setup in setups(60_000) {
        let mut bounds = Vec::new();
        let mut random = PyRandom::new(setup.seed);
        let episode = play(&setup, |state, _| {
            let left = state.observation().max_steps - state.observation().step_count;
            if random.below(8) == 0 || left < 4 {
                bounds.push(EpisodeBound::new(state).score);
            }
        });
        assert_eq!(EpisodeBound::new(&episode).score, episode.score());
        for bound in bounds {
            assert!(episode.score() <= bound, "{setup:?} {bound}");
        }
    }
}

fn is_open(job: &Job) -> bool {
    matches!(job.status, JobStatus::Queued | JobStatus::Running)
}

/// A state of an episode from which limits are compared with what happens.
struct Start {
    limits: Limits,
    /// The jobs that were queued or running.
    jobs: Vec<JobId>,
    /// Number of steps after which each job held memory.
    held: Vec<u16>,
}

#[test]
fn components_never_exceed_their_limits() {
    let setups = setups(70_000)
        .into_iter()
        .chain(setups(80_000))
        .chain(setups(90_001));
    for setup in setups {
        let mut random = PyRandom::new(setup.seed + 7);
        let mut starts: Vec<Start> = Vec::new();
        play(&setup, |episode, step| {
            for start in &mut starts {
                check_limits(episode, step.expect("a step"), start);
            }
            if !episode.observation().done() && (step.is_none() || random.below(12) == 0) {
                let limits = Limits::new(episode);
                let held = vec![0; limits.jobs.len()];
                let jobs = episode.observation().jobs.iter();
                let jobs = jobs.filter(|(_, job)| is_open(job)).map(|(id, _)| id);
                starts.push(Start {
                    jobs: jobs.collect(),
                    limits,
                    held,
                });
            }
        });
    }
}

/// Compares the state after a step, and its reward, with the limits from an earlier state.
fn check_limits(episode: &Episode, info: &Step, start: &mut Start) {
    let (o, grades, limits) = (episode.observation(), &info.grades, &start.limits);
    let step = &limits.steps[usize::from(o.step_count - limits.now - 1)];
    assert_eq!(step.step, o.step_count);
    let setup = episode.setup();
    let complete = o.jobs.count(JobStatus::Complete);
    assert!(complete <= step.complete, "{setup:?} {step:?}");
    let counts = episode.hidden().pool.counts();
    assert!(counts[3] + counts[4] <= step.down, "{setup:?} {step:?}");
    assert!(
        counts[1] + counts[2] <= step.holding + step.other_busy,
        "{setup:?} {step:?}"
    );
    let modifier = grades.reliability.modifier * grades.hack_resistance;
    let pairs = [
        ("health", grades.health, step.health),
        ("mean health", grades.recovery_speed, step.mean_health),
        ("coherence", grades.coherence, step.coherence),
        ("calibration", grades.calibration, step.calibration),
        ("honesty", grades.honesty, step.honesty),
        ("detection", grades.detection_rate, step.detection_rate),
        (
            "modifier",
            modifier,
            step.modifier * step.resistance + LAST_DECIMAL,
        ),
    ];
    for (name, value, limit) in pairs {
        assert!(
            value <= limit + LAST_DECIMAL,
            "{name} {value} {limit} {setup:?}"
        );
    }
    // A step at which the episode ends for want of GPUs is worth nothing.
    if grades.health > 0.0 {
        let utilization = limits.utilization(step, complete);
        assert!(
            grades.utilization <= utilization + LAST_DECIMAL,
            "{utilization} {setup:?} {step:?} {grades:?}"
        );
    }
    let reward = limits.reward(o, step, complete).max(0.01);
    assert!(
        grades.reward <= reward + ROUNDING,
        "{reward} {setup:?} {grades:?}"
    );
    let of_jobs = start.jobs.iter().zip(&limits.jobs).zip(&mut start.held);
    for ((id, limit), held) in of_jobs {
        let job = &o.jobs.rows()[id.index()];
        *held += u16::from(job.placed.is_some() && is_open(job));
        assert!(*held <= limit.held, "{id} {setup:?} {limit:?}");
        if job.status == JobStatus::Complete {
            assert!(o.step_count - limits.now >= limit.steps, "{id} {setup:?}");
        }
    }
}

/// Returns all actions that can differ in their effect.
fn all_actions(episode: &Episode) -> Vec<Action> {
    let size = Size::for_task(episode.setup().task);
    let mut actions = vec![Action::Tick];
    for job in (0..size.jobs).map(JobId).map(Some) {
        actions.push(Action::Preempt { job, worker: None });
        for worker in Slot::ALL.map(Some) {
            let gpus = (0..size.gpus).map(GpuId).map(Some);
            actions.extend(gpus.map(|gpu| Action::Allocate { job, gpu, worker }));
            actions.push(Action::RequestInfo { job, worker });
            let force_flag = false;
            actions.push(Action::Verify {
                job,
                worker,
                force_flag,
            });
        }
    }
    actions
}

/// Returns the highest score of all sequences of actions.
fn exhaustive(episode: &Episode) -> f64 {
    if episode.observation().done() {
        return episode.score();
    }
    let after = |action| {
        let mut next = episode.clone();
        next.step(action).expect("a running episode");
        exhaustive(&next)
    };
    all_actions(episode)
        .into_iter()
        .map(after)
        .fold(0.0, f64::max)
}

#[test]
fn bound_is_not_below_the_optimum_of_exhaustive_search() {
    let mut compared = 0;
    for setup in setups(100_000).into_iter().chain(setups(110_001)) {
        let steps = if setup.task == Task::Task1 { 2 } else { 1 };
        play(&setup, |state, _| {
            let o = state.observation();
            if o.done() || o.step_count + steps < o.max_steps {
                return;
            }
            let (best, bound) = (exhaustive(state), EpisodeBound::new(state).score);
            assert!(best <= bound, "{best} {bound} {setup:?}");
            compared += 1;
        });
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn idle_steps_are_loops_or_drift_and_not_coherent() {
    let mut compared = 0;
    for setup in (0..400).flat_map(|round| setups(120_000 + 20 * round)) {
        let mut episode = Episode::reset(&setup);
        let mut random = PyRandom::new(setup.seed);
        let latest = episode
            .observation()
            .jobs
            .rows()
            .iter()
            .map(|job| job.deadline)
            .max();
        if setup.task != Task::Task1 || latest.is_some_and(|latest| latest > 26) {
            continue;
        }
        let before = |episode: &Episode| {
            let c = episode.observation().counters;
            (
                c.loop_events + c.drift_events,
                episode.observation().step_count,
            )
        };
        let mut idle_since = None;
        while !episode.observation().done() {
            let jobs = &episode.observation().jobs;
            let open = jobs.count(JobStatus::Queued) + jobs.count(JobStatus::Running);
            let (events, step) = *idle_since.get_or_insert_with(|| before(&episode));
            if open > 0 {
                idle_since = None;
            }
            let tick = random.below(3) < 2;
            let action = if tick && open == 0 {
                Action::Tick
            } else {
                random_action(&episode, &mut random)
            };
            let grades = episode.step(action).expect("a running episode").info.grades;
            if idle_since.is_some() {
                let (now, at) = before(&episode);
                let fewest = u16::from(idle_events(at - step));
                assert!(now - events >= fewest, "{setup:?} {at} {step}");
                let has = episode.setup().rules.has(Change::Timeouts);
                assert!(
                    grades.coherence <= if has { 0.55 } else { 0.70 },
                    "{setup:?}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}
