//! Batched generation of completions with a key-value cache.

mod decoder;
mod options;
mod sampling;

pub use options::{GenerateOptions, Sampling};

use std::collections::BTreeMap;

use rayon::prelude::*;

use self::decoder::Decoder;
use super::model::{DecodeLayer, check_lengths};
use super::parallel::par_map_ordered;
use super::parameter::indices;
use super::{Batch, LmError, Qwen2, Tokenizer};
use crate::rng::Rng;
use crate::tensors::numbers;

/// Target number of rows in a part, and largest number of parts that a batch is divided into:
/// enough for a few cores, and few enough that each reads the weights for many rows.
const ROWS_PER_PART: usize = 8;
const MAX_PARTS: usize = 4;

/// A completion of a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// Tokens of the completion, including the stop token.
    pub ids: Vec<u32>,
    /// Log-probabilities of the tokens under the model at the options' temperature (1 for greedy
    /// decoding), before filters and penalty, as a training pass computes them.
    pub logps: Vec<f32>,
    /// `true` if a stop token ended the completion, `false` if it reached `max_new_tokens`.
    pub stopped: bool,
}

impl Completion {
    /// Decodes the completion without its stop token. Other special tokens are kept as text.
    ///
    /// # Errors
    /// If the tokenizer cannot decode it.
    pub fn text(&self, tokenizer: &Tokenizer) -> Result<String, LmError> {
        let end = self.ids.len() - usize::from(self.stopped && !self.ids.is_empty());
        tokenizer.decode(&self.ids[..end], false)
    }
}

/// A row that is being generated.
struct Row<'a> {
    prompt: &'a [u32],
    random: Rng,
    done: Completion,
}

impl Qwen2 {
    /// Generates one completion per prompt. Row `i` is sampled with a random stream derived from
    /// the seed and `i`. Equal prompts of a part are read once.
    ///
    /// # Errors
    /// If an option is invalid, a prompt is empty, has unknown tokens or is too long (prompts are
    /// never truncated), or the device cannot be read.
    pub fn generate(
        &self,
        prompts: &[impl AsRef<[u32]>],
        options: &GenerateOptions,
    ) -> Result<Vec<Completion>, LmError> {
        options.check(self.config())?;
        let rows = prompts.iter().map(AsRef::as_ref).enumerate();
        let mut rows: Vec<Row<'_>> = rows
            .map(|(index, prompt)| Row {
                prompt,
                random: Rng::indexed(options.seed, index as u64),
                done: Completion::default(),
            })
            .collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.check_prompts(&rows, options)?;
        let blocks = Decoder::prepare_layers(self);
        let parts = rows.len().div_ceil(ROWS_PER_PART).clamp(1, MAX_PARTS);
        let size = rows.len().div_ceil(parts);
        let parts: Vec<&mut [Row<'_>]> = rows.chunks_mut(size).collect();
        let write = |rows: &mut [Row<'_>]| self.write(rows, &blocks, options);
        par_map_ordered(self.device(), parts, write, |()| ())?;
        Ok(rows.into_iter().map(|row| row.done).collect())
    }

    /// Generates the completions of a part of the rows.
    fn write(
        &self,
        rows: &mut [Row<'_>],
        blocks: &[DecodeLayer],
        options: &GenerateOptions,
    ) -> Result<(), LmError> {
        let (unique, of_row) = unique_prompts(rows);
        let read = Batch::left_padded(self.config(), &unique, options.pad_token)?;

        let mut decoder = Decoder::new(self, blocks);
        let logits = decoder.prefill(&read);
        let places = indices(of_row.iter().copied(), self.device());
        let mut logits = logits.select(0, places.clone());
        decoder.expand_rows(&places, &of_row, &read, options.max_new_tokens);
        // Rows that are not removed yet, as indices into `rows`.
        let mut open: Vec<usize> = (0..rows.len()).collect();
        loop {
            let table = numbers(logits)?;
            let drawn = draw(rows, &open, &table, self.config().vocab_size, options);
            let going = |row: usize| !is_finished(&rows[row], options);
            let kept: Vec<usize> = (0..open.len()).filter(|at| going(open[*at])).collect();
            if kept.is_empty() {
                break;
            }
            let mut next = drawn;
            // Finished rows cost as much as others, so they are removed once they are a quarter.
            if kept.len() * 4 <= open.len() * 3 {
                decoder.retain_rows(&kept);
                next = kept.iter().map(|at| next[*at]).collect();
                open = kept.iter().map(|at| open[*at]).collect();
            }
            logits = decoder.step(&next);
        }
        Ok(())
    }

    fn check_prompts(&self, rows: &[Row<'_>], options: &GenerateOptions) -> Result<(), LmError> {
        let lengths: Vec<usize> = rows.iter().map(|row| row.prompt.len()).collect();
        let room = self.config().max_position_embeddings - options.max_new_tokens;
        check_lengths(
            &lengths,
            options.max_prompt_tokens.unwrap_or(room).min(room),
        )?;
        if lengths.contains(&0) {
            return Err(LmError::Length {
                what: "a prompt",
                found: 0,
                expected: 1,
            });
        }
        Ok(())
    }
}

/// Returns the distinct prompts, and for each row the index of its prompt.
fn unique_prompts<'a>(rows: &[Row<'a>]) -> (Vec<&'a [u32]>, Vec<usize>) {
    let mut unique = Vec::new();
    let mut places = BTreeMap::new();
    let place = |row: &Row<'a>| {
        *places.entry(row.prompt).or_insert_with(|| {
            unique.push(row.prompt);
            unique.len() - 1
        })
    };
    let of_row = rows.iter().map(place).collect();
    (unique, of_row)
}

/// Returns `true` if the row's completion has ended.
fn is_finished(row: &Row<'_>, options: &GenerateOptions) -> bool {
    row.done.stopped || row.done.ids.len() >= options.max_new_tokens
}

/// Selects the next token of each open row that has not ended, and appends it there. Returns one
/// token per open row; `pad_token` for those that have ended.
fn draw(
    rows: &mut [Row<'_>],
    open: &[usize],
    table: &[f32],
    vocabulary: usize,
    options: &GenerateOptions,
) -> Vec<u32> {
    let mut places = vec![None; rows.len()];
    for (at, row) in open.iter().enumerate() {
        places[*row] = Some(at);
    }
    let drawn: Vec<Option<u32>> = rows
        .par_iter_mut()
        .zip(&places)
        .map(|(row, at)| {
            let at = (*at)?;
            if is_finished(row, options) {
                return Some(options.pad_token);
            }
            let logits = &table[at * vocabulary..(at + 1) * vocabulary];
            let text = row.prompt.iter().chain(&row.done.ids).copied();
            let (id, logp) = options.sample_token(logits, text, &mut row.random);
            row.done.ids.push(id);
            row.done.logps.push(logp);
            row.done.stopped = options.stop_tokens.contains(&id);
            Some(id)
        })
        .collect();
    let pad = options.pad_token;
    open.iter().map(|row| drawn[*row].unwrap_or(pad)).collect()
}
