//! Decoding with a key-value cache: rows read prompts, continue token by token, and are replaced.

use burn::tensor::{DType, Device, Int, Tensor};

use super::Generator;
use crate::LmError;
use crate::model::cube::{DecodePlaces, SamplingOptions, StateOfRows, StepState};
use crate::model::{
    Attention, AttentionContext, Batch, Cache, DecodeLayer, ForwardOptions, RopeTable,
};
use crate::parameter::indices;

/// The columns of the cache that a step attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// The filled ones. The shape of a step changes with each token, which costs a processor
    /// nothing.
    Filled,
    /// All, with a mask or, where [`Decoder::steps_in_place`], the range of each row. The capacity doubles when it is
    /// exhausted, so that an accelerator sees few different shapes.
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
    /// `None` where steps are made in place, with the range of columns of each row.
    masked: Option<Box<MaskedColumns>>,
    /// `[rows]`: number of tokens read.
    lengths: Vec<usize>,
}

/// The columns of the cache that each row attends to, by a mask.
struct MaskedColumns {
    /// `[rows, 1, 1, capacity]`: an offset of the scores.
    mask: Tensor<4>,
    /// `[rows]`: position of the next token.
    positions: Tensor<1, Int>,
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
        let rope = RopeTable::new(model.config(), options.limit, model.device());
        let decoder = Self {
            generator,
            options,
            masked: masked_columns(generator, options.window, &rope, &read.cache, &read.lengths),
            rope,
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
        self.see_columns();
        Ok(read.logits)
    }

    /// Continues with the given rows only.
    pub(super) fn retain_rows(&mut self, rows: &[usize]) {
        let places = indices(rows.iter().copied(), self.generator.model.device());
        self.cache.select(&places);
        self.lengths = rows.iter().map(|row| self.lengths[*row]).collect();
        self.see_columns();
    }

    /// Computes the columns to attend to anew, after rows or the capacity of the cache have changed.
    fn see_columns(&mut self) {
        self.masked = masked_columns(
            self.generator,
            self.options.window,
            &self.rope,
            &self.cache,
            &self.lengths,
        );
    }

    /// Returns the device of the rows.
    pub(super) const fn device(&self) -> &'a Device {
        self.generator.model.device()
    }

    /// Returns the number of rows.
    pub(super) const fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// Returns `true` if steps are made by [`Self::step_in_place`], and else by [`Self::step`].
    pub(super) const fn steps_in_place(&self) -> bool {
        self.masked.is_none()
    }

    /// Reads one token per row, `[rows]`, and returns the logits of the next, `[rows, vocabulary]`.
    pub(super) fn step(&mut self, ids: Tensor<1, Int>) -> Tensor<2> {
        let (model, [rows]) = (self.generator.model, ids.dims());
        let filled = self.cache.filled();
        self.make_room(1);
        let masked = self.masked.as_deref_mut();
        let MaskedColumns { mask, positions } = masked.expect("callers ask for steps_in_place");
        let seen = Tensor::zeros([rows, 1, 1, 1], model.device());
        let column = [0..rows, 0..1, 0..1, filled..filled + 1];
        *mask = mask.clone().slice_assign(column, seen);
        let window = match self.options.window {
            Window::Filled => mask.clone().narrow(3, 0, filled + 1),
            Window::Capacity => mask.clone(),
        };
        let rope = self.rope.select(positions, rows);
        *positions = positions.clone().add_scalar(1);
        let context = AttentionContext::new(model.config(), rows, 1, rope, window);
        let logits = self.forward(ids, Attention::Masked(&context));
        self.count_steps(1);
        logits
    }

    /// Copies the rows, which read `ids` next, to the device, for [`Self::step_in_place`], with room for the tokens of so
    /// many steps, of which the first has the number `step`.
    pub(super) fn state(&self, ids: &[u32], steps: usize, step: u32) -> StepState {
        let column = self.cache.filled();
        let starts: Vec<usize> = self.lengths.iter().map(|length| column - length).collect();
        let rows = StateOfRows {
            ids,
            positions: &self.lengths,
            starts: &starts,
            column,
            step,
        };
        StepState::new(
            &rows,
            self.rope.tables(),
            steps,
            self.generator.model.device(),
        )
    }

    /// Reads the token of each row and draws the next, in the buffers of a state. Callers count the steps that were made:
    /// [`Self::count_steps`].
    pub(super) fn step_in_place(&mut self, state: &StepState, how: SamplingOptions) {
        let logits = self.forward(state.ids.clone(), Attention::Token(&state.places));
        let drawn = state.draw_and_advance(&logits, how);
        drawn.expect("logits of the rows of the state");
    }

    /// Counts steps that each row has read a token in.
    pub(super) fn count_steps(&mut self, steps: usize) {
        self.cache.count_filled(steps);
        self.lengths.iter_mut().for_each(|length| *length += steps);
    }

    /// Returns `true` if the cache has room for so many more tokens of each row.
    pub(super) fn has_room(&self, steps: usize) -> bool {
        self.cache.filled() + steps <= self.cache.capacity()
    }

    /// Makes room in the cache for so many more tokens of each row. [`Self::steps_in_place`] can change with it.
    pub(super) fn make_room(&mut self, steps: usize) {
        let filled = self.cache.filled();
        if !self.has_room(steps) {
            let capacity = (filled + steps).max(2 * self.cache.capacity());
            self.cache.resize(filled, filled, capacity);
            self.see_columns();
        }
    }

    fn forward(&mut self, ids: Tensor<1, Int>, attention: Attention<'_>) -> Tensor<2> {
        let x = (self.generator.model).embed_ids(ids, ForwardOptions::EVALUATION);
        let x = run(self.generator, x, attention, &mut self.cache);
        finish(self.generator, x)
    }
}

