//! Addresses: every view survives its own, and nonsense is named.

use super::*;
use crate::training_form::TrainingForm;
use sentinel_page_protocol::PlayedEpisode;

const WORLDS: [&str; 3] = ["trust", "cluster", "polyguard"];
const DEFAULTS: Defaults<'_> = Defaults {
    world: "trust",
    streams: "independent",
};

fn training(parameters: &[(&str, &str)]) -> TrainingForm {
    let mut form = TrainingForm::default();
    for (name, value) in parameters {
        assert!(form.set_parameter(name, value), "{name}={value}");
    }
    form
}

fn trust() -> PageState {
    PageState {
        world: "trust".to_owned(),
        ..PageState::default()
    }
}

#[test]
fn a_view_survives_its_address() {
    let state = PageState {
        world: "trust".to_owned(),
        screen: Screen::Training,
        runs: "trust-grpo:my log_2.v1".to_owned(),
        training: training(&[("lr", "1e+3"), ("train-rules", "hardened+x")]),
        task: "task1".to_owned(),
        seed: SEED_MAX,
        keeps_seed: false,
        streams: "reference".to_owned(),
        rules: "hardened-completion".to_owned(),
        player: "replay:my run_2.v1".to_owned(),
        legacy: false,
        versus: "oracle_lite".to_owned(),
        branch: Some(Branch {
            at: 3,
            actions: "d0d1d2d3d4v0v1v2v3v4sk".to_owned(),
            resume: true,
        }),
        cursor: 7,
        truth: true,
        embed: false,
        theme: Theme::Dark,
        speed: Speed::Four,
    };
    let framed = PageState {
        embed: true,
        ..state.clone()
    };
    for state in [state, framed] {
        assert_eq!(
            parse_query(&to_query(&state, DEFAULTS), &WORLDS),
            (state, vec![])
        );
    }
    assert_eq!(
        parse_query(&to_query(&trust(), DEFAULTS), &WORLDS),
        (trust(), vec![])
    );
}

#[test]
fn the_format_is_that_of_older_addresses() {
    let state = PageState {
        world: "cluster".to_owned(),
        task: "task2".to_owned(),
        streams: "independent".to_owned(),
        rules: "reference+health".to_owned(),
        player: "heuristic".to_owned(),
        branch: Some(Branch {
            at: 119,
            actions: "fj12t".to_owned(),
            resume: false,
        }),
        ..PageState::default()
    };
    let query = "world=cluster&task=task2&seed=42&policy=heuristic&rules=reference+health&at=119&acts=fj12t";
    assert_eq!(to_query(&state, DEFAULTS), query);
    let known = PageState {
        streams: String::new(),
        ..state
    };
    assert_eq!(parse_query(query, &WORLDS), (known, vec![]));
}

/// A link is an experiment: all settings of training survive their address, on the screen that trains only.
#[test]
fn settings_of_training_survive_their_address() {
    let query = "page=training&seed=42&lr=0.001&group=8&episodes=24&entropy=1e-2&width=16&credit=episode\
        &train-seed=9223372036854775807&train-rules=hardened-completion&without=calibration&workers=3";
    let (state, problems) = parse_query(query, &WORLDS);
    assert_eq!(problems, Vec::<String>::new());
    let spec = state.training.spec(&state.world).expect("numbers");
    assert_eq!((&*spec.learning_rate, spec.hidden), ("0.001", Some(16)));
    assert_eq!((&*spec.without, spec.workers), ("calibration", Some(3)));
    assert_eq!(spec.seed, SEED_MAX);
    let written = to_query(&state, DEFAULTS);
    assert_eq!(parse_query(&written, &WORLDS).0, state);
    let sorted = |query: &str| {
        let mut parts: Vec<_> = query.split('&').map(str::to_owned).collect();
        parts.sort();
        parts
    };
    assert_eq!(sorted(&written), sorted(query));
    let elsewhere = PageState {
        screen: Screen::Results,
        ..state.clone()
    };
    assert_eq!(to_query(&elsewhere, DEFAULTS), "page=results&seed=42");
    assert_eq!(state.in_world("trust").training, state.training);
    assert_eq!(state.in_world("cluster").training, TrainingForm::default());
    // They are no part of an entry of the history: typing adds none.
    assert_eq!(state.history_entry().training, TrainingForm::default());
    let presets = "page=training&seed=42&credit=step&train-seed=1&train-rules=hardened";
    let (state, problems) = parse_query(presets, &WORLDS);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(to_query(&state, DEFAULTS), "page=training&seed=42");
}

