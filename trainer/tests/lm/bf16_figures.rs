//! The error of bf16, measured on the recorded models: the figures of `docs/how-to/gpu-box.md`.
//!
//! `cargo test --test lm -- bf16_figures --nocapture` prints them.

use sentinel_trainer::lm::{
    AdamOptions, Entropy, ForwardOptions, HeadOptions, Optimizer, Precision, TrainedPart,
};

use crate::gradients::{Case, adapted, case, loss};
use crate::oracle::{every_variant, numbers, print_note};

/// Number of AdamW steps after which losses are compared.
const STEPS: u64 = 20;

/// The differences between a model in f32 and the same in bf16.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    /// Largest difference of a logit, and the largest logit.
    logits: [f32; 2],
    /// Largest and mean difference of a log-probability.
    logps: [f32; 2],
    /// Norm of the difference of all gradients relative to their norm, and the largest difference
    /// within a matrix relative to its largest gradient.
    grads: [f32; 2],
    /// Difference of the loss after training, and by how much training lowers it.
    losses: [f32; 2],
}

impl Figures {
    fn largest(self, other: Self) -> Self {
        let largest = |a: [f32; 2], b: [f32; 2]| [a[0].max(b[0]), a[1].max(b[1])];
        Self {
            logits: largest(self.logits, other.logits),
            logps: largest(self.logps, other.logps),
            grads: largest(self.grads, other.grads),
            losses: largest(self.losses, other.losses),
        }
    }
}

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

fn measure(whole: Case, half: Case) -> Figures {
    let (expected, found) = (logits(&whole), logits(&half));
    let logps = differences(&logps(&half), &logps(&whole));
    let mut figures = Figures {
        logits: [most(&differences(&found, &expected)), most(&expected)],
        logps: [most(&logps), logps.iter().sum::<f32>() / logps.len() as f32],
        ..Figures::default()
    };
    for by_block in [false, true] {
        let (expected, found) = (gradients(&whole, by_block), gradients(&half, by_block));
        assert_eq!(found.len(), expected.len());
        let (mut apart, mut norm) = (0.0, 0.0);
        for (found, expected) in found.iter().zip(&expected) {
            let difference = differences(found, expected);
            apart += difference.iter().map(|x| x * x).sum::<f32>();
            norm += expected.iter().map(|x| x * x).sum::<f32>();
            let share = most(&difference) / most(expected).max(1e-9);
            figures.grads[1] = figures.grads[1].max(share);
        }
        figures.grads[0] = figures.grads[0].max((apart / norm).sqrt());
    }
    let (expected, found) = (trained(whole), trained(half));
    figures.losses = [
        (found[1] - expected[1]).abs(),
        expected[0] - expected[1],
    ];
    figures
}

/// Measures all recorded models, and prints the largest figures of each family.
fn all(precision: Precision, read: impl Fn(&(crate::oracle::Oracle, String)) -> Option<Case>) -> Figures {
    let mut largest = Figures::default();
    for named in every_variant() {
        let (Some(whole), Some(mut half)) = (read(&named), read(&named)) else {
            continue;
        };
        half.model.lower_precision(precision).unwrap();
        let found = measure(whole, half);
        print_note(&format!("{precision} {}: {found:?}", named.1));
        largest = largest.largest(found);
    }
    largest
}

#[test]
fn error_of_bf16() {
    for precision in [Precision::Bf16Weights, Precision::Bf16] {
        let found = all(precision, |(oracle, variant)| adapted(oracle, variant));
        print_note(&format!("{precision}: {found:?}"));
    }
    let full = |mut case: Case| {
        case.model.set_trained_part(TrainedPart::Everything);
        case
    };
    let found = all(Precision::Bf16, |(oracle, variant)| case(oracle, variant).map(full));
    print_note(&format!("full: {found:?}"));
}
