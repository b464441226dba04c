//! A fallback leaves a mark that every later stage inherits; without a fallback nothing is marked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::runs::{made, succeeds};

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Returns the provenance in a model's folder.
fn own(folder: &Path) -> Value {
    read(&folder.join("sentinel.json"))
}

/// The files and folders that each stage of a chain created.
struct Chain {
    folder: PathBuf,
    /// Name and provenance of each stage.
    stages: Vec<(&'static str, Value)>,
}

impl Chain {
    fn at(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn note(&mut self, stage: &'static str, own: Value) {
        let commit = own["commit"].as_str().unwrap();
        assert!(
            commit == "unknown" || commit.len() >= 40,
            "{stage}: {commit}"
        );
        self.stages.push((stage, own));
    }

    /// Runs the chain from a model to its evaluation. `start` holds the model options of the first
    /// run.
    fn play(folder: &Path, corpus: &str, start: &str) -> Self {
        let folder = folder.to_owned();
        let mut chain = Self {
            folder,
            stages: Vec::new(),
        };
        let short = "--max-steps 1 --lora-r 2";
        let sft = chain.at("sft");
        succeeds(
            &format!(
                "lm sft {start} --data {corpus} {short} --full --batch-size 1 --output-dir {sft}"
            )
            .replace(" --lora-r 2", ""),
        );
        chain.note("sft", own(Path::new(&sft)));
        let grpo = chain.at("grpo");
        succeeds(&format!(
            "lm grpo --model {sft} {short} --task task1 --episodes 1 --num-generations 2 --groups-per-update 1 \
             --max-completion-length 4 --output-dir {grpo}"
        ));
        chain.note("grpo", own(Path::new(&grpo)));
        let merged = chain.at("merged");
        succeeds(&format!(
            "lm merge --model {sft} --adapter {grpo} --out {merged}"
        ));
        chain.note("merge", own(Path::new(&merged)));
        let play = "--task task1 --seeds 1000 --streams independent --max-completion-length 4";
        let (replay, manifest) = (chain.at("a.jsonl"), chain.at("manifest.json"));
        succeeds(&format!(
            "record --model {merged} {play} --out {replay} --manifest {manifest}"
        ));
        let entry = &read(Path::new(&manifest))["files"][0];
        assert_eq!(
            entry["command"]
                .as_str()
                .map(|text| text.starts_with("sentinel record ")),
            Some(true)
        );
        chain.note("record", entry["provenance"].clone());
        let result = chain.at("eval-lm.json");
        succeeds(&format!("lm eval --model {merged} {play} --out {result}"));
        let found = read(Path::new(&result));
        assert_eq!(found["sentinel"]["model"], merged);
        assert_eq!(found["sentinel"]["seeds"], "1000..1001");
        chain.note("eval-lm", found["sentinel"].clone());
        let result = chain.at("eval.json");
        succeeds(&format!(
            "eval --policies trained --replay {replay} --task task1 --seeds 1000 --streams independent --out {result}"
        ));
        chain.note("eval", read(Path::new(&result))["sentinel"].clone());
        chain
    }

    /// Returns the name of the policy in the rows of the replay.
    fn actor(&self) -> String {
        let text = fs::read_to_string(self.folder.join("a.jsonl")).unwrap();
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        first["model_source"].as_str().unwrap().to_owned()
    }

    fn state(&self, run: &str) -> Value {
        read(&self.folder.join(run).join("trainer_state.json"))
    }
}

#[test]
fn fallback_model_is_marked_in_every_stage() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, _) = made(folder.path());
    let chain = Chain::play(
        folder.path(),
        &corpus,
        "--model no/such-model --allow-fallback",
    );
    let mark = json!({
        "stage": "init",
        "what": "a tiny new model stands in for no/such-model, which could not be found",
    });
    let marked = ["sft", "grpo", "merge", "record", "eval-lm"];
    assert_eq!(chain.stages.len(), marked.len() + 1);
    for (stage, own) in &chain.stages[..marked.len()] {
        assert!(marked.contains(stage));
        assert_eq!(own["fallbacks"], json!([mark]), "{stage}");
    }
    // A replay marks the name of the policy.
    assert_eq!(chain.actor(), "merged (fallback)");
    let (_, evaluated) = &chain.stages[marked.len()];
    let what = evaluated["fallbacks"][0]["what"].as_str().unwrap();
    assert!(what.ends_with("are of merged (fallback)"), "{what}");
    for run in ["sft", "grpo"] {
        assert_eq!(chain.state(run)["fallback"], true, "{run}");
        let card = fs::read_to_string(chain.folder.join(run).join("README.md")).unwrap();
        assert!(
            card.contains("allback") && card.contains("no/such-model"),
            "{card}"
        );
    }
    let report = succeeds(&format!("replay verify {}", chain.at("a.jsonl")));
    assert!(report.contains("fallback (record): "), "{report}");
}

#[test]
fn run_without_fallback_has_no_marks() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    assert_eq!(own(Path::new(&model))["fallbacks"], json!([]));
    assert!(Path::new(&format!("{corpus}.sentinel.json")).is_file());
    let chain = Chain::play(folder.path(), &corpus, &format!("--model {model}"));
    for (stage, own) in &chain.stages {
        if *stage == "eval" {
            // So small a model generates no valid action, so the replay's fallback acted. That is
            // not a mark of the model.
            let all = own["fallbacks"].as_array().unwrap();
            assert!(all.iter().all(|mark| mark["stage"] == "eval"), "{own}");
        } else {
            assert_eq!(own["fallbacks"], json!([]), "{stage}");
        }
        assert!(!own["inputs"].as_object().unwrap().is_empty(), "{stage}");
    }
    assert_eq!(chain.actor(), "merged");
    for run in ["sft", "grpo"] {
        assert_eq!(chain.state(run)["fallback"], false, "{run}");
    }
    // A run lists the files it read; the digest of the corpus is that of its bytes.
    let inputs = &chain.stages[0].1["inputs"];
    for name in [
        "the corpus",
        "config.json of the model",
        "weights of the model",
    ] {
        assert_eq!(inputs[name].as_str().unwrap().len(), 64, "{name}");
    }
}

/// A model from before this file existed has no mark; a model with a broken file is rejected.
#[test]
fn model_without_provenance_file_is_unmarked() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let file = Path::new(&model).join("sentinel.json");
    fs::remove_file(&file).unwrap();
    let play =
        format!("lm eval --model {model} --task task1 --seeds 1000 --max-completion-length 2");
    let found: Value = serde_json::from_str(&succeeds(&play)).unwrap();
    assert_eq!(found["sentinel"]["fallbacks"], json!([]));
    fs::write(&file, "[]").unwrap();
    let message = crate::runs::fails(&play);
    assert!(
        message.contains("sentinel.json does not say where it comes from"),
        "{message}"
    );
}

/// Training on replay rows whose completion was not a valid action marks the model.
#[test]
fn training_on_fallback_rows_marks_model() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let text = fs::read_to_string(&corpus).unwrap();
    let line = text.lines().next().unwrap();
    let marked = format!(
        "{},\"fallback\":true}}\n{line}\n",
        line.strip_suffix('}').unwrap()
    );
    fs::write(&corpus, marked).unwrap();
    let out = folder.path().join("out");
    succeeds(&format!(
        "lm sft --model {model} --data {corpus} --max-steps 1 --lora-r 2 --batch-size 1 --output-dir {}",
        out.display()
    ));
    let mark = json!([{"stage": "corpus", "what": "1 of 2 rows are a fallback's"}]);
    assert_eq!(own(&out)["fallbacks"], mark);
}