#[test]
fn nonsense_in_settings_of_training_is_named_and_harmless() {
    let long = format!("without={}", "x".repeat(241));
    for part in [
        "lr=",
        "lr=fast",
        "lr=e",
        "lr=0.0000000000000000000000001",
        "group=-1",
        "group=1.5",
        "episodes=4294967296",
        "entropy=<b>",
        "width=wide",
        "credit=luck",
        "train-seed=9223372036854775808",
        "train-rules=..",
        "without=%22",
        "workers=all",
        &long,
    ] {
        let (state, problems) = parse_query(&format!("page=training&{part}"), &WORLDS);
        assert_eq!(state.training, TrainingForm::default(), "{part}");
        assert_eq!(problems.len(), 1, "{part}");
    }
}

#[test]
fn nonsense_in_every_field_is_named_and_harmless() {
    let query = "?page=x&task=&seed=-1&policy=<b>&streams=%22&vs=../../etc&at=9999&acts=d9!&resume=maybe\
        &t=1e9&view=&embed=yes&theme=pink&wat=1&%%%&=&seed=9223372036854775808&seed=NaN&world=mars";
    let (state, problems) = parse_query(query, &WORLDS);
    let expected = PageState {
        legacy: true,
        rules: "reference".to_owned(),
        ..trust()
    };
    assert_eq!(state, expected);
    assert_eq!(problems.len(), 19, "{problems:#?}");
}

#[test]
fn additions_of_hosts_are_ignored() {
    let (state, problems) = parse_query("?utm_source=x&__theme=dark&seed=5&_=1", &WORLDS);
    assert_eq!((state.seed, problems.len()), (5, 0));
    for half in ["at=3", "at=3&acts=", "acts="] {
        let (state, problems) = parse_query(half, &WORLDS);
        assert!(state.branch.is_none() && !problems.is_empty(), "{half}");
    }
}

#[test]
fn an_older_address_without_a_player_keeps_its_default() {
    for (query, legacy) in [
        ("t=4", true),
        ("at=2&acts=k", true),
        ("acts=k", true),
        ("t=4&policy=bayes", false),
        ("seed=7", false),
        ("", false),
    ] {
        assert_eq!(parse_query(query, &WORLDS).0.legacy, legacy, "{query}");
    }
}

/// Addresses of episodes leave out the reference rules; one without an episode opens with the rules of
/// the world's trained policy, or of its replay.
#[test]
fn an_episode_without_rules_is_one_of_the_reference() {
    for (query, rules) in [
        ("", ""),
        ("world=cluster", ""),
        ("world=cluster&seed=7&view=truth", ""),
        ("world=cluster&task=task2", "reference"),
        ("world=cluster&policy=planner", "reference"),
        ("world=cluster&t=4", "reference"),
        ("world=cluster&at=0&acts=t", "reference"),
        ("world=cluster&task=task2&rules=hardened", "hardened"),
        ("world=cluster&rules=hardened", "hardened"),
        ("world=cluster&policy=replay:file&t=4", ""),
        (
            "world=cluster&policy=replay:file&rules=hardened",
            "hardened",
        ),
        ("world=cluster&policy=replay:file&task=task2", "reference"),
    ] {
        assert_eq!(parse_query(query, &WORLDS).0.rules, rules, "{query}");
    }
}

