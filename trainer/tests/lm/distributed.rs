//! Training on several ranks, compared with one process.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use sentinel_language::agent::{ModelEngine, ModelEngineOptions};
use sentinel_language::grpo::{GrpoConfig, train};
use sentinel_language::training::RunError;
use sentinel_run::distributed::{Communicator, DistributedError, INDEPENDENT, ProcessGroup};
use sentinel_run::{Event, Outcome, RunDir};
use serde_json::Value;

use crate::common::lm::model_naming_actions;
use crate::ranks::{ThreadRank, on_ranks, on_ranks_with};
use crate::rollouts::{names, serve};
use crate::runs::{adapter, curve, succeeds};

/// Largest difference of a weight or a metric that is allowed between runs on different numbers of
/// ranks. They differ by the order of the sums of gradients in f32.
const ROUNDING: f64 = 1e-4;

/// Option with which the log-probabilities of the sampler take part in the loss.
const CORRECTED: &str = "--importance-sampling-mode token_truncate";

#[derive(Parser)]
#[command(args_override_self = true)]
struct Line {
    #[command(flatten)]
    config: GrpoConfig,
}

/// Returns the options of a run in which everything that ranks share takes part: three micro-batches
/// with a smaller last one, reference log-probabilities, dropout, several steps per generation.
fn config(model: &str, more: &str) -> GrpoConfig {
    let words = format!(
        "grpo --model {model} --world trust --task task1 --episodes 6 --episodes-per-update 2 --learning-rate 5e-3 \
         --num-generations 3 --groups-per-update 4 --max-completion-length 40 --num-iterations 2 --beta 0.01 \
         --lora-dropout 0.1 --per-device-train-batch-size 5 --save-steps 2 {more}"
    );
    Line::parse_from(words.split_whitespace()).config
}

fn dir(path: &Path, resume: bool) -> RunDir {
    RunDir {
        resume,
        ..RunDir::new(path)
    }
}

/// Trains to the end in one process.
fn alone(config: &GrpoConfig, folder: &Path) {
    let (group, stop) = (ProcessGroup::default(), AtomicBool::new(false));
    let done = train(config, &dir(folder, false), &group, &stop, &mut |_| ());
    assert_eq!(done.unwrap(), Outcome::Finished);
}

