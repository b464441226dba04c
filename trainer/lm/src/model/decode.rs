//! Decoder layers prepared for inference: the adapter is added to the weights, and layers with
//! the same input are concatenated, so that a step takes four matrix products per layer.

use burn::tensor::{DType, Tensor};
use sentinel_base::precision::Precision;

use super::ForwardOptions;
use super::cache::LayerCache;
use super::cube::{self, DecodePlaces};
use super::layers::{
    AttentionContext, Block, Linear, add_bias, add_rms_norm, head_norm, rms_norm, swiglu,
};
use super::precision::round_weight;
use super::prepared_weight::PreparedWeight;

/// A decoder layer prepared for inference.
#[derive(Clone, Debug)]
pub(crate) struct DecodeLayer {
    input_norm: Tensor<2>,
    /// Concatenated weights of queries, keys and values.
    qkv: PreparedWeight,
    /// Concatenated biases of queries, keys and values, in f32.
    qkv_bias: Option<Tensor<2>>,
    /// Norms of each head's queries and keys, `[1, head]`.
    head_norms: Option<[Tensor<2>; 2]>,
    output: PreparedWeight,
    post_norm: Tensor<2>,
    /// Concatenated weights of gate and up projection.
    gate_up: PreparedWeight,
    down: PreparedWeight,
    /// Output widths of the query and the key projection.
    widths: [usize; 2],
    inner: usize,
    epsilon: f64,
}

impl Block {
    /// Returns the layer for inference, with its adapter added to the weights if the pass uses it.
    pub(crate) fn decode_layer(&self, pass: ForwardOptions, precision: Precision) -> DecodeLayer {
        let weight = |linear: &Linear| {
            let weight = linear.weight.get(false);
            match linear.lora.as_ref().filter(|_| pass.adapter) {
                Some(lora) => {
                    let delta = lora.b.get(false).matmul(lora.a.get(false));
                    let kind = weight.dtype();
                    let sum = weight.cast(DType::F32) + delta.mul_scalar(lora.scale);
                    round_weight(precision, sum.cast(kind))
                }
                None => round_weight(precision, weight),
            }
        };
        let joined = |linears: &[&Linear]| {
            let weights = linears.iter().map(|linear| weight(linear)).collect();
            PreparedWeight::new(Tensor::cat(weights, 0))
        };
        let [query, key, value, output, gate, up, down] = &self.linears;
        let biases = [query, key, value].map(|linear| linear.bias.as_ref().map(|b| b.get(false)));
        let biases: Option<Vec<_>> = biases.into_iter().collect();
        DecodeLayer {
            input_norm: self.input_norm.get(false),
            qkv: joined(&[query, key, value]),
            qkv_bias: biases.map(|biases| Tensor::cat(biases, 1)),
            head_norms: (self.head_norms.as_ref())
                .map(|norms| norms.each_ref().map(|norm| norm.get(false))),
            output: PreparedWeight::new(weight(output)),
            post_norm: self.post_norm.get(false),
            gate_up: joined(&[gate, up]),
            down: PreparedWeight::new(weight(down)),
            widths: [query.weight.shape()[0], key.weight.shape()[0]],
            inner: gate.weight.shape()[0],
            epsilon: self.epsilon,
        }
    }
}

/// The attention of a pass of prepared layers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attention<'a> {
    /// New tokens attend to columns of the cache by a mask.
    Masked(&'a AttentionContext),
    /// One new token per row attends to the cached ones by kernels of a graphics processor.
    Token(&'a DecodePlaces),
}

impl DecodeLayer {
    /// Maps `[rows * tokens, hidden]` to the same shape, and extends the cache.
    pub(crate) fn forward(
        &self,
        x: Tensor<2>,
        attention: Attention<'_>,
        cache: &mut LayerCache,
    ) -> Tensor<2> {
        let y = rms_norm(x.clone(), self.input_norm.clone(), self.epsilon);
        let qkv = self.qkv.product(y);
        let mixed = match attention {
            Attention::Masked(context) => self.attend(qkv, context, cache),
            Attention::Token(places) => cache.attend_token(&qkv, self.qkv_bias.as_ref(), places),
        };
        let added = self.output.product(mixed);
        let [x, y] = add_rms_norm(x, added, self.post_norm.clone(), self.epsilon);
        let wide = self.gate_up.product(y);
        let inner = cube::swiglu_of_joined(&wide).unwrap_or_else(|| {
            let gate = wide.clone().narrow(1, 0, self.inner);
            swiglu(gate, wide.narrow(1, self.inner, self.inner))
        });
        x + self.down.product(inner)
    }

    fn attend(
        &self,
        mut qkv: Tensor<2>,
        context: &AttentionContext,
        cache: &mut LayerCache,
    ) -> Tensor<2> {
        let [queries, keys] = self.widths;
        if let Some(bias) = &self.qkv_bias {
            qkv = add_bias(qkv, bias.clone());
        }
        let mut query = qkv.clone().narrow(1, 0, queries);
        let mut key = qkv.clone().narrow(1, queries, keys);
        let value = qkv.narrow(1, queries + keys, keys);
        if let Some([query_norm, key_norm]) = &self.head_norms {
            query = head_norm(query, query_norm.clone(), self.epsilon);
            key = head_norm(key, key_norm.clone(), self.epsilon);
        }
        context.attend(query, key, value, Some(cache))
    }

    /// Returns `true` if queries and keys have norms of their own, which [`Attention::Token`] does not know.
    pub(crate) const fn has_head_norms(&self) -> bool {
        self.head_norms.is_some()
    }
}
