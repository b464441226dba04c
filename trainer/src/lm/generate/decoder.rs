//! A model prepared for decoding: adapters merged, and layers with the same input concatenated.

use burn::tensor::{DType, Int, Tensor};

use crate::lm::model::{
    AttentionContext, Batch, Block, Cache, DecodeLayer, ForwardOptions, Qwen2, Rope,
    matmul_weight_few_rows,
};
use crate::lm::parameter::indices;

/// A decoder with the key-value cache of the tokens it has read.
pub(super) struct Decoder<'a> {
    model: &'a Qwen2,
    pass: ForwardOptions,
    blocks: &'a [DecodeLayer],
    cache: Cache,
    /// Attention mask of generated tokens, `[rows, 1, 1, capacity]`.
    mask: Option<Tensor<4>>,
    /// `[rows]`: position of the next token.
    positions: Vec<usize>,
}

impl<'a> Decoder<'a> {
    /// Prepares the layers of a model for decoding; several decoders can share the result.
    pub(super) fn prepare_layers(model: &Qwen2) -> Vec<DecodeLayer> {
        let decode_layer = |block: &Block| block.decode_layer(ForwardOptions::EVALUATION);
        model.blocks.iter().map(decode_layer).collect()
    }

    pub(super) const fn new(model: &'a Qwen2, blocks: &'a [DecodeLayer]) -> Self {
        Self {
            model,
            pass: ForwardOptions::EVALUATION,
            blocks,
            cache: Cache { layers: Vec::new() },
            mask: None,
            positions: Vec::new(),
        }
    }

    /// Reads prompts, padded on the left, and returns the logits of their next tokens,
    /// `[rows, vocabulary]`.
    pub(super) fn prefill(&mut self, prompts: &Batch) -> Tensor<2> {
        let (model, rows, tokens) = (self.model, prompts.rows(), prompts.tokens());
        self.cache = Cache::new(model.config(), rows, tokens, model.device());
        let context = AttentionContext::from_batch(model.config(), prompts, model.device());
        let x = self.run(model.embed(prompts, self.pass), &context);
        let last = indices((1..=rows).map(|row| row * tokens - 1), model.device());
        self.finish(x.select(0, last))
    }

    /// Expands the cache to one row per completion, with room for `more` tokens each. `of_row`
    /// holds the prompt index of each row, and `places` the same as a tensor.
    pub(super) fn expand_rows(
        &mut self,
        places: &Tensor<1, Int>,
        of_row: &[usize],
        prompts: &Batch,
        more: usize,
    ) {
        let (model, tokens) = (self.model, prompts.tokens());
        self.cache.expand_rows(places, tokens + more);
        let mask = AttentionContext::decode_mask(prompts, tokens + more, model.device());
        self.mask = Some(mask.select(0, places.clone()));
        let lengths: Vec<usize> = prompts
            .mask()
            .chunks(tokens)
            .map(|row| row.iter().filter(|on| **on).count())
            .collect();
        self.positions = of_row.iter().map(|at| lengths[*at]).collect();
    }

    /// Continues with the given rows only.
    pub(super) fn retain_rows(&mut self, rows: &[usize]) {
        let places = indices(rows.iter().copied(), self.model.device());
        self.cache.select(&places);
        self.mask = self.mask.take().map(|mask| mask.select(0, places));
        self.positions = rows.iter().map(|row| self.positions[*row]).collect();
    }

    /// Reads one token per row and returns the logits of the next, `[rows, vocabulary]`.
    pub(super) fn step(&mut self, ids: &[u32]) -> Tensor<2> {
        let (model, rows) = (self.model, ids.len());
        let rope = Rope::new(model.config(), &self.positions, rows, model.device());
        let seen = self.cache.filled() + 1;
        let zeros = || Tensor::zeros([rows, 1, 1, seen], model.device());
        let mask = self
            .mask
            .clone()
            .map_or_else(zeros, |mask| mask.narrow(3, 0, seen));
        let context = AttentionContext::new(model.config(), rows, 1, rope, mask);
        let ids = indices(ids.iter().map(|id| *id as usize), model.device());
        let x = model.embedding.get(false).select(0, ids).cast(DType::F32);
        let x = self.run(x, &context);
        self.positions
            .iter_mut()
            .for_each(|position| *position += 1);
        self.finish(x)
    }

    fn run(&mut self, mut x: Tensor<2>, context: &AttentionContext) -> Tensor<2> {
        for (block, cache) in self.blocks.iter().zip(&mut self.cache.layers) {
            x = block.forward(x, context, cache);
        }
        x
    }

    fn finish(&self, x: Tensor<2>) -> Tensor<2> {
        let hidden = self.model.last_norm(x, self.pass);
        matmul_weight_few_rows(hidden, &self.model.head_weight(self.pass))
    }
}
