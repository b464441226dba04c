//! Packed examples are trained as if each had a row of its own.

use std::fs;

use sentinel_language::sft::{SftRow, pack_best_fit, packed_gradient};
use sentinel_lm::{CausalLm, ForwardOptions, Grads, Lora, TrainedPart};
use serde_json::Value;

use crate::oracle::{alone, close, every_variant, numbers};
use crate::runs::{adapter, curve, made, succeeds};
use crate::sft::{adapted, recorded_rows};

/// Checks that gradients agree within 1e-5 of the largest value of each tensor.
fn assert_gradients_close(model: &CausalLm, found: &Grads, expected: &Grads) {
    for (index, parameter) in model.parameters().into_iter().enumerate() {
        let (Some(found), Some(expected)) = (found.get(index), expected.get(index)) else {
            assert!(!parameter.is_trainable(), "{}", parameter.name());
            continue;
        };
        let (found, expected) = (numbers(found.clone()), numbers(expected.clone()));
        let most = expected.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        close(parameter.name(), &found, &expected, 1e-5 * most.max(1e-3));
    }
}

#[test]
fn packed_rows_have_same_gradient_as_single_rows() {
    for (oracle, variant) in every_variant() {
        let Some(file) = oracle.tensors(&format!("sft_{variant}.safetensors")) else {
            continue;
        };
        let Some(mut model) = adapted(&oracle, &variant) else {
            continue;
        };
        let rows = recorded_rows(&file);
        let lengths: Vec<usize> = rows.iter().map(|row| row.ids.len()).collect();
        let all: usize = lengths.iter().sum();
        let longest = lengths.iter().copied().max().unwrap();
        for trained in [TrainedPart::Adapter, TrainedPart::Everything] {
            if trained == TrainedPart::Everything {
                Lora::detach(&mut model);
            }
            model.set_trained_part(trained);
            let pass = ForwardOptions::training(0);
            let each: Vec<&SftRow> = rows.iter().collect();
            let alone = packed_gradient(&model, &alone(&each), rows.len(), 0, pass).unwrap();
            // Once in as few rows as possible, and once all in one row.
            for limit in [2 * longest, all] {
                let packs = pack_best_fit(&lengths, limit);
                assert!(packs.len() < rows.len(), "nothing shares a row");
                let packs: Vec<Vec<&SftRow>> = (packs.iter())
                    .map(|pack| pack.iter().map(|row| &rows[*row]).collect())
                    .collect();
                let found = packed_gradient(&model, &packs, packs.len(), 0, pass).unwrap();
                assert!((found.loss - alone.loss).abs() < 1e-5 * alone.loss);
                assert!((found.entropy - alone.entropy).abs() < 1e-5 * alone.entropy);
                assert_eq!(found.accuracy, alone.accuracy);
                assert_eq!((found.tokens, found.labels), (all, alone.labels));
                assert_gradients_close(&model, &found.grads, &alone.grads);
            }
        }
    }
}

/// Compares one step over a whole corpus with and without packing; then checks an epoch of several
/// steps.
#[test]
fn packed_run_matches_unpacked_run() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let run = |options: &str, name: &str| {
        let out = folder.path().join(name);
        succeeds(&format!(
            "lm sft --model {model} --data {corpus} --learning-rate 1e-2 {options} --output-dir {}",
            out.display()
        ));
        let events = fs::read_to_string(out.join("events.jsonl")).unwrap();
        let mut events = events
            .lines()
            .map(|e| serde_json::from_str::<Value>(e).unwrap());
        let data = events.find(|event| event["event"] == "data").unwrap();
        (out, data["counts"].clone())
    };
    let whole = "--batch-size 100";
    let (alone, _) = run(whole, "alone");
    let (packed, counts) = run(&format!("{whole} --packing --max-length 400"), "packed");
    let (one, two) = (curve(&alone), curve(&packed));
    assert_eq!((one.len(), two.len()), (1, 1));
    for name in [
        "loss",
        "grad_norm",
        "entropy",
        "mean_token_accuracy",
        "num_tokens",
    ] {
        let read =
            |curve: &[std::collections::BTreeMap<String, Value>]| curve[0][name].as_f64().unwrap();
        let (one, two) = (read(&one), read(&two));
        assert!((one - two).abs() <= 1e-5 * one.abs(), "{name}: {one} {two}");
    }
    // B starts at zero, so the first AdamW step depends on the signs of the gradient: those must
    // agree.
    let (one, two) = (adapter(&alone), adapter(&packed));
    for (name, one) in one.iter().filter(|(name, _)| name.contains("lora_B")) {
        let near = one
            .iter()
            .zip(&two[name])
            .filter(|(a, b)| (**a - **b).abs() < 1e-4);
        assert!(near.count() * 100 > one.len() * 98, "{name}");
    }

    let rows = |counts: &Value, what: &str| counts[what].as_f64().unwrap() as usize;
    assert!(
        rows(&counts, "packed_rows") * 2 <= rows(&counts, "rows"),
        "{counts}"
    );
    let (several, counts) = run("--batch-size 3 --packing --max-length 400", "several");
    let curve = curve(&several);
    assert_eq!(curve.len(), rows(&counts, "packed_rows").div_ceil(3));
    // Each example is trained once per epoch.
    assert_eq!(curve[curve.len() - 1]["num_tokens"], counts["tokens"]);
}
