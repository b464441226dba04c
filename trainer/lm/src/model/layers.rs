//! The layers of a decoder: linear layers with an optional LoRA pair, RMS norm, rotary position
//! embeddings, grouped-query attention, and the decoder layer made of them.
//!
//! Rotary embeddings follow Hugging Face's checkpoints: they rotate the two halves of a head
//! against each other, not neighboring elements. In grouped-query attention several query heads
//! share one head of keys and values.

use burn::tensor::activation::{silu, softmax};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sentinel_base::rng::Rng;
use sentinel_lm_kernels::HeadLayout;
use sentinel_tensor::matrix;

use super::adapted_linear::adapted_linear;
use super::attention_mask::{MASKED_SCORE, mask_of_device, mask_of_host};
use super::cache::LayerCache;
use super::forward_options::ForwardOptions;
use super::precision::matmul_weight;
use super::{Batch, cube, fused};
use crate::config::ModelConfig;
use crate::parameter::{Parameter, indices};

/// The two LoRA matrices of a linear layer: `x Aᵀ Bᵀ` times `scale` is added to its output. The
/// product `B A` is never computed.
#[derive(Clone, Debug)]
pub(crate) struct LoraPair {
    /// Matrix A with shape `[rank, inputs]`.
    pub(crate) a: Parameter,
    /// Matrix B with shape `[outputs, rank]`.
    pub(crate) b: Parameter,
    /// Scale of the product: `alpha / rank`, or `alpha / sqrt(rank)` for rsLoRA.
    pub(crate) scale: f64,
    /// Dropout probability of the inputs during training.
    pub(crate) dropout: f64,
}

impl LoraPair {
    /// Returns the seed of the dropout in a pass; `None` if nothing is dropped.
    fn dropout_seed(&self, pass: ForwardOptions) -> Option<u64> {
        pass.dropout.filter(|_| self.dropout > 0.0)
    }
}

/// A linear layer, `x Wᵀ + b`, with an optional adapter.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    /// Weight with shape `[outputs, inputs]`, as in a checkpoint.
    pub(crate) weight: Parameter,
    pub(crate) bias: Option<Parameter>,
    pub(crate) lora: Option<LoraPair>,
}

impl Linear {
    /// Maps `[n, inputs]` to `[n, outputs]`.
    pub(super) fn forward(&self, x: Tensor<2>, pass: ForwardOptions) -> Tensor<2> {
        let lora = self.lora.as_ref().filter(|_| pass.adapter);
        if let Some(y) = lora.and_then(|lora| self.forward_adapted(&x, lora, pass)) {
            return y;
        }
        let beside = lora.map(|lora| {
            let mut x = x.clone();
            if let Some(seed) = lora.dropout_seed(pass) {
                x = apply_dropout(x, lora.dropout, seed, lora.a.name());
            }
            let thin = matmul_weight(x, lora.a.get(pass.track));
            let wide = matmul_weight(thin, lora.b.get(pass.track));
            wide.mul_scalar(lora.scale)
        });
        let mut y = matmul_weight(x, self.weight.get(pass.track));
        if let Some(bias) = &self.bias {
            y = add_bias(y, bias.get(pass.track));
        }
        match beside {
            Some(beside) => y + beside,
            None => y,
        }
    }

    /// Computes [`Self::forward`] as one operation, which knows no dropout.
    fn forward_adapted(
        &self,
        x: &Tensor<2>,
        lora: &LoraPair,
        pass: ForwardOptions,
    ) -> Option<Tensor<2>> {
        if lora.dropout_seed(pass).is_some() {
            return None;
        }
        let bias = self.bias.as_ref().map(|bias| bias.get(pass.track));
        let [a, b] = [&lora.a, &lora.b].map(|matrix| matrix.get(pass.track));
        let weight = self.weight.get(pass.track);
        if let Some(y) = cube::adapted_linear(x, &weight, bias.as_ref(), [&a, &b], lora.scale) {
            return Some(y);
        }
        let y = adapted_linear(x, &weight, [&a, &b], lora.scale)?;
        Some(match bias {
            Some(bias) => add_bias(y, bias),
            None => y,
        })
    }

