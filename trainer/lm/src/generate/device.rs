//! Generation that samples on an accelerator, with continuous batching.
//!
//! The host learns the tokens every [`STEPS_PER_READ`] steps, so that it does not wait for the device
//! after each. Rows that ended in between are cut at their stop token. Then waiting prompts take the
//! place of finished rows.

use std::sync::atomic::Ordering;

use burn::tensor::activation::log_softmax;
use burn::tensor::{Distribution, Int, Tensor};
use sentinel_base::rng::Rng;

use super::decoder::{Decoder, DecoderOptions, Window};
use super::drawn::{STEPS_PER_READ, Step, read_tokens};
use super::recorded::RecordedSteps;
use super::{GenerateOptions, GeneratedRow, Generator, is_finished, unique_prompts};
use crate::LmError;
use crate::model::cube;

/// Largest number of rows that are generated together.
const MAX_ROWS: usize = 256;
/// Bounds of the uniform numbers, so that both logarithms of the Gumbel noise are finite.
const UNIFORM_BOUNDS: [f32; 2] = [1e-10, 0.999_999_9];

impl Generator<'_> {
    /// Generates the completions of all rows; returns `false` if a step should be recorded and the device refused.
    pub(super) fn sample_on_device(
        &self,
        rows: &mut [GeneratedRow<'_>],
        options: &GenerateOptions,
        records_steps: bool,
    ) -> Result<bool, LmError> {
        if options.max_new_tokens == 0 {
            return Ok(true);
        }
        // Parts of a batch that are generated elsewhere have other random numbers.
        let seed = match options.first_row {
            0 => options.seed,
            row => Rng::indexed(options.seed, row).next(),
        };
        self.model.device().seed(seed);
        let how = cube::SamplingOptions {
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
        let mut batch = DeviceBatch {
            generator: self,
            rows,
            options,
            how,
            settings,
            records_steps,
        };
        let mut steps = batch.start(&open)?;
        loop {
            let going = |row: usize| !is_finished(&batch.rows[row], options);
            let kept: Vec<usize> = (0..open.len()).filter(|at| going(open[*at])).collect();
            if kept.is_empty() && waiting.is_empty() {
                return Ok(true);
            }
            // Moving the cache costs time, so rows are replaced once a quarter has finished.
            if kept.len() * 4 > open.len() * 3 {
                match batch.draw(steps, &open)? {
                    Some(next) => steps = next,
                    None => return Ok(false),
                }
                continue;
            }
            let new: Vec<usize> = waiting.by_ref().take(MAX_ROWS - kept.len()).collect();
            let kept_rows = kept.iter().map(|at| open[*at]);
            let next: Vec<usize> = kept_rows.chain(new.iter().copied()).collect();
            steps = batch.replace(steps, &kept, &new, &next)?;
            open = next;
        }
    }
}

/// The rows of a generation, of which some are on the device.
struct DeviceBatch<'a, 'r, 'p> {
    generator: &'a Generator<'a>,
    rows: &'r mut [GeneratedRow<'p>],
    options: &'r GenerateOptions,
    /// With the number of the next step.
    how: cube::SamplingOptions,
    settings: DecoderOptions,
    records_steps: bool,
}

