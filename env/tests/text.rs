//! Tests of the text around an episode: prompt, missions, descriptions.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Environment;
use sentinel_env::adaptive_difficulty::DifficultyController;
use sentinel_env::cluster::{self, scheduler_prompt};
use sentinel_env::rng::Streams;
use sentinel_env::strict_json::Json;
use sentinel_env::trust::mission::{Mission, PROBLEM};
use sentinel_env::trust::{Action, Change, Rules, Session, Setup, Task, episode_prompt};

/// Checks that the blocks of the prompt are in the order of the spec (spec trust §13).
#[test]
fn prompt_has_public_blocks_in_order_and_no_secrets() {
    let mut session = Session::new(&Setup::new(Task::Task3, 5, Streams::Independent));
    for _ in 0..3 {
        session.act(Action::ALL[2]).unwrap();
    }
    let (payload, observation) = (session.reply().observation, session.episode().observation());
    let prompt = episode_prompt(session.episode());
    let trust = format!("\"S2\":{}", payload.trust_snapshot.0[2]);
    let steps = format!("{} / 45", observation.step_count);
    let blocks = [
        "You are the orchestrator",
        PROBLEM.problem.real_user_prompt_example,
        "next control step",
        "task3",
        Mission::for_task(Task::Task3).judge_friendly_story,
        &payload.current_subtask,
        &format!("Stakes: {:.2}", observation.stakes),
        &steps,
        "S0, S1, S2, S3, S4",
        &trust,
        "confidence_accuracy_gap",
        "adversarial_threshold",
        "6. skip",
        "exactly one JSON object",
        "\"delegate\"",
        "\"verify\"",
        "\"solve_independently\"",
    ];
    let mut rest = prompt.as_str();
    for block in blocks {
        let at = rest
            .find(block)
            .unwrap_or_else(|| panic!("{block:?} is missing or out of order"));
        rest = &rest[at + block.len()..];
    }
    for secret in [
        "accurate-slow",
        "degrading",
        "triggered",
        "call_count",
        "in_domain",
    ] {
        assert!(!prompt.contains(secret), "the prompt says {secret}");
    }
}

/// Returns the number of objects in a value; fails if the keys of one are not sorted.
fn sorted_objects(json: &Json) -> usize {
    match json {
        Json::Object(fields) => {
            let names: Vec<&str> = fields.iter().map(|(name, _)| name).collect();
            assert!(names.is_sorted(), "{names:?}");
            1 + fields
                .iter()
                .map(|(_, value)| sorted_objects(value))
                .sum::<usize>()
        }
        _ => 0,
    }
}

/// Checks that keys in prompts are sorted. With the feature `preserve_order`, maps of `serde_json` are
/// not.
#[test]
fn objects_in_prompts_have_sorted_keys() {
    let trust = Session::new(&Setup::new(Task::Task3, 5, Streams::Independent));
    let setup = cluster::Setup::new(Task::Task3, 5, Streams::Independent);
    let mut session = cluster::Session::new(&setup);
    for _ in 0..9 {
        session.act(cluster::Action::Tick).unwrap();
    }
    let of_cluster = scheduler_prompt(session.episode().observation());
    // An object for each kind of line, and one for each slot.
    for (prompt, objects) in [(episode_prompt(trust.episode()), 3 + 5), (of_cluster, 2)] {
        let lines = prompt.lines().filter_map(|line| {
            let (name, json) = line.split_once(": ")?;
            let names = ["Trust", "Fingerprints", "Difficulty", "Anomalies"];
            names.contains(&name).then_some(json)
        });
        let found: usize = lines
            .map(|json| sorted_objects(&serde_json::from_str(json).unwrap()))
            .sum();
        assert!(found >= objects, "{found} objects in {prompt}");
    }
}

#[test]
fn reset_prompt_length_is_close_to_reference() {
    for task in Task::ALL {
        let session = Session::new(&Setup::new(task, 5, Streams::Reference));
        let prompt = episode_prompt(session.episode());
        assert!(
            (1800..3600).contains(&prompt.len()),
            "{task}: {} characters",
            prompt.len()
        );
    }
}

#[test]
fn missions_have_the_documented_keys() {
    let problem = serde_json::to_value(PROBLEM).unwrap();
    for key in ["problem", "bridge", "tasks", "judge_demo"] {
        assert!(problem.get(key).is_some(), "{key}");
    }
    assert_eq!(problem["bridge"].as_array().unwrap().len(), 6);
    for task in Task::ALL {
        let mission = &problem["tasks"][task.name()];
        for key in [
            "name",
            "judge_friendly_story",
            "real_life_example",
            "what_the_model_learns",
            "why_it_exists",
        ] {
            assert!(mission.get(key).is_some(), "{task} {key}");
        }
        assert_eq!(Mission::from_name(task.name()), Mission::for_task(task));
    }
    assert_eq!(
        Mission::from_name("nonsense"),
        Mission::for_task(Task::Task3)
    );
}

/// Checks that stakes in a description have one decimal, or two if the curriculum raised them (spec
/// trust §3, §12).
#[test]
fn hardened_stakes_show_two_decimals() {
    let mut controller = DifficultyController::new();
    let setup = |profile| Setup {
        profile,
        ..Setup::new(Task::Task3, 0, Streams::Reference)
    };
    let plain = Session::new(&setup(controller.profile(false)));
    let text = plain.reply().observation.current_subtask;
    assert!(text.ends_with("stakes 0.2)."), "{text}");
    for _ in 0..100 {
        controller.record_episode(1, 1);
    }
    let hard = Session::new(&setup(controller.profile(true)));
    let hardened = hard
        .episode()
        .scenario()
        .nodes()
        .filter(|node| node.hardened)
        .count();
    assert!(hardened > 0);
    let node = hard
        .episode()
        .scenario()
        .nodes()
        .find(|node| node.hardened)
        .unwrap();
    let described = sentinel_env::trust::text::describe_node(&node);
    assert!(
        described.contains(&format!("stakes {:.2})", node.stakes)),
        "{described}"
    );
}

/// Checks that the prompt's sentences are those of the rules in force.
#[test]
fn prompt_states_rules_in_force() {
    let prompt = |rules| {
        let setup = Setup::new(Task::Task3, 5, Streams::Independent).with_rules(rules);
        episode_prompt(Session::new(&setup).episode())
    };
    let reference = prompt(Rules::REFERENCE);
    assert!(reference.contains("4. verify costs one step more and catches poison.\n"));
    assert!(reference.contains("always right") && !reference.contains("7. "));
    let hardened = prompt(Rules::HARDENED);
    assert!(!hardened.contains("always right") && hardened.contains("earns half of the accuracy"));
    assert!(hardened.contains("7. A subtask that is open"));
    for (change, sentence) in [
        (Change::Verification, "An honest mistake is corrected"),
        (Change::KnownLiar, "poison, which is corrected"),
        (Change::SelfSolving, "never fails"),
        (Change::Unfinished, "7. A subtask"),
    ] {
        let with = prompt(Rules::REFERENCE.with(change));
        assert!(
            with.contains(sentence) && !reference.contains(sentence),
            "{sentence}"
        );
    }
    // The other changes concern the grading at the end, about which the prompt says nothing.
    for change in [Change::Completion, Change::Detection, Change::Calibration] {
        assert_eq!(prompt(Rules::REFERENCE.with(change)), reference);
    }
}
