//! The error of bf16, measured on the recorded models: the figures of `docs/how-to/gpu-box.md`.
//!
//! `cargo test --test lm -- bf16_figures --nocapture` prints them.

use sentinel_lm::{
    AdamOptions, CausalLm, Entropy, ForwardOptions, GenerateOptions, GenerationDefaults,
    HeadOptions, Optimizer, Precision, Segment, TokenSelection, TrainedPart,
};

use crate::gradients::{Case, adapted, case, loss};
use crate::oracle::{every_variant, numbers, print_note};
use crate::segments::ids;

/// Number of AdamW steps after which losses are compared.
const STEPS: u64 = 20;

/// The differences between a model in f32 and the same in bf16 that are measured. Those of sampled
/// tokens are of completions that the model in bf16 generates.
const FIGURES: [&str; 9] = [
    "largest difference of a logit / largest logit",
    "largest difference of a log-probability",
    "mean difference of a log-probability",
    "largest difference of a sampled token's log-probability",
    "mean difference of a sampled token's log-probability",
    "largest difference between generation and training pass, both in bf16",
    "norm of the gradients' difference / norm of the gradients",
    "largest difference of a gradient / largest gradient of its matrix",
    "difference of the loss after training / decrease of the loss by training",
];

/// Figures of a model, in the order of [`FIGURES`].
type Figures = [f32; FIGURES.len()];

fn differences(a: &[f32], b: &[f32]) -> Vec<f32> {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).collect()
}

fn most(values: &[f32]) -> f32 {
    let absolute = values.iter().map(|x| x.abs());
    absolute.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
}

/// Returns the logits of all tokens except padding.
fn logits(case: &Case) -> Vec<f32> {
    let logits = numbers(case.model.forward(&case.batch, ForwardOptions::EVALUATION));
    let rows = logits.chunks(case.model.config().vocab_size);
    let kept = rows.zip(case.batch.mask()).filter(|(_, on)| **on);
    kept.flat_map(|(row, _)| row.to_vec()).collect()
}

fn logps(case: &Case) -> Vec<f32> {
    let head = HeadOptions {
        entropy: Entropy::Skipped,
        ..HeadOptions::default()
    };
    let pass = ForwardOptions::EVALUATION;
    let found = (case.model).token_values(&case.batch, &case.selection, head, pass);
    found.unwrap().logps
}

/// Samples completions from a model in bf16, and returns how far the log-probabilities of a training
/// pass are from those of the model in f32, and from those of generation.
fn sampled(whole: &CausalLm, half: &CausalLm) -> [Vec<f32>; 2] {
    let options = GenerateOptions::new(24, &GenerationDefaults::default(), 3);
    let prompts: Vec<Vec<u32>> = (0..16).map(|row| ids(row, 8)).collect();
    let completions = half.generate(&prompts, &options).unwrap();
    let rows: Vec<_> = (prompts.iter().zip(&completions))
        .map(|(prompt, completion)| {
            let segment = [prompt.as_slice(), &completion.ids].concat();
            (segment, prompt.len())
        })
        .collect();
    let rows: Vec<_> = (rows.iter())
        .map(|(ids, first)| vec![(Segment { ids, prefix: None }, |at: usize| at >= *first)])
        .collect();
    let (batch, selection) = TokenSelection::packed(whole.config(), &rows, 0).unwrap();
    let logps = |model: &CausalLm| {
        let (head, pass) = (HeadOptions::default(), ForwardOptions::EVALUATION);
        let found = model.token_values(&batch, &selection, head, pass);
        found.unwrap().logps
    };
    let found = logps(half);
    let generated = completions.iter().flat_map(|one| one.logps.clone());
    let generated = differences(&generated.collect::<Vec<f32>>(), &found);
    [differences(&found, &logps(whole)), generated]
}

fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}

/// Returns the gradients of each trained parameter, with and without gradient checkpointing.
fn gradients(case: &Case, by_block: bool) -> Vec<Vec<f32>> {
    let pass = ForwardOptions::training(0).with_gradient_checkpointing(by_block);
    let (_, grads) = (case.model)
        .gradients(&case.batch, pass, |hidden| Ok(loss(case, hidden, pass)))
        .unwrap();
    let count = case.model.parameters().len();
    let found = (0..count).filter_map(|index| grads.get(index));
    found.map(|grad| numbers(grad.clone())).collect()
}

