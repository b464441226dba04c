//! Hidden states, logits and log-probabilities of forward passes.

use std::path::Path;

use sentinel_lm::{CausalLm, Entropy, ForwardOptions, ModelConfig, TokenSelection};

use crate::oracle::{LOGITS, Recorded, close, device, every_variant, numbers, oracle};

type File = std::collections::BTreeMap<String, Recorded>;

fn compare(name: &str, model: &CausalLm, file: &File, tolerance: f32) {
    let config = model.config();
    let batch = file["a.input_ids"].batch(config, None);
    // As in transformers' `output_hidden_states`, the last state is taken after the last norm.
    let mut states = Vec::new();
    let last = model.hidden_states_observed(&batch, ForwardOptions::EVALUATION, |x| {
        states.push(x.clone());
    });
    states.pop();
    states.push(last);
    assert_eq!(states.len(), config.num_hidden_layers + 1);
    for (k, state) in states.into_iter().enumerate() {
        let recorded = &file[&format!("a.hidden.{k}")].values;
        let most = recorded.iter().fold(1.0_f32, |most, x| most.max(x.abs()));
        close(
            &format!("{name} hidden {k}"),
            &numbers(state),
            recorded,
            tolerance * most,
        );
    }
    let logits = numbers(model.forward(&batch, ForwardOptions::EVALUATION));
    close(
        &format!("{name} short"),
        &logits,
        &file["a.logits"].values,
        tolerance,
    );

    let batch = file["long.input_ids"].batch(config, None);
    let recorded = &file["long.logits_last4"].values;
    let logits = numbers(model.forward(&batch, ForwardOptions::EVALUATION));
    let last = &logits[logits.len() - recorded.len()..];
    close(&format!("{name} long"), last, recorded, tolerance);
    padded(name, model, file, tolerance);
}

fn padded(name: &str, model: &CausalLm, file: &File, tolerance: f32) {
    let mask = &file["pad.attention_mask"];
    let batch = file["pad.input_ids"].batch(model.config(), Some(mask));
    let positions = batch.positions().into_iter();
    let recorded = &file["pad.position_ids"].whole;
    for ((ours, recorded), on) in positions.zip(recorded).zip(batch.mask()) {
        assert!(
            !on || i64::try_from(ours).unwrap() == *recorded,
            "{name} positions"
        );
    }
    let vocabulary = model.config().vocab_size;
    let mut logits = numbers(model.forward(&batch, ForwardOptions::EVALUATION));
    for (row, on) in logits.chunks_mut(vocabulary).zip(batch.mask()) {
        if !on {
            row.fill(0.0);
        }
    }
    close(
        &format!("{name} padded"),
        &logits,
        &file["pad.logits"].values,
        tolerance,
    );

    let columns = batch.tokens();
    let follows =
        |at: usize| !at.is_multiple_of(columns) && batch.mask()[at] && batch.mask()[at - 1];
    let chosen: Vec<bool> = (0..batch.ids().len()).map(follows).collect();
    let selection = TokenSelection::new(&batch, &chosen).unwrap();
    let hidden = model.hidden_states(&batch, ForwardOptions::EVALUATION);
    let found = model.token_logprobs(
        hidden,
        &selection,
        1.0,
        Entropy::Value,
        ForwardOptions::EVALUATION,
    );
    let logps = numbers(found.logps);
    let recorded = &file["pad.logprobs_next"].values;
    let places: Vec<usize> = (0..chosen.len()).filter(|at| chosen[*at]).collect();
    assert_eq!(logps.len(), places.len());
    for (at, logp) in places.into_iter().zip(logps) {
        let recorded = recorded[at / columns * (columns - 1) + at % columns - 1];
        close(
            &format!("{name} log-probability {at}"),
            &[logp],
            &[recorded],
            tolerance,
        );
    }
}

#[test]
fn forward_pass_matches_transformers() {
    for (oracle, variant) in every_variant() {
        let Some(file) = oracle.tensors(&format!("forward_{variant}.safetensors")) else {
            continue;
        };
        let Some(folder) = oracle.model(&variant) else {
            continue;
        };
        let model = CausalLm::load(&folder, &device()).unwrap();
        assert_eq!(model.config().tie_word_embeddings, variant == "tied");
        compare(&variant, &model, &file, LOGITS);
    }
}

#[test]
fn sharded_checkpoint_loads_same_model() {
    let oracle = oracle();
    let Some(folder) = oracle.checkpoint("model_untied_sharded") else {
        return;
    };
    let model = CausalLm::load(&folder, &device()).unwrap();
    if let Some(file) = oracle.tensors("forward_untied.safetensors") {
        compare("sharded", &model, &file, LOGITS);
    }
    let Some(whole) = oracle.model("untied") else {
        return;
    };
    let whole = CausalLm::load(&whole, &device()).unwrap();
    assert_eq!(model.base_digest().unwrap(), whole.base_digest().unwrap());
}

#[test]
fn bf16_checkpoint_is_loaded() {
    let oracle = oracle();
    let Some(half) = oracle.path("model_untied/model.bf16.safetensors") else {
        return;
    };
    let Some(whole) = oracle.model("untied") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(&half, folder.path().join("model.safetensors")).unwrap();
    std::fs::copy(whole.join("config.json"), folder.path().join("config.json")).unwrap();
    let rounded = CausalLm::load(folder.path(), &device()).unwrap();
    let whole = CausalLm::load(&whole, &device()).unwrap();
    for (rounded, whole) in rounded.parameters().iter().zip(whole.parameters()) {
        let expected = whole.values().unwrap().into_iter();
        let expected = expected.map(|number| half::bf16::from_f32(number).to_f32());
        assert_eq!(rounded.values().unwrap(), expected.collect::<Vec<f32>>());
    }
    let Some(file) = oracle.tensors("forward_untied.safetensors") else {
        return;
    };
    // The mantissa of bf16 has eight bits, so the results are only close.
    let batch = file["a.input_ids"].batch(rounded.config(), None);
    let logits = numbers(rounded.forward(&batch, ForwardOptions::EVALUATION));
    let most = logits.iter().fold(1.0_f32, |most, x| most.max(x.abs()));
    close("bf16", &logits, &file["a.logits"].values, 0.1 * most);
}

#[test]
fn legacy_and_new_config_keys_are_equal() {
    for (oracle, variant) in every_variant() {
        let Some(new) = oracle.path(&format!("model_{variant}/config.json")) else {
            continue;
        };
        let new = ModelConfig::load_file(&new).unwrap();
        let Some(legacy) = oracle.path(&format!("model_{variant}/config.legacy.json")) else {
            continue;
        };
        assert_eq!(ModelConfig::load_file(&legacy).unwrap(), new);
        let written = tempfile::tempdir().unwrap();
        write_config(written.path(), &new);
        assert_eq!(ModelConfig::load(written.path()).unwrap(), new);
    }
}

fn write_config(folder: &Path, config: &ModelConfig) {
    std::fs::write(folder.join("config.json"), config.to_json().to_string()).unwrap();
}
