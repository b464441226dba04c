//! Errors for names that a world lacks, and the commands `bench` and `rules`.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use std::path::Path;

use common::{Run, json, repository, run, run_in, sentinel};
use sentinel_env::rules::RuleChange as _;
use sentinel_env::{WorldName, cluster, trust};

#[test]
fn unknown_names_error_lists_choices_of_world() {
    for command in ["eval", "bench", "rules"] {
        run(&format!("{command} --world moon")).fails(&[
            "invalid value 'moon' for '--world <WORLD>'",
            &format!("possible values: {}", WorldName::joined_names(", ")),
        ]);
        run(&format!("{command} --world cluster --task task4")).fails(&["unknown task \"task4\""]);
        run(&format!("{command} --world cluster --rules harsh")).fails(&[
            "--rules",
            "unknown rules \"harsh\"",
            "reference or hardened",
        ]);
        run(&format!("{command} --world cluster --rules reference+luck")).fails(&[
            "unknown change \"luck\"",
            "this world has",
            "health",
        ]);
    }
    run("eval --world cluster --policies heuristic").fails(&[
        "unknown policy \"heuristic\" in world cluster",
        "blind",
        "trained",
    ]);
    run("eval --policies blind").fails(&["unknown policy \"blind\" in world trust", "bayes"]);
    run("rules --policies roles,magic").fails(&["unknown policy \"magic\" in world trust"]);
    run("rules --rules hardened,hardened").fails(&["rules hardened is named twice"]);
    run("bench --seconds fast").fails(&["\"fast\" is not a number of seconds"]);
    for command in [
        "record --seeds 0..1 --out x.jsonl",
        "trace --task task1 --seed 0",
    ] {
        run(&format!("{command} --world cluster --policy bayes"))
            .fails(&["unknown policy \"bayes\" in world cluster", "planner"]);
        run(&format!(
            "{command} --world cluster --rules hard --policy blind"
        ))
        .fails(&["unknown rules \"hard\""]);
    }
}

#[test]
fn grid_options_and_tasks_of_other_world_are_refused() {
    for command in [
        "eval",
        "bench",
        "rules",
        "record --policy random --seeds 0..1 --out x.jsonl",
        "trace --task task1 --seed 0 --policy random",
        "train",
        "imitate",
    ] {
        for world in ["trust", "cluster"] {
            for option in ["sub-environment", "difficulty", "formulary", "split"] {
                let expected = format!("--{option} belongs to world polyguard (world {world})");
                run(&format!("{command} --world {world} --{option} hard")).fails(&[&expected]);
            }
        }
    }
    let unknown = "unknown task \"easy\": use task1, task2, task3 or all (world cluster)";
    run("train --world cluster --task easy").fails(&[unknown]);
    run("record --world cluster --policy blind --task easy --seeds 0..1 --out x.jsonl")
        .fails(&[unknown]);
    run("trace --seed 0 --policy random").fails(&["of one task, not of 3", "--task"]);
    run("trace --seed 0 --policy random --task task1,task2").fails(&["of one task, not of 2"]);
}

#[test]
fn replay_or_model_of_other_world_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    run("record --world cluster --policy blind --tasks task1 --seeds 0..1 --out c.jsonl")
        .succeeds();
    run("eval --task task1 --episodes 1 --policies trained --replay c.jsonl")
        .fails(&["c.jsonl holds no row of world trust", "--world cluster"]);
    let model = repository("replays/grpo").display().to_string();
    let arguments = [
        "eval",
        "--world",
        "cluster",
        "--policies",
        "trained",
        "--model",
        &model,
    ];
    sentinel(arguments).fails(&["trained for world trust"]);
}

