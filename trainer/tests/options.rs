//! Options from the command line, from files and from earlier runs, under all their names.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use std::path::Path;

use common::{json, run_in};
use serde_json::Value;

/// The options of a compact run that takes a moment.
const COMPACT: &str = "--hidden 8 --max-steps 2 --episodes-per-update 4 --num-generations 4 \
                       --validation-seeds 5000..5002 --test-seeds 1000..1002 --mini-batches 2 --save-steps 1";
/// The options of the smallest GRPO run with a language model.
const WORDS: &str = "--model model --task task1 --episodes 2 --num-generations 2 --groups-per-update 1 \
                     --max-completion-length 4 --save-steps 1";

fn config(folder: &Path, out: &str) -> Value {
    json(&std::fs::read_to_string(folder.join(out).join("config.json")).unwrap())
}

/// Makes a very small language model, with the corpus that its tokenizer was made from.
fn made(folder: &Path) {
    run_in(
        folder,
        "lm corpus --task task1 --seeds 100000..100002 --out corpus.jsonl",
    )
    .succeeds();
    run_in(
        folder,
        "lm init --output-dir model --data corpus.jsonl --vocab-size 400 --hidden-size 32 \
         --intermediate-size 64 --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1",
    )
    .succeeds();
}

#[test]
fn toml_and_json_give_equal_options() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write(
        "a.toml",
        "# As on the command line.\nseed = 7\nbeta = 0.5\ntask = \"task1\"\nepisodes-per-update = 6\n",
    );
    write(
        "b.json",
        r#"{"seed": 7, "beta": 0.5, "task": "task1", "episodes_per_update": 6}"#,
    );
    // By the names of earlier versions.
    write(
        "c.json",
        r#"{"seed": 7, "beta": 0.5, "tasks": "task1", "groups_per_update": 6}"#,
    );
    let rest = COMPACT.replace("--episodes-per-update 4", "");
    for file in ["a.toml", "b.json", "c.json"] {
        run_in(
            folder,
            &format!("train {rest} --config {file} --output-dir {file}-out"),
        )
        .succeeds();
    }
    let first = config(folder, "a.toml-out");
    assert_eq!(first["episodes_per_update"], 6);
    assert_eq!(first, config(folder, "b.json-out"));
    assert_eq!(first, config(folder, "c.json-out"));

    write("d.toml", "beta = nan\n");
    for command in ["train", "lm grpo --dry-run"] {
        run_in(folder, &format!("{command} --config d.toml"))
            .fails(&["d.toml: beta is NaN, which is not a finite number"]);
    }
    write(
        "e.json",
        r#"{"seed": 7, "tasks": "task1", "task": "task1"}"#,
    );
    run_in(folder, "train --config e.json").fails(&["e.json: option task is there twice"]);
    write("f.toml", "hiden = 3\n");
    run_in(folder, "train --config f.toml").fails(&["f.toml: unknown field `hiden`"]);
    run_in(folder, "lm grpo --dry-run --config f.toml")
        .fails(&["f.toml: there is no option hiden"]);

    write(
        "g.toml",
        "episodes = 3\ntask = \"task1\"\ncontinue = \"own\"\n",
    );
    write(
        "h.json",
        r#"{"episodes": 3, "task": "task1", "continuation": "sampled"}"#,
    );
    let played = ["g.toml", "h.json"].map(|file| {
        let run = run_in(folder, &format!("lm grpo --dry-run --config {file}"));
        run.succeeds().to_owned()
    });
    assert!(played[0].contains("\"episodes\": 3,"), "{}", played[0]);
    assert_eq!(played[0], played[1]);
}

/// A command with --resume added continues its run; an option with another value is refused.
#[test]
fn command_with_resume_continues_only_with_same_options() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.toml"), "beta = 0.25\n").unwrap();
    let train = format!("train --quick {COMPACT} --config a.toml --output-dir out");
    run_in(folder, &train).succeeds();
    let before = config(folder, "out");
    run_in(folder, &format!("{train} --resume")).succeeds();
    assert_eq!(config(folder, "out"), before);
    std::fs::write(folder.join("a.toml"), "beta = 0.5\n").unwrap();
    run_in(folder, &format!("{train} --resume")).fails(&["beta = 0.25", "0.5 is asked for"]);

    made(folder);
    let grpo = format!("lm grpo {WORDS} --config b.toml --output-dir words");
    std::fs::write(folder.join("b.toml"), "seed = 3\n").unwrap();
    run_in(folder, &grpo).succeeds();
    run_in(folder, &format!("{grpo} --resume-from-checkpoint")).succeeds();
    std::fs::write(folder.join("b.toml"), "seed = 4\n").unwrap();
    run_in(folder, &format!("{grpo} --resume-from-checkpoint"))
        .fails(&["began with seed 3, not 4"]);
}