    pub(super) fn parameters<'a>(&'a self, all: &mut Vec<&'a Parameter>) {
        all.push(&self.weight);
        all.extend(&self.bias);
        if let Some(lora) = &self.lora {
            all.extend([&lora.a, &lora.b]);
        }
    }

    pub(super) fn parameters_mut<'a>(&'a mut self, all: &mut Vec<&'a mut Parameter>) {
        all.push(&mut self.weight);
        all.extend(&mut self.bias);
        if let Some(lora) = &mut self.lora {
            all.extend([&mut lora.a, &mut lora.b]);
        }
    }
}

/// Adds a bias, `[1, outputs]`, in the format of `x`.
pub(super) fn add_bias(x: Tensor<2>, bias: Tensor<2>) -> Tensor<2> {
    let bias = bias.cast(x.dtype());
    x + bias
}

/// Applies the RMS norm to each row, and multiplies the result by `weight`. It is computed in f32,
/// and returned in the format of `x`.
pub(super) fn rms_norm(x: Tensor<2>, weight: Tensor<2>, epsilon: f64) -> Tensor<2> {
    if let Some(normed) = cube::rms_norm(&x, &weight, epsilon) {
        return normed;
    }
    let kind = x.dtype();
    let x = x.cast(DType::F32);
    if fused::applies(&x) {
        return fused::fused_rms_norm(x, weight, epsilon).cast(kind);
    }
    let mean = x.clone().square().mean_dim(1);
    let scale = mean.add_scalar(epsilon).sqrt().recip();
    (x * scale * weight).cast(kind)
}

/// Adds two matrices, and applies the RMS norm to the sum; returns both.
pub(super) fn add_rms_norm(
    x: Tensor<2>,
    more: Tensor<2>,
    weight: Tensor<2>,
    epsilon: f64,
) -> [Tensor<2>; 2] {
    if let Some(both) = cube::add_rms_norm(&x, &more, &weight, epsilon) {
        return both;
    }
    let sum = x + more;
    [sum.clone(), rms_norm(sum, weight, epsilon)]
}

/// Applies the RMS norm to each head of queries or keys, `[n, heads * head]`.
pub(super) fn head_norm(x: Tensor<2>, weight: Tensor<2>, epsilon: f64) -> Tensor<2> {
    let ([rows, width], [_, head]) = (x.dims(), weight.dims());
    let heads = x.reshape([rows * width / head, head]);
    rms_norm(heads, weight, epsilon).reshape([rows, width])
}

/// Computes the gated unit of a feed-forward layer, `silu(gate) * up`.
pub(super) fn swiglu(gate: Tensor<2>, up: Tensor<2>) -> Tensor<2> {
    if let Some(inner) = cube::swiglu(&gate, &up) {
        return inner;
    }
    if fused::applies(&gate) {
        return fused::fused_swiglu(gate, up);
    }
    silu(gate) * up
}

/// Sets each element to 0 with probability `share` and scales the others by `1 / (1 - share)`.
/// `seed` and `place` determine the mask.
pub(super) fn apply_dropout(x: Tensor<2>, share: f64, seed: u64, place: &str) -> Tensor<2> {
    let shape = x.dims();
    let mut random = Rng::named(seed, place);
    let kept = (1.0 / (1.0 - share)) as f32;
    let draw = |_| if random.uniform() < share { 0.0 } else { kept };
    let mask: Vec<f32> = (0..shape[0] * shape[1]).map(draw).collect();
    let device = x.device().without_autodiff();
    let mask: Tensor<2> = Tensor::from_data(TensorData::new(mask, shape), &device);
    let mask = mask.cast(x.dtype());
    x * mask
}

/// The cosines and sines of all positions below a limit, on the device of a model.
#[derive(Clone, Debug)]
pub(crate) struct RopeTable {
    /// `[positions, head / 2]`.
    cosine: Tensor<2>,
    /// `[positions, head / 2]`.
    sine: Tensor<2>,
}

