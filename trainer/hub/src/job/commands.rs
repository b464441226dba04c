//! The shell commands of a job, one for each step.

use sentinel_base::task_selection::shell_quote;
use sentinel_env::in_world;
use sentinel_evidence::plots;
use sentinel_play::eval::Evaluated;

use super::{JobConfig, JobMode};

/// The folder for everything but the adapter.
const OUTPUTS: &str = "outputs";
/// The recorded actions of the trained model.
const REPLAY: &str = "outputs/trained_policy_replay.jsonl";
/// The number of episodes of each task in a replay and in an evaluation.
const EPISODES: u64 = 30;
/// The seed of the episode that `plots` draws step by step; the replay has it.
const REPORT_SEED: u64 = 0;
/// The chart that a single run has no numbers for.
const ABLATION: &str = "ablation";
/// The toolchain that builds the program.
const RUST: &str = "1.95.0";
/// The folder of the clone.
const CLONE: &str = "sentinel-src";

/// An option that a job still needs.
pub type MissingOption = String;

/// Returns the steps of a job, which a shell runs one after another until one fails.
#[must_use]
pub fn job_commands(config: &JobConfig) -> Vec<String> {
    if config.mode == JobMode::GpuTest {
        return vec![
            "nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv".to_owned(),
        ];
    }
    let mut steps = Vec::new();
    if let Some(url) = &config.repo_url {
        build(url, config, &mut steps);
    }
    smoke(config, &mut steps);
    if config.mode.trains() {
        steps.push(train(config));
    }
    if config.mode == JobMode::TrainFull {
        // At once: what follows may fail or reach the time limit.
        steps.push(format!(
            "sentinel upload {} --repo \"$SENTINEL_MODEL_REPO\" --private",
            output_dir(config)
        ));
        record(config, &mut steps);
        // An invalid completion marks the replay. The job's results are kept with their marks, by
        // which `pull` refuses them.
        steps.push(format!(
            "sentinel upload {OUTPUTS} --repo \"$SENTINEL_ARTIFACT_REPO\" --repo-type dataset \
             --private --path-in-repo \"job-$JOB_ID/outputs\" --allow-fallback"
        ));
    }
    steps
}

/// Returns the device of a flavor.
fn device(config: &JobConfig) -> &'static str {
    if config.flavor.starts_with("cpu") {
        "cpu"
    } else {
        "cuda"
    }
}

/// Adds the steps that clone and build the program.
fn build(url: &str, config: &JobConfig, steps: &mut Vec<String>) {
    let url = shell_quote(url);
    steps.push("export DEBIAN_FRONTEND=noninteractive".to_owned());
    steps.push("apt-get update -qq".to_owned());
    steps.push(
        "apt-get install -yqq --no-install-recommends build-essential ca-certificates curl git"
            .to_owned(),
    );
    steps.push(format!(
        "curl -sSf https://sh.rustup.rs | sh -s -- -y -q --profile minimal --default-toolchain {RUST}"
    ));
    steps.push("export PATH=\"$HOME/.cargo/bin:$PATH\"".to_owned());
    match &config.revision {
        None => steps.push(format!("git clone -q --depth 1 -- {url} {CLONE}")),
        Some(revision) => {
            steps.push(format!("git clone -q -- {url} {CLONE}"));
            steps.push(format!(
                "git -C {CLONE} checkout -q {} --",
                shell_quote(revision)
            ));
        }
    }
    let features = match device(config) {
        "cpu" => "",
        _ => " --features cuda",
    };
    steps.push(format!(
        "cargo install -q --locked --path {CLONE}/trainer{features}"
    ));
}

/// Adds the steps that start the program and take one training step on the device.
fn smoke(config: &JobConfig, steps: &mut Vec<String>) {
    let device = device(config);
    steps.push("sentinel --version".to_owned());
    steps.push("mkdir -p smoke".to_owned());
    steps.push(
        "sentinel lm corpus --world trust --task task1 --policy heuristic --seeds 100000..100002 \
         --out smoke/corpus.jsonl"
            .to_owned(),
    );
    steps.push(
        "sentinel lm init --preset tiny --data smoke/corpus.jsonl --output-dir smoke/tiny"
            .to_owned(),
    );
    steps.push(format!(
        "sentinel lm sft --model smoke/tiny --full --data smoke/corpus.jsonl --max-steps 1 \
         --device {device} --output-dir smoke/sft"
    ));
}

/// Returns the step that trains.
fn train(config: &JobConfig) -> String {
    let t = &config.training;
    format!(
        "sentinel lm grpo --model {} --world {} --task {} --episodes {} --seed {} --num-train-epochs {} \
         --per-device-train-batch-size {} --learning-rate {} --lora-r {} --num-generations {} \
         --max-length {} --precision {} --device {} --output-dir {}",
        shell_quote(&t.model),
        t.world.name(),
        shell_quote(&t.task),
        t.episodes,
        t.seed,
        t.num_train_epochs,
        t.per_device_train_batch_size,
        t.learning_rate,
        t.lora_r,
        t.num_generations,
        t.max_length,
        t.precision,
        device(config),
        output_dir(config),
    )
}

fn output_dir(config: &JobConfig) -> String {
    shell_quote(&config.training.output_dir.display().to_string())
}

/// Adds the steps that record and evaluate the trained model, and that draw the plots.
fn record(config: &JobConfig, steps: &mut Vec<String>) {
    let (model, world) = (
        shell_quote(&config.training.model),
        config.training.world.name(),
    );
    let policies = in_world!(config.training.world, W => <W as Evaluated>::DEFAULT_POLICIES);
    let (adapter, device) = (output_dir(config), device(config));
    let played = format!("--world {world} --task all --episodes {EPISODES}");
    steps.push(format!("mkdir -p {OUTPUTS}"));
    steps.push(format!(
        "sentinel eval {played} --policies {policies} --out {OUTPUTS}/eval_pre.json"
    ));
    steps.push(format!(
        "sentinel record --model {model} --adapter {adapter} {played} --device {device} --out {REPLAY}"
    ));
    steps.push(format!(
        "sentinel eval {played} --policies {policies},trained --replay {REPLAY} \
         --out {OUTPUTS}/eval_post.json"
    ));
    steps.push(format!(
        "cp {OUTPUTS}/eval_post.json {OUTPUTS}/evaluation_results.json"
    ));
    // The charts are those of the trust world.
    if world == "trust" {
        let health = format!("{OUTPUTS}/cluster_health_history.json");
        let charts: Vec<&str> = (plots::CHART_NAMES.into_iter())
            .filter(|name| *name != ABLATION)
            .collect();
        steps.push(format!(
            "sentinel reward-report --replay {REPLAY} --task task3 --seeds {REPORT_SEED} --out {OUTPUTS}"
        ));
        steps.push(format!("sentinel cluster-health --out {health}"));
        steps.push(format!(
            "sentinel plots --pre {OUTPUTS}/eval_pre.json --post {OUTPUTS}/eval_post.json \
             --trainer-state {adapter}/trainer_state.json \
             --reward-report-task3 {OUTPUTS}/reward_report_task3_seed{REPORT_SEED}.json \
             --cluster-health {health} --only {} --out-dir {OUTPUTS}/charts",
            charts.join(",")
        ));
    }
}