/// Trains on this rank until step `last`. Ranks other than 0 are given a folder that must not appear.
fn on_rank(
    config: &GrpoConfig,
    group: &ProcessGroup,
    folder: &Path,
    resume: bool,
    last: usize,
) -> Result<Outcome, RunError> {
    let stop = AtomicBool::new(false);
    let unused = folder.with_extension("unused");
    let own = if group.is_main() { folder } else { &unused };
    let mut listen = |event: &Event| {
        assert!(group.is_main(), "only rank 0 reports");
        if matches!(event, Event::Step { step, .. } if *step >= last) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let resume = resume && group.is_main();
    let done = train(config, &dir(own, resume), group, &stop, &mut listen);
    assert!(!unused.exists(), "only rank 0 writes");
    done
}

/// Returns the metrics of each step without those of the ranks and of servers.
fn learned(folder: &Path) -> Vec<BTreeMap<String, Value>> {
    let mut steps = curve(folder);
    for step in &mut steps {
        step.retain(|name, _| {
            !name.starts_with("distributed/") && !name.starts_with("rollout_engine/")
        });
    }
    steps
}

/// Checks that two runs trained on the same samples and moved the same way.
#[track_caller]
fn assert_near(ours: &Path, theirs: &Path) {
    let (mut weight, mut metric) = (0.0_f64, 0.0_f64);
    let (steps, expected) = (learned(ours), learned(theirs));
    assert_eq!(steps.len(), expected.len());
    for (step, expected) in steps.iter().zip(&expected) {
        assert!(step.keys().eq(expected.keys()), "{step:?} {expected:?}");
        for (name, value) in step {
            let (a, b) = (value.as_f64().unwrap(), expected[name].as_f64().unwrap());
            metric = metric.max((a - b).abs() / b.abs().max(1.0));
        }
    }
    let (ours_adapter, theirs_adapter) = (adapter(ours), adapter(theirs));
    assert!(ours_adapter.keys().eq(theirs_adapter.keys()));
    for (values, expected) in ours_adapter.values().zip(theirs_adapter.values()) {
        for (a, b) in values.iter().zip(expected) {
            weight = weight.max(f64::from((a - b).abs()));
        }
    }
    assert!(
        metric < ROUNDING && weight < ROUNDING,
        "largest difference: metrics {metric:.1e}, weights {weight:.1e}"
    );
    assert_eq!(completions(ours), completions(theirs));
}

/// Returns the text and reward of every logged completion.
fn completions(folder: &Path) -> Vec<(String, String, String)> {
    let mut files: Vec<_> = std::fs::read_dir(folder.join("completions"))
        .unwrap()
        .collect();
    files.sort_by_key(|file| file.as_ref().unwrap().path());
    let mut all = Vec::new();
    for file in files {
        for line in std::fs::read_to_string(file.unwrap().path())
            .unwrap()
            .lines()
        {
            let row: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| row[name].to_string();
            all.push((text("prompt"), text("completion"), text("environment")));
        }
    }
    assert!(!all.is_empty());
    all
}

#[test]
fn ranks_learn_what_one_process_learns() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let model = model_naming_actions(folder.path());
    let config = config(&model, CORRECTED);
    alone(&config, &path("alone"));
    let steps = learned(&path("alone"));
    assert_eq!(steps.len(), 6);
    assert!(
        steps
            .iter()
            .any(|step| step["grad_norm"].as_f64().unwrap() > 1e-3)
    );
    for size in [2, 3] {
        let out = path(&format!("on-{size}"));
        let ended = on_ranks(size, |group| {
            on_rank(&config, group, &out, false, 99).unwrap()
        });
        assert_eq!(ended, vec![Outcome::Finished; size]);
        assert_near(&out, &path("alone"));
        let first = &curve(&out)[1];
        assert!(first.contains_key("distributed/sum_seconds"), "{first:?}");
    }

    // Two ranks stop after the second step, three resume.
    let out = path("resumed");
    let ended = on_ranks(2, |group| on_rank(&config, group, &out, false, 1).unwrap());
    assert_eq!(ended, [Outcome::Interrupted; 2]);
    assert_eq!(curve(&out).len(), 2);
    let ended = on_ranks(3, |group| on_rank(&config, group, &out, true, 99).unwrap());
    assert_eq!(ended, [Outcome::Finished; 3]);
    assert_near(&out, &path("alone"));
}

/// If no rank has two micro-batches, gradients are summed in the order of a single process, and the
/// weights are the same to the bit; a rank without any adds nothing. All weights are trained here.
#[test]
fn one_micro_batch_per_rank_gives_the_bits_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let model = model_naming_actions(folder.path());
    let words = "--per-device-train-batch-size 6 --lora-dropout 0 --full --learning-rate 1e-3 --max-steps 2";
    let config = config(&model, words);
    alone(&config, &path("alone"));
    let weights = |name: &str| std::fs::read(path(name).join("model.safetensors")).unwrap();
    assert!(
        weights("alone") != std::fs::read(Path::new(&model).join("model.safetensors")).unwrap()
    );
    for size in [2, 3] {
        let name = format!("on-{size}");
        on_ranks(size, |group| {
            on_rank(&config, group, &path(&name), false, 99).unwrap()
        });
        assert!(weights(&name) == weights("alone"), "{size} ranks");
    }
}

