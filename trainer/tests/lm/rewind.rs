//! Runs that are resumed from an earlier checkpoint.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::runs::{adapter, curve, fails, made, sentinel, succeeds};

/// Returns the bytes of all checkpoints of a run, by folder.
fn checkpoints(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let steps = sentinel_run::snapshot::steps(folder).unwrap();
    let names = steps.into_iter().map(|step| format!("checkpoint-{step}/"));
    names
        .chain([String::new()])
        .map(|name| {
            let path = folder.join(format!("{name}checkpoint.safetensors"));
            (name, std::fs::read(path).unwrap())
        })
        .collect()
}

/// A run that is resumed from an earlier checkpoint keeps the later ones until it has a new one: neither an
/// estimate, nor a refused option, nor a kill loses any.
#[test]
fn rewound_run_keeps_later_checkpoints_until_it_has_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let out = folder.path().join("out");
    let first = format!(
        "lm grpo --model {model} --world trust --task task1 --episodes 4 --num-train-epochs 3 --learning-rate 1e-3 \
         --num-generations 3 --groups-per-update 2 --max-completion-length 24 --save-steps 2 --output-dir {}",
        out.display()
    );
    succeeds(&first);
    let (whole, steps) = (checkpoints(&out), curve(&out));
    let all: Vec<&str> = whole.keys().map(String::as_str).collect();
    assert_eq!(all, ["", "checkpoint-4/", "checkpoint-6/"]);
    let rewind = format!(
        "lm grpo --resume-from-checkpoint {0}/checkpoint-4 --output-dir {0}",
        out.display()
    );
    for changed in ["--estimate", "--dry-run"] {
        succeeds(&format!("{rewind} {changed}"));
        assert!(
            checkpoints(&out) == whole && curve(&out) == steps,
            "{changed}"
        );
    }
    for changed in [
        "--learning-rate 2",
        "--model no/such-model",
        "--config no.toml",
    ] {
        fails(&format!("{rewind} {changed}"));
        assert!(
            checkpoints(&out) == whole && curve(&out) == steps,
            "{changed}"
        );
    }
    // Killed as soon as it is rewound, before its first checkpoint.
    let mut run = sentinel(&rewind)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !out.join(".rewound").is_dir() {
        assert!(
            run.try_wait().unwrap().is_none(),
            "it ended before it was rewound"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let left = checkpoints(&out);
    assert!(left["checkpoint-6/"] == whole["checkpoint-6/"]);
    assert_eq!(
        std::fs::read(out.join(".rewound/checkpoint.safetensors")).unwrap(),
        whole[""]
    );
    // Resumed from the last checkpoint, or again from that one, it ends with the same bits.
    succeeds(&rewind);
    assert!(adapter(&out) == adapter(&out.join("checkpoint-6")) && curve(&out) == steps);
    let tensors = |bytes: &[u8]| {
        let file = safetensors::SafeTensors::deserialize(bytes).unwrap();
        let all = file.tensors().into_iter();
        let all = all.map(|(name, view)| (name, view.data().to_vec()));
        all.collect::<BTreeMap<_, _>>()
    };
    let again = checkpoints(&out);
    assert!(again.keys().eq(whole.keys()) && !out.join(".rewound").exists());
    assert!(tensors(&again[""]) == tensors(&whole[""]));
}
