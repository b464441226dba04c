//! The chain of evidence as a user runs it: whole sweeps of tiny models, killed, interrupted and
//! resumed; saved artifacts, the gate, and the active model.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// A manifest of models of one layer, trained for a few steps.
const MANIFEST: &str = r#"
world = "trust"
task = "task1"
corpus = { seeds = "100000..100006" }
init = { vocab_size = 400, hidden_size = 32, intermediate_size = 64, num_hidden_layers = 1, num_attention_heads = 2, num_key_value_heads = 1 }
base = { max_steps = 2, per_device_train_batch_size = 2 }
sft = { max_steps = 2, lora_r = 2, per_device_train_batch_size = 2 }
eval = { seeds = "1000..1001", max_completion_length = 6 }
improvement = { seeds = "5500..5502" }
[grpo]
max_steps = 2
save_steps = 1
lora_r = 2
episodes = 1
episodes_per_update = 1
groups_per_update = 1
num_generations = 2
max_completion_length = 6
"#;

/// A folder in which commands run.
pub(crate) struct SweepFolder(tempfile::TempDir);

impl SweepFolder {
    /// Creates a folder with a manifest: the options above, and these lines.
    pub(crate) fn new(entries: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("m.toml"), format!("{MANIFEST}{entries}")).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
        command
            .args(words.split_whitespace())
            .current_dir(self.0.path());
        command.env_remove("SENTINEL_ALLOW_TRAIN_FALLBACK");
        command.env_remove("POLYGUARD_ALLOW_TRAIN_FALLBACK");
        command
            .env("HF_HUB_OFFLINE", "1")
            .env("RUST_BACKTRACE", "0");
        command
    }

    fn output(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs a command that succeeds; returns both of its outputs.
    #[track_caller]
    pub(crate) fn succeeds(&self, words: &str) -> String {
        let found = self.output(words);
        let text = both(&found);
        assert!(found.status.success(), "{words}: {text}");
        text
    }

    /// Runs a command that fails; returns both of its outputs.
    #[track_caller]
    fn fails(&self, words: &str) -> String {
        let found = self.output(words);
        assert_eq!(found.status.code(), Some(1), "{words}: {}", both(&found));
        both(&found)
    }

    pub(crate) fn report(&self, run: &str, name: &str) -> Value {
        let path = self.path(&format!("outputs/reports/sweeps/{run}/{name}.json"));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }
}