/// Verifies a cluster replay of which one line was changed.
fn verify(folder: &Path, change: impl Fn(&mut String)) -> Run {
    let record =
        "record --world cluster --policy blind --tasks task1 --seeds 0..2 --force --out r.jsonl";
    run_in(folder, record).succeeds();
    let path = folder.join("r.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines[0]);
    std::fs::write(&path, lines.join("\n")).unwrap();
    run_in(folder, "replay verify r.jsonl")
}

/// A piece of the first row, its replacement, and the resulting error.
const BAD: &[(&str, &str, &str)] = &[
    ("\"JOB-", "\"JOB-9", "line 1: unknown job_id"),
    (
        "\"JOB-00",
        "\"JOB-01",
        "the task has 10 jobs from JOB-000 on",
    ),
    ("\"GPU-0", "\"GPU-1", "line 1: unknown gpu_id"),
    ("\"S0\"", "\"S7\"", "line 1: unknown worker_id \"S7\""),
    ("\"S0\"", "7", "line 1: worker_id is 7: it must be text"),
    (
        "\"allocate\"",
        "\"delegate\"",
        "line 1: unknown action_type \"delegate\": use allocate",
    ),
    (
        "\"force_flag\":false",
        "\"force_flag\":1",
        "line 1: force_flag is 1: it must be true",
    ),
    (
        "\"step\":0",
        "\"step\":30",
        "line 1: step is 30: steps of task1 are integers from 0 to 29",
    ),
    (
        "\"cluster\"",
        "\"moon\"",
        "line 1: unknown world \"moon\": use trust",
    ),
    (
        "\"cluster\"",
        "\"cluster\",\"rules\":\"soft\"",
        "line 1: unknown rules \"soft\"",
    ),
    (
        "\"gpu_id\"",
        "\"job_id\"",
        "line 1: duplicate field `job_id`",
    ),
];

#[test]
fn bad_cluster_replay_rows_are_reported_and_rest_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let whole = verify(folder.path(), |_| ());
    assert!(
        whole.succeeds().contains("r.jsonl: fits"),
        "{}",
        whole.stdout
    );
    for (from, to, expected) in BAD.iter().copied() {
        let bad = verify(folder.path(), |line| {
            assert!(line.contains(from), "{line}");
            *line = line.replacen(from, to, 1);
        });
        bad.fails(&["r.jsonl: 1 bad lines, 1 replay misses"]);
        assert!(
            bad.stdout.contains(expected),
            "{expected} is not in\n{}",
            bad.stdout
        );
        assert!(bad.stdout.contains("episodes 2,"), "{}", bad.stdout);
    }
    let cut = verify(folder.path(), |line| line.truncate(60));
    cut.fails(&["r.jsonl: 1 bad lines, 1 replay misses"]);
    assert!(
        cut.stdout
            .contains("the line is cut off after 60 characters")
    );
    // A row of the trust world in the same file is a separate episode.
    let moved = verify(folder.path(), |line| {
        *line = line.replacen(",\"world\":\"cluster\"", "", 1);
    });
    moved.fails(&["1 bad lines"]);
    assert!(
        moved
            .stdout
            .contains("unknown action_type \"allocate\": use delegate")
    );
}

#[test]
fn bench_times_every_task() {
    for world in ["trust", "cluster"] {
        let line = format!("bench --world {world} --rules hardened --seconds 0");
        let text = run(&line);
        let found = run(&format!("{line} --json"));
        let speeds = json(found.succeeds());
        assert_eq!(
            (&speeds["world"], &speeds["rules"]),
            (&world.into(), &"hardened".into())
        );
        let tasks = speeds["tasks"].as_array().unwrap();
        let names: Vec<&str> = tasks.iter().map(|t| t["task"].as_str().unwrap()).collect();
        assert_eq!(names, ["task1", "task2", "task3"]);
        for task in tasks {
            for key in ["step_per_s", "step_with_resets_per_s", "session_per_s"] {
                assert!(task[key].as_f64().unwrap() > 0.0, "{task}");
            }
        }
        assert!(names.iter().all(|name| text.succeeds().contains(name)));
    }
}

