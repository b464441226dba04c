//! Bad input on the command line: every case gives an exit code and a line that names the fault,
//! the place and a remedy; nothing panics.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Run, run, run_in};

#[test]
fn invalid_seeds_are_refused() {
    run("eval --seeds 5..2").fails(&["'--seeds <A..B>'", "5..2 holds no seed", "0..30"]);
    run("eval --seeds 4..4").fails(&["holds no seed"]);
    run("eval --seeds=-3..2").fails(&["seed -3 is negative"]);
    run("eval --seeds -3..2").fails(&["seed -3 is negative"]);
    run("eval --seeds one..two").fails(&["seed \"one\" is not an integer"]);
    run("eval --seeds 0..9223372036854775807").fails(&["more than 1000000 seeds"]);
    run("trace --task task1 --policy random --seed=-1")
        .fails(&["seed -1 is negative", "from 0 to"]);
    run("trace --task task1 --policy random --seed -1").fails(&["seed -1 is negative"]);
    let large =
        "seed 9223372036854775808 is too large: seeds are integers from 0 to 9223372036854775807";
    run("trace --task task1 --policy random --seed 9223372036854775808").fails(&[large]);
    run("record --policy random --seeds 9223372036854775808 --out x.jsonl").fails(&[large]);
    run("trace --task task1 --policy random --seed NaN").fails(&["seed \"NaN\" is not an integer"]);
    // The largest valid seed plays.
    run("trace --task task1 --policy random --seed 9223372036854775807").succeeds();
}

#[test]
fn unknown_names_and_counts_are_refused() {
    run("eval --task task4").fails(&["unknown task \"task4\"", "task1, task2, task3 or all"]);
    run("eval --task task1,task1").fails(&["task task1 is named twice"]);
    run("eval --policies random,magic").fails(&["unknown policy \"magic\"", "heuristic"]);
    run("eval --policies random,random").fails(&["policy random is named twice"]);
    run("eval --policies random,").fails(&["unknown policy \"\""]);
    run("eval --streams both")
        .fails(&["invalid value 'both' for '--streams <MODE>'", "independent"]);
    run("eval --episodes 0").fails(&["not a number of episodes"]);
    run("eval --episodes 1e9").fails(&["not a number of episodes"]);
    run("eval --episodes 5 --seeds 0..5").fails(&["cannot be used with"]);
    run("record --policy trained --seeds 0..2 --out x.jsonl")
        .fails(&["unknown policy \"trained\""]);
    run("record --policy random").fails(&["--seeds", "--out"]);
    run("evaluate").fails(&["unrecognized subcommand"]);
    run("replay verify").fails(&["FILE"]);
}

#[test]
fn missing_files_and_folders_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    for command in [
        "eval --episodes 1 --out",
        "record --policy random --seeds 0..1 --out",
    ] {
        run(&format!("{command} no/such/x.jsonl")).fails(&[
            "cannot write no/such/x.jsonl",
            "there is no folder no/such",
            "make it first",
        ]);
        run(&format!("{command} .")).fails(&["it is a folder"]);
    }
    run("eval --policies trained").fails(&["replays/trained.jsonl", "--replay FILE"]);
    run("eval --policies trained --replay no.jsonl").fails(&["no.jsonl", "--replay FILE"]);
    run("replay verify no.jsonl").fails(&["cannot read no.jsonl"]);
    run("replay manifest no").fails(&["no"]);
    run("record --policy random --seeds 0..1 --out a.jsonl --manifest ../m.json")
        .fails(&["the manifest must lie in the folder of the replay"]);
    assert_eq!(
        folder.path().read_dir().unwrap().count(),
        0,
        "nothing was written"
    );
}

#[test]
fn existing_replay_is_overwritten_only_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let record = "record --policy heuristic --tasks task1 --seeds 0..2 --out a.jsonl";
    run_in(folder.path(), record).succeeds();
    let before = std::fs::read(folder.path().join("a.jsonl")).unwrap();
    let other = record.replace("heuristic", "random");
    run_in(folder.path(), &other).fails(&["a.jsonl exists", "--force"]);
    assert_eq!(
        std::fs::read(folder.path().join("a.jsonl")).unwrap(),
        before
    );
    run_in(folder.path(), &format!("{other} --force")).succeeds();
    assert_ne!(
        std::fs::read(folder.path().join("a.jsonl")).unwrap(),
        before
    );
}