impl RopeTable {
    /// Computes the table of positions below `limit`.
    pub(crate) fn new(config: &ModelConfig, limit: usize, device: &Device) -> Self {
        let frequencies = config.rope_frequencies();
        let half = frequencies.len();
        let angle = |position: usize, frequency: &f32| f64::from(position as f32 * frequency);
        let angles =
            (0..limit).flat_map(|position| frequencies.iter().map(move |f| angle(position, f)));
        let factor = config.rope_attention_factor();
        let (cosine, sine): (Vec<f32>, Vec<f32>) = angles
            .map(|angle| ((angle.cos() * factor) as f32, (angle.sin() * factor) as f32))
            .unzip();
        Self {
            cosine: matrix(cosine, [limit, half], device),
            sine: matrix(sine, [limit, half], device),
        }
    }

    /// Returns cosines and sines, `[positions, head / 2]` each.
    pub(crate) fn tables(&self) -> [Tensor<2>; 2] {
        [self.cosine.clone(), self.sine.clone()]
    }

    /// Returns the embeddings of tokens at `positions`, `[rows * tokens]`.
    pub(crate) fn select(&self, positions: &Tensor<1, Int>, rows: usize) -> Rope {
        let [count] = positions.dims();
        let [_, half] = self.cosine.dims();
        let shape = [rows, count / rows.max(1), 1, half];
        let pick = |table: &Tensor<2>| table.clone().select(0, positions.clone()).reshape(shape);
        Rope {
            cosine: pick(&self.cosine),
            sine: pick(&self.sine),
        }
    }
}

/// The rotary position embeddings of a batch: cosines and sines, each
/// `[rows, tokens, 1, head / 2]`.
#[derive(Clone, Debug)]
pub(crate) struct Rope {
    cosine: Tensor<4>,
    sine: Tensor<4>,
}

impl Rope {
    /// Rotates queries or keys, `[rows, tokens, heads, head]`.
    pub(crate) fn apply(&self, x: Tensor<4>) -> Tensor<4> {
        let half = x.dims()[3] / 2;
        let (a, b) = (x.clone().narrow(3, 0, half), x.narrow(3, half, half));
        let (cosine, sine) = (self.cosine.clone(), self.sine.clone());
        let first = a.clone() * cosine.clone() - b.clone() * sine.clone();
        let second = b * cosine + a * sine;
        Tensor::cat(vec![first, second], 3)
    }
}

/// The shape, rotary embeddings and attention mask of a pass.
#[derive(Clone, Debug)]
pub(crate) struct AttentionContext {
    pub(crate) rows: usize,
    pub(crate) tokens: usize,
    pub(crate) heads: usize,
    pub(crate) groups: usize,
    pub(crate) head_dim: usize,
    pub(crate) rope: Rope,
    /// `[rows, 1, tokens, seen]`: offset that is added to the attention scores.
    pub(crate) mask: Tensor<4>,
}

impl AttentionContext {
    /// Creates the context of a whole batch. The mask is causal, hides padding and separates the
    /// segments of packed rows.
    pub(crate) fn from_batch(config: &ModelConfig, batch: &Batch, device: &Device) -> Self {
        Self::after_tokens(config, batch, 0, device)
    }

    /// Creates the context of a batch whose rows continue `before` tokens that were read already, which all of its
    /// tokens attend to.
    pub(crate) fn after_tokens(
        config: &ModelConfig,
        batch: &Batch,
        before: usize,
        device: &Device,
    ) -> Self {
        let (rows, tokens) = (batch.rows(), batch.tokens());
        let mut mask = if *device == Device::flex() {
            mask_of_host(batch, device)
        } else {
            mask_of_device(batch, device)
        };
        if before > 0 {
            let seen = Tensor::zeros([rows, 1, tokens, before], device);
            mask = Tensor::cat(vec![seen, mask], 3);
        }
        let positions = batch
            .positions()
            .into_iter()
            .map(|position| before + position);
        let positions: Vec<usize> = positions.collect();
        let limit = positions.iter().max().map_or(0, |last| last + 1);
        let table = RopeTable::new(config, limit, device);
        let rope = table.select(&indices(positions, device), rows);
        Self::new(config, rows, tokens, rope, mask)
    }

