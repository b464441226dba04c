//! Generation that samples on the processor.

use rayon::prelude::*;
use sentinel_tensor::numbers;

use super::decoder::{Decoder, DecoderOptions, Window};
use super::{GenerateOptions, GeneratedRow, Generator, is_finished, unique_prompts};
use crate::LmError;
use crate::parameter::indices;

impl Generator<'_> {
    /// Generates the completions of a part of the rows.
    pub(super) fn sample_on_host(
        &self,
        rows: &mut [GeneratedRow<'_>],
        options: &GenerateOptions,
    ) -> Result<(), LmError> {
        let (unique, of_row) = unique_prompts(rows.iter().map(|row| row.prompt));
        let longest = unique.iter().map(|prompt| prompt.len()).max().unwrap_or(0);
        let settings = DecoderOptions {
            window: Window::Filled,
            limit: longest + options.max_new_tokens,
            pad: options.pad_token,
        };
        let (mut decoder, mut logits) =
            Decoder::start(self, settings, &unique, &of_row, options.max_new_tokens)?;
        let (device, vocabulary) = (self.model.device(), self.model.config().vocab_size);
        // Rows that are not removed yet, as indices into `rows`.
        let mut open: Vec<usize> = (0..rows.len()).collect();
        loop {
            let table = numbers(logits)?;
            let mut next = draw(rows, &open, &table, vocabulary, options);
            let going = |row: usize| !is_finished(&rows[row], options);
            let kept: Vec<usize> = (0..open.len()).filter(|at| going(open[*at])).collect();
            if kept.is_empty() {
                return Ok(());
            }
            // Finished rows cost as much as others, so they are removed once they are a quarter.
            if kept.len() * 4 <= open.len() * 3 {
                decoder.retain_rows(&kept);
                next = kept.iter().map(|at| next[*at]).collect();
                open = kept.iter().map(|at| open[*at]).collect();
            }
            let ids = next.iter().map(|id| *id as usize);
            logits = decoder.step(indices(ids, device));
        }
    }
}

/// Selects the next token of each open row that has not ended, and appends it there. Returns one
/// token per open row; `pad_token` for those that have ended.
fn draw(
    rows: &mut [GeneratedRow<'_>],
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
            let allowed = row.choices.as_ref();
            let allowed = allowed.map(|choices| choices.next_tokens(&options.stop_tokens));
            let (id, logp) =
                options.sample_token(logits, text, allowed.as_deref(), &mut row.random);
            row.push(id, logp, options);
            Some(id)
        })
        .collect();
    let pad = options.pad_token;
    open.iter().map(|row| drawn[*row].unwrap_or(pad)).collect()
}