/// Returns the mask of a cache, unless its rows make steps in place; row `i` has read the last `lengths[i]` columns.
fn masked_columns(
    generator: &Generator<'_>,
    window: Window,
    rope: &RopeTable,
    cache: &Cache,
    lengths: &[usize],
) -> Option<Box<MaskedColumns>> {
    let (filled, device) = (cache.filled(), generator.model.device());
    let [cosine, _] = rope.tables();
    let has_norms = (generator.layers.layers.iter()).any(DecodeLayer::has_head_norms);
    let in_place = window == Window::Capacity && !has_norms;
    if in_place && DecodePlaces::are_supported(&cosine, cache.shape()) {
        return None;
    }
    Some(Box::new(MaskedColumns {
        mask: AttentionContext::cache_mask(lengths, filled, cache.capacity(), device),
        positions: indices(lengths.iter().copied(), device),
    }))
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

/// Smallest number of tokens with which prompts have to begin alike to read them once for all.
const MIN_SHARED: usize = 16;

/// Reads prompts, each once, and returns one row for each of `of_row`. On the processor, the tokens with which all of
/// them begin, such as a system message or examples, are read once for all.
fn prefill(
    generator: &Generator<'_>,
    prompts: &[&[u32]],
    of_row: &[usize],
    pad: u32,
) -> Result<Prefilled, LmError> {
    let device = generator.model.device();
    let shared = if *device == Device::flex() {
        shared_tokens(prompts)
    } else {
        0
    };
    let (mut cache, hidden) = if shared < MIN_SHARED {
        let batch = Batch::left_padded(generator.model.config(), prompts, pad)?;
        let mut cache = generator.model.new_cache(batch.rows(), batch.tokens());
        let hidden = read(generator, &batch, 0, &mut cache);
        (cache, hidden)
    } else {
        read_after_prefix(generator, prompts, shared, pad)?
    };
    let rows = prompts.len();
    let tokens = hidden.dims()[0] / rows;
    let last = indices((1..=rows).map(|row| row * tokens - 1), device);
    let logits = finish(generator, hidden.select(0, last));
    let places = indices(of_row.iter().copied(), device);
    cache.select(&places);
    Ok(Prefilled {
        cache,
        lengths: of_row.iter().map(|prompt| prompts[*prompt].len()).collect(),
        logits: logits.select(0, places),
    })
}

/// Returns the number of tokens with which all prompts begin, but for the last token of each; 0 for a single prompt.
fn shared_tokens(prompts: &[&[u32]]) -> usize {
    let [first, others @ ..] = prompts else {
        return 0;
    };
    let common = |prompt: &&[u32]| {
        let pairs = first.iter().zip(prompt.iter());
        let common = pairs.take_while(|(a, b)| a == b).count();
        common.min(prompt.len().saturating_sub(1))
    };
    let common = others.iter().map(common).min().unwrap_or(0);
    common.min(first.len().saturating_sub(1))
}

/// Reads the first `shared` tokens of all prompts once, and then the rest of each. Returns the cache, with the tokens
/// of each row in its last columns, and the hidden states of the rests, `[rows * tokens, hidden]`.
fn read_after_prefix(
    generator: &Generator<'_>,
    prompts: &[&[u32]],
    shared: usize,
    pad: u32,
) -> Result<(Cache, Tensor<2>), LmError> {
    let (model, config) = (generator.model, generator.model.config());
    let rests: Vec<&[u32]> = prompts.iter().map(|prompt| &prompt[shared..]).collect();
    let rest = Batch::left_padded(config, &rests, pad)?;
    let prefix = Batch::left_padded(config, &[&prompts[0][..shared]], pad)?;
    let mut of_prefix = model.new_cache(1, shared + rest.tokens());
    read(generator, &prefix, 0, &mut of_prefix);
    let mut cache = of_prefix.clone();
    cache.select(&indices(prompts.iter().map(|_| 0), model.device()));
    let hidden = read(generator, &rest, shared, &mut cache);
    let padding = rests
        .iter()
        .map(|rest_of_row| rest.tokens() - rest_of_row.len());
    for (row, padding) in padding.enumerate() {
        // Without a gap between the prefix and the rest.
        if padding > 0 {
            cache.write_row(row, padding, &of_prefix, shared);
        }
    }
    Ok((cache, hidden))
}

/// Reads a batch, whose rows continue the first `before` tokens of the cache. Returns the hidden states.
fn read(generator: &Generator<'_>, batch: &Batch, before: usize, cache: &mut Cache) -> Tensor<2> {
    let model = generator.model;
    let context = AttentionContext::after_tokens(model.config(), batch, before, model.device());
    let x = model.embed(batch, ForwardOptions::EVALUATION);
    let x = run(generator, x, Attention::Masked(&context), cache);
    cache.count_filled(batch.tokens());
    x
}

fn run(
    generator: &Generator<'_>,
    mut x: Tensor<2>,
    attention: Attention<'_>,
    cache: &mut Cache,
) -> Tensor<2> {
    for (layer, cache) in generator.layers.layers.iter().zip(&mut cache.layers) {
        x = layer.forward(x, attention, cache);
    }
    x
}

/// Applies the last norm and the head to hidden states, `[rows, hidden]`. The logits are in f32.
fn finish(generator: &Generator<'_>, x: Tensor<2>) -> Tensor<2> {
    let hidden = (generator.model).last_norm(x, ForwardOptions::EVALUATION);
    generator.layers.head.product(hidden).cast(DType::F32)
}