#[test]
fn eval_overwrites_only_an_evaluation() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    run("record --policy heuristic --tasks task1 --seeds 0..2 --out a.jsonl").succeeds();
    let before = std::fs::read(folder.path().join("a.jsonl")).unwrap();
    run("eval --task task1 --episodes 2 --policies trained --replay a.jsonl --out a.jsonl")
        .fails(&["a.jsonl exists and is not an evaluation"]);
    assert_eq!(
        std::fs::read(folder.path().join("a.jsonl")).unwrap(),
        before
    );
    run("eval --task task1 --episodes 2 --out e.json").succeeds();
    run("eval --task task1 --episodes 3 --out e.json").succeeds();
}

#[test]
fn unused_or_empty_replay_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), "eval --replay typo.jsonl")
        .fails(&["only policy trained plays typo.jsonl"]);
    std::fs::write(folder.path().join("empty.jsonl"), "\n").unwrap();
    run_in(folder.path(), "replay verify empty.jsonl").fails(&["empty.jsonl holds no row"]);
}

/// Verifies a replay whose good lines were changed.
fn verify(folder: &Path, change: impl Fn(&mut Vec<String>)) -> Run {
    let record = "record --policy heuristic --tasks task3 --seeds 0..2 --force --out r.jsonl";
    run_in(folder, record).succeeds();
    let path = folder.join("r.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    std::fs::write(&path, lines.join("\n")).unwrap();
    run_in(folder, "replay verify r.jsonl")
}

#[test]
fn bad_replay_lines_are_reported_and_rest_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let whole = verify(folder.path(), |_| ());
    assert!(whole.succeeds().contains("r.jsonl: fits"));
    let truncated = verify(folder.path(), |lines| {
        let last = lines.last_mut().unwrap();
        last.truncate(50);
    });
    truncated.fails(&["r.jsonl: 1 bad lines, 1 replay misses"]);
    assert!(
        truncated
            .stdout
            .contains("the line is cut off after 50 characters")
    );
    assert!(
        truncated.stdout.contains("episodes 2,"),
        "{}",
        truncated.stdout
    );

    let duplicate = verify(folder.path(), |lines| lines.push(lines[0].clone()));
    duplicate.fails(&["r.jsonl: 1 bad lines;"]);
    assert!(duplicate.stdout.contains("the first, on line 1, is kept"));

    for (from, to, expected) in [
        (
            "\"seed\":0",
            "\"seed\":NaN",
            "line 1: NaN is not a number in JSON",
        ),
        (
            "\"seed\":0",
            "\"seed\":\"0\"",
            "line 1: seed is the text \"0\": seeds are integers",
        ),
        (
            "\"seed\":0",
            "\"seed\":-5",
            "line 1: seed is -5: seeds are integers from 0 to",
        ),
        (
            "\"step\":0",
            "\"step\":99",
            "line 1: step is 99: steps of task3 are integers from 0 to 44",
        ),
        (
            "task3\"",
            "task7\"",
            "line 1: unknown task_type \"task7\": use task1",
        ),
        (
            "delegate",
            "believe",
            "line 1: unknown action_type \"believe\": use delegate",
        ),
    ] {
        let bad = verify(folder.path(), |lines| {
            lines[0] = lines[0].replacen(from, to, 1);
        });
        bad.fails(&["r.jsonl: 1 bad lines, 1 replay misses"]);
        assert!(
            bad.stdout.contains(expected),
            "{expected} is not in\n{}",
            bad.stdout
        );
    }
}

#[test]
fn eval_with_bad_replay_lines_fails_after_writing() {
    let folder = tempfile::tempdir().unwrap();
    verify(folder.path(), |lines| lines[0].truncate(20));
    let line = "eval --episodes 2 --policies trained --replay r.jsonl --out e.json";
    let run = run_in(folder.path(), line);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("r.jsonl: line 1: the line is cut off"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("error: 1 bad lines in r.jsonl were not played"),
        "{}",
        run.stderr
    );
    // The valid rows were played, and the output counts the rest.
    assert!(run.stdout.contains("1 replay misses"), "{}", run.stdout);
    let file = std::fs::read_to_string(folder.path().join("e.json")).unwrap();
    assert!(file.contains("\"problems\": 1"), "{file}");
}

