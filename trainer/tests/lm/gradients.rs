//! Losses and gradients of the recorded batches.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor};
use sentinel_lm::{
    AdamOptions, BaseCheck, Batch, CausalLm, Entropy, ForwardOptions, Grads, HeadOptions, Lora,
    Optimizer, TokenGrads, TokenSelection, TokenValues, TrainedPart,
};
use serde::Deserialize;

use crate::oracle::{LOGITS, Oracle, Recorded, close, device, every_variant, numbers};

/// Returns the largest accepted difference between passes with and without gradients. On the processor they take the
/// same loops; on other devices passes without gradients have kernels of their own, which round otherwise.
fn rounding() -> f32 {
    if device() == Device::flex() {
        1e-5
    } else {
        5e-5
    }
}

/// The options and results of recorded training.
#[derive(Deserialize)]
pub(crate) struct Sft {
    pub(crate) lr: f64,
    eps: f32,
    weight_decay: f32,
    max_grad_norm: f64,
    steps: Vec<Step>,
    full_loss: f32,
    full_grad_norms: BTreeMap<String, f32>,
}

#[derive(Deserialize)]
struct Step {
    loss: f32,
    grad_norm: f64,
}

/// A model with the batch that its recorded training used.
pub(crate) struct Case {
    pub(crate) model: CausalLm,
    pub(crate) batch: Batch,
    pub(crate) selection: TokenSelection,
    recorded: BTreeMap<String, Recorded>,
    pub(crate) sft: Sft,
}

/// Returns the recorded case of a model; `None` if its files are not there.
pub(crate) fn case(oracle: &Oracle, variant: &str) -> Option<Case> {
    let recorded = oracle.tensors(&format!("sft_{variant}.safetensors"))?;
    let sft = oracle.json(&format!("sft_{variant}.json"))?;
    let model = CausalLm::load(&oracle.model(variant)?, &device()).unwrap();
    let mask = &recorded["attention_mask"];
    let batch = recorded["input_ids"].batch(model.config(), Some(mask));
    let labels = &recorded["labels"].whole;
    let columns = batch.tokens();
    let chosen = labels
        .iter()
        .enumerate()
        .map(|(at, label)| at % columns > 0 && *label != -100);
    let selection = TokenSelection::new(&batch, &chosen.collect::<Vec<_>>()).unwrap();
    Some(Case {
        model,
        batch,
        selection,
        recorded,
        sft,
    })
}

/// Returns a case with the recorded adapter, which is the only trained part.
pub(crate) fn adapted(oracle: &Oracle, variant: &str) -> Option<Case> {
    let mut case = case(oracle, variant)?;
    let adapter = oracle.adapter(&format!("adapter_{variant}"))?;
    Lora::load(&mut case.model, &adapter, BaseCheck::Weights).unwrap();
    case.model.set_trained_part(TrainedPart::Adapter);
    Some(case)
}

/// Returns the mean of the negative log-probabilities.
pub(crate) fn loss(case: &Case, hidden: Tensor<2>, pass: ForwardOptions) -> Tensor<1> {
    let found = (case.model).token_logprobs(hidden, &case.selection, 1.0, Entropy::Skipped, pass);
    found.logps.mean().neg()
}

/// Computes gradients in one pass and block by block, and checks that they agree.
fn gradients(case: &Case) -> (f32, Grads) {
    let pass = ForwardOptions::training(0);
    let whole = loss(case, case.model.hidden_states(&case.batch, pass), pass);
    let value = numbers(whole.clone())[0];
    let grads = case.model.backward(&whole).unwrap();
    let by_block = |hidden| Ok(loss(case, hidden, pass));
    let (again, blocks) = case
        .model
        .backward_by_block(&case.batch, pass, by_block)
        .unwrap();
    close("loss block by block", &[again], &[value], rounding());
    same_gradients(&case.model, &blocks, &grads);
    let count = case.selection.len();
    for (max_logits, by_block) in part_sizes(case) {
        let (pass, head) = (
            pass.with_gradient_checkpointing(by_block),
            HeadOptions {
                max_logits,
                ..HeadOptions::default()
            },
        );
        let mut found = TokenValues::default();
        let loss = |values: &TokenValues| {
            found = values.clone();
            Ok(TokenGrads {
                logps: vec![-1.0 / count as f32; count],
                entropies: None,
            })
        };
        let parts = (case.model)
            .token_gradients(&case.batch, &case.selection, head, pass, loss)
            .unwrap();
        let mean = found.logps.iter().sum::<f32>() / count as f32;
        close("loss of parts", &[-mean], &[value], rounding());
        same_gradients(&case.model, &parts, &grads);
    }
    (value, grads)
}

