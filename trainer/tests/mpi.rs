//! Training on two ranks that MPI connects, on this machine, compared with one process.
//!
//! `cargo xtask test --only mpi` installs Open MPI and runs it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use safetensors::SafeTensors;
use serde_json::Value;

mod common;

/// Largest difference of a weight or a metric; the order of the sums of gradients differs.
const ROUNDING: f64 = 1e-4;
/// Arguments of `mpirun` that keep it on this machine. Messages take the network's way, through the
/// loopback device.
const LOCAL: &str = "--allow-run-as-root --oversubscribe --bind-to none --mca btl self,tcp \
                     --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo";
const SENTINEL: &str = env!("CARGO_BIN_EXE_sentinel");

/// Returns a command that starts ranks, and ends them if they wait for each other for ever. `ranks` are
/// the arguments of `mpirun` that name their number and programs.
fn mpirun(ranks: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "300", "mpirun"]);
    command.args(LOCAL.split_whitespace());
    command.args(ranks.split_whitespace());
    command
        .env("HF_HUB_OFFLINE", "1")
        .env("RUST_BACKTRACE", "0");
    command
}

/// A model, and the command of a run with it.
struct Runs {
    folder: tempfile::TempDir,
    model: String,
}

impl Runs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = common::lm::model_naming_actions(folder.path());
        Self { folder, model }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the words of a run in folder `name`.
    fn words(&self, name: &str) -> String {
        format!(
            "lm grpo --model {} --world trust --task task1 --episodes 6 --episodes-per-update 1 --learning-rate 5e-3 \
             --num-generations 3 --groups-per-update 4 --max-completion-length 40 --beta 0.01 \
             --per-device-train-batch-size 5 --save-steps 2 --output-dir {}",
            self.model,
            self.path(name).display()
        )
    }

    #[track_caller]
    fn assert_near(&self, ours: &str, theirs: &str) {
        let (steps, expected) = (curve(&self.path(ours)), curve(&self.path(theirs)));
        assert_eq!(steps.len(), expected.len());
        for (step, expected) in steps.iter().zip(&expected) {
            for (name, value) in expected {
                let apart = (step[name] - value).abs() / value.abs().max(1.0);
                assert!(apart < ROUNDING, "{name}: {} {value}", step[name]);
            }
        }
        let (ours, theirs) = (adapter(&self.path(ours)), adapter(&self.path(theirs)));
        assert!(ours.iter().any(|(name, values)| {
            name.contains("lora_B") && values.iter().any(|value| value.abs() > 1e-4)
        }));
        for (name, values) in &ours {
            for (a, b) in values.iter().zip(&theirs[name]) {
                assert!(f64::from((a - b).abs()) < ROUNDING, "{name}: {a} {b}");
            }
        }
    }
}

/// Returns the metrics of every step but times.
fn curve(folder: &Path) -> Vec<BTreeMap<String, f64>> {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let steps = events.filter(|event| event["event"] == "step");
    let timed = |name: &str| {
        let clock = ["step_time", "tokens_per_second"].contains(&name);
        clock || name.starts_with("distributed/")
    };
    steps
        .map(|step| {
            let metrics = step["metrics"].as_object().unwrap().iter();
            let kept = metrics.filter(|(name, _)| !timed(name));
            kept.map(|(name, value)| (name.clone(), value.as_f64().unwrap()))
                .collect()
        })
        .collect()
}

fn adapter(folder: &Path) -> BTreeMap<String, Vec<f32>> {
    let bytes = std::fs::read(folder.join("adapter_model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let values = |data: &[u8]| {
        let words = data.as_chunks::<4>().0.iter();
        words.map(|word| f32::from_le_bytes(*word)).collect()
    };
    let tensors = file.tensors().into_iter();
    tensors
        .map(|(name, view)| (name, values(view.data())))
        .collect()
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns the process of rank 1 of the run in a folder.
fn process_of_rank_1(folder: &Path) -> Option<String> {
    let folder = folder.display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|process| {
            let holds = |file: &str, words: &str| {
                let content = std::fs::read(process.path().join(file)).unwrap_or_default();
                String::from_utf8_lossy(&content)
                    .split('\0')
                    .any(|word| word == words)
            };
            holds("environ", "OMPI_COMM_WORLD_RANK=1") && holds("cmdline", &folder)
        })
        .map(|process| process.file_name().to_string_lossy().into_owned())
        .next()
}

/// Two ranks write what one process writes. When one is killed, the other ends too, and the run goes on
/// from its checkpoint.
#[test]
fn two_ranks_learn_what_one_process_learns_also_after_a_kill() {
    let runs = Runs::new();
    let words = runs.words("alone");
    let alone = Command::new(SENTINEL)
        .args(words.split_whitespace())
        .output()
        .unwrap();
    succeeds(&alone);
    let start = |name: &str| mpirun(&format!("-n 2 {SENTINEL} {}", runs.words(name)));
    let whole = start("whole").output().unwrap();
    let printed = succeeds(&whole);
    assert_eq!(printed.matches("wrote ").count(), 1, "{printed}");
    runs.assert_near("whole", "alone");

    let folder = runs.path("killed");
    let mut child = start("killed")
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = folder.join("checkpoint.safetensors");
    while !checkpoint.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        std::thread::sleep(Duration::from_millis(10));
    }
    let process = process_of_rank_1(&folder).expect("a process of rank 1");
    let kill = Command::new("kill")
        .args(["-KILL", &process])
        .status()
        .unwrap();
    assert!(kill.success());
    assert!(!child.wait().unwrap().success());
    let done = curve(&folder).len();
    assert!((2..6).contains(&done), "it was killed after {done} steps");
    let resume = format!(
        "-n 2 {SENTINEL} lm grpo --resume --output-dir {}",
        folder.display()
    );
    succeeds(&mpirun(&resume).output().unwrap());
    runs.assert_near("killed", "alone");
}

/// An error on one rank ends all, with its message once.
#[test]
fn error_on_one_rank_ends_all_with_its_message() {
    let runs = Runs::new();
    let words = runs.words("out");
    let failed = |ranks: &str| {
        let output = mpirun(ranks).output().unwrap();
        assert!(!output.status.success());
        assert_ne!(
            output.status.code(),
            Some(124),
            "the ranks wait for each other"
        );
        String::from_utf8(output.stderr).unwrap()
    };
    let error = failed(&format!(
        "-n 1 {SENTINEL} {words} : -n 1 {SENTINEL} {words} --seed 7"
    ));
    let said = "error: rank 1 differs from rank 0 in option seed (7, not 0)";
    assert_eq!(error.matches(said).count(), 1, "{error}");
    let missing = words.replace(&runs.model, "no/such-model");
    let error = failed(&format!("-n 2 {SENTINEL} {missing}"));
    assert_eq!(error.matches("error: ").count(), 1, "{error}");
    assert!(error.contains("no/such-model"), "{error}");
    assert!(!runs.path("out").exists());
}

/// `srun` without a connection of MPI starts copies that know nothing of each other.
#[test]
fn processes_that_mpi_does_not_connect_are_refused() {
    let mut copy = Command::new(SENTINEL);
    copy.args(["lm", "grpo", "--model", "none"])
        .env("SLURM_STEP_NUM_TASKS", "2");
    let output = copy.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("MPI connects 1") && error.contains("--mpi=pmix"),
        "{error}"
    );
}
