//! Folders of runs: existing content is overwritten only on request.

use std::fs;
use std::path::Path;

use sentinel_language::training::checkpoint::{Checkpoint, Header};

use crate::run_errors::assert_contains;
use crate::runs::{fails, made, succeeds};

/// Returns the command of a run with one step.
fn short(corpus: &str, model: &str, out: &Path, more: &str) -> String {
    format!(
        "lm sft --model {model} --data {corpus} --max-steps 1 --batch-size 2 {more} --output-dir {}",
        out.display()
    )
}

/// Returns which files of an adapter and of a model a folder holds.
fn kinds(folder: &Path) -> [bool; 4] {
    let names = [
        "adapter_config.json",
        "adapter_model.safetensors",
        "config.json",
        "model.safetensors",
    ];
    names.map(|name| folder.join(name).is_file())
}

const ADAPTER: [bool; 4] = [true, true, false, false];
const MODEL: [bool; 4] = [false, false, true, true];

#[test]
fn output_dir_must_not_be_model_or_adapter() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let weights = || fs::read(Path::new(&model).join("model.safetensors")).unwrap();
    let before = weights();
    // Another path to the same folder is recognized.
    for out in [model.clone(), format!("{model}/../model")] {
        for more in ["--full", "--full --force", "--force"] {
            let message = fails(&short(&corpus, &model, Path::new(&out), more));
            assert_contains(&message, &["--model", &out, "name another folder"]);
        }
        let message = fails(&format!(
            "lm grpo --model {model} --task task1 --episodes 1 --force --output-dir {out}"
        ));
        assert_contains(&message, &["--model", &out, "name another folder"]);
    }
    assert!(before == weights() && kinds(Path::new(&model)) == MODEL);
    let adapter = folder.path().join("adapter");
    succeeds(&short(&corpus, &model, &adapter, ""));
    let more = format!("--adapter {} --force", adapter.display());
    let message = fails(&short(&corpus, &model, &adapter, &more));
    assert_contains(&message, &["--adapter", "name another folder"]);
    for out in [Path::new(&model), &adapter, folder.path()] {
        let message = fails(&format!(
            "lm merge --model {model} --adapter {} --force --output-dir {}",
            adapter.display(),
            out.display()
        ));
        assert_contains(&message, &["from which it would be made"]);
    }
    assert!(before == weights() && kinds(&adapter) == ADAPTER);
}

#[test]
fn import_needs_an_empty_folder_and_a_gguf_file() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let weights = || fs::read(Path::new(&model).join("model.safetensors")).unwrap();
    let before = weights();
    let message = fails(&format!("lm import {corpus} --output-dir {model}"));
    assert_contains(&message, &[&model, "--overwrite-output-dir"]);
    let message = fails(&format!(
        "lm import {corpus} --output-dir {model} --overwrite-output-dir"
    ));
    assert_contains(&message, &[&corpus, "does not begin with GGUF"]);
    assert!(before == weights() && kinds(Path::new(&model)) == MODEL);
    // The file itself, and a folder that holds it.
    let around = folder.path().display().to_string();
    for out in [&corpus, &around] {
        let message = fails(&format!("lm import {corpus} --output-dir {out} --force"));
        assert_contains(&message, &[out, &corpus, "from which it would be made"]);
    }
    assert!(Path::new(&corpus).is_file());
    let absent = folder.path().join("absent.gguf");
    let out = folder.path().join("new");
    let absent = absent.display();
    let message = fails(&format!(
        "lm import {absent} --output-dir {}",
        out.display()
    ));
    assert_contains(&message, &["absent.gguf"]);
    assert!(!out.exists());
}

#[test]
fn nonempty_output_dir_needs_overwrite_option() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let out = folder.path().join("out");
    // An empty folder is treated like a missing one.
    fs::create_dir(&out).unwrap();
    succeeds(&short(&corpus, &model, &out, ""));
    assert_contains(
        &fails(&short(&corpus, &model, &out, "")),
        &[
            "holds a run",
            "--resume-from-checkpoint",
            "--overwrite-output-dir",
        ],
    );

    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("README.md"), "mine").unwrap();
    let untouched = || {
        let names = fs::read_dir(&other).unwrap();
        assert_eq!(names.count(), 1);
        assert_eq!(fs::read_to_string(other.join("README.md")).unwrap(), "mine");
    };
    let parts = ["other is not an empty folder", "--overwrite-output-dir"];
    assert_contains(&fails(&short(&corpus, &model, &other, "")), &parts);
    // The check comes before the model is searched, and before a fallback is created.
    let run = short(&corpus, "no/such-model", &other, "");
    assert_contains(&fails(&run), &parts);
    assert_contains(&fails(&format!("{run} --allow-fallback")), &parts);
    let message = fails(&format!(
        "lm grpo --model no/such-model --allow-fallback --task task1 --episodes 1 --output-dir {}",
        other.display()
    ));
    assert_contains(&message, &parts);
    untouched();
    // A file is not a folder to write into.
    let message = fails(&short(&corpus, &model, &other.join("README.md"), ""));
    assert_contains(&message, &["README.md", "is not an empty folder"]);
    untouched();
    succeeds(&short(&corpus, &model, &other, "--force"));
    assert_eq!(kinds(&other), ADAPTER);
}

