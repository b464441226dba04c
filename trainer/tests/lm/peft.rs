//! Trained models opened with the Python stack: the adapter in PEFT, the merged checkpoint in
//! transformers. `PYTHON` names an interpreter that has both; without one, the tests print that the
//! comparison is skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use sentinel_language::sft::{SftRow, packed_gradient};
use sentinel_lm::{
    AdamOptions, BaseCheck, Batch, CausalLm, ForwardOptions, Lora, LoraConfig, Message, ModelType,
    ModuleNames, Optimizer, Target, Tokenizer, TrainedPart,
};

use crate::adapter::merge;
use crate::init::new_model;
use crate::oracle::{alone, device, every_variant, numbers, oracle, print_note};

const ROWS: usize = 2;
const TOKENS: usize = 8;

/// Python script `CHECKPOINT CLAIM`: computes the logits of a plain checkpoint, and fails if they
/// differ from the recorded ones.
const MERGED: &str = r#"
import os, sys, warnings
os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
folder, claim = sys.argv[1:3]
model, found = AutoModelForCausalLM.from_pretrained(
    folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
    assert not found[kind], (kind, found[kind])
if os.path.exists(os.path.join(folder, "tokenizer.json")):
    PreTrainedTokenizerFast.from_pretrained(folder)
claim = load_file(claim)
with torch.no_grad():
    logits = model.eval()(claim["input_ids"]).logits
apart = (logits - claim["logits"]).abs().max().item()
print("max abs logit diff", apart)
sys.exit(apart > 2e-4)
"#;

/// Python script `MODEL CLAIM`: as [`MERGED`], and fails if the tokens of a conversation differ.
const CHAT: &str = r#"
claim_ids = claim["chat_ids"].tolist()
tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "0.86 + S3?"}]
ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
assert ids == claim_ids, (ids, claim_ids)
named = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
generation = model.generation_config
ends = generation.eos_token_id
assert named == (generation.bos_token_id, ends[0], generation.pad_token_id), (named, generation)
assert model.config.bos_token_id in (None, tokenizer.bos_token_id), model.config
print("of logits up to", claim["logits"].abs().max().item())
sys.exit(apart > 2e-5)
"#;

/// Returns the interpreter; prints a note and returns `None` if it lacks PEFT.
fn python() -> Option<String> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python)
        .args(["-c", "import peft, transformers, torch"])
        .output();
    if probe.is_ok_and(|probe| probe.status.success()) {
        return Some(python);
    }
    print_note(&format!(
        "{python} has no peft: nothing is compared with it (PYTHON names another interpreter)"
    ));
    None
}

/// Returns a base model with a new adapter after some steps on synthetic rows.
fn trained(base: &Path, config: LoraConfig) -> CausalLm {
    let mut model = CausalLm::load(base, &device()).unwrap();
    Lora::attach(&mut model, config, 3).unwrap();
    model.set_trained_part(TrainedPart::Adapter);
    let vocabulary = u32::try_from(model.config().vocab_size).unwrap();
    let row = |row: u32| SftRow {
        ids: (0..12)
            .map(|at| (row * 97 + at * 31) % vocabulary)
            .collect(),
        start: 4,
        ..SftRow::default()
    };
    let rows: Vec<SftRow> = (0..4).map(row).collect();
    let rows: Vec<&SftRow> = rows.iter().collect();
    let mut optimizer = Optimizer::new(&AdamOptions::default());
    for _ in 0..5 {
        let found =
            packed_gradient(&model, &alone(&rows), 2, 0, ForwardOptions::training(0)).unwrap();
        optimizer.step(&mut model, found.grads, 2e-2).unwrap();
    }
    model
}

/// Writes some tokens and the logits of a model with an adapter for them to a file.
fn write_logits(model: &CausalLm, path: &Path) {
    let (logits, reference) = (
        logits_of(model, ForwardOptions::EVALUATION),
        logits_of(model, ForwardOptions::REFERENCE),
    );
    let apart = logits.iter().zip(&reference).map(|(a, b)| (a - b).abs());
    // Otherwise an adapter that is not loaded at all would pass.
    assert!(apart.fold(0.0, f32::max) > 0.1, "training changed nothing");
    write_claim(model, &logits, &[0], path);
}

/// Returns the tokens of the comparisons, `[ROWS * TOKENS]`.
fn input_ids(model: &CausalLm) -> Vec<u32> {
    let vocabulary = model.config().vocab_size as u32;
    (0..16).map(|at| at * 37 % 500 % vocabulary).collect()
}

/// Returns the model's logits for [`input_ids`].
fn logits_of(model: &CausalLm, options: ForwardOptions) -> Vec<f32> {
    let all = vec![true; ROWS * TOKENS];
    let batch = Batch::new(model.config(), input_ids(model), all, TOKENS).unwrap();
    numbers(model.forward(&batch, options))
}

