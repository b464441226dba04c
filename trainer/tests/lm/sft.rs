//! Supervised fine-tuning held to TRL's `SFTTrainer`.

use std::collections::BTreeMap;

use sentinel_trainer::corpus::{Example, Prompt, Role, Turn};
use sentinel_trainer::lm::sft::{Prepared, RowOptions, SftRow, TooLong, prepare, window_gradient};
use sentinel_trainer::lm::train::{Schedule, ScheduleKind};
use sentinel_trainer::lm::{
    AdamOptions, BaseCheck, LmError, Lora, Optimizer, Pass, Qwen2, Tokenizer, Trained,
};
use serde::Deserialize;

use crate::oracle::{LOGITS, Oracle, Recorded, close, device, numbers, oracle};

#[derive(Deserialize)]
struct Run {
    rows: Vec<[String; 2]>,
    input_ids: Vec<Vec<u32>>,
    labels: Vec<Vec<i64>>,
    curve: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    loss: f64,
    grad_norm: f64,
    learning_rate: f64,
    entropy: f64,
    mean_token_accuracy: f64,
    num_tokens: f64,
}

fn examples(run: &Run) -> Vec<Example> {
    let example = |(index, [asked, said]): (usize, &[String; 2])| Example {
        prompt: Prompt::Chat(vec![Turn {
            role: Role::User,
            content: asked.clone(),
        }]),
        completion: said.clone(),
        line: index + 1,
    };
    run.rows.iter().enumerate().map(example).collect()
}

fn rows(
    oracle: &Oracle,
    variant: &str,
    run: &Run,
    options: RowOptions,
) -> Result<Prepared, LmError> {
    let folder = oracle.path(&format!("model_{variant}")).unwrap();
    prepare(&Tokenizer::load(&folder).unwrap(), &examples(run), options)
}

const OPTIONS: RowOptions = RowOptions {
    max_length: 1024,
    too_long: TooLong::Refuse,
    completion_only: true,
};

fn adapted(oracle: &Oracle, variant: &str) -> Qwen2 {
    let folder = oracle.path(&format!("model_{variant}")).unwrap();
    let adapter = oracle.path(&format!("adapter_{variant}")).unwrap();
    let mut model = Qwen2::load(&folder, &device()).unwrap();
    Lora::load(&mut model, &adapter, BaseCheck::Weights).unwrap();
    model.train(Trained::Adapter);
    model
}

#[test]
fn rows_are_those_of_trl() {
    let oracle = oracle();
    for variant in oracle.variants() {
        let Some(run) = oracle.json::<Run>(&format!("sft_trainer_run_{variant}.json")) else {
            continue;
        };
        let found = rows(&oracle, &variant, &run, OPTIONS).unwrap();
        assert_eq!(found.rows.len(), run.rows.len());
        for ((row, ids), labels) in found.rows.iter().zip(&run.input_ids).zip(&run.labels) {
            assert_eq!(&row.ids, ids);
            let start = labels.iter().take_while(|label| **label == -100).count();
            assert_eq!(row.start, start);
            assert_eq!(row.labels(), labels.len() - start);
        }
    }
}

#[test]
fn long_rows_are_refused_dropped_or_cut_as_asked() {
    let oracle = oracle();
    let Some(run) = oracle.json::<Run>("sft_trainer_run_tied.json") else {
        return;
    };
    let with = |too_long, max_length| {
        let options = RowOptions {
            max_length,
            too_long,
            ..OPTIONS
        };
        rows(&oracle, "tied", &run, options)
    };
    let lengths: Vec<usize> = run.input_ids.iter().map(Vec::len).collect();
    let over: Vec<usize> = (1..)
        .zip(&lengths)
        .filter(|(_, l)| **l > 30)
        .map(|(line, _)| line)
        .collect();
    assert!(over.len() > 1 && over.len() < lengths.len());
    let refused = with(TooLong::Refuse, 30).unwrap_err().to_string();
    assert!(
        refused.starts_with(&format!("{} of 8 rows", over.len())),
        "{refused}"
    );
    let dropped = with(TooLong::Drop, 30).unwrap();
    assert_eq!(dropped.dropped, over);
    assert_eq!(dropped.rows.len() + over.len(), 8);
    let cut = with(TooLong::Cut, 31).unwrap();
    // Row 1 begins its completion at 32: nothing of it is left to train.
    assert_eq!(cut.dropped, [1]);
    assert!(cut.cut.contains(&2));
    assert!(
        cut.rows
            .iter()
            .all(|row| row.ids.len() <= 31 && row.labels() > 0)
    );
    let all = RowOptions {
        completion_only: false,
        ..OPTIONS
    };
    let all = rows(&oracle, "tied", &run, all).unwrap();
    assert_eq!(all.rows[0].labels(), lengths[0] - 1);
}