/// Rewrites the options in a folder's checkpoint as an earlier version wrote them.
fn write_as_earlier_version(
    folder: &Path,
    key: &str,
    renamed: &[(&str, &str)],
    added_since: &[&str],
) {
    let path = folder.join("checkpoint.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
    let (header, tensors) = rest.split_at(length);
    let mut header: Value = serde_json::from_slice(header).unwrap();
    let mut header_json = json(header["__metadata__"][key].as_str().unwrap());
    let options = header_json["config"].as_object_mut().unwrap();
    for (today, then) in renamed {
        let value = options.remove(*today).unwrap();
        options.insert((*then).to_owned(), value);
    }
    for name in added_since {
        assert!(options.remove(*name).is_some(), "{name}");
    }
    header["__metadata__"][key] = header_json.to_string().into();
    let mut header = header.to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = (header.len() as u64).to_le_bytes();
    std::fs::write(&path, [&length[..], &header, tensors].concat()).unwrap();
}

const LOSS: [&str; 9] = [
    "use_bias_correction_kl",
    "delta",
    "top_entropy_quantile",
    "off_policy_mask_threshold",
    "sapo_temperature_pos",
    "sapo_temperature_neg",
    "vespo_k_pos",
    "vespo_lambda_pos",
    "vespo_k_neg",
];

#[test]
fn run_of_earlier_version_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run_in(
        folder,
        &format!("train {COMPACT} --task task1 --output-dir compact"),
    )
    .succeeds();
    let renamed = [
        ("task", "tasks"),
        ("episodes_per_update", "groups_per_update"),
    ];
    write_as_earlier_version(
        &folder.join("compact"),
        "sentinel-checkpoint",
        &renamed,
        &LOSS,
    );
    run_in(folder, "train --resume --output-dir compact").succeeds();
    run_in(folder, "train --resume --output-dir compact --task task2")
        .fails(&["task = \"task1\"", "\"task2\" is asked for"]);

    made(folder);
    let common = [
        ("num_train_epochs", "epochs"),
        ("lora_r", "lora_rank"),
        ("lora_target_modules", "lora_targets"),
        ("lr_scheduler_type", "lr_scheduler"),
        ("max_length", "max_seq_length"),
    ];
    let sft =
        "lm sft --model model --data corpus.jsonl --max-steps 2 --per-device-train-batch-size 2";
    run_in(folder, &format!("{sft} --output-dir sft")).succeeds();
    let renamed = [
        &common[..],
        &[("per_device_train_batch_size", "batch_size")],
    ]
    .concat();
    write_as_earlier_version(&folder.join("sft"), "sentinel-lm-checkpoint", &renamed, &[]);
    run_in(folder, "sft --resume --output-dir sft").succeeds();
    run_in(folder, "lm sft --resume --output-dir sft --batch-size 3")
        .fails(&["began with per_device_train_batch_size 2, not 3"]);

    run_in(folder, &format!("lm grpo {WORDS} --output-dir grpo")).succeeds();
    let renamed = [
        &common[..],
        &[
            ("per_device_train_batch_size", "micro_batch_size"),
            ("episodes_per_update", "batch_size"),
            ("continuation", "continue"),
        ],
    ]
    .concat();
    let added = [&LOSS[..], &["seeds"]].concat();
    write_as_earlier_version(
        &folder.join("grpo"),
        "sentinel-lm-checkpoint",
        &renamed,
        &added,
    );
    run_in(folder, "grpo --resume --output-dir grpo").succeeds();
    run_in(folder, "lm grpo --resume --output-dir grpo --delta 4")
        .fails(&["began with delta null, not 4.0"]);
}

/// Every option of TRL's loss can be given, and has an effect.
#[test]
fn loss_options_are_accepted_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    made(folder);
    let shared = "--importance-sampling-level sequence --use-bias-correction-kl false --delta 4 \
                  --top-entropy-quantile 0.5 --off-policy-mask-threshold 0.1 --beta 0.01 --epsilon-high 0.3 \
                  --scale-rewards none --num-iterations 2 --max-steps 2";
    for (number, options) in [
        "--loss-type vespo --vespo-k-pos 1.5 --vespo-lambda-pos 2 --vespo-k-neg 2 --vespo-lambda-neg 1",
        "--loss-type sapo --sapo-temperature-pos 0.9 --sapo-temperature-neg 1.1",
        "--loss-type dr_grpo --max-completion-length 8",
    ]
    .iter()
    .enumerate()
    {
        let rest = COMPACT.replace("--max-steps 2", "");
        run_in(folder, &format!("train {rest} {shared} {options} --output-dir c{number}")).succeeds();
        let rest = WORDS.replace("--max-completion-length 4", "");
        let length = if options.contains("length") { "" } else { "--max-completion-length 4" };
        run_in(folder, &format!("lm grpo {rest} {shared} {options} {length} --output-dir w{number}"))
            .succeeds();
    }
    let compact = config(folder, "c0");
    let text = std::fs::read_to_string(folder.join("w0/training_options.json")).unwrap();
    for found in [&compact, &json(&text)] {
        assert_eq!(found["importance_sampling_level"], "sequence");
        assert_eq!(found["use_bias_correction_kl"], false);
        assert_eq!(found["delta"], 4.0);
        assert_eq!(found["vespo_lambda_neg"], 1.0);
    }
    run_in(folder, "train --top-entropy-quantile 2")
        .fails(&["top_entropy_quantile is 2", "from 0 to 1"]);
    // The written options can be read again.
    run_in(
        folder,
        "lm grpo --dry-run --config w0/training_options.json",
    )
    .succeeds();
}
