//! `sentinel analyze`: files of all worlds, and faulty input.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use std::path::Path;

use common::{Run, json, repository, sentinel, sentinel_in};
use serde_json::Value;

/// Writes the rows of one episode of a committed replay into a folder, and returns the path.
fn excerpt(folder: &Path, name: &str, start: &str) -> String {
    let text = std::fs::read_to_string(repository("replays").join(name)).unwrap();
    let rows: Vec<&str> = text.lines().filter(|row| row.contains(start)).collect();
    assert!(!rows.is_empty(), "{start} in {name}");
    let path = folder.join(name);
    std::fs::write(&path, rows.join("\n")).unwrap();
    path.display().to_string()
}

/// Runs the command in the repository, where the committed models are.
fn analyze(replay: &str, out: &Path, more: &[&str]) -> Run {
    let out = out.display().to_string();
    let mut words = vec!["analyze", replay, "--out", &out, "--rollouts", "8"];
    words.extend(more);
    sentinel_in(&repository("."), words)
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(json).collect()
}

#[test]
fn analysis_of_each_world_has_documented_keys() {
    let folder = tempfile::tempdir().unwrap();
    // A language model, a compact policy and a script.
    for (name, start, actions) in [
        (
            "tiny-lm-independent.jsonl",
            r#""task_type":"task1","seed":0,"#,
            12,
        ),
        (
            "cluster-grpo-hardened.jsonl",
            r#""task_type":"task1","seed":0,"#,
            1,
        ),
        (
            "polyguard-rules_only-hardened.jsonl",
            r#""task_type":"DDI-easy-holdout","seed":1000000,"#,
            3,
        ),
    ] {
        let replay = excerpt(folder.path(), name, start);
        let out = folder.path().join("out.jsonl");
        let run = analyze(&replay, &out, &[]);
        assert!(run.succeeds().contains("1 episodes"), "{}", run.stdout);
        assert!(run.stderr.contains("accuracy"), "{}", run.stderr);
        let found = lines(&out);
        assert_eq!(found.len(), 2, "{name}");
        assert_eq!(found[0]["format"], "sentinel-analysis/1");
        assert_eq!(found[0]["rollouts"], 8);
        let episode = &found[1];
        assert_eq!(episode["complete"], true);
        assert_eq!(episode["misses"], 0);
        assert!(episode["score"].as_f64().is_some() && episode["accuracy"].as_f64().is_some());
        assert_eq!(
            episode["research_only"] == true,
            name.starts_with("polyguard")
        );
        let steps = episode["steps"].as_array().unwrap();
        for (index, step) in steps.iter().enumerate() {
            assert_eq!(step["index"], index);
            assert_eq!(step["line"], index + 1);
            let compared = step["actions"].as_array().unwrap();
            assert!(compared.len() >= actions, "{name}: {}", compared.len());
            for source in ["belief", "hindsight"] {
                let source = &step[source];
                assert_eq!(source["rollouts"], 8);
                assert_eq!(source["values"].as_array().unwrap().len(), compared.len());
                let ends = source["interval"].as_array().unwrap();
                let loss = source["loss"].as_f64().unwrap();
                assert!(ends[0].as_f64().unwrap() <= loss && loss <= ends[1].as_f64().unwrap());
            }
        }
        // The same seed gives the same file, apart from the command that is noted in it.
        let again = folder.path().join("again.jsonl");
        analyze(&replay, &again, &[]).succeeds();
        assert_eq!(lines(&again)[1], found[1]);
    }
}

/// Without `--model` each episode is continued by the committed model for its rules.
#[test]
fn committed_model_follows_the_rules_of_the_episode() {
    let folder = tempfile::tempdir().unwrap();
    let start = r#""task_type":"task1","seed":0,"#;
    let names = ["cluster-grpo-reference", "cluster-grpo-hardened"];
    let paths = names.map(|name| excerpt(folder.path(), &format!("{name}.jsonl"), start));
    let both = folder.path().join("both.jsonl");
    let text = paths
        .each_ref()
        .map(|path| std::fs::read_to_string(path).unwrap());
    std::fs::write(&both, text.join("\n")).unwrap();
    let out = folder.path().join("out.jsonl");
    // The names of the models that were read, and the values of all steps.
    let analyzed = |replay: &str, more: &[&str]| -> (String, Vec<Value>) {
        analyze(replay, &out, &[&["--belief-only"], more].concat()).succeeds();
        let found = lines(&out);
        let inputs = found[0]["sentinel"]["inputs"].to_string();
        let steps = found[1..].iter();
        let steps = steps.flat_map(|episode| episode["steps"].as_array().unwrap().clone());
        (inputs, steps.map(|step| step["belief"].clone()).collect())
    };
    let models = ["replays/cluster-grpo-reference", "replays/cluster-grpo"];
    let is_read = |inputs: &str, model: &str| inputs.contains(&format!("cluster, {model}\""));
    let mut alone = Vec::new();
    for (path, model) in paths.iter().zip(models) {
        let (inputs, values) = analyzed(path, &[]);
        let read = models.map(|model| is_read(&inputs, model));
        assert_eq!(read, models.map(|known| known == model), "{inputs}");
        assert_eq!(values, analyzed(path, &["--model", model]).1, "{path}");
        alone.extend(values);
    }
    let (inputs, values) = analyzed(&both.display().to_string(), &[]);
    assert!(
        models.iter().all(|model| is_read(&inputs, model)),
        "{inputs}"
    );
    assert_eq!(values, alone);
}