/// An address of a replay without a task keeps its other parts until the file has been read, also those
/// that equal a default.
#[test]
fn an_address_of_a_replay_without_a_task_survives() {
    for query in [
        "seed=42&policy=replay:file",
        "seed=7&policy=replay:file&streams=independent&rules=reference&t=4",
        "seed=7&policy=replay:file&streams=reference&rules=hardened",
    ] {
        let (state, problems) = parse_query(query, &WORLDS);
        assert_eq!(
            (to_query(&state, DEFAULTS).as_str(), problems),
            (query, vec![])
        );
    }
}

#[test]
fn another_world_keeps_what_every_world_knows() {
    let state = PageState {
        task: "task1".to_owned(),
        seed: 7,
        player: "grpo".to_owned(),
        rules: "hardened".to_owned(),
        cursor: 9,
        truth: true,
        ..trust()
    };
    let there = state.in_world("cluster");
    assert_eq!(to_query(&there, DEFAULTS), "world=cluster&seed=7");
    assert_eq!(parse_query("world=trust", &WORLDS).1, Vec::<String>::new());
    assert_eq!(parse_query("world=mars", &WORLDS).1.len(), 1);
}

#[test]
fn a_seed_is_a_whole_number() {
    assert_eq!(parse_seed(" 12 "), Some(12));
    assert_eq!(parse_seed(&SEED_MAX.to_string()), Some(SEED_MAX));
    for bad in ["", "-1", "1.5", "1e3", "9223372036854775808", "x"] {
        assert_eq!(parse_seed(bad), None, "{bad}");
    }
}

/// An address that names nothing to show opens on the question, under the rules without loopholes.
#[test]
fn a_bare_address_asks_the_question() {
    let screen = |query: &str| parse_query(query, &WORLDS).0.screen;
    for bare in [
        "",
        "?",
        "?world=cluster&theme=dark",
        "?speed=4&utm_source=x&_=1",
    ] {
        assert_eq!(screen(bare), Screen::Spot, "{bare}");
        let (state, problems) = parse_query(bare, &WORLDS);
        assert_eq!((state.rules.as_str(), problems.len()), ("", 0), "{bare}");
    }
    for named in [
        "?seed=7",
        "?task=1",
        "?policy=bayes",
        "?t=3",
        "?embed=1",
        "?vs=bayes",
    ] {
        assert_eq!(screen(named), Screen::Episode, "{named}");
    }
    // Whoever answers the question neither acts in it nor sees hidden state.
    let (state, _) = parse_query(
        "?page=spot&task=1&policy=you&acts=d0&vs=bayes&view=truth",
        &WORLDS,
    );
    assert_eq!((state.player.as_str(), state.versus.as_str()), ("", ""));
    assert!(state.branch.is_none() && !state.truth && !state.legacy);
}

/// A question whose address names a seed and no task has this seed, and the rest of the world's question.
#[test]
fn a_question_keeps_the_seed_of_its_address() {
    let own = PlayedEpisode {
        task: "task3".to_owned(),
        seed: 5040,
        player: "random".to_owned(),
        ..PlayedEpisode::default()
    };
    for (query, written, seed) in [
        ("page=spot&seed=7", "page=spot&seed=7", 7),
        ("page=spot&seed=42", "page=spot&seed=42", 42),
        ("page=spot", "page=spot", 5040),
        ("page=spot&seed=x", "page=spot", 5040),
    ] {
        let (mut state, _) = parse_query(query, &WORLDS);
        let defaults = Defaults {
            world: WORLDS[0],
            ..Defaults::default()
        };
        assert_eq!(to_query(&state, defaults), written, "{query}");
        assert!(state.awaits_spot_episode(), "{query}");
        // Another world shows its own question.
        assert!(!state.in_world("cluster").keeps_seed, "{query}");
        state.apply_spot_episode(&own);
        assert_eq!(
            (state.task.as_str(), state.seed, state.player.as_str()),
            ("task3", seed, "random"),
            "{query}"
        );
        assert!(!state.keeps_seed, "{query}");
    }
    // The link to another world names no seed.
    let (state, _) = parse_query("page=spot&task=1&seed=7", &WORLDS);
    let query = to_query(&state.in_world("cluster"), Defaults::default());
    assert_eq!(query, "world=cluster&page=spot");
}
