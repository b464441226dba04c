//! A GRPO step compared with TRL's `GRPOTrainer`.

use std::collections::BTreeMap;

use sentinel_language::grpo::{Objective, Sample, accumulate, completion_logps};
use sentinel_lm::{AdamOptions, BaseCheck, CausalLm, ForwardOptions, Lora, Optimizer, TrainedPart};
use sentinel_rl::config::{ImportanceSamplingLevel, LossConfig, LossType};
use sentinel_run::distributed::ProcessGroup;
use serde_json::Value;

use crate::oracle::{LOGITS, Oracle, Recorded, close, device, numbers, oracle};

/// Returns the values of a table's row where its mask is `true`.
fn row<T: Copy>(values: &[T], mask: &[bool], row: usize, columns: usize) -> Vec<T> {
    let places = row * columns..(row + 1) * columns;
    places.filter(|at| mask[*at]).map(|at| values[at]).collect()
}

fn samples(file: &BTreeMap<String, Recorded>) -> Vec<Sample> {
    let (prompt_mask, mask) = (file["prompt_mask"].flags(), file["completion_mask"].flags());
    let (prompts, completions) = (file["prompt_ids"].ids(), file["completion_ids"].ids());
    let (before, after) = (file["prompt_ids"].shape[1], file["completion_ids"].shape[1]);
    let written = file["tool_mask"].flags();
    let wide = |name: &str| -> Vec<f64> {
        file[name]
            .values
            .iter()
            .map(|value| f64::from(*value))
            .collect()
    };
    let (old, reference) = (wide("old_per_token_logps"), wide("ref_per_token_logps"));
    let sample = |(at, advantage): (usize, &f32)| Sample {
        prompt: row(&prompts, &prompt_mask, at, before),
        completion: row(&completions, &mask, at, after),
        mask: Some(row(&written, &mask, at, after)),
        advantage: f64::from(*advantage),
        old: Some(row(&old, &mask, at, after)),
        reference: Some(row(&reference, &mask, at, after)),
        ..Sample::default()
    };
    file["advantages"]
        .values
        .iter()
        .enumerate()
        .map(sample)
        .collect()
}

fn objective(run: &Value) -> Objective {
    let config = &run["config"];
    let number = |key: &str| config[key].as_f64().unwrap();
    assert_eq!(config["loss_type"], "dapo");
    Objective {
        loss: LossConfig {
            loss_type: LossType::Dapo,
            beta: number("beta"),
            use_bias_correction_kl: config["use_bias_correction_kl"].as_bool().unwrap(),
            epsilon: number("epsilon"),
            epsilon_high: Some(number("epsilon_high")),
            max_completion_length: 12,
            ..LossConfig::default()
        },
        temperature: number("temperature"),
        num_items: number("num_items_in_batch"),
        pad: 0,
    }
}

/// A recorded step: the model with its adapter, the samples, the options and the results.
struct Case {
    model: CausalLm,
    samples: Vec<Sample>,
    objective: Objective,
    file: BTreeMap<String, Recorded>,
    run: Value,
}

fn case(oracle: &Oracle, variant: &str) -> Option<Case> {
    let file = oracle.tensors(&format!("grpo_{variant}.safetensors"))?;
    let run: Value = oracle.json(&format!("grpo_{variant}.json"))?;
    let mut model = CausalLm::load(&oracle.model(variant)?, &device()).unwrap();
    let adapter = oracle.adapter(&format!("adapter_{variant}"))?;
    Lora::load(&mut model, &adapter, BaseCheck::Weights).unwrap();
    model.set_trained_part(TrainedPart::Adapter);
    Some(Case {
        model,
        samples: samples(&file),
        objective: objective(&run),
        file,
        run,
    })
}

/// Returns the first case that exists.
fn first() -> Option<Case> {
    let oracle = oracle();
    let variants = oracle.variants();
    variants.iter().find_map(|variant| case(&oracle, variant))
}