/// Returns limits of the logits, of all tokens and of three tokens, each with and without gradient
/// checkpointing.
fn part_sizes(case: &Case) -> [(usize, bool); 4] {
    let three = 3 * case.model.config().vocab_size;
    [
        (usize::MAX, false),
        (usize::MAX, true),
        (three, false),
        (three, true),
    ]
}

/// Checks that gradients agree, and that exactly the trained parameters have one.
fn same_gradients(model: &CausalLm, ours: &Grads, expected: &Grads) {
    for (index, parameter) in model.parameters().iter().enumerate() {
        let (Some(one), Some(two)) = (expected.get(index), ours.get(index)) else {
            assert!(!parameter.is_trainable() && ours.get(index).is_none());
            continue;
        };
        let (one, two) = (numbers(one.clone()), numbers(two.clone()));
        relative(parameter.name(), &two, &one, rounding());
    }
}

/// The head applied to a few tokens at a time gives the same values and gradients, also with a
/// temperature and a loss of the entropies.
#[test]
fn parts_of_the_head_change_nothing() {
    for (oracle, variant) in every_variant() {
        let Some(mut case) = case(&oracle, &variant) else {
            continue;
        };
        case.model.set_trained_part(TrainedPart::Everything);
        let computed = |(max_logits, by_block)| {
            let pass = ForwardOptions::training(0).with_gradient_checkpointing(by_block);
            let head = HeadOptions {
                temperature: 0.7,
                entropy: Entropy::Gradient,
                max_logits,
            };
            let mut found = TokenValues::default();
            let loss = |values: &TokenValues| {
                found = values.clone();
                let ramp =
                    |scale: f32| (0..values.logps.len()).map(move |at| scale * (at as f32 - 5.0));
                Ok(TokenGrads {
                    logps: ramp(0.01).collect(),
                    entropies: Some(ramp(-0.02).collect()),
                })
            };
            let grads =
                (case.model).token_gradients(&case.batch, &case.selection, head, pass, loss);
            let values = (case.model)
                .token_values(
                    &case.batch,
                    &case.selection,
                    head,
                    ForwardOptions::EVALUATION,
                )
                .unwrap();
            close(
                "values without gradients",
                &values.logps,
                &found.logps,
                rounding(),
            );
            (found, grads.unwrap())
        };
        let [first, others @ ..] = part_sizes(&case).map(computed);
        for (values, grads) in &others {
            close("log-probabilities", &values.logps, &first.0.logps, 5e-5);
            close("entropies", &values.entropies, &first.0.entropies, 5e-5);
            close("largest", &values.max_logps, &first.0.max_logps, 5e-5);
            same_gradients(&case.model, grads, &first.1);
        }
    }
}

fn relative(name: &str, ours: &[f32], recorded: &[f32], share: f32) {
    let most = recorded.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    close(name, ours, recorded, share * most.max(1e-6));
}

#[test]
fn adapter_gradients_match_peft() {
    for (oracle, variant) in every_variant() {
        let Some(case) = adapted(&oracle, &variant) else {
            continue;
        };
        let (value, grads) = gradients(&case);
        close("loss", &[value], &[case.sft.steps[0].loss], LOGITS);
        let norm = grads.norm().unwrap();
        assert!(
            (norm / case.sft.steps[0].grad_norm - 1.0).abs() < 1e-3,
            "{norm}"
        );
        let mut compared = 0;
        for (index, parameter) in case.model.parameters().iter().enumerate() {
            let Some(recorded) = case.recorded.get(&format!("grad.{}", parameter.name())) else {
                assert!(!parameter.is_trainable(), "{}", parameter.name());
                continue;
            };
            let ours = numbers(grads.get(index).unwrap().clone());
            relative(parameter.name(), &ours, &recorded.values, 1e-3);
            compared += 1;
        }
        let expected = case
            .recorded
            .keys()
            .filter(|key| key.starts_with("grad."))
            .count();
        assert_eq!(compared, expected);
    }
}