#[test]
fn many_bad_lines_are_counted_and_first_twenty_shown() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.jsonl"), "x\n".repeat(5000)).unwrap();
    let run = run_in(folder.path(), "replay verify x.jsonl");
    run.fails(&["x.jsonl: 5000 bad lines"]);
    assert_eq!(run.stdout.matches("not a JSON object").count(), 20);
    assert!(run.stdout.contains("… and 4980 more"), "{}", run.stdout);
}

#[test]
fn missing_replay_does_not_stop_verification_of_others() {
    let folder = tempfile::tempdir().unwrap();
    run_in(
        folder.path(),
        "record --policy random --seeds 0..1 --out a.jsonl",
    )
    .succeeds();
    let run = run_in(folder.path(), "replay verify no.jsonl a.jsonl");
    run.fails(&["cannot read no.jsonl"]);
    assert!(run.stdout.contains("a.jsonl: fits"));
}

#[test]
fn large_replay_is_verified_within_60_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let record = "record --policy heuristic --tasks task1 --seeds 0..4000 --out small.jsonl";
    run_in(folder.path(), record).succeeds();
    let small = std::fs::read_to_string(folder.path().join("small.jsonl")).unwrap();
    let reasoning = format!("\"reasoning\":\"{}\"", "because ".repeat(120));
    let mut text = String::with_capacity(60 << 20);
    for line in small.lines() {
        let _ = writeln!(text, "{}", line.replace("\"reasoning\":null", &reasoning));
    }
    let rows = small.lines().count();
    text.push_str("{\"task_type\":\"task1\",\"se");
    assert!(text.len() > 50_000_000, "{} bytes", text.len());
    std::fs::write(folder.path().join("big.jsonl"), text).unwrap();
    let start = Instant::now();
    let run = run_in(folder.path(), "replay verify big.jsonl");
    run.fails(&["big.jsonl: 1 bad lines;"]);
    let expected =
        format!("episodes 4000, rows {rows}, hits {rows}, misses 0, unused rows 0, bad lines 1");
    assert!(run.stdout.contains(&expected), "{}", run.stdout);
    let cut = format!("line {}: the line is cut off after 24 characters", rows + 1);
    assert!(run.stdout.contains(&cut), "{}", run.stdout);
    // Unoptimized and on a busy machine; a release build takes about half a second.
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn non_replay_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:17600954\nsize 793297\n";
    std::fs::write(folder.path().join("lfs.jsonl"), pointer).unwrap();
    let run = run_in(folder.path(), "replay verify lfs.jsonl");
    run.fails(&["lfs.jsonl: 1 bad lines"]);
    assert!(run.stdout.contains("git-lfs pointer"), "{}", run.stdout);
    std::fs::create_dir(folder.path().join("model")).unwrap();
    std::fs::write(folder.path().join("model/model.safetensors"), pointer).unwrap();
    let run = run_in(
        folder.path(),
        "eval --policies trained --model model --episodes 1",
    );
    run.fails(&[
        "model.safetensors",
        "it is a git-lfs pointer",
        "git lfs pull",
    ]);
    let array = "[{\"task_type\": \"task1\", \"seed\": 0}]";
    std::fs::write(folder.path().join("array.json"), array).unwrap();
    let run = run_in(folder.path(), "replay verify array.json");
    run.fails(&["array.json: 1 bad lines"]);
    let named = "line 1: this is one JSON array: write one row per line (JSON lines)";
    assert!(run.stdout.contains(named), "{}", run.stdout);
    std::fs::write(folder.path().join("bytes.jsonl"), [0xff, 0x00, b'\n', 0x80]).unwrap();
    let run = run_in(folder.path(), "replay verify bytes.jsonl");
    run.fails(&["bytes.jsonl: 2 bad lines"]);
    assert!(
        run.stdout.contains("line 2: not UTF-8 text"),
        "{}",
        run.stdout
    );
    std::fs::write(folder.path().join("manifest.json"), "{}").unwrap();
    run_in(folder.path(), "replay manifest .")
        .fails(&["manifest.json is not a manifest", "remove it"]);
}