#[test]
fn grpo_step_matches_trl() {
    let oracle = oracle();
    for variant in oracle.variants() {
        let Some(case) = case(&oracle, &variant) else {
            continue;
        };
        let (file, run, objective) = (case.file, case.run, case.objective);
        let (mut model, samples) = (case.model, case.samples);
        let samples: Vec<&Sample> = samples.iter().collect();
        let loss_tokens: usize = samples.iter().map(|sample| sample.loss_tokens()).sum();
        assert!(
            (loss_tokens as f64 - objective.num_items).abs() < 1e-9,
            "{loss_tokens}"
        );

        let pass = ForwardOptions::training(0);
        let found = accumulate(
            &model,
            &samples,
            4,
            &objective,
            pass,
            &ProcessGroup::default(),
        )
        .unwrap();
        let recorded = run["loss"].as_f64().unwrap() as f32;
        let allowed = LOGITS * recorded.abs().max(1.0);
        close("loss", &[found.loss as f32], &[recorded], allowed);
        let metrics = run["metrics"].as_object().unwrap();
        for (name, value) in metrics {
            let ours = *found
                .metrics
                .get(name)
                .unwrap_or_else(|| panic!("no metric {name}"));
            let theirs = value.as_f64().unwrap();
            let allowed = 1e-3 * theirs.abs().max(1.0);
            assert!((ours - theirs).abs() < allowed, "{name}: {ours} {theirs}");
        }
        let mut compared = 0;
        for (index, parameter) in model.parameters().iter().enumerate() {
            let Some(recorded) = file.get(&format!("grad.{}", parameter.name())) else {
                assert!(!parameter.is_trainable(), "{}", parameter.name());
                continue;
            };
            let ours = numbers(found.grads.get(index).unwrap().clone());
            let most = recorded
                .values
                .iter()
                .fold(1e-6_f32, |most, x| most.max(x.abs()));
            close(parameter.name(), &ours, &recorded.values, 2e-3 * most);
            compared += 1;
        }
        assert_eq!(
            compared,
            file.keys().filter(|key| key.starts_with("grad.")).count()
        );

        let adam = &run["adamw"];
        let options = AdamOptions {
            max_grad_norm: adam["max_grad_norm"].as_f64().unwrap(),
            ..AdamOptions::default()
        };
        let mut optimizer = Optimizer::new(&options);
        let norm = optimizer
            .step(&mut model, found.grads, adam["lr"].as_f64().unwrap())
            .unwrap();
        let recorded = run["grad_norm"].as_f64().unwrap();
        assert!((norm / recorded - 1.0).abs() < 2e-3, "{norm} {recorded}");
        let after = accumulate(
            &model,
            &samples,
            4,
            &objective,
            pass,
            &ProcessGroup::default(),
        )
        .unwrap();
        let recorded = run["loss_after_step"].as_f64().unwrap();
        assert!(
            (after.loss - recorded).abs() < 2e-3 * recorded.abs().max(1.0),
            "{} {recorded}",
            after.loss
        );
    }
}

/// Losses with weights that do not depend on the micro-batch are equal for any division into
/// micro-batches, and the reference log-probabilities equal those that TRL computed with the
/// adapter disabled.
#[test]
fn micro_batch_size_does_not_change_gradient() {
    let Some(case) = first() else {
        return;
    };
    let (model, samples, mut objective) = (case.model, case.samples, case.objective);
    let samples: Vec<&Sample> = samples.iter().collect();
    let found = completion_logps(
        &model,
        &samples,
        2,
        &objective,
        ForwardOptions::REFERENCE,
        &ProcessGroup::default(),
    )
    .unwrap();
    for (sample, found) in samples.iter().zip(&found) {
        let narrow = |all: &[f64]| all.iter().map(|x| *x as f32).collect::<Vec<_>>();
        close(
            "reference",
            &narrow(found),
            &narrow(sample.reference.as_ref().unwrap()),
            LOGITS,
        );
    }
    for level in [
        ImportanceSamplingLevel::Token,
        ImportanceSamplingLevel::Sequence,
    ] {
        objective.loss.importance_sampling_level = level;
        let mut whole = None;
        for micro in [4, 2, 1] {
            let found = accumulate(
                &model,
                &samples,
                micro,
                &objective,
                ForwardOptions::training(0),
                &ProcessGroup::default(),
            )
            .unwrap();
            let norm = found.grads.norm().unwrap();
            let (loss, first) = *whole.get_or_insert((found.loss, norm));
            assert!((found.loss - loss).abs() < 1e-5, "{level:?} {micro}");
            assert!((norm / first - 1.0).abs() < 1e-4, "{level:?} {micro}");
        }
    }
}

/// Every loss type gives finite gradients through the model; masked tokens give none.
#[test]
fn every_loss_type_has_finite_gradients() {
    let Some(case) = first() else {
        return;
    };
    let (model, mut samples, mut objective) = (case.model, case.samples, case.objective);
    objective.loss.entropy_coef = 0.01;
    for kind in [
        LossType::Grpo,
        LossType::Bnpo,
        LossType::DrGrpo,
        LossType::Dapo,
        LossType::Cispo,
        LossType::Sapo,
        LossType::Luspo,
        LossType::Vespo,
    ] {
        objective.loss.loss_type = kind;
        let all: Vec<&Sample> = samples.iter().collect();
        let found = accumulate(
            &model,
            &all,
            4,
            &objective,
            ForwardOptions::training(0),
            &ProcessGroup::default(),
        )
        .unwrap();
        let norm = found.grads.norm().unwrap();
        assert!(
            found.loss.is_finite() && norm.is_finite() && norm > 0.0,
            "{kind:?}"
        );
    }
    for sample in &mut samples {
        sample.mask = Some(vec![false; sample.completion.len()]);
    }
    objective.loss.loss_type = LossType::Grpo;
    let all: Vec<&Sample> = samples.iter().collect();
    let found = accumulate(
        &model,
        &all,
        4,
        &objective,
        ForwardOptions::training(0),
        &ProcessGroup::default(),
    )
    .unwrap();
    assert!(found.loss.abs() < 1e-12 && found.grads.norm().unwrap() < 1e-12);
}