#[test]
fn rules_command_compares_and_judges_rules() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    for (world, change, heuristic, constant) in [
        (
            "trust",
            trust::Change::ALL[0].name(),
            "heuristic",
            "always_solve_independently",
        ),
        (
            "cluster",
            cluster::Change::ALL[0].name(),
            "trust",
            "allocate_verify_in_turn",
        ),
    ] {
        let line = format!(
            "rules --world {world} --task task1 --seeds 0..4 --rules reference,reference+{change},hardened \
             --policies random,{heuristic},{constant} --out r.json"
        );
        let _ = std::fs::remove_file(folder.path().join("r.json"));
        let text = run(&line);
        for word in [change, heuristic, constant, "±"] {
            assert!(
                text.succeeds().contains(word),
                "{word} is not in\n{}",
                text.stdout
            );
        }
        let file = json(&std::fs::read_to_string(folder.path().join("r.json")).unwrap());
        assert_eq!(file["cells"].as_array().unwrap().len(), 9);
        assert_eq!(file["verdicts"].as_array().unwrap().len(), 3);
        // Only the set with a change has a set to be compared with.
        let with_effect = file["cells"].as_array().unwrap().iter();
        assert_eq!(
            with_effect
                .filter(|cell| cell.get("effect").is_some())
                .count(),
            3
        );
        for verdict in file["verdicts"].as_array().unwrap() {
            let order = verdict["order"].as_array().unwrap();
            assert_eq!((order.len(), &order[0]["lower"]), (1, &"random".into()));
            let held = order[0]["gap"]["mean"].as_f64().unwrap() > 0.0;
            assert_eq!(verdict["order_holds"], held);
            assert_eq!(verdict["absent"].as_array().unwrap().len(), 2);
            assert!(verdict["constants_above"].is_array());
        }
    }
    // The means equal those of an evaluation of the same seeds.
    run("eval --task task1 --seeds 0..4 --streams independent --policies heuristic --out e.json")
        .succeeds();
    run("rules --task task1 --seeds 0..4 --rules reference --policies heuristic --out t.json")
        .succeeds();
    let read = |name: &str| json(&std::fs::read_to_string(folder.path().join(name)).unwrap());
    let (eval, rules) = (read("e.json"), read("t.json"));
    let (score, mean) = (
        eval["summary"]["heuristic"]["avg_score"].as_f64().unwrap(),
        rules["cells"][0]["mean"].as_f64().unwrap(),
    );
    assert!((score - mean).abs() < 2e-4, "{score} and {mean}");
    run("rules --seeds 0..1 --rules reference --policies random --out e.json")
        .fails(&["e.json exists and is not a comparison of rules"]);
}

#[test]
fn help_names_worlds_and_rules() {
    let worlds: Vec<&str> = WorldName::ALL.iter().map(|world| world.name()).collect();
    let worlds = format!("[possible values: {}]", worlds.join(", "));
    let train = run("train --help");
    assert!(train.succeeds().contains(&worlds), "{}", train.stdout);
    for command in ["eval", "record", "trace", "bench", "rules"] {
        let help = run(&format!("{command} --help"));
        for word in [
            "--world <WORLD>",
            &worlds,
            "--rules <",
            "reference",
            "hardened",
        ] {
            assert!(
                help.succeeds().contains(word),
                "{command}: no {word} in {}",
                help.stdout
            );
        }
    }
    let help = run("--help");
    for command in ["bench", "rules", "record", "replay"] {
        assert!(help.succeeds().contains(command));
    }
}

/// The help of imitation shows its defaults as they are typed, and a usage line that works.
#[test]
fn imitate_help_shows_defaults_and_usage() {
    let help = run("imitate --help");
    let stdout = help.succeeds();
    assert!(
        stdout.contains("Usage: sentinel imitate [OPTIONS]\n"),
        "{stdout}"
    );
    let old = run("sft --compact --help");
    assert_eq!(
        old.succeeds().replace("outputs/sft", "outputs/imitation"),
        stdout
    );
    for default in [
        "outputs/imitation",
        "imitation",
        "60",
        "0.003",
        "0.9",
        "0.999",
        "1e-8",
    ] {
        let default = format!("[default: {default}]");
        assert!(stdout.contains(&default), "no {default} in {stdout}");
    }
    assert!(!stdout.contains("--compact"), "{stdout}");
    run("sft --compact --hiden 8").fails(&["--hiden", "'--hidden'", "sentinel imitate"]);
}
