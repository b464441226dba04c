//! The operations of a forward pass and of acting, as plain loops over slices.
//!
//! The order of additions is part of the contract: committed models play the same actions bit for
//! bit on every target.

/// Computes `out += x W`, with `W` of shape `[x.len(), out.len()]` row by row. Zeros, which half of
/// all hidden units are, cost nothing.
#[inline]
pub fn add_product(x: &[f32], w: &[f32], out: &mut [f32]) {
    for (x, row) in x.iter().zip(w.chunks_exact(out.len())) {
        if *x != 0.0 {
            for (out, w) in out.iter_mut().zip(row) {
                *out += x * w;
            }
        }
    }
}

/// Computes `out = bias + x W`.
#[inline]
pub fn linear(x: &[f32], w: &[f32], bias: &[f32], out: &mut [f32]) {
    out.copy_from_slice(bias);
    add_product(x, w, out);
}

/// Sets negative values to 0.
#[inline]
pub fn relu(values: &mut [f32]) {
    for value in values {
        *value = value.max(0.0);
    }
}

/// Computes a layer over a set of rows that share their weights (Deep Sets, arXiv:1703.06114):
/// `out[i] = relu(shared + rows[i] W)`, and `pooled = share * (sum of out[i])`. Rows that are `None`
/// take no part, and their place in `out` keeps what it held.
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

/// Returns the probabilities of logits. What `mask` leaves out has probability 0; all are 0 when it
/// leaves out everything.
#[must_use]
pub fn softmax(logits: &[f32], mask: &[bool]) -> Vec<f64> {
    let mut probabilities = vec![0.0; logits.len()];
    masked_softmax(logits, mask, &mut probabilities);
    probabilities
}

/// Computes [`softmax`] into `out`, which must hold zeros.
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

/// Returns the index of the largest logit that `mask` allows, the first of equal ones; `None` when
/// it allows none.
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
