//! Networks over sets of rows on tensors: the same passes as the plain ones, with gradients.

use burn::tensor::{Device, Tensor};
use sentinel_policy::nn::set_net::{LAYERS, param_index};
use sentinel_policy::nn::{Architecture, ChoiceSet, SetFeatures, SetLayers, SetNet};
use sentinel_tensor::matrix;

use super::parameter_tensors::{Outputs, ParameterTensors};

/// A batch of sets of rows on a device.
#[derive(Clone, Debug)]
pub struct SetInputs {
    /// The features of the rows, `[batch * rows, features]`.
    rows: Tensor<2>,
    /// The mask of the rows, `[batch * rows, 1]`: 1 for a row that counts, else 0.
    counts: Tensor<2>,
    /// The reciprocal of the number of rows that count, `[batch, 1]`.
    share: Tensor<2>,
}

impl SetInputs {
    /// Copies the features of alternatives to a device.
    #[must_use]
    pub fn new<'a, E: ChoiceSet>(
        features: impl Iterator<Item = &'a SetFeatures>,
        device: &Device,
    ) -> Self {
        let sets = features.map(|one| (&one.rows[..], &one.legal[..]));
        Self::from_sets(sets, E::SCHEMA.width(), device)
    }

    /// Copies sets with equally many rows to a device. Each set is its features, `width` per row,
    /// and the mask of rows that count.
    #[must_use]
    pub fn from_sets<'a>(
        sets: impl Iterator<Item = (&'a [f32], &'a [bool])>,
        width: usize,
        device: &Device,
    ) -> Self {
        let (mut rows, mut counts, mut share) = (Vec::new(), Vec::new(), Vec::new());
        for (features, on) in sets {
            rows.extend_from_slice(features);
            counts.extend(on.iter().map(|on| if *on { 1.0 } else { 0.0 }));
            let count = on.iter().filter(|on| **on).count();
            share.push(1.0 / count.max(1) as f32);
        }
        let (batch, all) = (share.len(), counts.len());
        Self {
            rows: matrix(rows, [all, width], device),
            counts: matrix(counts, [all, 1], device),
            share: matrix(share, [batch, 1], device),
        }
    }

    /// Returns the number of sets.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.share.dims()[0]
    }

    /// Computes the logits of a [`SetNet`].
    #[must_use]
    pub fn forward<E: ChoiceSet>(&self, net: &ParameterTensors<SetNet<E>>) -> Outputs {
        let bias = net.parameter(param_index::INPUT_BIAS);
        let shared = bias.expand([self.batch(), net.config().hidden()]);
        self.logits(net, &LAYERS, shared)
    }

    /// Computes the logits of all rows, `[batch, rows]`, by the formula at [`SetLayers`]; `shared`,
    /// `[batch, hidden]`, is the term that the rows of a set have in common.
    #[must_use]
    pub fn logits<A: Architecture>(
        &self,
        net: &ParameterTensors<A>,
        layers: &SetLayers,
        shared: Tensor<2>,
    ) -> Outputs {
        let [batch, hidden] = shared.dims();
        let [all, _] = self.counts.dims();
        let rows = all / batch;
        let first = net.set_layer(self.rows.clone(), layers.row_input, shared);
        let first = first * self.counts.clone().reshape([batch, rows, 1]);
        let pooled = first.clone().sum_dim(1).reshape([batch, hidden]) * self.share.clone();
        let shared = net.linear(pooled, layers.pool_hidden, layers.hidden_bias);
        let second = net.set_layer(first.reshape([all, hidden]), layers.row_hidden, shared);
        let logits = net.product(second.reshape([all, hidden]), layers.head);
        Outputs {
            logits: logits.reshape([batch, rows]),
            beliefs: None,
        }
    }
}
