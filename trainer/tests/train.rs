//! Tests of `sentinel train`: it learns, it can be killed and resumed, and it refuses invalid
//! options.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sentinel_compact::config::TrainConfig;
use sentinel_compact::load_model;
use sentinel_policy::trust::learned::TrustNet;
use serde_json::Value;

use crate::common;
use common::{Run, json, sentinel};

/// The options of a run that takes a moment, also without optimization.
const TINY: [&str; 18] = [
    "--hidden",
    "8",
    "--max-steps",
    "6",
    "--episodes-per-update",
    "6",
    "--num-generations",
    "4",
    "--validation-seeds",
    "5000..5004",
    "--test-seeds",
    "1000..1004",
    "--eval-steps",
    "3",
    "--save-steps",
    "2",
    "--mini-batches",
    "2",
];

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn arguments<'a>(out: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let out = out.to_str().expect("a plain name");
    [&["train", "--output-dir", out], &TINY[..], more].concat()
}

fn train(out: &Path, more: &[&str]) -> Run {
    sentinel(arguments(out, more))
}

fn model(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("model.safetensors")).expect("a model was written")
}

#[test]
fn trained_model_can_be_evaluated_and_recorded() {
    let out = folder("train-plays");
    train(&out, &[]).succeeds();
    for name in ["config.json", "model.safetensors", "checkpoint.safetensors"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    let model = out.to_str().expect("a plain name");
    let run = sentinel([
        "eval",
        "--policies",
        "trained",
        "--model",
        model,
        "--episodes",
        "2",
    ]);
    assert!(
        run.succeeds().contains("trained      task3"),
        "{}",
        run.stdout
    );
    let replay = folder("train-plays-replay");
    std::fs::create_dir_all(&replay).expect("a folder");
    let file = replay.join("a.jsonl");
    let run = sentinel([
        "record",
        "--model",
        model,
        "--seeds",
        "0..2",
        "--streams",
        "independent",
        "--out",
        file.to_str().expect("a plain name"),
    ]);
    assert!(run.succeeds().contains("misses 0"), "{}", run.stdout);
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(text.contains("\"probabilities\":["), "{text}");
    assert!(text.contains("\"model_source\":\"grpo\""), "{text}");
}

/// Returns the number of environment steps of the first update, which depends on the episodes
/// played.
fn steps_of_first_update(out: &Path) -> Value {
    let text = std::fs::read_to_string(out.join("events.jsonl")).expect("it was written");
    let mut events = text.lines().map(json);
    let first = events.find(|event| event["event"] == "step");
    first.expect("an update was done")["metrics"]["num_env_steps"].clone()
}

/// Only the named tasks are played, measured and recorded; without any, no file has more keys than
/// before tasks could be named.
#[test]
fn run_plays_only_named_tasks() {
    let out = folder("train-tasks");
    train(&out, &["--task", "task3,task1"]).succeeds();
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("it was written");
    assert!(read("config.json").contains("\"task\": \"task3,task1\""));
    let card = read("README.md");
    assert!(card.contains("| policy | task3 | task1 | overall |\n|---|---|---|---|\n"));
    assert!(card.contains("--task task3,task1 "), "{card}");
    let state = read("trainer_state.json");
    assert!(state.contains("eval_rewards/task3/mean") && !state.contains("task2"));
    let all = folder("train-tasks-all");
    train(&all, &[]).succeeds();
    assert_ne!(steps_of_first_update(&out), steps_of_first_update(&all));
    let config = std::fs::read_to_string(all.join("config.json")).expect("it was written");
    for option in [
        "task",
        "sub_environment",
        "difficulty",
        "formulary",
        "split",
    ] {
        assert!(!config.contains(&format!("\"{option}\"")), "{config}");
    }
    let resumed = train(&out, &["--resume", "--tasks", "task1"]);
    resumed.fails(&["task = \"task3,task1\"", "\"task1\" is asked for"]);
}

/// The numbers of a run do not depend on time or on threads.
#[test]
fn run_does_not_depend_on_thread_count() {
    let (a, b) = (folder("train-same-a"), folder("train-same-b"));
    train(&a, &[]).succeeds();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
    command
        .env("RAYON_NUM_THREADS", "1")
        .args(arguments(&b, &[]));
    assert!(command.output().expect("it runs").status.success());
    assert_eq!(model(&a), model(&b));
}

/// Starts a run and kills it once it has printed `lines` lines.
fn kill_after(lines: usize, out: &Path, more: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
    command
        .args(arguments(out, more))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("it was asked for"));
    let parsed = stderr.lines().map_while(Result::ok).take(lines).count();
    assert_eq!(parsed, lines, "it ended by itself");
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
}