#[test]
fn options_select_episodes_and_the_continuation() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.jsonl");
    let replay = "replays/heuristic-independent.jsonl";
    let task = ["--task", "task1", "--seeds", "0..3", "--episodes", "2"];
    let more = ["--policy", "bayes", "--rollouts", "1", "--belief-only"];
    let words = [&task[..], &more[..4], &more[4..]].concat();
    let out_text = out.display().to_string();
    let start = ["analyze", replay, "--out", &out_text];
    sentinel_in(&repository("."), start.into_iter().chain(words)).succeeds();
    let found = lines(&out);
    let seeds: Vec<&Value> = found[1..].iter().map(|episode| &episode["seed"]).collect();
    assert_eq!(seeds, [0, 1]);
    assert_eq!(found[0]["policy"], "bayes");
    let step = &found[1]["steps"][0];
    // One rollout has a value, but neither an error nor an interval.
    assert_eq!(step["belief"]["rollouts"], 1);
    assert_eq!(step["belief"]["errors"][0], Value::Null);
    assert_eq!(step["belief"]["interval"], Value::Null);
    assert_eq!(step["hindsight"], Value::Null);
    assert_eq!(found[1]["accuracy"], Value::Null);
}

#[test]
fn faulty_input_names_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.jsonl");
    let trust = r#""task_type":"task1","seed":0,"#;
    let replay = excerpt(folder.path(), "random-independent.jsonl", trust);

    analyze("nowhere.jsonl", &out, &[]).fails(&["cannot read nowhere.jsonl"]);
    analyze(&replay, &folder.path().join("no/out.jsonl"), &[]).fails(&["no folder", "make it"]);
    analyze(&replay, &out, &["--policy", "oracle"]).fails(&["reads hidden state", "trained"]);
    analyze(&replay, &out, &["--policy", "nobody"]).fails(&["unknown policy", "bayes"]);
    analyze(&replay, &out, &["--model", "replays/cluster-grpo"]).fails(&["cluster"]);
    analyze(&replay, &out, &["--task", "task3"]).fails(&["no episode", "task1 seed 0"]);
    analyze(&replay, &out, &["--rollouts", "0"]).fails(&["--rollouts"]);
    // The file of a replay is not overwritten by an analysis.
    analyze(&replay, Path::new(&replay), &[]).fails(&["is not an analysis"]);
    let line = ["analyze", &replay, "--out", "out.jsonl"];
    sentinel_in(folder.path(), line).fails(&["replays/grpo", "--model"]);
    sentinel(["analyze", &replay]).fails(&["--out"]);
    assert!(!out.exists());

    // A bad line is named; the others are analyzed.
    let mut text = std::fs::read_to_string(&replay).unwrap();
    text.push_str("\n{\"task_type\":\"task9\"}\n");
    std::fs::write(&replay, &text).unwrap();
    let run = analyze(&replay, &out, &["--policy", "heuristic", "--belief-only"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let bad = text.lines().count();
    assert!(
        run.stderr.contains(&format!("line {bad}: ")),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("1 bad lines"), "{}", run.stderr);
    assert_eq!(lines(&out).len(), 2);

    // A missing row is a warning.
    let gap: Vec<&str> = text
        .lines()
        .skip(1)
        .filter(|row| row.contains("task1"))
        .collect();
    std::fs::write(&replay, gap.join("\n")).unwrap();
    let run = analyze(&replay, &out, &["--policy", "heuristic", "--belief-only"]);
    run.succeeds();
    assert!(run.stderr.contains("1 steps have no row"), "{}", run.stderr);
    assert_eq!(lines(&out)[1]["misses"], 1);
    assert_eq!(lines(&out)[1]["steps"][0]["line"], Value::Null);
}