/// Trains a copy of the model, and returns the loss before and after.
fn trained(mut case: Case) -> [f32; 2] {
    let mut optimizer = Optimizer::new(&AdamOptions::default());
    let value = |case: &Case| -logps(case).iter().sum::<f32>() / case.selection.len() as f32;
    let before = value(&case);
    for step in 0..STEPS {
        let pass = ForwardOptions::training(step);
        let hidden = case.model.hidden_states(&case.batch, pass);
        let grads = case.model.backward(&loss(&case, hidden, pass)).unwrap();
        optimizer.step(&mut case.model, grads, case.sft.lr).unwrap();
    }
    // What is trained is not rounded.
    let exact = |value: &f32| value.to_bits() & 0xffff != 0;
    let trained = case.model.parameters().into_iter();
    for parameter in trained.filter(|parameter| parameter.is_trainable()) {
        assert!(parameter.values().unwrap().iter().any(exact));
    }
    [before, value(&case)]
}

/// Measures a model in f32 and the same in bf16.
fn measure(whole: Case, half: Case) -> Figures {
    let (expected, found) = (logits(&whole), logits(&half));
    let logps = differences(&logps(&half), &logps(&whole));
    let [sampled, generated] = sampled(&whole.model, &half.model);
    let (mut share, mut largest) = (0.0_f32, 0.0_f32);
    for by_block in [false, true] {
        let (expected, found) = (gradients(&whole, by_block), gradients(&half, by_block));
        assert_eq!(found.len(), expected.len());
        let (mut apart, mut norm) = (0.0, 0.0);
        for (found, expected) in found.iter().zip(&expected) {
            let difference = differences(found, expected);
            apart += difference.iter().map(|x| x * x).sum::<f32>();
            norm += expected.iter().map(|x| x * x).sum::<f32>();
            largest = largest.max(most(&difference) / most(expected).max(1e-9));
        }
        share = share.max((apart / norm).sqrt());
    }
    let logits = most(&differences(&found, &expected)) / most(&expected);
    let (expected, found) = (trained(whole), trained(half));
    let loss = (found[1] - expected[1]).abs() / (expected[0] - expected[1]);
    [
        logits,
        most(&logps),
        mean(&logps),
        most(&sampled),
        mean(&sampled),
        most(&generated),
        share,
        largest,
        loss,
    ]
}

/// Measures all recorded models, prints the largest figures, and checks that they are positive and at
/// most `limits`.
fn check(what: &str, precision: Precision, trained: TrainedPart, limits: Figures) {
    let mut largest = [0.0_f32; FIGURES.len()];
    for (oracle, variant) in every_variant() {
        let read = || {
            let mut case = match trained {
                TrainedPart::Everything => case(&oracle, &variant)?,
                _ => adapted(&oracle, &variant)?,
            };
            case.model.set_trained_part(trained);
            Some(case)
        };
        let (Some(whole), Some(mut half)) = (read(), read()) else {
            continue;
        };
        half.model.lower_precision(precision).unwrap();
        let found = measure(whole, half);
        for (largest, found) in largest.iter_mut().zip(found) {
            *largest = if found.is_nan() {
                f32::INFINITY
            } else {
                largest.max(found)
            };
        }
    }
    for ((name, found), limit) in FIGURES.iter().zip(largest).zip(limits) {
        print_note(&format!("{what}: {name}: {found:.2e}"));
        assert!(found <= limit, "{what}: {name}: {found}, at most {limit}");
    }
    assert!(largest[0] > 1e-4, "nothing was rounded");
}

/// The limits are twice the figures that were measured.
#[test]
fn bf16_error_is_within_stated_bounds() {
    let weights = [0.05, 0.28, 0.1, 0.42, 0.05, 0.41, 0.08, 0.15, 0.01];
    let adapter = TrainedPart::Adapter;
    check("bf16-weights", Precision::Bf16Weights, adapter, weights);
    let all = [0.067, 0.53, 0.16, 0.86, 0.07, 0.77, 0.11, 0.2, 0.012];
    check("bf16", Precision::Bf16, adapter, all);
    let full = [0.1, 0.54, 0.13, 0.39, 0.055, 0.02, 0.1, 0.25, 1e-4];
    check(
        "bf16 with --full",
        Precision::Bf16,
        TrainedPart::Everything,
        full,
    );
}
