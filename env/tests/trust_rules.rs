//! Tests of the changes to the trust world's rules: each closes its quirk and affects nothing else.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use proptest::prelude::*;
use sentinel_env::AdaptiveDifficulty;
use sentinel_env::Environment;
use sentinel_env::adaptive_difficulty::DifficultyController;
use sentinel_env::rng::Streams;
use sentinel_env::rules::RuleChange as _;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{Action, Change, Episode, Rules, Session, Setup, Step, Task};

fn setup(task: Task, seed: u64, rules: Rules) -> Setup {
    Setup::new(task, seed, Streams::Independent).with_rules(rules)
}

/// Plays `actions` repeatedly until the episode ends. Returns the episode and its steps.
fn play(setup: &Setup, actions: &[Action]) -> (Episode, Vec<Step>) {
    let mut episode = Episode::reset(setup);
    let mut steps = Vec::new();
    for action in actions.iter().cycle() {
        match episode.step(*action) {
            Ok(step) => steps.push(step.info),
            Err(_) => break,
        }
    }
    (episode, steps)
}

fn verified(step: &Step) -> bool {
    matches!(step.action, Action::Verify(_))
}

/// Returns `true` if the change applies to an episode that was played under the reference's rules.
fn concerns(change: Change, episode: &Episode, steps: &[Step]) -> bool {
    let observation = episode.observation();
    let encounters = episode.tally().detections + episode.tally().poisonings;
    let forced = steps.last().unwrap().terminal.unwrap().forced;
    match change {
        Change::SelfSolving => steps.iter().any(|s| s.action == Action::SolveIndependently),
        Change::Completion => observation.task == Task::Task1,
        Change::Unfinished => observation.progress.remaining() > 0,
        Change::Verification => {
            let mistake = |s: &Step| verified(s) && !s.adversarial && s.success == Some(false);
            steps.iter().any(mistake)
        }
        Change::KnownLiar => steps.iter().any(|s| verified(s) && s.adversarial),
        Change::Detection => observation.task == Task::Task3 && encounters == 0 && !forced,
        Change::Calibration => observation.task != Task::Task1 && !forced,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Checks that a change does not affect episodes that it does not apply to.
    #[test]
    fn rule_change_affects_only_episodes_it_concerns(
        seed in any::<u64>(),
        task in prop::sample::select(&Task::ALL),
        actions in prop::collection::vec(prop::sample::select(&Action::ALL), 1..12),
    ) {
        let (before, steps) = play(&setup(task, seed, Rules::REFERENCE), &actions);
        for change in Change::ALL {
            let rules = Rules::REFERENCE.with(*change);
            let (after, changed) = play(&setup(task, seed, rules), &actions);
            let rewards = |steps: &[Step]| -> Vec<(f64, Option<f64>)> {
                let of = |s: &Step| (s.grades.reward, s.terminal.map(|end| end.reward));
                steps.iter().map(of).collect()
            };
            if concerns(*change, &before, &steps) {
                continue;
            }
            prop_assert_eq!(rewards(&changed), rewards(&steps), "{}", change.name());
            prop_assert_eq!(after.tally(), before.tally(), "{}", change.name());
            prop_assert_eq!(after.observation().step_count, before.observation().step_count);
            prop_assert_eq!(&after.observation().progress, &before.observation().progress);
            prop_assert_eq!(&after.observation().ledger, &before.observation().ledger);
        }
    }

    /// Checks that hardened episodes end, stay within their bounds, and are reproducible.
    #[test]
    fn hardened_episodes_end_within_bounds_and_repeat(
        seed in any::<u64>(),
        task in prop::sample::select(&Task::ALL),
        actions in prop::collection::vec(prop::sample::select(&Action::ALL), 1..12),
    ) {
        let setup = setup(task, seed, Rules::HARDENED);
        let (episode, steps) = play(&setup, &actions);
        prop_assert!(episode.observation().done());
        prop_assert!((0.0..=1.0).contains(&episode.tally().score()));
        prop_assert!(steps.iter().all(|s| (0.01..=0.99).contains(&s.grades.reward)));
        prop_assert_eq!(play(&setup, &actions), (episode, steps));
    }
}

/// Checks that every change applies to some episodes, and changes them.
#[test]
fn every_rule_change_affects_some_episodes() {
    let mixed = [
        Action::Verify(Slot::ALL[0]),
        Action::Verify(Slot::ALL[1]),
        Action::Delegate(Slot::ALL[2]),
        Action::SolveIndependently,
        Action::Verify(Slot::ALL[3]),
    ];
    let calm = [Action::SolveIndependently, Action::Skip];
    for change in Change::ALL {
        let mut moved = 0;
        for (seed, task) in (0..60).zip(Task::ALL.into_iter().cycle()) {
            for actions in [&mixed[..], &calm[..]] {
                let (before, steps) = play(&setup(task, seed, Rules::REFERENCE), actions);
                let rules = Rules::REFERENCE.with(*change);
                let (after, _) = play(&setup(task, seed, rules), actions);
                if concerns(*change, &before, &steps) {
                    moved += usize::from(after.tally() != before.tally());
                }
            }
        }
        assert!(moved > 5, "{}: {moved}", change.name());
    }
}

/// Checks that subtasks left open lower the mean (quirk Q2).
#[test]
fn unfinished_rule_counts_open_subtasks_as_events() {
    let rules = Rules::REFERENCE.with(Change::Unfinished);
    let alone = [Action::SolveIndependently];
    let (before, _) = play(&setup(Task::Task1, 1, Rules::REFERENCE), &alone);
    let (after, _) = play(&setup(Task::Task1, 1, rules), &alone);
    assert_eq!(before.observation().progress.remaining(), 2);
    assert_eq!(after.tally().total_reward, before.tally().total_reward);
    assert_eq!(
        after.tally().reward_events,
        before.tally().reward_events + 2
    );
}

/// Checks that an episode without encounters is not reported to the controller under hardened rules
/// (quirk Q17).
#[test]
fn hardened_episode_without_encounters_skips_controller() {
    let alone = [Action::SolveIndependently];
    for (rules, seen) in [(Rules::REFERENCE, 1), (Rules::HARDENED, 0)] {
        let mut controller = DifficultyController::new();
        let (episode, _) = play(&setup(Task::Task3, 1, rules), &alone);
        episode.report_to(&mut controller);
        assert_eq!(controller.current_profile().episodes_seen, seen, "{rules}");
    }
}

/// Checks that the payload names the rules only if they differ from the reference's.
#[test]
fn payload_names_nonreference_rules() {
    let json = |rules| {
        let session = Session::new(&setup(Task::Task2, 3, rules));
        serde_json::to_value(session.reply()).unwrap()["observation"]["rules"].clone()
    };
    assert_eq!(json(Rules::REFERENCE), serde_json::Value::Null);
    assert_eq!(json(Rules::HARDENED), "hardened");
    let one = Rules::REFERENCE.with(Change::KnownLiar);
    assert_eq!(json(one), "reference+known_liar");
}

/// Checks that the breakdown of the end has the components that count under the rules.
#[test]
fn terminal_breakdown_lists_counted_components() {
    let keys = |task, rules| {
        let mut session = Session::new(&setup(task, 3, rules));
        while session.act(Action::SolveIndependently).is_ok() {}
        let end = session.events().last().unwrap().signal_breakdown;
        end.iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(keys(Task::Task1, Rules::HARDENED), ["completion_rate"]);
    assert_eq!(keys(Task::Task1, Rules::REFERENCE).len(), 6);
    assert!(!keys(Task::Task3, Rules::HARDENED).contains(&"detection_rate"));
    assert!(keys(Task::Task3, Rules::REFERENCE).contains(&"detection_rate"));
}
