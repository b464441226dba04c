//! Two layers over a set of rows that share their weights, and a logit for each row (Deep Sets,
//! arXiv:1703.06114).
//!
//! Per row that counts: `h = relu(row W + shared)`, averaged over these rows;
//! `z = relu(h V + mean P + c)`; its logit is `z v`. The order of the rows means nothing. `shared` is
//! what the rows have in common: a bias, or a layer over features of the whole set.

use super::network::Scratch;
use super::ops::{add_product, linear, relu, set_layer};
use super::{Architecture, Weights};

/// The parameters of the layers, as indices into [`Architecture::shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetLayers {
    /// Features of a row to the first layer, `W`.
    pub row_in: usize,
    /// First layer to second, `V`.
    pub row_mid: usize,
    /// Mean of the first layer to the second, `P`.
    pub pool_mid: usize,
    /// Bias of the second layer, `c`.
    pub bias_mid: usize,
    /// Second layer to the logit, `v`.
    pub head: usize,
}

impl SetLayers {
    /// Returns buffers for sets of `rows` rows and layers of `hidden` units: the shared row, one row of a
    /// layer, and the whole first layer.
    #[must_use]
    pub fn scratch(rows: usize, hidden: usize) -> Scratch {
        Scratch::new(&[hidden, hidden, rows * hidden])
    }

    /// Writes the logit of each row that `counts`; the others keep theirs. The first buffer holds the
    /// shared row when it is called, and all of them are [`SetLayers::scratch`]'s.
    #[inline]
    pub fn forward<'a, A: Architecture>(
        &self,
        w: &Weights<A>,
        rows: impl Iterator<Item = &'a [f32]>,
        counts: &[bool],
        [shared, pooled, first]: [&mut [f32]; 3],
        logits: &mut [f32],
    ) {
        let count = counts.iter().filter(|on| **on).count();
        let share = 1.0 / count.max(1) as f32;
        let rows = rows.zip(counts).map(|(row, on)| on.then_some(row));
        set_layer(rows, w.tensor(self.row_in), shared, first, share, pooled);
        let bias = w.tensor(self.bias_mid);
        linear(pooled, w.tensor(self.pool_mid), bias, shared);
        // The mean has been used: its buffer holds one row of the second layer.
        let row = pooled;
        for (index, h) in first.chunks_exact(row.len()).enumerate() {
            if counts[index] {
                linear(h, w.tensor(self.row_mid), shared, row);
                relu(row);
                add_product(row, w.tensor(self.head), &mut logits[index..=index]);
            }
        }
    }
}