/// A run that is killed at several places and resumed gives the same weights to the bit. An update
/// is announced before its checkpoint is written, so that some of the kills interrupt the writing.
#[test]
fn killed_run_resumes_to_same_weights() {
    let (whole, killed) = (folder("train-whole"), folder("train-killed"));
    let often = ["--eval-steps", "1", "--save-steps", "1"];
    let going_on = [&often[..], &["--resume"]].concat();
    train(&whole, &often).succeeds();
    kill_after(3, &killed, &often);
    for lines in [2, 3, 2] {
        kill_after(lines, &killed, &going_on);
        let left = files_in(&killed);
        assert!(
            left.contains(&"checkpoint.safetensors".to_owned()),
            "{left:?}"
        );
    }
    train(&killed, &going_on).succeeds();
    assert_eq!(model(&whole), model(&killed));
}

/// Without pooling a parameter is empty, and has no moments.
#[test]
fn run_without_pooling_resumes_to_same_weights() {
    let (whole, killed) = (folder("train-none-whole"), folder("train-none-killed"));
    let options = [
        "--pooling",
        "none",
        "--eval-steps",
        "1",
        "--save-steps",
        "1",
    ];
    train(&whole, &options).succeeds();
    kill_after(4, &killed, &options);
    let resume = || train(&killed, &[&options[..], &["--resume"]].concat());
    let resumed = resume();
    assert_eq!(model(&whole), model(&killed));
    let again = resume();
    assert_eq!(
        again.succeeds(),
        resumed.succeeds(),
        "a run that is over says so again"
    );
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("it is there").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn invalid_train_options_are_refused() {
    let out = folder("train-refused");
    let assert_refused = |more: &[&str], words: &[&str]| {
        train(&out, more).fails(words);
        assert!(!out.exists(), "nothing was begun");
    };
    assert_refused(
        &["--train-seeds", "900..1001"],
        &["train_seeds 900..1001", "test_seeds 1000..1004", "overlap"],
    );
    assert_refused(
        &[
            "--train-seeds",
            "0..1000",
            "--validation-seeds",
            "999..1000",
        ],
        &["train_seeds", "validation_seeds", "overlap"],
    );
    assert_refused(&["--device", "tpu"], &["device", "tpu"]);
    assert_refused(&["--hidden", "0"], &["hidden"]);
    assert_refused(
        &["--num-generations", "1"],
        &["num_generations", "at least 2"],
    );
    assert_refused(
        &["--learning-rate", "-1"],
        &["learning_rate", "not negative"],
    );
    assert_refused(&["--epsilon", "-0.1"], &["epsilon"]);
    assert_refused(&["--loss-type", "ppo"], &["ppo", "grpo"]);
    assert_refused(&["--credit", "gae"], &["gae", "reward_to_go"]);
    assert_refused(&["--advantage", "gae"], &["--credit", "reward_to_go"]);
    assert_refused(&["--continuation", "scripted"], &["scripted", "greedy"]);
    assert_refused(
        &["--world", "cluster", "--pooling", "max"],
        &["--pooling", "world cluster", "leave it out"],
    );
    assert_refused(
        &["--world", "polyguard", "--features", "no_history"],
        &["--features", "world polyguard"],
    );
    assert_refused(&["--init", "nowhere"], &["nowhere", "cannot read"]);
    assert_refused(
        &["--config", "nowhere.json"],
        &["nowhere.json", "cannot read"],
    );
    if !cfg!(feature = "cuda") {
        assert_refused(
            &["--device", "cuda"],
            &["device cuda", "this build", "cpu", "--features cuda"],
        );
    }
}

#[test]
fn flags_override_config_file() {
    let place = folder("train-config");
    std::fs::create_dir_all(&place).expect("a folder");
    let file = place.join("run.json");
    let write = |text: &str| std::fs::write(&file, text).expect("it can be written");
    let out = place.join("out");
    let path = file.to_str().expect("a plain name");
    write("{\"hidden\": 12, \"seed\": 77}");
    train(&out, &["--config", path]).succeeds();
    let text = std::fs::read_to_string(out.join("config.json")).expect("it was written");
    let config: TrainConfig = serde_json::from_str(&text).expect("a configuration");
    assert_eq!(
        (config.hidden, config.seed),
        (8, 77),
        "the flag, then the file"
    );
    let rest = TrainConfig::default();
    assert_eq!(config.learning_rate, rest.learning_rate, "then the default");

    write("{\"hiden\": 12}");
    train(&out, &["--config", path, "--force"]).fails(&["run.json", "unknown field `hiden`"]);
    write("{\"seed\": \"many\"}");
    train(&out, &["--config", path, "--force"]).fails(&["run.json", "expected u64"]);
    write("[1]");
    train(&out, &["--config", path, "--force"]).fails(&["run.json", "not a JSON object"]);
}

#[test]
fn mismatched_or_damaged_checkpoint_is_refused() {
    let out = folder("train-misfit");
    train(&out, &[]).succeeds();
    train(&out, &[]).fails(&[
        "train-misfit",
        "--resume-from-checkpoint",
        "--overwrite-output-dir",
    ]);
    train(&out, &["--resume", "--seed", "5"]).fails(&["checkpoint", "seed = 1", "5 is asked for"]);
    let path = out.join("checkpoint.safetensors");
    let bytes = std::fs::read(&path).expect("it was written");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("it can be cut");
    // The file of the last snapshot is the same one, by another name.
    let again = train(&out, &["--resume"]);
    again.succeeds();
    assert!(
        again.stderr.contains("the run is resumed from") && again.stderr.contains("checkpoint-4"),
        "{}",
        again.stderr
    );
    assert_eq!(
        std::fs::read(&path).expect("it is whole again").len(),
        bytes.len()
    );
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("it can be cut");
    for step in [0, 4, 6] {
        let snapshot = out.join(format!("checkpoint-{step}"));
        std::fs::remove_dir_all(snapshot).expect("it can be removed");
    }
    train(&out, &["--resume"]).fails(&[
        "checkpoint.safetensors",
        "is whole",
        "--overwrite-output-dir",
    ]);
    std::fs::write(&path, model(&out)).expect("it can be replaced");
    train(&out, &["--resume"]).fails(&["checkpoint.safetensors", "says nothing of a run"]);
}

/// A job script passes the option at its first start, too.
#[test]
fn resuming_without_a_checkpoint_begins() {
    let out = folder("train-first-start");
    let first = train(&out, &["--resume"]);
    first.succeeds();
    assert!(
        first.stderr.contains("no checkpoint in"),
        "{}",
        first.stderr
    );
    assert!(out.join("checkpoint.safetensors").is_file());
}

/// Files that are not of a run are overwritten only on request.
#[test]
fn nonempty_output_dir_needs_overwrite_option() {
    let out = folder("train-occupied");
    std::fs::create_dir_all(&out).expect("a folder");
    let kept = out.join("README.md");
    std::fs::write(&kept, "mine").expect("a file");
    train(&out, &[]).fails(&[
        "train-occupied",
        "not an empty folder",
        "--overwrite-output-dir",
    ]);
    assert_eq!(std::fs::read_to_string(&kept).expect("it is there"), "mine");
    // A folder with options alone is that of a run that was killed early.
    std::fs::rename(&kept, out.join("config.json")).expect("it can be renamed");
    train(&out, &["--max-steps", "1"]).succeeds();
}

#[test]
fn model_of_other_world_is_refused() {
    let out = folder("train-other-world");
    train(&out, &[]).succeeds();
    let mut model = load_model::<TrustNet>(&out).expect("a model");
    model.config.world = "cluster".to_owned();
    let bytes = model.to_bytes().expect("it can be written");
    std::fs::write(out.join("model.safetensors"), bytes).expect("it can be replaced");
    let path = out.to_str().expect("a plain name");
    let words = [
        "model.safetensors",
        "trained for world cluster",
        "this is trust",
    ];
    sentinel(["eval", "--policies", "trained", "--model", path]).fails(&words);
    let replay = out.join("a.jsonl");
    let replay = replay.to_str().expect("a plain name");
    sentinel([
        "record", "--model", path, "--seeds", "0..2", "--out", replay,
    ])
    .fails(&words);
    sentinel(["train", "--init", path, "--output-dir", replay]).fails(&words);
    sentinel(["eval", "--policies", "random", "--model", path]).fails(&["trained", "--policies"]);
}

/// A number that is not finite stops the run before it spoils the checkpoint.
#[test]
fn diverging_run_names_update_and_keeps_checkpoint() {
    let out = folder("train-diverges");
    let run = train(&out, &["--learning-rate", "1e30", "--max-grad-norm", "0"]);
    assert_ne!(run.code, 0);
    let last = run.stderr.lines().last().expect("it says something");
    for word in [
        "error: update",
        "not finite",
        "seeds 100",
        "last good checkpoint",
        "after update",
    ] {
        assert!(last.contains(word), "no {word:?} in {last}");
    }
    let model = load_model::<TrustNet>(&out).expect("the last good one");
    assert_eq!(model.config.net.hidden, 8);
}

/// A file that cannot grow simulates a full disk; the previous checkpoint stays.
#[cfg(unix)]
#[test]
fn full_disk_keeps_last_checkpoint() {
    let out = folder("train-full");
    train(&out, &["--max-steps", "6"]).succeeds();
    let before = std::fs::read(out.join("checkpoint.safetensors")).expect("it was written");
    let program = env!("CARGO_BIN_EXE_sentinel");
    let list: Vec<String> = arguments(&out, &["--force"])
        .iter()
        .map(|a| format!("'{a}'"))
        .collect();
    // Blocks of 512 bytes; the signal that would kill the program is ignored.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec '{program}' {}",
        list.join(" ")
    );
    let output = Command::new("sh")
        .args(["-c", &script])
        .output()
        .expect("there is a shell");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{stderr}");
    assert!(
        stderr.contains("cannot write") && stderr.contains("checkpoint.safetensors"),
        "{stderr}"
    );
    let after = std::fs::read(out.join("checkpoint.safetensors")).expect("it is still there");
    assert_eq!(before, after);
    let left = files_in(&out);
    assert!(
        !left.iter().any(|name| name.starts_with(".sentinel-")),
        "{left:?}"
    );
}
