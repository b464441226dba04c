//! Tests of `sentinel lm corpus`: the rows that are written, refused and read back.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::path::Path;

use sentinel_play::corpus::{Prompt, Role, parse_example, read_corpus};

use crate::common;
use common::{json, run, run_in};

#[test]
fn corpus_is_deterministic_and_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |line: &str| run_in(folder.path(), line);
    let line = "lm corpus --task task1,task3 --seeds 100000..100004 --policy heuristic --random-action-prob 0.25";
    let output = run(&format!("{line} --out a.jsonl"));
    let output = output.succeeds().to_owned();
    run(&format!("{line} --out b.jsonl")).succeeds();
    let text = std::fs::read_to_string(at("a.jsonl")).unwrap();
    assert_eq!(text, std::fs::read_to_string(at("b.jsonl")).unwrap());
    let examples = read_corpus(&at("a.jsonl")).unwrap();
    assert_eq!(examples.len(), text.lines().count());
    assert!(
        output.contains(&format!("{} rows of 8 episodes", examples.len())),
        "{output}"
    );
    let explored = text
        .lines()
        .filter(|line| line.contains("\"explored\":true"))
        .count();
    assert!(
        explored * 8 > examples.len(),
        "{explored} of {}",
        examples.len()
    );
    for (row, example) in text.lines().map(json).zip(&examples) {
        assert_eq!(row["prompt"][0]["role"], "user");
        assert_eq!(row["prompt"][0]["content"], example.prompt.question());
        assert_eq!(row["completion"][0]["role"], "assistant");
        assert_eq!(row["completion"][0]["content"], example.completion.as_str());
        assert_eq!(row["streams"], "independent");
        assert_eq!(row["policy"], "heuristic");
        let action = json(&example.completion);
        assert!(action["action_type"].is_string(), "{}", example.completion);
    }
    // Every step of an episode is present, in order.
    let first = text.lines().map(json).filter(|row| row["seed"] == 100_000);
    let steps: Vec<u64> = first
        .filter(|row| row["task"] == "task1")
        .map(|row| row["step"].as_u64().unwrap())
        .collect();
    assert!(
        steps.len() > 5 && steps[0] == 0 && steps.is_sorted(),
        "{steps:?}"
    );
}

#[test]
fn corpus_command_supports_every_world() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    run("lm corpus --world cluster --task task1 --seeds 100000..100002 --out c.jsonl").succeeds();
    run("lm corpus --world polyguard --seeds 100000..100001 --out p.jsonl").succeeds();
    run("lm corpus --task task2 --prompt reference --seeds 100000 --out r.jsonl").succeeds();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("c.jsonl").contains("\"policy\":\"planner\""));
    // The held-out part of polyguard's formulary does not occur.
    let polyguard = read("p.jsonl");
    assert!(
        polyguard
            .lines()
            .all(|row| json(row)["task"].as_str().unwrap().ends_with("-train"))
    );
    assert!(read("r.jsonl").contains("You are the orchestrator"));
    // The same holds for a named task, unless its name or an option selects another part; the small
    // formulary has no parts.
    for (options, task) in [
        ("--task DDI-easy", "DDI-easy-train"),
        ("--task DDI-easy-holdout", "DDI-easy-holdout"),
        ("--task DDI-easy --split all", "DDI-easy"),
        (
            "--task DDI-easy --formulary reference",
            "DDI-easy-reference",
        ),
    ] {
        let words = format!("lm corpus --world polyguard {options} --seeds 100000 --out t.jsonl");
        run(&(words + " --force")).succeeds();
        let first = read("t.jsonl");
        let first = json(first.lines().next().unwrap());
        assert_eq!(first["task"], task, "{options}");
    }
}

#[test]
fn forbidden_seeds_and_policies_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    let out = "--task task1 --out x.jsonl";
    for seeds in [
        "0..10",
        "1000..1010",
        "5000..5001",
        "99999..100001",
        "999999..1000001",
    ] {
        run(&format!("lm corpus {out} --seeds {seeds}")).fails(&[
            "--seeds",
            seeds,
            "100000..1000000",
            "validation and tests",
        ]);
    }
    let seeds = "--seeds 100000..100001";
    run(&format!("lm corpus {out} {seeds} --policy oracle")).fails(&["oracle", "--allow-oracle"]);
    run(&format!("lm corpus {out} {seeds} --policy nobody")).fails(&["nobody", "bayes"]);
    run(&format!("lm corpus {out} {seeds} --prompt long"))
        .fails(&["long", "possible values: compact, reference"]);
    run(&format!("lm corpus {out} {seeds} --random-action-prob 2")).fails(&["2", "from 0 to 1"]);
    run(&format!(
        "lm corpus {out} {seeds} --world cluster --policy bayes"
    ))
    .fails(&["bayes"]);
    run(&format!(
        "lm corpus --task task1 {seeds} --out none/x.jsonl"
    ))
    .fails(&["there is no folder"]);
    assert!(!folder.path().join("x.jsonl").exists(), "nothing half done");
    run(&format!(
        "lm corpus {out} {seeds} --policy oracle --allow-oracle"
    ))
    .succeeds();
    run(&format!("lm corpus {out} {seeds}")).fails(&["x.jsonl exists", "--force"]);
    run(&format!("lm corpus {out} {seeds} --force")).succeeds();
    let text = std::fs::read_to_string(folder.path().join("x.jsonl")).unwrap();
    assert!(
        text.contains("\"policy\":\"bayes\""),
        "the best that sees observations only"
    );
}