    pub(crate) const fn new(
        config: &ModelConfig,
        rows: usize,
        tokens: usize,
        rope: Rope,
        mask: Tensor<4>,
    ) -> Self {
        Self {
            rows,
            tokens,
            heads: config.num_attention_heads,
            groups: config.num_key_value_heads,
            head_dim: config.head_dim(),
            rope,
            mask,
        }
    }

    /// Returns the attention mask of cached rows for a single new token, `[rows, 1, 1, capacity]`:
    /// row `i` has `lengths[i]` tokens in the columns before `filled`.
    pub(crate) fn cache_mask(
        lengths: &[usize],
        filled: usize,
        capacity: usize,
        device: &Device,
    ) -> Tensor<4> {
        let mut mask = Vec::with_capacity(lengths.len() * capacity);
        for length in lengths {
            let seen = filled - length..filled;
            let offset = |column| {
                if seen.contains(&column) {
                    0.0
                } else {
                    MASKED_SCORE
                }
            };
            mask.extend((0..capacity).map(offset));
        }
        let shape = [lengths.len(), 1, 1, capacity];
        Tensor::from_data(TensorData::new(mask, shape), device)
    }

    /// Computes attention from queries, keys and values of the same rows, and returns
    /// `[rows * tokens, heads * head]`. The softmax is computed in f32.
    pub(super) fn attend(
        &self,
        query: Tensor<2>,
        key: Tensor<2>,
        value: Tensor<2>,
        cache: Option<&mut LayerCache>,
    ) -> Tensor<2> {
        let (rows, tokens, head) = (self.rows, self.tokens, self.head_dim);
        let scale = 1.0 / (head as f64).sqrt();
        let query = self.split_heads(query, self.heads, Some((&self.rope, scale)));
        let key = self.split_heads(key, self.groups, Some((&self.rope, 1.0)));
        let value = self.split_heads(value, self.groups, None);
        let (key, value) = match cache {
            Some(cache) => {
                let (keys, values) = cache.push(key, value);
                if tokens == 1 && fused::applies(&query) && !query.is_autodiff() {
                    return fused::fused_cached_attention(query, keys, values, self.mask.clone());
                }
                let seen = self.mask.dims()[3];
                (keys.narrow(2, 0, seen), values.narrow(2, 0, seen))
            }
            None => (key, value),
        };
        let seen = key.dims()[2];
        // The queries of a group are rows of one matrix, so keys and values need not be repeated.
        let grouped = [rows, self.groups, self.heads / self.groups * tokens];
        let [r, g, q] = grouped;
        let scores = query.reshape([r, g, q, head]).matmul(key.swap_dims(2, 3));
        let scores = scores.reshape([rows, self.heads, tokens, seen]);
        let weights = self.softmax(scores).reshape([r, g, q, seen]);
        let mixed = weights.matmul(value);
        let mixed = mixed.reshape([rows, self.heads, tokens, head]);
        if fused::applies(&mixed) {
            return fused::fused_merge_heads(mixed, self.layout(self.heads));
        }
        mixed
            .swap_dims(1, 2)
            .reshape([rows * tokens, self.heads * head])
    }

    /// Computes the softmax of attention scores, `[rows, heads, tokens, seen]`, in f32; returns it in their format.
    fn softmax(&self, scores: Tensor<4>) -> Tensor<4> {
        if let Some(weights) = cube::masked_softmax(&scores, &self.mask) {
            return weights;
        }
        let kind = scores.dtype();
        let scores = scores.cast(DType::F32);
        let weights = if fused::applies(&scores) {
            fused::fused_masked_softmax(scores, self.mask.clone())
        } else {
            softmax(scores + self.mask.clone(), 3)
        };
        weights.cast(kind)
    }

