//! Grouped-query attention: several heads of queries share one of keys and values.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};

use super::cache::LayerCache;
use super::{Batch, Rope};
use crate::lm::config::ModelConfig;

/// Added to the score of what must not be seen. Finite, so that a row that sees nothing (padding)
/// stays a number.
const HIDDEN: f32 = -1e30;

/// What a pass needs to know about its tokens: how many, where they are, what they may see.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    pub(crate) rows: usize,
    pub(crate) tokens: usize,
    pub(crate) heads: usize,
    pub(crate) groups: usize,
    pub(crate) head_dim: usize,
    pub(crate) rope: Rope,
    /// `[rows, 1, tokens, seen]`, added to the scores.
    pub(crate) mask: Tensor<4>,
}

impl Around {
    /// Of a whole batch: a token sees those before it that are no padding.
    pub(crate) fn of(config: &ModelConfig, batch: &Batch, device: &Device) -> Self {
        let (rows, tokens) = (batch.rows(), batch.tokens());
        let mut mask = Vec::with_capacity(rows * tokens * tokens);
        for row in 0..rows {
            for query in 0..tokens {
                let seen = |key: usize| batch.sees(row, query, key);
                mask.extend((0..tokens).map(|key| if seen(key) { 0.0 } else { HIDDEN }));
            }
        }
        let mask = TensorData::new(mask, [rows, 1, tokens, tokens]);
        let rope = Rope::new(config, &batch.positions(), rows, device);
        Self::new(config, rows, tokens, rope, Tensor::from_data(mask, device))
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

    /// What generated tokens may see: `[rows, 1, 1, capacity]`, all but the padding of the prompts.
    pub(crate) fn seen_by_new(prompts: &Batch, capacity: usize, device: &Device) -> Tensor<4> {
        let tokens = prompts.tokens();
        let mut mask = Vec::with_capacity(prompts.rows() * capacity);
        for row in prompts.mask().chunks(tokens) {
            let hidden = |key: usize| row.get(key).is_some_and(|on| !on);
            mask.extend((0..capacity).map(|key| if hidden(key) { HIDDEN } else { 0.0 }));
        }
        Tensor::from_data(
            TensorData::new(mask, [prompts.rows(), 1, 1, capacity]),
            device,
        )
    }

    /// `[rows * tokens, hidden]` from queries, keys and values of the same rows.
    pub(super) fn attend(
        &self,
        query: Tensor<2>,
        key: Tensor<2>,
        value: Tensor<2>,
        cache: Option<&mut LayerCache>,
    ) -> Tensor<2> {
        let (rows, tokens, head) = (self.rows, self.tokens, self.head_dim);
        let query = query.reshape([rows, tokens, self.heads, head]);
        let key = key.reshape([rows, tokens, self.groups, head]);
        let value = value
            .reshape([rows, tokens, self.groups, head])
            .swap_dims(1, 2);
        let scale = 1.0 / (head as f64).sqrt();
        let query = self.rope.turn(query).swap_dims(1, 2).mul_scalar(scale);
        let key = self.rope.turn(key).swap_dims(1, 2);
        let (key, value) = match cache {
            Some(cache) => cache.push(key, value),
            None => (key, value),
        };
        let seen = key.dims()[2];
        // Queries of one group are rows of one matrix: keys and values need not be repeated.
        let grouped = [rows, self.groups, self.heads / self.groups * tokens];
        let [r, g, q] = grouped;
        let scores = query.reshape([r, g, q, head]).matmul(key.swap_dims(2, 3));
        let scores = scores.reshape([rows, self.heads, tokens, seen]) + self.mask.clone();
        let weights = softmax(scores, 3).reshape([r, g, q, seen]);
        let mixed = weights
            .matmul(value)
            .reshape([rows, self.heads, tokens, head]);
        mixed
            .swap_dims(1, 2)
            .reshape([rows * tokens, self.heads * head])
    }
}
