//! A decoder layer for reading alone: the adapter added to the weights, and layers with the same
//! input joined, so that a step is four products.

use burn::tensor::activation::silu;
use burn::tensor::{DType, Tensor};

use super::Pass;
use super::attention::Around;
use super::block::Block;
use super::cache::LayerCache;
use super::half::times;
use super::linear::Linear;
use super::norm::rms;

/// Up to so many rows a product is made the other way round.
const FEW: usize = 64;

/// `x Wᵀ` for a weight `[outputs, inputs]`. With few rows, as when a token is written, it is `W xᵀ`,
/// turned: a processor's matrix product then reads the weight as it lies, where it would first copy
/// it into another order (two fifths of the time of writing).
pub(crate) fn product(x: Tensor<2>, weight: &Tensor<2>) -> Tensor<2> {
    let weight = weight.clone();
    if x.dims()[0] > FEW {
        return times(x, weight);
    }
    let x = x.cast(weight.dtype()).transpose();
    weight.matmul(x).transpose().cast(DType::F32)
}

/// A decoder layer. Weights are `[outputs, inputs]`.
#[derive(Clone, Debug)]
pub(crate) struct Fast {
    input_norm: Tensor<2>,
    /// Queries, keys and values.
    mix: Tensor<2>,
    mix_bias: Option<Tensor<2>>,
    output: Tensor<2>,
    post_norm: Tensor<2>,
    /// Gate and up.
    widen: Tensor<2>,
    down: Tensor<2>,
    /// Widths of queries and of keys.
    widths: [usize; 2],
    inner: usize,
    epsilon: f64,
}

impl Block {
    /// The layer with its adapter, if the pass has one, added to the weights.
    pub(crate) fn fast(&self, pass: Pass) -> Fast {
        let weight = |linear: &Linear| {
            let weight = linear.weight.get(false);
            match linear.lora.as_ref().filter(|_| pass.adapter) {
                Some(lora) => {
                    let product = lora.b.get(false).matmul(lora.a.get(false));
                    let kind = weight.dtype();
                    let sum = weight.cast(DType::F32) + product.mul_scalar(lora.scale);
                    sum.cast(kind)
                }
                None => weight,
            }
        };
        let joined = |linears: &[&Linear]| {
            Tensor::cat(linears.iter().map(|linear| weight(linear)).collect(), 0)
        };
        let [query, key, value, output, gate, up, down] = &self.linears;
        let biases = [query, key, value].map(|linear| linear.bias.as_ref().map(|b| b.get(false)));
        let biases: Option<Vec<_>> = biases.into_iter().collect();
        Fast {
            input_norm: self.input_norm.get(false),
            mix: joined(&[query, key, value]),
            mix_bias: biases.map(|biases| Tensor::cat(biases, 1)),
            output: weight(output),
            post_norm: self.post_norm.get(false),
            widen: joined(&[gate, up]),
            down: weight(down),
            widths: [query.weight.shape()[0], key.weight.shape()[0]],
            inner: gate.weight.shape()[0],
            epsilon: self.epsilon,
        }
    }
}

impl Fast {
    /// `[rows * tokens, hidden]` to the same.
    pub(crate) fn forward(
        &self,
        x: Tensor<2>,
        around: &Around,
        cache: &mut LayerCache,
    ) -> Tensor<2> {
        let [queries, keys] = self.widths;
        let y = rms(x.clone(), self.input_norm.clone(), self.epsilon);
        let mut mix = product(y, &self.mix);
        if let Some(bias) = &self.mix_bias {
            mix = mix + bias.clone();
        }
        let query = mix.clone().narrow(1, 0, queries);
        let key = mix.clone().narrow(1, queries, keys);
        let value = mix.narrow(1, queries + keys, keys);
        let mixed = around.attend(query, key, value, Some(cache));
        let x = x + product(mixed, &self.output);
        let y = rms(x.clone(), self.post_norm.clone(), self.epsilon);
        let wide = product(y, &self.widen);
        let gate = wide.clone().narrow(1, 0, self.inner);
        let up = wide.narrow(1, self.inner, self.inner);
        x + product(silu(gate) * up, &self.down)
    }
}
