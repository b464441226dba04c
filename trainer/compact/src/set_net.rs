//! Networks over sets of rows on tensors: the same passes as the plain ones, with gradients.

use sentinel_policy::nn::set_net::{LAYERS, param_index};
use sentinel_policy::nn::{Architecture, ChoiceSet, SetFeatures, SetLayers, SetNet};

use super::parameter_tensors::{DefaultTensor, Outputs, ParameterTensors};
use super::tensor::Tensor;

/// A batch of sets of rows on a device.
#[derive(Clone, Debug)]
pub struct SetInputs<T = DefaultTensor> {
    /// The features of the rows, `[batch * rows, features]`.
    rows: T,
    /// The mask of the rows, `[batch * rows, 1]`: 1 for a row that counts, else 0.
    counts: T,
    /// The reciprocal of the number of rows that count, `[batch, 1]`.
    share: T,
}

impl<T: Tensor> SetInputs<T> {
    /// Copies the features of alternatives to a device.
    #[must_use]
    pub fn new<E: ChoiceSet>(features: &[&SetFeatures], device: &T::Device) -> Self {
        let sets = features.iter().map(|one| (&one.rows[..], &one.legal[..]));
        Self::from_sets(sets, E::SCHEMA.width(), device)
    }

    /// Copies sets with equally many rows to a device. Each set is its features, `width` per row,
    /// and the mask of rows that count.
    #[must_use]
    pub fn from_sets<'a>(
        sets: impl Iterator<Item = (&'a [f32], &'a [bool])>,
        width: usize,
        device: &T::Device,
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
            rows: T::constant(rows, [all, width], device),
            counts: T::constant(counts, [all, 1], device),
            share: T::constant(share, [batch, 1], device),
        }
    }

    /// Returns the number of sets.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.share.size()[0]
    }

    /// Computes the logits of a [`SetNet`].
    #[must_use]
    pub fn forward<E: ChoiceSet>(&self, net: &ParameterTensors<SetNet<E>, T>) -> Outputs<T> {
        let bias = net.parameter(param_index::INPUT_BIAS);
        self.logits(net, &LAYERS, bias.repeat_row(self.batch()))
    }

    /// Computes the logits of all rows, `[batch, rows]`, by the formula at [`SetLayers`]; `shared`,
    /// `[batch, hidden]`, is the term that the rows of a set have in common.
    #[must_use]
    pub fn logits<A: Architecture>(
        &self,
        net: &ParameterTensors<A, T>,
        layers: &SetLayers,
        shared: T,
    ) -> Outputs<T> {
        let rows = self.counts.size()[0] / self.batch();
        let first = net.set_layer(self.rows.clone(), layers.row_input, shared);
        let first = first.scale_rows(self.counts.clone());
        let pooled = first.clone().sum_sets(rows).scale_rows(self.share.clone());
        let shared = net.linear(pooled, layers.pool_hidden, layers.hidden_bias);
        let second = net.set_layer(first, layers.row_hidden, shared);
        Outputs {
            logits: net.product(second, layers.head).flatten_sets(rows),
            beliefs: None,
        }
    }
}