/// Rank 0 alone speaks to the servers; the others get its completions.
#[test]
fn rank_0_gets_the_completions_of_servers_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let model = model_naming_actions(folder.path());
    let options = ModelEngineOptions {
        name: None,
        adapter_root: Some(folder.path().to_owned()),
        max_adapters: 2,
    };
    let server = serve(ModelEngine::load(&model, options).unwrap());
    let served = config(&model, &format!("--rollouts {server} --max-steps 3"));
    on_ranks(2, |group| {
        on_rank(&served, group, &path("served"), false, 99).unwrap()
    });
    alone(
        &config(&model, &format!("{CORRECTED} --max-steps 3")),
        &path("alone"),
    );
    assert_near(&path("served"), &path("alone"));
    assert_eq!(names(&server), [model], "the adapter is unloaded");
}

/// A rank whose messages fail after a number of exchanges, as if its process had died.
struct Mortal {
    inner: ThreadRank,
    left: Cell<usize>,
}

impl Communicator for Mortal {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn all_gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, DistributedError> {
        let left = self.left.get().checked_sub(1);
        self.left
            .set(left.ok_or_else(|| DistributedError::Transport("dead".to_owned()))?);
        self.inner.all_gather(own)
    }

    fn all_to_all(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, DistributedError> {
        self.inner.all_to_all(parts)
    }
}

/// The run ends with an error on all ranks, and can be resumed from its last checkpoint.
#[test]
fn death_of_a_rank_ends_the_run_and_keeps_the_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let model = model_naming_actions(folder.path());
    let config = config(&model, "");
    alone(&config, &path("alone"));
    // Rank 1 dies in the first update in which a checkpoint exists already.
    let deaths = Mutex::new(Vec::new());
    let mortal = |inner: ThreadRank| {
        let last = inner.rank() == 1;
        let left = if last { 70 } else { usize::MAX };
        Mortal {
            inner,
            left: Cell::new(left),
        }
    };
    on_ranks_with(2, mortal, |group| {
        let ended = on_rank(&config, group, &path("dead"), false, 99);
        deaths.lock().unwrap().push(ended.unwrap_err().to_string());
    });
    let deaths = deaths.into_inner().unwrap();
    assert!(
        deaths.iter().any(|text| text.contains("dead")),
        "{deaths:?}"
    );
    assert!(
        deaths.iter().any(|text| text.contains("rank 1 is gone")),
        "{deaths:?}"
    );
    let done = curve(&path("dead")).len();
    assert!((1..6).contains(&done), "it died after {done} steps");
    let stop = AtomicBool::new(false);
    let group = ProcessGroup::default();
    train(
        &config,
        &dir(&path("dead"), true),
        &group,
        &stop,
        &mut |_| (),
    )
    .unwrap();
    assert_near(&path("dead"), &path("alone"));
}

/// A rank that receives another sum than the others.
struct Corrupted(ThreadRank);

impl Communicator for Corrupted {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn all_gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, DistributedError> {
        let mut all = self.0.all_gather(own)?;
        // Sums are no text.
        if self.rank() == 1 && all.iter().any(|bytes| std::str::from_utf8(bytes).is_err()) {
            all[0].fill(0);
        }
        Ok(all)
    }

    fn all_to_all(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, DistributedError> {
        self.0.all_to_all(parts)
    }
}

#[test]
fn different_weights_or_options_end_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let model = model_naming_actions(folder.path());
    let same = config(&model, "");
    let errors = on_ranks_with(2, Corrupted, |group| {
        on_rank(&same, group, &path("weights"), false, 99)
            .unwrap_err()
            .to_string()
    });
    for error in &errors {
        assert!(
            error.contains("rank 1 differs from rank 0 in the trained weights"),
            "{error}"
        );
    }
    let other = config(&model, "--seed 7");
    let errors = on_ranks(3, |group| {
        let config = if group.share().rank == 2 {
            &other
        } else {
            &same
        };
        on_rank(config, group, &path("options"), false, 99)
            .unwrap_err()
            .to_string()
    });
    for error in &errors {
        let said = error.contains("rank 2 differs from rank 0 in option seed (7, not 0)");
        assert!(said, "{error}");
    }
    assert!(curve(&path("options")).is_empty(), "no step was taken");
}

