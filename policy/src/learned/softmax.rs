//! Logits as probabilities.

use std::ops::Range;

/// The probabilities of logits; what `mask` leaves out has none. All zero when it leaves out all.
#[must_use]
pub fn softmax<const N: usize>(logits: &[f32; N], mask: &[bool; N]) -> [f64; N] {
    let mut weights = [0.0; N];
    masked_softmax(logits, mask, &mut weights);
    weights
}

/// [`softmax`] over as many as there are, into `weights`, which starts as zeros.
pub fn masked_softmax(logits: &[f32], mask: &[bool], weights: &mut [f64]) {
    let best = (logits.iter().zip(mask)).filter(|(_, on)| **on);
    let best = best.fold(f32::NEG_INFINITY, |best, (logit, _)| best.max(*logit));
    for ((weight, logit), on) in weights.iter_mut().zip(logits).zip(mask) {
        if *on {
            *weight = f64::from(*logit - best).exp();
        }
    }
    let total: f64 = weights.iter().sum();
    if total > 0.0 {
        for weight in weights {
            *weight /= total;
        }
    }
}

/// The first of the largest logits of a range of columns that `mask` allows; the range's start when it
/// allows none.
#[must_use]
pub fn best_of(logits: &[f32], mask: &[bool], columns: Range<usize>) -> usize {
    let start = columns.start;
    let better = |best: usize, column: usize| {
        if logits[column] > logits[best] {
            column
        } else {
            best
        }
    };
    let allowed = columns.filter(|column| mask[*column]);
    allowed.reduce(better).unwrap_or(start)
}

/// The first of the largest logits that `mask` allows.
#[must_use]
pub fn best<const N: usize>(logits: &[f32; N], mask: &[bool; N]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (index, logit) in logits.iter().enumerate() {
        if mask[index] && best.is_none_or(|best| *logit > logits[best]) {
            best = Some(index);
        }
    }
    best
}
