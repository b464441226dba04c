//! Two hidden layers with shared weights over a set of rows, and one logit per row (Deep Sets,
//! arXiv:1703.06114).
//!
//! For each active row, `h = relu(row W + shared)`. With `mean` the mean of `h` over the active
//! rows, `z = relu(h V + mean P + c)`, and the logit of the row is `z v`. The result does not
//! depend on the order of the rows. `shared` is common to all rows: a bias, or a layer over
//! features of the whole set.

use super::network::Scratch;
use super::ops::{add_product, linear, relu, set_layer};
use super::{Architecture, Weights};

/// The parameters of the layers, as indices into [`Architecture::shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetLayers {
    /// Index of `W`, `[features, hidden]`: row features to the first layer.
    pub row_input: usize,
    /// Index of `V`, `[hidden, hidden]`: first layer to the second.
    pub row_hidden: usize,
    /// Index of `P`, `[hidden, hidden]`: mean of the first layer to the second.
    pub pool_hidden: usize,
    /// Index of `c`, `[hidden]`: bias of the second layer.
    pub hidden_bias: usize,
    /// Index of `v`, `[hidden, 1]`: second layer to the logit.
    pub head: usize,
}

impl SetLayers {
    /// Creates buffers for sets of `rows` rows and layers of `hidden` units: the shared row, one
    /// row of a layer, and the whole first layer.
    #[must_use]
    pub fn scratch(rows: usize, hidden: usize) -> Scratch {
        Scratch::new(&[hidden, hidden, rows * hidden])
    }

    /// Adds the logit of each row whose `counts` entry is `true` to `logits`; the other entries
    /// keep their value.
    ///
    /// The three buffers are those of [`SetLayers::scratch`]. The first must hold the shared row on
    /// entry; the contents of the others do not matter.
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
        set_layer(rows, w.tensor(self.row_input), shared, first, share, pooled);
        let bias = w.tensor(self.hidden_bias);
        linear(pooled, w.tensor(self.pool_hidden), bias, shared);
        // `pooled` is no longer needed, so its buffer holds one row of the second layer from here
        // on.
        let row = pooled;
        for (index, h) in first.chunks_exact(row.len()).enumerate() {
            if counts[index] {
                linear(h, w.tensor(self.row_hidden), shared, row);
                relu(row);
                add_product(row, w.tensor(self.head), &mut logits[index..=index]);
            }
        }
    }
}
