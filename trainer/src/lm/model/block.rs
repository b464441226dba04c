//! A decoder layer: attention, then the feed-forward part, each behind a norm.

use burn::tensor::Tensor;
use burn::tensor::activation::silu;

use super::Pass;
use super::attention::Around;
use super::cache::LayerCache;
use super::linear::Linear;
use super::norm::rms;
use crate::lm::parameter::Parameter;

/// A decoder layer.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) input_norm: Parameter,
    /// In the order of [`crate::lm::weights::BLOCK_LINEARS`]: queries, keys, values, output, gate,
    /// up, down.
    pub(crate) linears: [Linear; 7],
    pub(crate) post_norm: Parameter,
    pub(crate) epsilon: f64,
}

impl Block {
    /// `[rows * tokens, hidden]` to the same.
    pub(crate) fn forward(
        &self,
        x: Tensor<2>,
        around: &Around,
        pass: Pass,
        cache: Option<&mut LayerCache>,
    ) -> Tensor<2> {
        let [query, key, value, output, gate, up, down] = &self.linears;
        let y = rms(x.clone(), self.input_norm.get(pass.track), self.epsilon);
        let (query, key) = (query.forward(y.clone(), pass), key.forward(y.clone(), pass));
        let mixed = around.attend(query, key, value.forward(y, pass), cache);
        let x = x + output.forward(mixed, pass);
        let y = rms(x.clone(), self.post_norm.get(pass.track), self.epsilon);
        let inner = silu(gate.forward(y.clone(), pass)) * up.forward(y, pass);
        x + down.forward(inner, pass)
    }

    pub(crate) fn parameters<'a>(&'a self, all: &mut Vec<&'a Parameter>) {
        all.push(&self.input_norm);
        for linear in &self.linears {
            linear.parameters(all);
        }
        all.push(&self.post_norm);
    }

    pub(crate) fn parameters_mut<'a>(&'a mut self, all: &mut Vec<&'a mut Parameter>) {
        all.push(&mut self.input_norm);
        for linear in &mut self.linears {
            linear.parameters_mut(all);
        }
        all.push(&mut self.post_norm);
    }
}