type Failure = DistributedError;

/// An error on one rank is the error of every rank, whatever the others were about to exchange.
#[test]
fn error_of_one_rank_reaches_all() {
    let failed = |rank: usize| Failure::Transport(format!("no luck on {rank}"));
    let all = on_ranks(3, |group| {
        let rank = group.share().rank;
        let result = (|| {
            let ranks = group.exchange::<_, Failure>(Ok(rank))?;
            assert_eq!(ranks, [0, 1, 2]);
            // Rank 1 leaves; the others wait for values, sums and files.
            if rank == 1 {
                return Err(failed(1));
            }
            group.exchange::<_, Failure>(Ok("a value".to_owned()))?;
            Ok(())
        })();
        group.close(result).unwrap_err()
    });
    let other = Failure::Rank {
        rank: 1,
        message: failed(1).to_string(),
    };
    assert_eq!(all, [other.clone(), failed(1), other]);
}

#[test]
fn sums_are_in_rank_order_and_equal_on_all_ranks() {
    for (size, count) in [(2, 7), (3, 2), (4, 1000)] {
        // Sums of such numbers depend on their order.
        let value = |rank: usize, at: usize| {
            let value = ((rank * 7919 + at * 104_729) % 1000) as f32 - 500.0;
            value * 10_f32.powi(i32::try_from((rank + at) % 9).unwrap())
        };
        let all = on_ranks(size, |group| {
            let rank = group.share().rank;
            let mut values: Vec<f32> = (0..count).map(|at| value(rank, at)).collect();
            group.sum(&mut values).unwrap();
            values
        });
        let sum = |at: usize| (1..size).fold(value(0, at), |sum, rank| sum + value(rank, at));
        let expected: Vec<f32> = (0..count).map(sum).collect();
        assert!(
            all.iter().all(|values| *values == expected),
            "{size} {count}"
        );
    }
}

#[test]
fn rank_0_goes_first_and_sends_its_files() {
    let order = Mutex::new(Vec::new());
    let sent: Vec<u8> = (0..100_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    on_ranks(3, |group| {
        let work = || {
            order.lock().unwrap().push(group.share().rank);
            Ok::<_, Failure>(())
        };
        group.main_first(work).unwrap();
        let own = if group.is_main() {
            sent.clone()
        } else {
            Vec::new()
        };
        assert!(group.broadcast_bytes::<Failure>(Ok(own)).unwrap() == sent);
    });
    let order = order.into_inner().unwrap();
    assert!(order.len() == 3 && order[0] == 0, "{order:?}");
}

/// Copies of a run would write into the same folder.
#[test]
fn several_processes_are_refused_where_they_cannot_be_connected() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let run = |words: &str, variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
        command
            .args(words.split_whitespace())
            .args(["--output-dir", &out]);
        command
            .envs(variables.iter().copied())
            .env("HF_HUB_OFFLINE", "1");
        let ended = command.output().unwrap();
        assert_eq!(ended.status.code(), Some(1));
        assert!(!Path::new(&out).exists());
        String::from_utf8(ended.stderr).unwrap()
    };
    let step = ("SLURM_STEP_NUM_TASKS", "3");
    for command in ["lm sft --data none", "train", "imitate"] {
        let error = run(command, &[step]);
        let said = error.contains("one of 3 processes") && error.contains(INDEPENDENT);
        assert!(said, "{error}");
    }
    // With MPI the program would look for the other processes.
    if !cfg!(feature = "mpi") {
        let error = run("lm grpo --model none", &[("OMPI_COMM_WORLD_SIZE", "2")]);
        assert!(error.contains("--features mpi"), "{error}");
    }
    // Runs of their own go on to the next error: there is no such model.
    let error = run("lm grpo --model none", &[step, (INDEPENDENT, "1")]);
    assert!(
        error.contains("none") && !error.contains("processes"),
        "{error}"
    );
    succeeds("lm grpo --dry-run --episodes 1");
}