/// With replacement names the episodes and the choices stay the same, a completion names only what its
/// prompt names, and no medicine of the held-out part occurs.
#[test]
fn corpus_can_have_replacement_names() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    let line = "lm corpus --world polyguard --task DDI-hard,DEPRESCRIBING-easy --prompt detailed --seeds 100000..100010";
    run(&format!("{line} --out plain.jsonl")).succeeds();
    let output = run(&format!("{line} --rename-prob 0.5 --out a.jsonl"));
    let output = output.succeeds().to_owned();
    run(&format!("{line} --rename-prob 0.5 --out b.jsonl")).succeeds();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (plain, text) = (read("plain.jsonl"), read("a.jsonl"));
    assert_eq!(text, read("b.jsonl"));
    let content = |row: &serde_json::Value, key: &str| {
        let message = &row[key][0]["content"];
        message.as_str().unwrap().to_owned()
    };
    let formulary = sentinel_env::polyguard::FormularyName::Extended.tables();
    let held_out = (formulary.ids()).filter(|id| id.bit() & formulary.held_out() != 0);
    let held_out: Vec<&str> = held_out.map(|id| formulary.get(id).name.as_str()).collect();
    assert!(!held_out.is_empty());
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (rows, mut renamed) = (text.lines().count(), 0);
    assert_eq!(plain.lines().count(), rows);
    for (before, after) in plain.lines().zip(text.lines()) {
        if before == after {
            continue;
        }
        let (before, after) = (json(before), json(after));
        renamed += u32::from(after["renamed"] == true);
        let choice = |row| json(&content(row, "completion"));
        let (old, new) = (choice(&before), choice(&after));
        assert_eq!(old["candidate_id"], new["candidate_id"]);
        let prompt = content(&after, "prompt");
        let listed: Vec<&str> = prompt.split(|c| !is_part(c)).collect();
        let rationale = new["rationale"].as_str().unwrap();
        for word in rationale
            .split(|c| !is_part(c))
            .filter(|word| word.contains('_'))
        {
            assert!(listed.contains(&word), "{word} in {prompt}");
        }
        assert!(
            listed.iter().all(|word| !held_out.contains(word)),
            "{prompt}"
        );
    }
    assert!(
        output.contains(&format!("{rows} rows"))
            && output.contains(&format!(" {renamed} rows with replacement names")),
        "{output}"
    );
    assert!(renamed as usize * 10 > rows * 3, "{renamed} of {rows}");
    run("lm corpus --task task1 --seeds 100000 --rename-prob 0.5 --out t.jsonl").fails(&[
        "--rename-prob",
        "trust",
        "no names",
    ]);
    run("lm corpus --world polyguard --seeds 100000 --rename-prob 0.5 --out t.jsonl")
        .fails(&["--rename-prob", "--prompt detailed"]);
    run(&format!("{line} --rename-prob 1.5 --out c.jsonl")).fails(&["1.5", "from 0 to 1"]);
}

/// The labels of a corpus of a compact model are the actions that the model takes, whose digest the file
/// beside the corpus has.
#[test]
fn corpus_has_the_actions_of_a_compact_model() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    let model = common::repository("replays/cluster-grpo");
    let (model, episodes) = (
        model.display(),
        "--world cluster --task task1 --seeds 100000..100002",
    );
    run(&format!(
        "lm corpus {episodes} --policy trained --model {model} --out x.jsonl"
    ))
    .succeeds();
    let text = std::fs::read_to_string(folder.path().join("x.jsonl")).unwrap();
    assert!(text.contains("\"policy\":\"trained\""), "{text}");
    let beside = std::fs::read_to_string(folder.path().join("x.jsonl.sentinel.json")).unwrap();
    assert!(beside.contains("model of cluster"), "{beside}");
    run(&format!(
        "record {episodes} --model {model} --streams independent --out r.jsonl"
    ))
    .succeeds();
    let steps = std::fs::read_to_string(folder.path().join("r.jsonl")).unwrap();
    assert_eq!(text.lines().count(), steps.lines().count());
    for (row, step) in text.lines().zip(steps.lines()) {
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let (row, step) = (parse(row), parse(step));
        let label = parse(row["completion"][0]["content"].as_str().unwrap());
        for (key, value) in label.as_object().unwrap() {
            assert_eq!(*value, step["action"][key], "{row} {step}");
        }
    }

    let out = "--task task1 --seeds 100000..100001 --out y.jsonl";
    run(&format!("lm corpus {out} --policy trained"))
        .fails(&["replays/grpo is not here", "--policy"]);
    run(&format!("lm corpus {out} --model {model}")).fails(&["--model", "--policy trained"]);
    run(&format!("lm corpus {out} --policy trained --model none")).fails(&["cannot read none"]);
}

