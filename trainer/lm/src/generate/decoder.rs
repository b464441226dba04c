//! Decoding with a key-value cache: rows read prompts, continue token by token, and are replaced.

use burn::tensor::{DType, Int, Tensor};

use super::Generator;
use crate::LmError;
use crate::model::{
    AttentionContext, Batch, Cache, ForwardOptions, RopeTable, matmul_weight_few_rows,
};
use crate::parameter::indices;

/// The columns of the cache that a step attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// The filled ones. The shape of a step changes with each token, which costs a processor
    /// nothing.
    Filled,
    /// All, with a mask. The capacity doubles when it is exhausted, so that an accelerator sees few
    /// different shapes.
    Capacity,
}

/// Smallest capacity with [`Window::Capacity`].
const MIN_CAPACITY: usize = 64;

/// Settings of a decoder.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecoderOptions {
    pub(super) window: Window,
    /// Length of the longest sequence.
    pub(super) limit: usize,
    /// Token that fills the rows of shorter prompts.
    pub(super) pad: u32,
}

/// Prompts that were read.
struct Prefilled {
    cache: Cache,
    /// `[rows]`: number of tokens of each row.
    lengths: Vec<usize>,
    /// `[rows, vocabulary]`: logits of the next tokens.
    logits: Tensor<2>,
}

/// A decoder with the cached keys and values of the tokens it has read.
pub(super) struct Decoder<'a> {
    generator: &'a Generator<'a>,
    options: DecoderOptions,
    rope: RopeTable,
    cache: Cache,
    /// Attention mask of the cache, `[rows, 1, 1, capacity]`.
    mask: Tensor<4>,
    /// `[rows]`: position of the next token.
    positions: Tensor<1, Int>,
    /// `[rows]`: number of tokens read.
    lengths: Vec<usize>,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder whose row `i` reads `prompts[of_row[i]]`, with room for `more` tokens each.
    /// Returns it with the logits of their next tokens, `[rows, vocabulary]`.
    ///
    /// # Errors
    /// If the prompts cannot be a batch.
    pub(super) fn start(
        generator: &'a Generator<'a>,
        options: DecoderOptions,
        prompts: &[&[u32]],
        of_row: &[usize],
        more: usize,
    ) -> Result<(Self, Tensor<2>), LmError> {
        let model = generator.model;
        let mut read = prefill(generator, prompts, of_row, options.pad)?;
        let filled = read.cache.filled();
        let capacity = options.window.capacity(filled, more);
        read.cache.resize(filled, filled, capacity);
        let decoder = Self {
            generator,
            options,
            rope: RopeTable::new(model.config(), options.limit, model.device()),
            mask: AttentionContext::cache_mask(&read.lengths, filled, capacity, model.device()),
            positions: indices(read.lengths.iter().copied(), model.device()),
            cache: read.cache,
            lengths: read.lengths,
        };
        Ok((decoder, read.logits))
    }

    /// Adds rows after those that are there, as [`Self::start`] creates them.
    ///
    /// # Errors
    /// If the prompts cannot be a batch.
    pub(super) fn admit(
        &mut self,
        prompts: &[&[u32]],
        of_row: &[usize],
        more: usize,
    ) -> Result<Tensor<2>, LmError> {
        let device = self.generator.model.device();
        let mut read = prefill(self.generator, prompts, of_row, self.options.pad)?;
        // Columns before the longest row are dropped.
        let before = self.lengths.iter().copied().max().unwrap_or(0);
        let new = read.cache.filled();
        let filled = before.max(new);
        let capacity = self.options.window.capacity(filled, more);
        self.cache.resize(before, filled, capacity);
        read.cache.resize(new, filled, capacity);
        self.cache.append_rows(read.cache);
        self.lengths.extend(read.lengths);
        self.mask = AttentionContext::cache_mask(&self.lengths, filled, capacity, device);
        self.positions = indices(self.lengths.iter().copied(), device);
        Ok(read.logits)
    }

    /// Continues with the given rows only.
    pub(super) fn retain_rows(&mut self, rows: &[usize]) {
        let places = indices(rows.iter().copied(), self.generator.model.device());
        self.cache.select(&places);
        self.mask = self.mask.clone().select(0, places.clone());
        self.positions = self.positions.clone().select(0, places);
        self.lengths = rows.iter().map(|row| self.lengths[*row]).collect();
    }

    /// Reads one token per row, `[rows]`, and returns the logits of the next, `[rows, vocabulary]`.
    pub(super) fn step(&mut self, ids: Tensor<1, Int>) -> Tensor<2> {
        let (model, [rows]) = (self.generator.model, ids.dims());
        let filled = self.cache.filled();
        if filled == self.cache.capacity() {
            let capacity = 2 * filled;
            self.cache.resize(filled, filled, capacity);
            self.mask = AttentionContext::grow_cache_mask(self.mask.clone(), capacity);
        }
        let seen = Tensor::zeros([rows, 1, 1, 1], model.device());
        let column = [0..rows, 0..1, 0..1, filled..filled + 1];
        self.mask = self.mask.clone().slice_assign(column, seen);
        let window = match self.options.window {
            Window::Filled => self.mask.clone().narrow(3, 0, filled + 1),
            Window::Capacity => self.mask.clone(),
        };
        let rope = self.rope.select(&self.positions, rows);
        self.positions = self.positions.clone().add_scalar(1);
        self.lengths.iter_mut().for_each(|length| *length += 1);
        let context = AttentionContext::new(model.config(), rows, 1, rope, window);
        let x = model.embed_ids(ids, ForwardOptions::EVALUATION);
        let x = run(self.generator, x, &context, &mut self.cache);
        finish(self.generator, x)
    }
}

