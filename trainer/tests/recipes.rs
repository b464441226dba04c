//! The recipes of the published policies: their commands exist, and a recipe that runs again continues,
//! whatever stopped it.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// The real program, for recipes.
const SENTINEL: &str = env!("CARGO_BIN_EXE_sentinel");

/// Sizes of a recipe that takes seconds.
const SMALL: [(&str, &str); 8] = [
    ("ROWS", "16"),
    ("RULES_SEEDS", "100000..100001"),
    ("COMPACT_SEEDS", "110000..110001"),
    ("RENAMED_SEEDS", "112000..112001"),
    ("FIRST_ROWS", "16"),
    ("SECOND_ROWS", "8"),
    ("THIRD_ROWS", "8"),
    ("FOURTH_ROWS", "8"),
];

/// Returns a command that runs a small recipe in the repository, with a folder for what it makes.
fn recipe(name: &str, program: &Path, out: &Path) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new("sh");
    command.arg(format!("trainer/recipes/{name}.sh")).arg(out);
    command.current_dir(root).env("SENTINEL", program);
    command.envs(SMALL);
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
        ("smollm2-trust", 2, 2),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let recorder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/recorder.sh");
        let (out, record) = (folder.path().join("out"), folder.path().join("commands"));
        // The model that another recipe would download.
        fs::create_dir_all(out.join("base")).unwrap();
        fs::write(out.join("base/model.gguf"), "").unwrap();
        for _ in 0..2 {
            succeeds(recipe(name, &recorder, &out).env("COMMANDS", &record));
        }
        let commands = fs::read_to_string(record).unwrap();
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
        let created = ["lm corpus", "lm init", "lm import", "lm merge"];
        let resumed: Vec<String> = (first.iter())
            .filter(|line| !created.iter().any(|command| line.starts_with(command)))
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
    let small = || recipe("polyguard-tiny-lm", Path::new(SENTINEL), &out);
    // A program that fails, such as one without room for its files, leaves no file that looks finished.
    let broken = folder.path().join("bin");
    fs::create_dir(&broken).unwrap();
    let fails = ["/bin/false", "/usr/bin/false"].map(Path::new);
    symlink(
        fails.iter().find(|path| path.exists()).unwrap(),
        broken.join("sort"),
    )
    .unwrap();
    let path = format!("{}:{}", broken.display(), std::env::var("PATH").unwrap());
    assert!(!small().env("PATH", path).status().unwrap().success());
    assert!(out.join("rules.jsonl").exists() && !out.join("rules-shuffled.jsonl").exists());
    // So does a stop while the new model is written.
    fs::create_dir(out.join("new")).unwrap();
    fs::write(out.join("new/config.json"), "{").unwrap();
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

    // Other sizes or another seed would mix with what is there.
    for other in [small().env("FIRST_ROWS", "8"), small().arg("2")] {
        let output = other.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{text}");
        assert!(
            text.contains("other settings") && text.contains("seed 1"),
            "{text}"
        );
    }
    let mut more = recipe(
        "polyguard-tiny-lm",
        Path::new(SENTINEL),
        &folder.path().join("more"),
    );
    let output = more.env("FIRST_ROWS", "999").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && text.contains("fewer than 999 rows"),
        "{text}"
    );
}
