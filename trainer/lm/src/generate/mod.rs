//! Batched generation of completions with a key-value cache.

mod choices;
mod decoder;
mod device;
mod drawn;
mod host;
mod options;
mod recorded;
mod sampling;

pub use choices::Choices;
pub use options::{GenerateOptions, Sampling};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::Device;
use sentinel_base::rng::Rng;

use self::choices::RemainingChoices;
use super::model::{
    Block, DecodeLayer, ForwardOptions, PreparedWeight, check_lengths, round_weight,
};
use super::parallel::{core_count, par_map_ordered};
use super::{CausalLm, LmError, Tokenizer};

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

/// The machine that selects the next tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// The processor, which reads the logits of every token. Row `i` is sampled with a random stream
    /// derived from the seed and `i`, whatever other rows there are.
    Host,
    /// The model's device: tokens and log-probabilities are read every few steps, and waiting
    /// prompts take the place of finished rows. The random numbers are the device's, in an order
    /// that depends on all rows. Options that filter or penalize tokens need [`Self::Host`].
    Device,
}

/// The layers of a model prepared for generation: the adapter is added to the weights, and weights
/// are rounded once if activations are in bf16. They take as much memory as the weights, on a graphics
/// processor without the head. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct PreparedLayers {
    layers: Arc<Vec<DecodeLayer>>,
    head: PreparedWeight,
}

/// A model prepared for generation. It is built once per set of weights.
pub struct Generator<'a> {
    model: &'a CausalLm,
    layers: PreparedLayers,
    sampler: Sampler,
    records_steps: bool,
    /// Set once the device has recorded a step.
    has_recorded: AtomicBool,
}

/// A row that is being generated.
struct GeneratedRow<'a> {
    prompt: &'a [u32],
    random: Rng,
    done: Completion,
    /// The completions that are still possible; `None` for all.
    choices: Option<RemainingChoices>,
}

impl CausalLm {
    /// Prepares the layers for generation.
    #[must_use]
    pub fn prepare_layers(&self) -> PreparedLayers {
        let decode_layer =
            |block: &Block| block.decode_layer(ForwardOptions::EVALUATION, self.precision);
        PreparedLayers {
            layers: Arc::new(self.blocks.iter().map(decode_layer).collect()),
            head: PreparedWeight::new(round_weight(
                self.precision,
                self.head_weight(ForwardOptions::EVALUATION),
            )),
        }
    }

    /// Generates one completion per prompt; [`Generator::generate`] with a new [`Generator`].
    ///
    /// # Errors
    /// As [`Generator::generate`].
    pub fn generate(
        &self,
        prompts: &[impl AsRef<[u32]>],
        options: &GenerateOptions,
    ) -> Result<Vec<Completion>, LmError> {
        Generator::new(self).generate(prompts, options)
    }
}

impl<'a> Generator<'a> {
    /// Prepares a model. Tokens are sampled on its device if that is an accelerator, with
    /// [recorded steps](Self::with_recorded_steps).
    #[must_use]
    pub fn new(model: &'a CausalLm) -> Self {
        Self::from_layers(model, model.prepare_layers()).with_recorded_steps(true)
    }

    /// Creates a generator of layers that were prepared for this model and its adapter, perhaps on another thread: its steps
    /// are not recorded.
    #[must_use]
    pub fn from_layers(model: &'a CausalLm, layers: PreparedLayers) -> Self {
        let on_host = *model.device() == Device::flex();
        Self {
            model,
            layers,
            sampler: if on_host {
                Sampler::Host
            } else {
                Sampler::Device
            },
            records_steps: false,
            has_recorded: AtomicBool::new(false),
        }
    }

    /// Returns the generator with steps that are recorded or not. A recorded step is started as one launch on graphics
    /// processors; the tokens are the same. If the device refuses a recording, the completions are generated anew without.
    ///
    /// The model, its layers and its completions must be made on the same thread: on CUDA each thread has a stream of its
    /// own, and a recording has one. Nor may another thread use the device meanwhile; the recording would be refused.
    #[must_use]
    pub fn with_recorded_steps(self, records_steps: bool) -> Self {
        Self {
            records_steps,
            ..self
        }
    }

