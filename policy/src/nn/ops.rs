//! The operations of a forward pass and of action selection, as plain loops over slices.
//!
//! The order of the additions is part of the contract: committed models choose the same actions,
//! bit for bit, on every target.

pub use sentinel_kernels::{add_product, relu};

/// Computes `out = bias + x W`, with `W` of shape `[x.len(), out.len()]`.
#[inline]
pub fn linear(x: &[f32], w: &[f32], bias: &[f32], out: &mut [f32]) {
    out.copy_from_slice(bias);
    add_product(x, w, out);
}

/// Computes a layer over a set of rows that share their weights (Deep Sets, arXiv:1703.06114):
/// `out[i] = relu(shared + rows[i] W)`, and `pooled = share * (sum of out[i])`.
///
/// Rows that are `None` do not contribute, and their part of `out` keeps its previous contents.
#[inline]
pub fn set_layer<'a>(
    rows: impl Iterator<Item = Option<&'a [f32]>>,
    w: &[f32],
    shared: &[f32],
    out: &mut [f32],
    share: f32,
    pooled: &mut [f32],
) {
    pooled.fill(0.0);
    for (row, out) in rows.zip(out.chunks_exact_mut(shared.len())) {
        let Some(row) = row else {
            continue;
        };
        linear(row, w, shared, out);
        relu(out);
        add_product(&[share], out, pooled);
    }
}

/// Returns the softmax of `logits` over the entries that `mask` allows. The others have probability
/// 0; if `mask` allows none, all probabilities are 0.
#[must_use]
pub fn softmax(logits: &[f32], mask: &[bool]) -> Vec<f64> {
    let mut probabilities = vec![0.0; logits.len()];
    masked_softmax(logits, mask, &mut probabilities);
    probabilities
}

/// Computes [`softmax`] into `out`, which must hold zeros on entry.
pub fn masked_softmax(logits: &[f32], mask: &[bool], out: &mut [f64]) {
    let allowed = (logits.iter().zip(mask)).filter(|(_, on)| **on);
    let largest = allowed.fold(f32::NEG_INFINITY, |max, (logit, _)| max.max(*logit));
    for ((out, logit), on) in out.iter_mut().zip(logits).zip(mask) {
        if *on {
            *out = f64::from(*logit - largest).exp();
        }
    }
    let total: f64 = out.iter().sum();
    if total > 0.0 {
        for out in out {
            *out /= total;
        }
    }
}

/// Returns the index of the largest logit that `mask` allows, the lowest index on a tie; `None` if
/// `mask` allows none.
#[must_use]
pub fn masked_argmax(logits: &[f32], mask: &[bool]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (index, (logit, on)) in logits.iter().zip(mask).enumerate() {
        if *on && best.is_none_or(|best| *logit > logits[best]) {
            best = Some(index);
        }
    }
    best
}