/// The recorded batch as rows.
fn recorded_rows(file: &BTreeMap<String, Recorded>) -> Vec<SftRow> {
    let columns = file["input_ids"].shape[1];
    let ids = file["input_ids"].ids();
    let (mask, labels) = (file["attention_mask"].flags(), &file["labels"].whole);
    let parts = ids
        .chunks(columns)
        .zip(mask.chunks(columns))
        .zip(labels.chunks(columns));
    parts
        .map(|((ids, mask), labels)| {
            let kept = || {
                mask.iter()
                    .enumerate()
                    .filter(|(_, on)| **on)
                    .map(|(at, _)| at)
            };
            let ids: Vec<u32> = kept().map(|at| ids[at]).collect();
            let start = kept().take_while(|at| labels[*at] == -100).count();
            assert!(kept().skip(start).all(|at| labels[at] != -100));
            SftRow { ids, start }
        })
        .collect()
}

#[derive(Deserialize)]
struct Case {
    mean_token_accuracy: f64,
    steps: Vec<Step>,
    full_loss: f64,
}

#[derive(Deserialize)]
struct Step {
    loss: f64,
    grad_norm: f64,
}

/// However rows are divided into micro-batches, every label weighs the same.
#[test]
fn windows_are_those_of_torch_in_any_division() {
    let oracle = oracle();
    for variant in oracle.variants() {
        let Some(file) = oracle.tensors(&format!("sft_{variant}.safetensors")) else {
            continue;
        };
        let case: Case = oracle.json(&format!("sft_{variant}.json")).unwrap();
        let rows = recorded_rows(&file);
        let rows: Vec<&SftRow> = rows.iter().collect();
        let mut model = adapted(&oracle, &variant);
        for micro in 1..=rows.len() {
            let found = window_gradient(&model, &rows, micro, 0, Pass::training(0)).unwrap();
            close(
                "loss",
                &[found.loss as f32],
                &[case.steps[0].loss as f32],
                LOGITS,
            );
            let norm = found.grads.norm().unwrap() / case.steps[0].grad_norm;
            assert!((norm - 1.0).abs() < 1e-3, "{norm}");
            for (index, parameter) in model.parameters().iter().enumerate() {
                let Some(recorded) = file.get(&format!("grad.{}", parameter.name())) else {
                    continue;
                };
                let ours = numbers(found.grads.get(index).unwrap().clone());
                let most = recorded
                    .values
                    .iter()
                    .fold(1e-6_f32, |most, x| most.max(x.abs()));
                close(parameter.name(), &ours, &recorded.values, 1e-3 * most);
            }
            if micro == rows.len() {
                assert!((found.accuracy - case.mean_token_accuracy).abs() < 1e-6);
            }
        }
        Lora::detach(&mut model);
        model.train(Trained::Everything);
        let found = window_gradient(&model, &rows, 1, 0, Pass::training(0)).unwrap();
        close(
            "full loss",
            &[found.loss as f32],
            &[case.full_loss as f32],
            LOGITS,
        );
    }
}

/// The whole recorded run: learning rate, loss, norm, accuracy and tokens of every step, and the
/// adapter at its end.
#[test]
fn a_run_is_that_of_trl() {
    let oracle = oracle();
    for variant in oracle.variants() {
        let Some(run) = oracle.json::<Run>(&format!("sft_trainer_run_{variant}.json")) else {
            continue;
        };
        let prepared = rows(&oracle, &variant, &run, OPTIONS).unwrap();
        let rows: Vec<&SftRow> = prepared.rows.iter().collect();
        let mut model = adapted(&oracle, &variant);
        let adam = AdamOptions {
            weight_decay: 0.01,
            ..AdamOptions::default()
        };
        let mut optimizer = Optimizer::new(&adam);
        let schedule = Schedule {
            kind: ScheduleKind::Linear,
            peak: 1e-2,
            warmup: 1,
            total: run.curve.len(),
        };
        let mut tokens = 0;
        for (step, point) in run.curve.iter().enumerate() {
            let window: Vec<&SftRow> = rows
                .iter()
                .cycle()
                .skip(step * 4)
                .take(4)
                .copied()
                .collect();
            let found = window_gradient(&model, &window, 2, 0, Pass::training(0)).unwrap();
            tokens += found.tokens;
            let rate = schedule.at(step);
            let norm = optimizer.step(&mut model, found.grads, rate).unwrap();
            let near = |what: &str, ours: f64, theirs: f64, share: f64| {
                let apart = (ours - theirs).abs();
                assert!(
                    apart <= share * theirs.abs().max(1e-3),
                    "{what} {step}: {ours} {theirs}"
                );
            };
            near("learning rate", rate, point.learning_rate, 1e-9);
            near("loss", found.loss, point.loss, 1e-3);
            near("norm", norm, point.grad_norm, 5e-3);
            near("tokens", tokens as f64, point.num_tokens, 1e-9);
            near("accuracy", found.accuracy, point.mean_token_accuracy, 1e-3);
            near("entropy", found.entropy, point.entropy, 5e-3);
        }
        let last = oracle.tensors(&format!("sft_trainer_final_adapter_{variant}.safetensors"));
        let last = last.unwrap();
        let mut compared = 0;
        for parameter in model.parameters() {
            if let Some(recorded) = last.get(parameter.name()) {
                let ours = parameter.numbers().unwrap();
                close(parameter.name(), &ours, &recorded.values, 5e-4);
                compared += 1;
            }
        }
        assert_eq!(compared, last.len());
    }
}