/// Writes [`input_ids`], logits and the tokens of a conversation to a file.
fn write_claim(model: &CausalLm, logits: &[f32], chat_ids: &[u32], path: &Path) {
    let ids = input_ids(model);
    let vocabulary = model.config().vocab_size;
    let ids: Vec<u8> = (ids.iter())
        .flat_map(|id| i64::from(*id).to_le_bytes())
        .collect();
    let logits: Vec<u8> = (logits.iter())
        .flat_map(|logit| logit.to_le_bytes())
        .collect();
    let (table, cube) = (vec![ROWS, TOKENS], vec![ROWS, TOKENS, vocabulary]);
    let chat: Vec<u8> = (chat_ids.iter())
        .flat_map(|id| i64::from(*id).to_le_bytes())
        .collect();
    let claim = [
        ("input_ids", TensorView::new(Dtype::I64, table, &ids)),
        (
            "chat_ids",
            TensorView::new(Dtype::I64, vec![chat_ids.len()], &chat),
        ),
        ("logits", TensorView::new(Dtype::F32, cube, &logits)),
    ];
    let claim = claim.map(|(name, view)| (name, view.unwrap()));
    fs::write(path, safetensors::serialize(claim, None).unwrap()).unwrap();
}

/// Runs the script, which fails if logits differ by more than 2e-4, and prints its measurement.
#[track_caller]
fn assert_logits_agree(what: &str, command: &mut Command) {
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {stdout} {trouble}");
    print_note(&format!("{what}: {stdout}"));
}

/// Returns the folders of all recorded models.
fn bases() -> Vec<PathBuf> {
    let variants = every_variant().into_iter();
    variants
        .filter_map(|(oracle, variant)| oracle.model(&variant))
        .collect()
}

#[test]
fn peft_roundtrip() {
    let Some(script) = oracle().path("check_adapter_in_peft.py") else {
        return;
    };
    let Some(python) = python() else {
        return;
    };
    let shapes = [
        LoraConfig::default(),
        LoraConfig {
            rank: 3,
            rslora: true,
            targets: ModuleNames::from(&[Target::Query, Target::Value]),
            ..LoraConfig::default()
        },
    ];
    for (base, config) in bases().into_iter().zip(shapes.into_iter().cycle()) {
        let variant = base.display();
        let model = trained(&base, config);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("claim.safetensors");
        write_logits(&model, &path);
        let adapter = folder.path().join("adapter");
        Lora::save(&model, &adapter, &model.base_digest().unwrap()).unwrap();
        let mut command = Command::new(&python);
        command.arg(&script).args([&base, &adapter, &path]);
        assert_logits_agree(&format!("adapter of {variant} in PEFT"), &mut command);

        let merged = folder.path().join("merged");
        merge(&model, &base, &merged, false).unwrap();
        let mut command = Command::new(&python);
        command.args(["-c", MERGED]).args([&merged, &path]);
        assert_logits_agree(&format!("merged {variant} in transformers"), &mut command);

        // The saved adapter gives the same output when it is loaded here.
        let mut again = CausalLm::load(&base, &device()).unwrap();
        Lora::load(&mut again, &adapter, BaseCheck::Weights).unwrap();
        let second = folder.path().join("again.safetensors");
        write_logits(&again, &second);
        assert!(fs::read(&second).unwrap() == fs::read(&path).unwrap());
    }
}

/// New models of every family load in transformers without missing or unexpected weights, with the
/// same logits and the same tokens of a conversation. So do they after training.
#[test]
fn new_models_open_in_transformers() {
    let Some(python) = python() else {
        return;
    };
    let script = MERGED.replace("sys.exit(apart > 2e-4)", CHAT);
    for model_type in ModelType::ALL {
        let folder = tempfile::tempdir().unwrap();
        let (base, merged) = (folder.path().join("base"), folder.path().join("merged"));
        new_model(&base, model_type);
        let trained = trained(&base, LoraConfig::default());
        merge(&trained, &base, &merged, false).unwrap();
        let tokenizer = Tokenizer::load(&base).unwrap();
        let messages = [
            Message::new("system", "Be brief."),
            Message::new("user", "0.86 + S3?"),
        ];
        let chat = tokenizer.encode_chat(&messages, None, true).unwrap().ids;
        for (what, options, path) in [
            ("new", ForwardOptions::REFERENCE, &base),
            ("trained", ForwardOptions::EVALUATION, &merged),
        ] {
            let claim = folder.path().join("claim.safetensors");
            write_claim(&trained, &logits_of(&trained, options), &chat, &claim);
            let mut command = Command::new(&python);
            command.args(["-c", &script]).args([path, &claim]);
            let what = format!("{what} {} in transformers", model_type.name());
            assert_logits_agree(&what, &mut command);
        }
    }
}