    const fn layout(&self, heads: usize) -> HeadLayout {
        HeadLayout {
            rows: self.rows,
            tokens: self.tokens,
            heads,
            head: self.head_dim,
        }
    }

    /// Maps `[rows * tokens, heads * head]` to `[rows, heads, tokens, head]`; rotates and scales it, in
    /// f32, if `rope` is given.
    fn split_heads(&self, x: Tensor<2>, heads: usize, rope: Option<(&Rope, f64)>) -> Tensor<4> {
        if fused::applies(&x) {
            let angles = rope.map(|(rope, _)| [rope.cosine.clone(), rope.sine.clone()]);
            let scale = rope.map_or(1.0, |(_, scale)| scale);
            return fused::fused_split_heads(x, self.layout(heads), angles, scale);
        }
        // Without a gradient and a rotation a view is enough.
        if rope.is_some() || x.is_autodiff() {
            let angles = rope.map(|(rope, _)| [&rope.cosine, &rope.sine]);
            let scale = rope.map_or(1.0, |(_, scale)| scale);
            if let Some(split) = cube::split_heads(&x, self.layout(heads), angles, scale) {
                return split;
            }
        }
        let x = x.reshape([self.rows, self.tokens, heads, self.head_dim]);
        let Some((rope, scale)) = rope else {
            return x.swap_dims(1, 2);
        };
        let kind = x.dtype();
        let x = rope.apply(x.cast(DType::F32)).swap_dims(1, 2);
        x.mul_scalar(scale).cast(kind)
    }
}

/// A decoder layer with trainable parameters.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) input_norm: Parameter,
    /// Linear layers in the order of [`crate::weights::BLOCK_LINEARS`]: query, key, value,
    /// output, gate, up, down.
    pub(crate) linears: [Linear; 7],
    /// Norms of each head's queries and keys, `[head]`; only some families have them.
    pub(crate) head_norms: Option<[Parameter; 2]>,
    pub(crate) post_norm: Parameter,
    pub(crate) epsilon: f64,
}

impl Block {
    /// Maps `[rows * tokens, hidden]` to the same shape.
    pub(crate) fn forward(
        &self,
        x: Tensor<2>,
        context: &AttentionContext,
        pass: ForwardOptions,
        cache: Option<&mut LayerCache>,
    ) -> Tensor<2> {
        let [query, key, value, output, gate, up, down] = &self.linears;
        let y = rms_norm(x.clone(), self.input_norm.get(pass.track), self.epsilon);
        let (mut query, mut key) = (query.forward(y.clone(), pass), key.forward(y.clone(), pass));
        if let Some([query_norm, key_norm]) = &self.head_norms {
            query = head_norm(query, query_norm.get(pass.track), self.epsilon);
            key = head_norm(key, key_norm.get(pass.track), self.epsilon);
        }
        let mixed = context.attend(query, key, value.forward(y, pass), cache);
        let x = x + output.forward(mixed, pass);
        let y = rms_norm(x.clone(), self.post_norm.get(pass.track), self.epsilon);
        let inner = swiglu(gate.forward(y.clone(), pass), up.forward(y, pass));
        x + down.forward(inner, pass)
    }

    pub(crate) fn parameters<'a>(&'a self, all: &mut Vec<&'a Parameter>) {
        all.push(&self.input_norm);
        for linear in &self.linears {
            linear.parameters(all);
        }
        all.extend(self.head_norms.iter().flatten());
        all.push(&self.post_norm);
    }

    pub(crate) fn parameters_mut<'a>(&'a mut self, all: &mut Vec<&'a mut Parameter>) {
        all.push(&mut self.input_norm);
        for linear in &mut self.linears {
            linear.parameters_mut(all);
        }
        all.extend(self.head_norms.iter_mut().flatten());
        all.push(&mut self.post_norm);
    }
}