#[test]
fn examples_parse_from_three_formats() {
    let plain = parse_example(r#"{"prompt":"a","completion":"b","other":[1]}"#, 1).unwrap();
    let expected = (Prompt::Text("a".to_owned()), "b".to_owned());
    assert_eq!((plain.prompt, plain.completion), expected);
    let user = r#"{"role":"user","content":"a"}"#;
    let model = r#"{"role":"assistant","content":"b"}"#;
    let chat = format!(r#"{{"prompt":[{user}],"completion":[{model}]}}"#);
    let chat = parse_example(&chat, 1).unwrap();
    let messages = parse_example(&format!(r#"{{"messages":[{user},{model}]}}"#), 1).unwrap();
    assert!(messages.is_conversation && !chat.is_conversation);
    assert_eq!(
        (&chat.prompt, &chat.completion),
        (&messages.prompt, &messages.completion)
    );
    assert_eq!(
        (chat.prompt.question(), chat.completion.as_str()),
        ("a", "b")
    );
    let system = r#"{"role":"system","content":"s"}"#;
    let row = format!(r#"{{"messages":[{system},{user},{model},{user},{model}]}}"#);
    let Prompt::Chat(turns) = parse_example(&row, 1).unwrap().prompt else {
        panic!("a chat is a chat");
    };
    assert_eq!((turns.len(), turns[0].role), (4, Role::System));
}

/// A row keeps its mark if its completion was not an action or its model is a stand-in.
#[test]
fn fallback_rows_are_marked() {
    let marked = |more: &str| {
        let row = format!(r#"{{"prompt":"a","completion":"b"{more}}}"#);
        parse_example(&row, 1).unwrap().fallback
    };
    for more in ["", r#","fallback":false"#, r#","model_source":"tiny""#] {
        assert!(!marked(more), "{more}");
    }
    for source in ["heuristic_fallback", "tiny (fallback)"] {
        assert!(marked(&format!(r#","model_source":"{source}""#)));
    }
    assert!(marked(r#","fallback":true"#));
}

/// Rows with a world must have a training seed; keys of that name with other values are ignored.
#[test]
fn rows_of_test_seeds_are_refused() {
    let row = |more: &str| format!(r#"{{"prompt":"a","completion":"b",{more}}}"#);
    let range = sentinel_play::corpus::training_seeds();
    let (first, end) = (range.range().start, range.range().end);
    for seed in [first, end - 1] {
        parse_example(&row(&format!(r#""world":"trust","seed":{seed}"#)), 1).unwrap();
    }
    for more in [
        r#""seed":3"#,
        r#""world":"trust""#,
        r#""world":"trust","seed":null"#,
    ] {
        parse_example(&row(more), 1).unwrap();
    }
    let text = range.to_string();
    for seed in [
        "0".to_owned(),
        (first - 1).to_string(),
        end.to_string(),
        "\"100000\"".to_owned(),
        "-1".to_owned(),
    ] {
        let row = row(&format!(r#""world":"trust","seed":{seed}"#));
        refused(&row, &format!("seed {seed}, which is not among {text}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed.jsonl");
    let good = row(&format!(r#""world":"trust","seed":{first}"#));
    let bad = row(r#""world":"trust","seed":1000"#);
    std::fs::write(&path, format!("{good}\n{bad}\n")).unwrap();
    let error = read_corpus(&path).unwrap_err().to_string();
    for part in ["mixed.jsonl line 2", "seed 1000", &text] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[track_caller]
fn refused(text: &str, what: &str) {
    let error = parse_example(text, 1).unwrap_err();
    assert!(error.contains(what), "{text}: {error}");
}

#[test]
fn invalid_example_error_names_reason() {
    for (text, what) in [
        ("7", "not a JSON object"),
        ("[]", "one row per line"),
        ("{", "one row per line"),
        (r#"{"prompt":"a","#, "one row per line"),
        (
            r#"{"prompt":"a","completion":"b","tools":[{}]}"#,
            "tools would change",
        ),
        (
            r#"{"prompt":"a","completion":"b","chat_template_kwargs":{"x":1}}"#,
            "chat_template_kwargs would change",
        ),
        (
            r#"{"prompt":"a","completion":"b","images":["x"]}"#,
            "images would change",
        ),
        ("{}", "neither prompt and completion nor messages"),
        (r#"{"text":"x"}"#, "where the completion begins"),
        (r#"{"prompt":"a"}"#, "completion is missing"),
        (r#"{"completion":"a"}"#, "prompt is missing"),
        (r#"{"prompt":"a","completion":" "}"#, "completion is empty"),
        (r#"{"prompt":"","completion":"a"}"#, "prompt is empty"),
        (r#"{"prompt":"a","completion":7}"#, "both be texts or both"),
        (r#"{"prompt":"a","prompt":"a"}"#, "duplicate field"),
        (r#"{"messages":{}}"#, "list of turns"),
    ] {
        refused(text, what);
    }
}

#[test]
fn invalid_chat_error_names_reason() {
    let user = r#"{"role":"user","content":"a"}"#;
    let model = r#"{"role":"assistant","content":"b"}"#;
    for (text, what) in [
        (
            format!(r#"{{"prompt":"a","completion":[{model}]}}"#),
            "both be texts",
        ),
        (
            format!(r#"{{"prompt":[],"completion":[{model}]}}"#),
            "holds no turn",
        ),
        (
            format!(r#"{{"prompt":[{model}],"completion":[{model}]}}"#),
            "must be the user's",
        ),
        (
            format!(r#"{{"prompt":[{user}],"completion":[{user}]}}"#),
            "the assistant's",
        ),
        (
            format!(r#"{{"prompt":[{user}],"completion":[{model},{model}]}}"#),
            "one turn, not 2",
        ),
        (format!(r#"{{"messages":[{user}]}}"#), "the assistant's"),
        (format!(r#"{{"messages":[{model}]}}"#), "holds no turn"),
        (
            format!(r#"{{"messages":[{user},{model}],"prompt":"x"}}"#),
            "beside a prompt",
        ),
        (
            r#"{"messages":[{"role":"robot","content":"a"}]}"#.to_owned(),
            "turn 1 of messages",
        ),
        (
            r#"{"messages":[{"role":"user"}]}"#.to_owned(),
            "content is missing",
        ),
        (
            r#"{"messages":[{"role":"user","content":["a"]}]}"#.to_owned(),
            "turn 1",
        ),
    ] {
        refused(&text, what);
    }
}

#[test]
fn bad_line_error_names_line_and_empty_corpus_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read_corpus(&path).map_err(|error| error.to_string())
    };
    let good = br#"{"prompt":"a","completion":"b"}"#;
    let lines = |last: &[u8]| [good, b"\r\n\n".as_slice(), last].concat();
    let examples = read(&lines(good)).unwrap();
    assert_eq!(examples.iter().map(|e| e.line).collect::<Vec<_>>(), [1, 3]);
    assert!(
        read(&lines(b"{}"))
            .unwrap_err()
            .contains("c.jsonl line 3: it has neither")
    );
    assert!(
        read(&lines(b"\xff"))
            .unwrap_err()
            .contains("line 3: it is not UTF-8")
    );
    assert!(read(b"").unwrap_err().contains("holds no example"));
    assert!(read(b"\n \n").unwrap_err().contains("holds no example"));
    assert!(
        read_corpus(Path::new("nowhere.jsonl"))
            .unwrap_err()
            .to_string()
            .contains("cannot read")
    );
}

/// The reference's dry run prints an average of 0.7286 over five episodes (spec evaluation §3).
#[test]
fn rollout_dry_run_matches_reference_score() {
    let found = run("lm rollout --dry-run");
    let found = json(found.succeeds());
    assert_eq!(
        (&found["episodes"], &found["avg_score"]),
        (&json("5"), &json("0.7286"))
    );
    assert_eq!(found["signals"]["invalid_rate"], 0.0);
    // The long prompt changes nothing for a script.
    let long = run("lm rollout --dry-run --prompt reference --reader repair");
    assert_eq!(json(long.succeeds())["avg_score"], 0.7286);
    let bayes = run("lm rollout --dry-run --policy bayes --seeds 100000..100005");
    assert!(json(bayes.succeeds())["avg_score"].as_f64().unwrap() > 0.8);
    for world in [
        "cluster --task task1",
        "polyguard --difficulty easy --episodes 2",
    ] {
        run(&format!("lm rollout --dry-run --world {world}")).succeeds();
    }
    run("rollout").fails(&["--dry-run"]);
    run("lm rollout --dry-run --invalid-penalty 0.5").fails(&["0.5", "from -1 to 0"]);
    run("lm rollout --dry-run --invalid-penalty NaN").fails(&["not a finite number"]);
    run("lm rollout --dry-run --parser lax").fails(&["lax", "possible values: strict, repair"]);
    run("lm rollout --dry-run --policy coin --world cluster").fails(&["coin", "planner"]);
}