#[test]
fn full_gradients_match_torch() {
    for (oracle, variant) in every_variant() {
        let Some(mut case) = case(&oracle, &variant) else {
            continue;
        };
        case.model.set_trained_part(TrainedPart::Everything);
        let (value, grads) = gradients(&case);
        close("loss", &[value], &[case.sft.full_loss], LOGITS);
        let recorded = oracle.tensors(&format!("full_grads_{variant}.safetensors"));
        let mut compared = 0;
        for (index, parameter) in case.model.parameters().iter().enumerate() {
            let ours = numbers(grads.get(index).unwrap().clone());
            let norm = ours.iter().map(|x| x * x).sum::<f32>().sqrt();
            let expected = case.sft.full_grad_norms[parameter.name()];
            close(parameter.name(), &[norm], &[expected], 1e-3 * expected);
            if let Some(recorded) = recorded.as_ref().and_then(|all| all.get(parameter.name())) {
                relative(parameter.name(), &ours, &recorded.values, 1e-3);
                compared += 1;
            }
        }
        assert_eq!(
            case.model.parameters().len(),
            case.sft.full_grad_norms.len()
        );
        assert_eq!(compared, recorded.map_or(0, |all| all.len()));
    }
}

#[test]
fn adamw_steps_match_torch() {
    for (oracle, variant) in every_variant() {
        let Some(mut case) = adapted(&oracle, &variant) else {
            continue;
        };
        let options = AdamOptions {
            epsilon: case.sft.eps,
            weight_decay: case.sft.weight_decay,
            max_grad_norm: case.sft.max_grad_norm,
            ..AdamOptions::default()
        };
        let mut optimizer = Optimizer::new(&options);
        for (index, step) in case.sft.steps.iter().enumerate() {
            let pass = ForwardOptions::training(index as u64);
            let value = loss(&case, case.model.hidden_states(&case.batch, pass), pass);
            close(
                "loss of a step",
                &[numbers(value.clone())[0]],
                &[step.loss],
                1e-3,
            );
            let grads = case.model.backward(&value).unwrap();
            let norm = optimizer.step(&mut case.model, grads, case.sft.lr).unwrap();
            assert!(
                (norm / step.grad_norm - 1.0).abs() < 2e-3,
                "{norm} {}",
                step.grad_norm
            );
            // A step after restoring the moments is the same step.
            let moments = optimizer.moments().unwrap();
            optimizer = Optimizer::new(&options);
            optimizer.restore(moments, &case.model).unwrap();
            for parameter in case.model.parameters() {
                let name = format!("after_step{}.{}", index + 1, parameter.name());
                if let Some(recorded) = case.recorded.get(&name) {
                    close(&name, &parameter.values().unwrap(), &recorded.values, 1e-4);
                }
            }
        }
    }
}

#[test]
fn dropout_depends_on_seed() {
    for (oracle, variant) in every_variant() {
        let Some(mut case) = case(&oracle, &variant) else {
            continue;
        };
        let Some(adapter) = oracle.adapter(&format!("adapter_{variant}")) else {
            continue;
        };
        // The recorded adapter with dropout set in its configuration.
        let folder = tempfile::tempdir().unwrap();
        let name = "adapter_model.safetensors";
        std::fs::copy(adapter.join(name), folder.path().join(name)).unwrap();
        let config = std::fs::read(adapter.join("adapter_config.json")).unwrap();
        let mut config: serde_json::Value = serde_json::from_slice(&config).unwrap();
        config["lora_dropout"] = serde_json::json!(0.5);
        let path = folder.path().join("adapter_config.json");
        std::fs::write(path, config.to_string()).unwrap();
        Lora::load(&mut case.model, folder.path(), BaseCheck::Weights).unwrap();
        case.model.set_trained_part(TrainedPart::Adapter);

        let logits = |pass| numbers(case.model.forward(&case.batch, pass));
        let [one, again, other] = [1, 1, 2].map(|seed| logits(ForwardOptions::training(seed)));
        assert_eq!(one, again);
        assert_ne!(one, other);
        assert_ne!(one, logits(ForwardOptions::EVALUATION));
        // Block by block, dropout masks the same inputs.
        gradients(&case);
    }
}