    /// Returns `true` if the device has recorded a step. Without that each of its kernels is started by itself, which is slower.
    #[must_use]
    pub fn has_recorded_steps(&self) -> bool {
        self.has_recorded.load(Ordering::Relaxed)
    }

    /// Returns the generator with another sampler.
    #[must_use]
    pub fn with_sampler(self, sampler: Sampler) -> Self {
        Self { sampler, ..self }
    }

    /// Returns the sampler for these options.
    fn sampler(&self, options: &GenerateOptions) -> Sampler {
        match self.sampler {
            Sampler::Device if options.keeps_distribution() => Sampler::Device,
            _ => Sampler::Host,
        }
    }

    /// Generates one completion per prompt. Equal prompts that are read together are read once.
    ///
    /// # Errors
    /// If an option is invalid, a prompt is empty, has unknown tokens or is too long (prompts are
    /// never truncated), or the device cannot be read.
    pub fn generate(
        &self,
        prompts: &[impl AsRef<[u32]>],
        options: &GenerateOptions,
    ) -> Result<Vec<Completion>, LmError> {
        options.check(self.model.config(), prompts.len())?;
        let rows = prompts.iter().map(AsRef::as_ref).enumerate();
        let mut rows: Vec<GeneratedRow<'_>> = rows
            .map(|(index, prompt)| GeneratedRow {
                prompt,
                random: Rng::indexed(options.seed, options.first_row.wrapping_add(index as u64)),
                done: Completion::default(),
                choices: options
                    .choices
                    .get(index)
                    .cloned()
                    .map(RemainingChoices::new),
            })
            .collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.check_prompts(&rows, options)?;
        match self.sampler(options) {
            Sampler::Device => {
                if !self.sample_on_device(&mut rows, options, self.records_steps)? {
                    for row in &mut rows {
                        row.done = Completion::default();
                    }
                    self.sample_on_device(&mut rows, options, false)?;
                }
            }
            Sampler::Host => {
                let parts = rows.len().div_ceil(ROWS_PER_PART).clamp(1, MAX_PARTS);
                let size = rows.len().div_ceil(parts);
                let parts: Vec<&mut [GeneratedRow<'_>]> = rows.chunks_mut(size).collect();
                let sample = |rows: &mut [GeneratedRow<'_>]| self.sample_on_host(rows, options);
                let device = self.model.device();
                par_map_ordered(device, core_count(), parts, sample, |()| ())?;
            }
        }
        Ok(rows.into_iter().map(|row| row.done).collect())
    }

    fn check_prompts(
        &self,
        rows: &[GeneratedRow<'_>],
        options: &GenerateOptions,
    ) -> Result<(), LmError> {
        let lengths: Vec<usize> = rows.iter().map(|row| row.prompt.len()).collect();
        let room = self.model.config().max_position_embeddings - options.max_new_tokens;
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
fn unique_prompts<'a>(prompts: impl Iterator<Item = &'a [u32]>) -> (Vec<&'a [u32]>, Vec<usize>) {
    let mut unique = Vec::new();
    let mut places = BTreeMap::new();
    let place = |prompt: &'a [u32]| {
        *places.entry(prompt).or_insert_with(|| {
            unique.push(prompt);
            unique.len() - 1
        })
    };
    let of_row = prompts.map(place).collect();
    (unique, of_row)
}

/// Returns `true` if the row's completion has ended.
fn is_finished(row: &GeneratedRow<'_>, options: &GenerateOptions) -> bool {
    row.done.stopped || row.done.ids.len() >= options.max_new_tokens
}

impl GeneratedRow<'_> {
    /// Appends a token to the completion.
    fn push(&mut self, id: u32, logp: f32, options: &GenerateOptions) {
        self.done.ids.push(id);
        self.done.logps.push(logp);
        self.done.stopped = options.stop_tokens.contains(&id);
        if let Some(choices) = &mut self.choices {
            choices.push(id);
        }
    }
}