fn both(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

const ENTRIES: &str = r#"
[[entry]]
model = "tiny"
id = "a"
[[entry]]
model = "tiny"
id = "b"
[entry.init]
hidden_size = 48
[[entry]]
model = "small"
"#;

#[test]
fn killed_sweep_resumes_and_passes_gate() {
    let place = SweepFolder::new(ENTRIES);
    let plan = place.succeeds("sweep --manifest m.toml --dry-run");
    assert!(
        plan.contains("2: run small, model small, memory "),
        "{plan}"
    );
    assert!(
        plan.contains("sentinel lm grpo --model checkpoints/sweeps/b/merged "),
        "{plan}"
    );
    assert!(!place.path("outputs").exists());

    killed_in_grpo(&place);
    let text = place.succeeds("sweep --manifest m.toml --jobs 2");
    assert!(
        text.contains("a base: finished before") && text.contains("a grpo: continues"),
        "{text}"
    );
    for run in ["a", "b", "small"] {
        assert!(text.contains(&format!("finished     {run}\n")), "{text}");
        assert_reports_agree(&place, run);
    }
    let sweep = fs::read_to_string(place.path("outputs/reports/sweeps/sweep.json")).unwrap();
    assert_eq!(sweep.matches("\"status\": \"ok\"").count(), 3, "{sweep}");
    // Nothing is done twice, and a changed file is made again from its checkpoint.
    let text = place.succeeds("sweep --manifest m.toml");
    assert_eq!(text.matches("finished before").count(), 27, "{text}");
    let weights = place.path("checkpoints/sweeps/a/grpo_adapter/adapter_model.safetensors");
    let whole = fs::read(&weights).unwrap();
    fs::write(&weights, "x").unwrap();
    let text = place.succeeds("sweep --manifest m.toml --index 0");
    assert!(
        text.contains("a grpo: continues") && text.contains("a postsave: finished before"),
        "{text}"
    );
    assert!(fs::read(&weights).unwrap() == whole);
    // Other options are refused, and nothing is lost.
    let manifest = fs::read_to_string(place.path("m.toml")).unwrap();
    fs::write(
        place.path("n.toml"),
        manifest.replace("lora_r = 2", "lora_r = 3"),
    )
    .unwrap();
    let text = place.fails("sweep --manifest n.toml --index 0");
    assert!(
        text.contains("--lora-r=2") && text.contains("--overwrite-output-dir"),
        "{text}"
    );
    assert!(fs::read(&weights).unwrap() == whole);
    check_gate_and_activation(&place);
}

/// Kills the sweep after the first checkpoint of the first run's GRPO.
fn killed_in_grpo(place: &SweepFolder) {
    let mut child = place
        .command("sweep --manifest m.toml --index 0")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = place.path("checkpoints/sweeps/a/grpo_adapter/checkpoint.safetensors");
    for _ in 0..12_000 {
        if checkpoint.exists() {
            break;
        }
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before its first checkpoint"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let stages = &place.report("a", "stages")["stages"];
    assert_eq!(
        (&stages["sft"]["status"], &stages["merge"]["status"]),
        (&"ok".into(), &"ok".into())
    );
}

/// Checks that the reports of a run follow from one another.
fn assert_reports_agree(place: &SweepFolder, run: &str) {
    for name in ["sft_trl_run", "grpo_trl_run"] {
        let report = place.report(run, name);
        assert_eq!(report["status"], "ok");
        assert_eq!(
            (&report["backend"], &report["steps"]),
            (&"sentinel_burn".into(), &2.into())
        );
        assert_eq!(report["provenance"]["fallbacks"], Value::Array(vec![]));
        assert!(
            report["metrics"]["loss"].is_number() && report["log_history"]["sha256"].is_string()
        );
    }
    let postsave = place.report(run, "postsave_inference");
    assert_eq!(postsave["model_source"], "grpo_adapter");
    assert_eq!(postsave["rows"].as_array().unwrap().len(), 3);
    // A model of so few steps names no action, which counts as invalid.
    assert_eq!(
        (&postsave["valid"], &postsave["invalid"]),
        (&0.into(), &3.into())
    );
    let apart = &postsave["logprob_difference"];
    assert_eq!(apart["compared_with"], "training");
    assert!(apart["max"].as_f64().unwrap() < 1e-4 && apart["tokens"].as_u64().unwrap() > 0);
    let improvement = place.report(run, "improvement_report");
    assert_eq!(
        (&improvement["improved"], &improvement["pairs"]),
        (&false.into(), &2.into())
    );
    for name in ["eval_base", "eval_sft", "eval_grpo"] {
        assert!(place.report(run, name)["score"]["mean"].is_number());
    }
}

/// Asks the gate about the first run, activates it, and plays with it.
fn check_gate_and_activation(place: &SweepFolder) {
    let text = place.fails("activate --run-id a");
    assert!(text.contains("the gate was not asked"), "{text}");
    let text = place.fails("gate --strict --run a");
    for (verdict, name) in [
        ("pass", "no_fallback"),
        ("pass", "same_logprobs"),
        ("pass", "improvement_of_these"),
        ("FAIL", "postsave_valid"),
        ("FAIL", "improved"),
    ] {
        assert!(text.contains(&format!("{verdict}  {name}")), "{text}");
    }
    let text = place.fails("activate --run-id a");
    assert!(
        text.contains("the gate refused the run: postsave_valid, improved"),
        "{text}"
    );
    assert!(place.fails("model-status").contains("no model is active"));
    assert!(
        place
            .fails("lm eval --seeds 1000")
            .contains("no model is active")
    );
    fs::create_dir_all(place.path("docs/results")).unwrap();
    place.succeeds("activate --run-id a --preferred-artifact merged --allow-rejected --label mine");
    let mirror = fs::read(place.path("docs/results/active_model_manifest.json")).unwrap();
    assert!(
        mirror == fs::read(place.path("checkpoints/active/active_model_manifest.json")).unwrap()
    );
    assert!(
        place
            .succeeds("model-status")
            .contains("active model mine: merged of sweeps/a")
    );
    place.succeeds("activate --run-id a --allow-rejected");
    let text = place.succeeds("lm eval --task task1 --seeds 1000");
    assert!(text.contains("grpo_adapter of sweeps/a"), "{text}");
    assert!(text.contains("\"active_model_manifest.json\":"), "{text}");
    place.succeeds("record --task task1 --seeds 0 --streams independent --out r.jsonl");
    assert!(
        fs::read_to_string(place.path("r.jsonl"))
            .unwrap()
            .contains("merged+grpo_adapter")
    );
    let text =
        place.succeeds("eval --policies trained --task task1 --seeds 0 --streams independent");
    assert!(
        text.contains("active model a grpo_adapter") && text.contains("active_model_manifest"),
        "{text}"
    );
    let text = place.fails("eval --world cluster --policies trained");
    assert!(
        text.contains("was trained in world trust, not cluster"),
        "{text}"
    );
    fs::remove_file(place.path("checkpoints/sweeps/a/merged/model.safetensors")).unwrap();
    for words in [
        "model-status",
        "lm eval --task task1",
        "record --seeds 0 --out x.jsonl",
    ] {
        let text = place.fails(words);
        assert!(
            text.contains("base/model.safetensors was deleted since"),
            "{words}: {text}"
        );
    }
}

/// A model that cannot be found and a folder that cannot be written spare the third run; a stand-in
/// is marked to the end, and refused.
#[test]
fn failed_entry_spares_others_and_gate_refuses_fallback() {
    let place = SweepFolder::new(
        "[[entry]]\nmodel = 'no/such'\n[[entry]]\nmodel = 'tiny'\nid = 'full'\n[[entry]]\nmodel = 'tiny'\n",
    );
    fs::create_dir_all(place.path("checkpoints/sweeps")).unwrap();
    fs::write(place.path("checkpoints/sweeps/full"), "in the way").unwrap();
    let text = place.fails("sweep --manifest m.toml");
    assert!(text.contains("finished     tiny"), "{text}");
    assert!(
        text.contains("failed       no-such: no model \"no/such\""),
        "{text}"
    );
    assert!(
        text.contains("failed       full: cannot write checkpoints/sweeps/full"),
        "{text}"
    );
    assert!(text.contains("2 of 3 runs failed"), "{text}");
    let failed = place.report("no-such", "sft_trl_run");
    assert_eq!(failed["status"], "failed");
    assert!(failed["error"].as_str().unwrap().contains("no/such"));
    fs::remove_file(place.path("checkpoints/sweeps/full")).unwrap();
    // The disk fills in the middle of a run: what was made before stays.
    #[cfg(target_os = "linux")]
    {
        fs::create_dir_all(place.path("outputs/reports/sweeps/full")).unwrap();
        let eval = place.path("outputs/reports/sweeps/full/eval_sft.json");
        std::os::unix::fs::symlink("/dev/full", &eval).unwrap();
        let text = place.fails("sweep --manifest m.toml --index 1");
        assert!(
            text.contains("eval_sft.json: No space left on device"),
            "{text}"
        );
        let stages = &place.report("full", "stages")["stages"];
        assert_eq!(
            (&stages["grpo"]["status"], &stages["eval"]["status"]),
            (&"ok".into(), &"failed".into())
        );
        fs::remove_file(&eval).unwrap();
    }
    let text = place.succeeds("sweep --manifest m.toml --index 1");
    assert!(text.contains("finished     full"), "{text}");

    place.succeeds("sweep --manifest m.toml --index 0 --allow-fallback");
    let text = place.fails("gate --run no-such");
    let mark = "a tiny new model stands in for no/such";
    assert!(
        text.contains("FAIL  no_fallback") && text.contains(mark),
        "{text}"
    );
    assert!(text.contains("status ok, backend fallback"), "{text}");
    check_damaged_artifacts(&place);
}

/// Breaks the artifacts of a run one after the other.
fn check_damaged_artifacts(place: &SweepFolder) {
    let folder = place.path("checkpoints/sweeps/tiny");
    let postsave = || place.output("lm postsave --run tiny --samples 2");
    fs::write(folder.join("grpo_adapter/adapter_model.safetensors"), "x").unwrap();
    assert!(both(&postsave()).contains("merged_sft answered: 0 of 2"));
    let report = place.report("tiny", "postsave_inference");
    assert_eq!(report["attempts"][0]["artifact"], "grpo_adapter");
    assert_eq!(
        report["logprob_difference"]["compared_with"],
        "merged_and_adapter"
    );
    let text = place.fails("gate --strict --run tiny");
    assert!(
        text.contains("FAIL  grpo_answers")
            && text.contains("adapter_model.safetensors was changed"),
        "{text}"
    );
    fs::remove_dir_all(folder.join("merged")).unwrap();
    assert!(both(&postsave()).contains("sft_adapter answered"));
    fs::remove_dir_all(folder.join("sft_adapter")).unwrap();
    let text = place.fails("lm postsave --run tiny");
    assert!(
        text.contains("no artifact can be loaded (grpo_adapter: "),
        "{text}"
    );
    place.succeeds("lm postsave --run tiny --allow-fallback");
    let report = place.report("tiny", "postsave_inference");
    assert_eq!(
        (&report["model_source"], &report["status"]),
        (&"fallback_policy".into(), &"failed".into())
    );
    let text = place.fails("gate --run tiny");
    assert!(
        text.contains("fallback (postsave): a script answers"),
        "{text}"
    );
}

#[test]
fn invalid_evidence_command_lines_are_refused() {
    let place = SweepFolder::new("");
    for (words, expected) in [
        ("sweep --manifest m.toml", "it names no model"),
        ("sweep --manifest nowhere.toml", "cannot read nowhere.toml"),
        ("sweep --models tiny --index 3", "there are 1 entries"),
        ("sweep --models tiny --memory 0", "--memory"),
        ("sweep --models tiny --jobs 0", "--jobs"),
        ("sweep --models tiny --memory 0.001", "run tiny needs up to"),
        ("gate --reports-dir nowhere", "there is no such folder"),
        ("gate --run ../x", "is not the id of a run"),
        ("lm postsave", "no artifact can be loaded"),
        (
            "lm postsave --samples 0",
            "option samples should be at least 1",
        ),
        ("lm compare --seeds 0..30", "kept for tests"),
        ("check", "there is no such folder"),
        ("check --index .", "wrote ./artifact_index.json"),
    ] {
        let text = both(&place.output(words));
        assert!(text.contains(expected), "{words}: {text}");
    }
    let links = "check --index . --link model=https://example.org/m";
    assert!(place.succeeds(links).contains("1 links"));
    assert!(
        place.succeeds("check --index .").contains("1 links"),
        "links stay"
    );
}

/// Creates a folder with a manifest of one small model in polyguard, the world that has an ablation.
pub(crate) fn with_ablation() -> SweepFolder {
    let place =
        SweepFolder::new("[[entry]]\nmodel = 'tiny'\n[entry.ablate]\nseeds = '1000000..1000001'\n");
    let manifest = fs::read_to_string(place.path("m.toml")).unwrap();
    let polyguard = "\"polyguard\"\ndifficulty = \"easy\"";
    let manifest = manifest.replace("\"trust\"\ntask = \"task1\"", polyguard);
    fs::write(place.path("m.toml"), manifest).unwrap();
    place
}

/// Language models in the ablation: the rows that need one are played with the active model.
#[test]
fn ablation_plays_language_model_rows_with_active_model() {
    let place = with_ablation();
    place.succeeds("sweep --manifest m.toml");
    let played = |report: &Value| {
        let rows = report["ablation"].as_array().unwrap().clone();
        let with_episodes = rows.iter().filter(|row| row["episodes"].is_number());
        with_episodes
            .map(|row| row["row"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let report = place.report("tiny", "policy_ablations");
    let rows = played(&report);
    assert!(
        rows.contains(&"llm_only".to_owned()) && rows.contains(&"llm_bandit".to_owned()),
        "{rows:?}"
    );
    assert_eq!(report["rules"], "reference");
    place.succeeds("activate --run-id tiny --allow-rejected");
    let text = place.succeeds("ablate --difficulty easy --seeds 1000000 --out a.json");
    assert!(text.contains("active model tiny grpo_adapter"), "{text}");
    let found: Value = serde_json::from_slice(&fs::read(place.path("a.json")).unwrap()).unwrap();
    assert_eq!(played(&found), rows);
    assert_eq!(found["model"], "merged+grpo_adapter");
}

/// The file of a top-level run that `--report-path` writes.
#[test]
fn report_path_writes_report_of_single_run() {
    let place = SweepFolder::new("");
    place.succeeds("lm corpus --task task1 --seeds 100000..100002 --out c.jsonl");
    place.succeeds(
        "lm init --data c.jsonl --output-dir base --vocab-size 400 --hidden-size 32 --intermediate-size 64 \
         --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1",
    );
    let sft = "lm sft --model base --data c.jsonl --max-steps 1 --lora-r 2 --eval-world trust \
               --output-dir checkpoints/sft_adapter --report-path outputs/reports/sft_trl_run.json";
    place.succeeds(sft);
    let read = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let path = place.path("outputs/reports/sft_trl_run.json");
    assert_eq!(read(&path)["world"], "trust");
    // The run exists, so a second one fails and says so in the report.
    place.fails(sft);
    assert_eq!(read(&path)["status"], "failed");
    let text = place.fails("gate");
    assert!(
        text.contains("FAIL  sft_backend      status failed"),
        "{text}"
    );
}
