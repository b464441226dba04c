//! Tests of the attacks on the cluster: effects, duration, and detection (spec cluster §5).
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test says what it expects"
)]

use sentinel_env::cluster::AttackType::{
    CascadePanic, FabricateJob, FalseCompletion, FalseMemoryReport,
};
use sentinel_env::cluster::{
    Action, Attack, AttackType, Behavior, Change, DETECTION_WINDOW, Episode, GpuId, GpuState,
    JobId, Rules, Setup, Task,
};
use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;
use sentinel_env::{Environment, PrivilegedState};

/// Memory that an invented job occupies.
const FORGED_MEMORY: u8 = 72;

const RULES: [Change; 3] = [Change::Answers, Change::Detections, Change::Escalation];

/// Returns an episode in which a job runs on the first GPU and an attack of this kind has just
/// happened, and the attack.
fn attacked(kind: AttackType, rules: Rules) -> (Episode, Attack) {
    let setup = Setup::new(Task::Task3, 3, Streams::Independent).with_rules(rules);
    let mut start = Episode::reset(&setup);
    let longest = start
        .observation()
        .jobs
        .iter()
        .max_by_key(|(_, job)| job.steps);
    start
        .step(allocate(longest.map(|(id, _)| id)))
        .expect("it runs");
    let mut hidden = start.hidden().clone();
    for _ in 0..kind as u8 {
        hidden.attacker.escalate();
    }
    // Tries seeds until the attack happens in the next step.
    for seed in 0.. {
        let hidden = hidden.clone().with_outcome_seed(seed);
        let mut episode = start.clone().with_hidden(hidden);
        let step = episode.step(Action::Tick).expect("it runs");
        if let Some(attack) = step.info.attack {
            assert_eq!(attack.kind, kind);
            return (episode, attack);
        }
    }
    unreachable!("an attack comes in a quarter of all steps")
}

fn allocate(job: Option<JobId>) -> Action {
    Action::Allocate {
        job,
        gpu: Some(GpuId(0)),
        worker: Some(honest()),
    }
}

/// Returns the slot of a reliable worker, for the seed that all tests here use.
fn honest() -> Slot {
    let setup = Setup::new(Task::Task3, 3, Streams::Independent);
    let hidden = Episode::reset(&setup).hidden().assignment;
    let reliable = |slot: &Slot| hidden[*slot] == Behavior::Reliable;
    Slot::ALL.into_iter().find(reliable).expect("one exists")
}

fn verify(job: JobId) -> Action {
    Action::Verify {
        job: Some(job),
        worker: None,
        force_flag: false,
    }
}

fn rules(changes: &[Change]) -> Rules {
    let with = |rules: Rules, change: &Change| rules.with(*change);
    changes.iter().fold(Rules::REFERENCE, with)
}

#[test]
fn attack_verified_in_time_counts_no_poisoning() {
    let (reference, _) = attacked(FalseCompletion, Rules::REFERENCE);
    assert_eq!(reference.observation().counters.poisonings, 1, "at once");
    let (mut late, _) = attacked(FalseCompletion, rules(&[Change::Answers]));
    let mut in_time = late.clone();
    assert_eq!(late.observation().counters.poisonings, 0);
    for _ in 0..DETECTION_WINDOW {
        late.step(Action::Tick).expect("it runs");
    }
    let c = late.observation().counters;
    assert_eq!((c.poisonings, c.missed), (1, 1), "nobody looked");
    let job = in_time
        .hidden()
        .attacker
        .undetected()
        .expect("it is open")
        .attack
        .job;
    let step = in_time.step(verify(job)).expect("it runs");
    assert!(step.info.caught);
    for _ in 0..DETECTION_WINDOW {
        in_time.step(Action::Tick).expect("it runs");
    }
    let c = in_time.observation().counters;
    assert_eq!((c.detections, c.poisonings, c.missed), (1, 0, 0));
}

/// Checks that finding a forged completion restores the true progress in the job's row.
#[test]
fn verifying_forged_completion_restores_progress() {
    let (mut episode, attack) = attacked(FalseCompletion, rules(&RULES));
    let shown = |episode: &Episode| {
        episode
            .observation()
            .jobs
            .get(attack.job)
            .map(|j| j.reported)
    };
    assert_eq!(shown(&episode), Some(1.0));
    episode.step(verify(attack.job)).expect("it runs");
    assert!(shown(&episode) < Some(1.0));
}

#[test]
fn detections_rule_counts_only_attacks() {
    for (changes, counted) in [(&[][..], 1), (&[Change::Detections][..], 0)] {
        let setup = Setup::new(Task::Task2, 3, Streams::Independent).with_rules(rules(changes));
        let mut episode = Episode::reset(&setup);
        let hidden = episode.hidden().assignment;
        let lies = |s: &Slot| hidden[*s] == Behavior::Overreporter;
        let liar = Slot::ALL.into_iter().find(lies);
        episode.step(allocate(Some(JobId(0)))).expect("it runs");
        let check = Action::Verify {
            job: Some(JobId(0)),
            worker: liar,
            force_flag: false,
        };
        assert!(episode.step(check).expect("it runs").info.caught);
        assert_eq!(episode.observation().counters.detections, counted);
    }
}

#[test]
fn cascade_panic_halts_jobs_until_verified() {
    let progress = |episode: &Episode| episode.hidden().progress;
    let (mut reference, _) = attacked(CascadePanic, Rules::REFERENCE);
    let before = progress(&reference);
    reference.step(Action::Tick).expect("it runs");
    assert_ne!(
        progress(&reference),
        before,
        "nothing comes of it (quirk C6)"
    );
    let (mut episode, attack) = attacked(CascadePanic, rules(&RULES));
    let before = progress(&episode);
    episode.step(Action::Tick).expect("it runs");
    assert_eq!(progress(&episode), before);
    episode.step(verify(attack.job)).expect("it runs");
    assert_ne!(progress(&episode), before);
    assert_eq!(episode.observation().counters.detections, 1);
}

#[test]
fn fabricated_job_holds_memory_until_verified() {
    let (mut episode, attack) = attacked(FabricateJob, rules(&RULES));
    let held = u16::from(episode.observation().jobs.rows()[attack.job.index()].memory);
    let used = |episode: &Episode| episode.observation().gpus()[attack.gpu.index()].used;
    assert_eq!(used(&episode), held + u16::from(FORGED_MEMORY));
    episode.step(verify(attack.job)).expect("it runs");
    assert_eq!(used(&episode), held);
}

/// Checks that a forged memory report carries no mark and is reverted when found. Under the
/// reference's rules, it carries a mark.
#[test]
fn forged_memory_report_is_unmarked_and_reverted_by_verify() {
    let (reference, attack) = attacked(FalseMemoryReport, Rules::REFERENCE);
    assert!(reference.observation().gpus()[attack.gpu.index()].tampered);
    let (mut episode, attack) = attacked(FalseMemoryReport, rules(&RULES));
    let row = |episode: &Episode| episode.observation().gpus()[attack.gpu.index()];
    assert!(!row(&episode).tampered && row(&episode).used > 0);
    assert_eq!(row(&episode).state, GpuState::Idle);
    episode.step(verify(attack.job)).expect("it runs");
    assert_ne!(row(&episode).state, GpuState::Idle);
}
