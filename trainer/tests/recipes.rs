//! The recipes of the published policies: their commands exist, and a recipe that runs again continues.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// The real program, for recipes.
const SENTINEL: &str = env!("CARGO_BIN_EXE_sentinel");

/// A program that writes its arguments to a file, and makes what it was asked for.
const RECORDER: &str = r#"#!/bin/sh
echo "$*" >> "${0%/*}/commands"
for argument; do
  case $argument in --resume-from-checkpoint) ;; *) made=$argument ;; esac
done
case $made in
  *.jsonl) seq 40 > "$made"; : > "$made.sentinel.json" ;;
  *) mkdir -p "$made"; : > "$made/sentinel.json" ;;
esac
case "$1 $2" in "lm corpus" | "lm init") ;; *) : > "$made/checkpoint.safetensors" ;; esac
"#;

/// Returns a command that runs a recipe in the repository, with a folder for what it makes.
fn recipe(name: &str, program: &Path, out: &Path) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new("sh");
    command.arg(format!("trainer/recipes/{name}.sh")).arg(out);
    command.current_dir(root).env("SENTINEL", program);
    command
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

#[test]
fn recipes_run_commands_of_this_program() {
    for (name, created, trained) in [
        ("polyguard", 0, 2),
        ("trust-tiny-lm", 2, 2),
        ("polyguard-tiny-lm", 4, 4),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("sentinel");
        fs::write(&program, RECORDER).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let out = folder.path().join("out");
        succeeds(&mut recipe(name, &program, &out));
        succeeds(&mut recipe(name, &program, &out));
        let commands = fs::read_to_string(folder.path().join("commands")).unwrap();
        let commands: Vec<&str> = commands.lines().collect();
        let (first, second) = commands.split_at(created + trained);
        for line in first {
            // An unknown option or value is an error although the help is asked for.
            let mut help = Command::new(SENTINEL);
            succeeds(help.args(line.split(' ')).arg("--help"));
            assert!(!line.contains("--resume"), "{line}");
        }
        let last = first.last().unwrap();
        assert!(
            last.ends_with(&format!("--output-dir {}/policy", out.display())),
            "{last}"
        );
        // What is there is not created again, and runs continue.
        let resumed: Vec<String> = (first.iter())
            .filter(|line| !line.starts_with("lm corpus") && !line.starts_with("lm init"))
            .map(|line| format!("{line} --resume-from-checkpoint"))
            .collect();
        assert_eq!(second, resumed, "{name}");
        assert_eq!(second.len(), trained, "{name}");
    }
}

#[test]
fn polyguard_recipe_trains_a_language_model() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let small = || {
        let mut command = recipe("polyguard-tiny-lm", Path::new(SENTINEL), &out);
        for (name, value) in [
            ("RULES_SEEDS", "100000..100001"),
            ("COMPACT_SEEDS", "110000..110001"),
            ("RENAMED_SEEDS", "112000..112001"),
            ("FIRST_ROWS", "16"),
            ("SECOND_ROWS", "8"),
            ("THIRD_ROWS", "8"),
            ("FOURTH_ROWS", "8"),
        ] {
            command.env(name, value);
        }
        command
    };
    succeeds(&mut small());
    let lines = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let sorted = |name: &str| {
        let text = lines(name);
        let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
        rows.sort();
        rows
    };
    // Shuffling loses no row, and the first two runs share none.
    assert_eq!(sorted("rules.jsonl"), sorted("rules-shuffled.jsonl"));
    assert_ne!(lines("rules.jsonl"), lines("rules-shuffled.jsonl"));
    let shuffled = lines("rules-shuffled.jsonl");
    let used = lines("first.jsonl") + &lines("second.jsonl");
    assert_eq!(used.lines().count(), 24);
    assert!(
        shuffled.starts_with(&used),
        "the second file begins where the first ends"
    );

    let weights = out.join("policy/model.safetensors");
    let trained = fs::read(&weights).unwrap();
    // The recipe again, after the last run lost its folder: the same bits.
    fs::remove_dir_all(out.join("policy")).unwrap();
    let text = succeeds(&mut small());
    assert!(!text.contains("lm corpus"), "{text}");
    assert!(fs::read(&weights).unwrap() == trained, "another model");
}