impl Window {
    /// Returns the capacity of a cache with `filled` columns that `more` tokens are added to.
    fn capacity(self, filled: usize, more: usize) -> usize {
        match self {
            Self::Filled => filled + more,
            Self::Capacity => (filled + 1).next_power_of_two().max(MIN_CAPACITY),
        }
    }
}

/// Reads prompts, each once, and returns one row for each of `of_row`.
fn prefill(
    generator: &Generator<'_>,
    prompts: &[&[u32]],
    of_row: &[usize],
    pad: u32,
) -> Result<Prefilled, LmError> {
    let model = generator.model;
    let batch = Batch::left_padded(model.config(), prompts, pad)?;
    let (rows, tokens) = (batch.rows(), batch.tokens());
    let mut cache = model.new_cache(rows, tokens);
    let context = AttentionContext::from_batch(model.config(), &batch, model.device());
    let x = model.embed(&batch, ForwardOptions::EVALUATION);
    let x = run(generator, x, &context, &mut cache);
    let last = indices((1..=rows).map(|row| row * tokens - 1), model.device());
    let logits = finish(generator, x.select(0, last));
    let places = indices(of_row.iter().copied(), model.device());
    cache.select(&places);
    Ok(Prefilled {
        cache,
        lengths: of_row.iter().map(|prompt| prompts[*prompt].len()).collect(),
        logits: logits.select(0, places),
    })
}

fn run(
    generator: &Generator<'_>,
    mut x: Tensor<2>,
    context: &AttentionContext,
    cache: &mut Cache,
) -> Tensor<2> {
    for (layer, cache) in generator.layers.layers.iter().zip(&mut cache.layers) {
        x = layer.forward(x, context, cache);
    }
    x
}

/// Applies the last norm and the head to hidden states, `[rows, hidden]`. The logits are in f32.
fn finish(generator: &Generator<'_>, x: Tensor<2>) -> Tensor<2> {
    let hidden = (generator.model).last_norm(x, ForwardOptions::EVALUATION);
    matmul_weight_few_rows(hidden, &generator.layers.head).cast(DType::F32)
}