#[test]
fn overwriting_run_leaves_only_its_own_model_kind() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let out = folder.path().join("out");
    succeeds(&short(&corpus, &model, &out, ""));
    assert_eq!(kinds(&out), ADAPTER);
    // A companion file of another model, and a file that no run writes.
    fs::write(out.join("merges.txt"), "of another tokenizer").unwrap();
    fs::write(out.join("notes.txt"), "mine").unwrap();
    succeeds(&short(&corpus, &model, &out, "--full --force"));
    assert_eq!(kinds(&out), MODEL);
    assert!(!out.join("merges.txt").exists() && out.join("notes.txt").exists());
    succeeds(&short(&corpus, &model, &out, "--force"));
    assert_eq!(kinds(&out), ADAPTER);

    // Without an earlier run, nothing is removed.
    let model_of_others = folder.path().join("others");
    succeeds(&format!(
        "lm init --output-dir {} --hidden-size 32 --intermediate-size 64 --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1",
        model_of_others.display()
    ));
    let weights = || fs::read(model_of_others.join("model.safetensors")).unwrap();
    let before = weights();
    succeeds(&short(&corpus, &model, &model_of_others, "--force"));
    assert_eq!(kinds(&model_of_others), [true; 4]);
    assert!(before == weights());
}

/// A run killed between its last checkpoint and its last files writes these files when it is
/// resumed.
#[test]
fn resuming_finished_run_rewrites_missing_files() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    for (name, more) in [("adapter", ""), ("all", "--full")] {
        let out = folder.path().join(name);
        succeeds(&short(&corpus, &model, &out, more));
        let weights = if more.is_empty() {
            "adapter_model.safetensors"
        } else {
            "model.safetensors"
        };
        let values = || -> Vec<(String, Vec<f32>)> {
            let all = crate::oracle::tensors(&out.join(weights)).into_iter();
            all.map(|(name, tensor)| (name, tensor.values)).collect()
        };
        let read = |name: &str| fs::read(out.join(name)).unwrap();
        let before = values();
        let texts = ["trainer_state.json", "README.md"];
        let texts_before = texts.map(read);
        fs::write(out.join(weights), "an older one").unwrap();
        for name in texts {
            fs::remove_file(out.join(name)).unwrap();
        }
        succeeds(&format!("lm sft --resume --output-dir {}", out.display()));
        assert!(values() == before);
        assert!(texts.map(read) == texts_before);
    }
}

/// The header of a checkpoint can be read without its tensors.
#[test]
fn checkpoint_header_is_read_without_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let out = folder.path().join("out");
    succeeds(&short(&corpus, &model, &out, ""));
    let whole = Checkpoint::load(&out).unwrap().header;
    let same = |header: Header| {
        let text = |header: &Header| serde_json::to_value(header).unwrap();
        assert_eq!(text(&header), text(&whole));
    };
    same(Header::load(&out).unwrap());
    let path = out.join("checkpoint.safetensors");
    let bytes = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    // Truncated within the tensors, which are not read here.
    fs::write(&path, &bytes[..length + 16]).unwrap();
    same(Header::load(&out).unwrap());
    assert!(Checkpoint::load(&out).is_err());
    let endless = [&u64::MAX.to_le_bytes()[..], &bytes[8..]].concat();
    for damaged in [
        &bytes[..length],
        &bytes[..8],
        &bytes[..3],
        &[],
        &endless[..],
    ] {
        fs::write(&path, damaged).unwrap();
        let error = Header::load(&out).err().unwrap().to_string();
        for part in [
            "checkpoint.safetensors",
            "cut off",
            "--overwrite-output-dir",
        ] {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
    fs::remove_file(&path).unwrap();
    let error = Header::load(&out).err().unwrap().to_string();
    assert!(error.contains("cannot read"), "{error}");
}
