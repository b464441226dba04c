//! Generation that samples on an accelerator, with continuous batching.
//!
//! The host learns the tokens every [`STEPS_PER_READ`] steps, so that it does not wait for the device
//! after each. Rows that ended in between are cut at their stop token. Then waiting prompts take the
//! place of finished rows.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Distribution, Int, Tensor, Transaction};
use sentinel_base::rng::Rng;
use sentinel_tensor::DeviceReadError;

use super::decoder::{Decoder, DecoderOptions, Window};
use super::{GenerateOptions, GeneratedRow, Generator, is_finished, unique_prompts};
use crate::LmError;
use crate::model::cube;

/// Number of tokens that are generated between two reads.
const STEPS_PER_READ: usize = 8;
/// Largest number of rows that are generated together.
const MAX_ROWS: usize = 256;
/// Bounds of the uniform numbers, so that both logarithms of the Gumbel noise are finite.
const UNIFORM_BOUNDS: [f32; 2] = [1e-10, 0.999_999_9];

impl Generator<'_> {
    /// Generates the completions of all rows.
    pub(super) fn sample_on_device(
        &self,
        rows: &mut [GeneratedRow<'_>],
        options: &GenerateOptions,
    ) -> Result<(), LmError> {
        let device = self.model.device();
        // Parts of a batch that are generated elsewhere have other random numbers.
        let seed = match options.first_row {
            0 => options.seed,
            row => Rng::indexed(options.seed, row).next(),
        };
        device.seed(seed);
        let mut how = cube::SamplingOptions {
            temperature: options.sampling.temperature,
            greedy: options.greedy,
            seed: (seed ^ (seed >> 32)) as u32,
            step: 0,
        };
        let longest = rows.iter().map(|row| row.prompt.len()).max().unwrap_or(0);
        let settings = DecoderOptions {
            window: Window::Capacity,
            // A row that has ended stays until a quarter of the rows has, which can take as many
            // steps as a whole completion, and then until the next read.
            limit: longest + 2 * options.max_new_tokens + STEPS_PER_READ,
            pad: options.pad_token,
        };
        let mut waiting = 0..rows.len();
        // The row of each slot, as an index into `rows`.
        let mut open: Vec<usize> = waiting.by_ref().take(MAX_ROWS).collect();
        let (prompts, of_row) = unique_prompts(open.iter().map(|row| rows[*row].prompt));
        let (mut decoder, mut logits) = Decoder::start(self, settings, &prompts, &of_row, 0)?;
        loop {
            let remaining = |row: &usize| options.max_new_tokens - rows[*row].done.ids.len();
            let steps = open.iter().map(remaining).max().unwrap_or(0);
            let mut tokens = Vec::new();
            for _ in 0..steps.min(STEPS_PER_READ) {
                let (ids, logps) = sample(logits, options, how);
                how.step = how.step.wrapping_add(1);
                tokens.push((ids.clone(), logps));
                let [slots, _] = ids.dims();
                logits = decoder.step(ids.reshape([slots]));
            }
            for step in read_tokens(tokens)? {
                for (row, (id, logp)) in open.iter().zip(step) {
                    let row = &mut rows[*row];
                    if !is_finished(row, options) {
                        row.push(id, logp, options);
                    }
                }
            }
            let going = |row: usize| !is_finished(&rows[row], options);
            let kept: Vec<usize> = (0..open.len()).filter(|at| going(open[*at])).collect();
            let free = MAX_ROWS - kept.len();
            if kept.is_empty() && waiting.is_empty() {
                return Ok(());
            }
            // Moving the cache costs time, so rows are replaced once a quarter has finished.
            if kept.len() * 4 > open.len() * 3 {
                continue;
            }
            open = kept.iter().map(|at| open[*at]).collect();
            let new: Vec<usize> = waiting.by_ref().take(free).collect();
            let (prompts, of_row) = unique_prompts(new.iter().map(|row| rows[*row].prompt));
            logits = if kept.is_empty() {
                let (next, logits) = Decoder::start(self, settings, &prompts, &of_row, 0)?;
                decoder = next;
                logits
            } else {
                decoder.retain_rows(&kept);
                let places = crate::parameter::indices(kept, device);
                let mut all = vec![logits.select(0, places)];
                if !new.is_empty() {
                    all.push(decoder.admit(&prompts, &of_row, 0)?);
                }
                Tensor::cat(all, 0)
            };
            open.extend(new);
        }
    }
}

/// Selects the next token of each row and returns it, `[rows, 1]`, with its log-probability under
/// the model at the options' temperature (1 for greedy decoding).
///
/// A token is sampled as the argmax of its log-probability plus Gumbel noise, which needs no sum in
/// the order of the vocabulary. The noise comes from uniform f32 numbers, so tokens of a probability
/// below about 1e-7 are not drawn.
fn sample(
    logits: Tensor<2>,
    options: &GenerateOptions,
    how: cube::SamplingOptions,
) -> (Tensor<2, Int>, Tensor<2>) {
    if let Some(drawn) = cube::sample(&logits, how) {
        return drawn;
    }
    let logps = |logits: Tensor<2>| log_softmax(logits, 1);
    if options.greedy {
        let ids = logits.clone().argmax(1);
        return (ids.clone(), logps(logits).gather(1, ids));
    }
    let logps = logps(logits.div_scalar(options.sampling.temperature));
    let uniform = Distribution::Uniform(0.0, 1.0);
    let [low, high] = UNIFORM_BOUNDS;
    let noise = Tensor::random(logps.dims(), uniform, &logps.device()).clamp(low, high);
    let noise = noise.log().neg().log().neg();
    let ids = (logps.clone() + noise).argmax(1);
    (ids.clone(), logps.gather(1, ids))
}

/// A token of each row with its log-probability.
type Step = Vec<(u32, f32)>;

/// Reads the tokens of several steps at once.
fn read_tokens(steps: Vec<(Tensor<2, Int>, Tensor<2>)>) -> Result<Vec<Step>, LmError> {
    let failed = |error: String| LmError::from(DeviceReadError(error));
    let rows = steps.first().map_or(0, |(ids, _)| ids.dims()[0]).max(1);
    let (ids, logps): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
    let read = Transaction::default()
        .register(Tensor::cat(ids, 0))
        .register(Tensor::cat(logps, 0))
        .try_execute();
    let mut read = read.map_err(|error| failed(format!("{error:?}")))?;
    let (Some(logps), Some(ids)) = (read.pop(), read.pop()) else {
        return Err(failed("it returned no tokens".to_owned()));
    };
    let ids = ids
        .try_into_vec_as::<i64>()
        .map_err(|error| failed(format!("{error:?}")))?;
    let logps = logps
        .try_into_vec_as::<f32>()
        .map_err(|error| failed(format!("{error:?}")))?;
    let ids: Result<Vec<u32>, _> = ids.into_iter().map(u32::try_from).collect();
    let ids = ids.map_err(|_| failed("it returned a token below 0".to_owned()))?;
    let tokens: Step = ids.into_iter().zip(logps).collect();
    Ok(tokens.chunks(rows).map(<[_]>::to_vec).collect())
}