/// The way in which the rows on the device make steps. All have drawn a token that they have not read.
enum Steps<'a> {
    InPlace(Box<RecordedSteps<'a>>),
    /// With the tokens that rows read next, `[rows]`.
    Plain(Box<(Decoder<'a>, Tensor<1, Int>)>),
}

impl<'a> DeviceBatch<'a, '_, '_> {
    /// Reads the prompts of rows, and draws their first tokens.
    fn start(&mut self, open: &[usize]) -> Result<Steps<'a>, LmError> {
        let (prompts, of_row) = unique_prompts(open.iter().map(|row| self.rows[*row].prompt));
        let (decoder, logits) =
            Decoder::start(self.generator, self.settings, &prompts, &of_row, 0)?;
        self.draw_first(logits, open)?;
        Ok(self.go_on(decoder, open, 0))
    }

    /// Continues with the slots `kept`, and with the rows `new` behind them: together the rows `open`.
    fn replace(
        &mut self,
        steps: Steps<'a>,
        kept: &[usize],
        new: &[usize],
        open: &[usize],
    ) -> Result<Steps<'a>, LmError> {
        if kept.is_empty() {
            return self.start(open);
        }
        let mut decoder = steps.into_decoder();
        decoder.retain_rows(kept);
        if !new.is_empty() {
            let (prompts, of_row) = unique_prompts(new.iter().map(|row| self.rows[*row].prompt));
            let logits = decoder.admit(&prompts, &of_row, 0)?;
            self.draw_first(logits, new)?;
        }
        // Rows that were replaced may soon be again, and then a recording was for nothing.
        Ok(self.go_on(decoder, open, 1))
    }

    /// Draws the first tokens of rows.
    fn draw_first(&mut self, logits: Tensor<2>, of: &[usize]) -> Result<(), LmError> {
        let (ids, logps) = sample(logits, self.options, self.how);
        self.how.step += 1;
        self.push(of, read_tokens(vec![(ids, logps)])?);
        Ok(())
    }

    /// Continues with the rows `open`, each of which has drawn a token. A step is recorded after so many draws.
    fn go_on(&self, mut decoder: Decoder<'a>, open: &[usize], record_after: usize) -> Steps<'a> {
        let last = |row: &usize| self.rows[*row].done.ids.last().copied().unwrap_or(0);
        let ids: Vec<u32> = open.iter().map(last).collect();
        decoder.make_room(STEPS_PER_READ);
        if decoder.steps_in_place() {
            let record_after = self.records_steps.then_some(record_after);
            let steps = RecordedSteps::new(decoder, &ids, self.how, record_after);
            return Steps::InPlace(Box::new(steps));
        }
        let ids = ids.into_iter().map(|id| id as usize);
        let ids = crate::parameter::indices(ids, self.generator.model.device());
        Steps::Plain(Box::new((decoder, ids)))
    }

    /// Draws the next tokens of the rows `open`; returns `None` if a step should be recorded and the device refused.
    fn draw(&mut self, mut steps: Steps<'a>, open: &[usize]) -> Result<Option<Steps<'a>>, LmError> {
        let remaining = |row: &usize| self.options.max_new_tokens - self.rows[*row].done.ids.len();
        let to_come = open.iter().map(remaining).max().unwrap_or(0);
        if matches!(&steps, Steps::InPlace(steps) if !steps.has_room()) {
            steps = self.go_on(steps.into_decoder(), open, 0);
        }
        let drawn = match &mut steps {
            Steps::InPlace(steps) => {
                let Some(drawn) = steps.draw(to_come)? else {
                    return Ok(None);
                };
                if steps.is_recorded() {
                    self.generator.has_recorded.store(true, Ordering::Relaxed);
                }
                drawn
            }
            Steps::Plain(plain) => {
                let (decoder, ids) = &mut **plain;
                self.draw_plainly(decoder, ids, to_come.min(STEPS_PER_READ))?
            }
        };
        self.how.step = self.how.step.wrapping_add(drawn.len() as u32);
        self.push(open, drawn);
        Ok(Some(steps))
    }

    /// Draws the tokens of steps that are not made in place. Rows read `ids` next, `[rows]`.
    fn draw_plainly(
        &self,
        decoder: &mut Decoder<'a>,
        ids: &mut Tensor<1, Int>,
        steps: usize,
    ) -> Result<Vec<Step>, LmError> {
        let mut drawn = Vec::with_capacity(steps);
        for step in 0..steps as u32 {
            let logits = decoder.step(ids.clone());
            let step = self.how.step.wrapping_add(step);
            let how = cube::SamplingOptions { step, ..self.how };
            let token = sample(logits, self.options, how);
            *ids = token.0.clone().reshape([decoder.rows()]);
            drawn.push(token);
        }
        read_tokens(drawn)
    }

    /// Appends the tokens of steps to the rows that are not finished.
    fn push(&mut self, open: &[usize], drawn: Vec<Step>) {
        for step in drawn {
            for (row, (id, logp)) in open.iter().zip(step) {
                let row = &mut self.rows[*row];
                if !is_finished(row, self.options) {
                    row.push(id, logp, self.options);
                }
            }
        }
    }
}

impl<'a> Steps<'a> {
    fn into_decoder(self) -> Decoder<'a> {
        match self {
            Self::InPlace(steps) => steps.into_decoder(),
            Self::Plain(plain) => plain.0,
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
