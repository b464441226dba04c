//! The loss of [`crate::rl`] for a language model, from log-probabilities to gradients of the
//! weights.
//!
//! Completions of one prompt can share a row of a micro-batch. [`apply_sampling_correction`] compensates for a
//! sampler that differs from the trained policy, such as one with another precision, order of
//! operations or machine (truncated importance sampling, TRL's
//! `vllm_importance_sampling_correction`).

use std::collections::BTreeMap;

use crate::lm::config::ModelConfig;
use crate::lm::parallel::par_map_ordered;
use crate::lm::{
    Batch, CausalLm, Entropy, ForwardOptions, Grads, HeadOptions, LmError, Segment, TokenGrads,
    TokenSelection, TokenValues,
};
use crate::rl::config::LossConfig;
use crate::rl::importance_sampling::{ImportanceSamplingConfig, importance_sampling_ratio};
use crate::rl::loss::{Advantages, LossInput, LossOutput, grpo_loss};
use crate::rl::{Metrics, RlError};

/// A completion of a prompt with its data for the loss. Vectors have one element per token of the
/// completion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Tokens of the prompt.
    pub prompt: Vec<u32>,
    /// Tokens of the completion, including the stop token.
    pub completion: Vec<u32>,
    /// `true` for tokens that carry loss; `None` if all do.
    pub mask: Option<Vec<bool>>,
    /// Advantage of the completion.
    pub advantage: f64,
    /// Log-probabilities under the policy that generated it; `None` while that is the trained
    /// policy.
    pub old: Option<Vec<f64>>,
    /// Log-probabilities under the reference policy.
    pub reference: Option<Vec<f64>>,
    /// Log-probabilities that the sampler reported; NaN for tokens without one.
    pub sampled: Option<Vec<f64>>,
    /// Correction for a sampler that differs from the policy.
    pub correction: Option<Correction>,
}

/// The ratio of the old policy over the sampler, within its bounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Correction {
    /// One ratio for each token of the completion.
    Token(Vec<f64>),
    /// One ratio for the whole completion.
    Sequence(f64),
}

impl Sample {
    /// Returns `true` if the token at `at` carries loss.
    pub(super) fn has_loss_at(&self, at: usize) -> bool {
        at < self.completion.len() && self.mask.as_ref().is_none_or(|mask| mask[at])
    }

    /// Returns the number of tokens that carry loss.
    #[must_use]
    pub fn loss_tokens(&self) -> usize {
        (0..self.completion.len())
            .filter(|at| self.has_loss_at(*at))
            .count()
    }
}

/// The objective that is minimized.
#[derive(Clone, Debug)]
pub struct Objective {
    /// Options of the loss; `gradient_accumulation_steps` is set from the samples.
    pub loss: LossConfig,
    /// Divisor of the logits before log-probabilities are computed.
    pub temperature: f64,
    /// Number of tokens with loss in the whole generation; TRL's `num_items_in_batch`.
    pub num_items: f64,
    /// Token that pads rows.
    pub pad: u32,
}

/// The results of the samples of one optimizer step.
#[derive(Debug)]
pub struct Accumulated {
    /// Loss summed over the micro-batches.
    pub loss: f64,
    /// Gradients of the loss.
    pub grads: Grads,
    /// TRL's metrics, averaged over micro-batches as there.
    pub metrics: Metrics,
    /// Log-probabilities of each sample's tokens under the current policy.
    pub logps: Vec<Vec<f64>>,
}

/// Arranges the values of all completions' tokens as `[samples, width]`, padded with 0.
fn table(samples: &[&Sample], width: usize, values: &[f32]) -> Vec<f64> {
    let mut all = vec![0.0; samples.len() * width];
    let mut rest = values.iter();
    for (row, sample) in samples.iter().enumerate() {
        for at in 0..sample.completion.len() {
            all[row * width + at] = rest.next().map_or(0.0, |value| f64::from(*value));
        }
    }
    all
}

/// Arranges values that samples hold as `[samples, width]`; `None` if a sample has none.
fn padded_table(
    samples: &[&Sample],
    width: usize,
    of: impl Fn(&Sample) -> Option<&Vec<f64>>,
) -> Option<Vec<f64>> {
    let mut all = vec![0.0; samples.len() * width];
    for (row, sample) in samples.iter().enumerate() {
        let values = of(sample)?;
        all[row * width..row * width + values.len()].copy_from_slice(values);
    }
    Some(all)
}

/// Returns the corrections of samples, `[batch, tokens]` or `[batch]`; `None` if a sample has none.
fn corrections(samples: &[&Sample], width: usize) -> Option<Vec<f64>> {
    let mut all = Vec::with_capacity(samples.len() * width);
    for sample in samples {
        match sample.correction.as_ref()? {
            Correction::Sequence(ratio) => all.push(*ratio),
            Correction::Token(ratios) => {
                all.extend_from_slice(ratios);
                let padding = width - ratios.len();
                all.extend(std::iter::repeat_n(1.0, padding));
            }
        }
    }
    Some(all)
}

/// Computes loss and gradients of the samples of one optimizer step, `micro` at a time.
///
/// # Errors
/// If an option is invalid or needs an input that is missing, a sample has no prompt, nothing is
/// trained, or the device cannot be read.
pub fn accumulate(
    model: &CausalLm,
    samples: &[&Sample],
    micro: usize,
    objective: &Objective,
    pass: ForwardOptions,
) -> Result<Accumulated, LmError> {
    let mut all = Accumulated {
        loss: 0.0,
        grads: Grads::default(),
        metrics: Metrics::new(),
        logps: Vec::with_capacity(samples.len()),
    };
    let mut seen: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let parts: Vec<(u64, &[&Sample])> = (0..).zip(samples.chunks(micro.max(1))).collect();
    let work = |(index, part): (u64, _)| {
        let part: &[&Sample] = part;
        // A smaller last micro-batch is weighted by its number of rows.
        let steps = samples.len() as f64 / part.len() as f64;
        let found = micro_batch(
            &model.fork(),
            part,
            objective,
            steps,
            pass.for_micro_batch(index),
        );
        found.map(|found| (part, found))
    };
    let take = |(part, (output, grads, logps)): (&[&Sample], (LossOutput, Grads, Vec<f64>))| {
        all.loss += output.loss;
        all.grads.add(grads);
        for (name, value) in output.metrics {
            seen.entry(name).or_default().push(value);
        }
        let width = logps.len().checked_div(part.len()).unwrap_or(0);
        for (row, sample) in part.iter().enumerate() {
            let start = row * width;
            all.logps
                .push(logps[start..start + sample.completion.len()].to_vec());
        }
    };
    par_map_ordered(model.device(), parts, work, take)?;
    for (name, values) in seen {
        all.metrics.insert(name, crate::rl::nan_mean(&values));
    }
    Ok(all)
}

fn micro_batch(
    model: &CausalLm,
    samples: &[&Sample],
    objective: &Objective,
    steps: f64,
    pass: ForwardOptions,
) -> Result<(LossOutput, Grads, Vec<f64>), LmError> {
    let MicroBatch {
        batch,
        selection,
        width,
    } = MicroBatch::new(model.config(), samples, objective.pad)?;
    let config = &LossConfig {
        gradient_accumulation_steps: steps,
        ..objective.loss.clone()
    };
    let entropy = if config.entropy_coef == 0.0 {
        Entropy::Value
    } else {
        Entropy::Gradient
    };
    let mask: Vec<bool> = (samples.iter())
        .flat_map(|sample| (0..width).map(|at| sample.has_loss_at(at)))
        .collect();
    let advantages: Vec<f64> = samples.iter().map(|sample| sample.advantage).collect();
    let old = padded_table(samples, width, |sample| sample.old.as_ref());
    let reference = padded_table(samples, width, |sample| sample.reference.as_ref());
    let sampled = padded_table(samples, width, |sample| sample.sampled.as_ref());
    let correction = corrections(samples, width);
    let mut output = None;
    let head = HeadOptions {
        temperature: objective.temperature,
        entropy,
        ..HeadOptions::default()
    };
    let loss = |found: &TokenValues| {
        let logps = table(samples, width, &found.logps);
        let entropies = table(samples, width, &found.entropies);
        let input = LossInput {
            tokens: width,
            logps: &logps,
            old_logps: old.as_deref(),
            ref_logps: reference.as_deref(),
            entropies: Some(&entropies),
            completion_mask: &mask,
            advantages: Advantages::PerSequence(&advantages),
            num_items_in_batch: Some(objective.num_items),
            importance_sampling_ratio: correction.as_deref(),
            sampling_logps: sampled.as_deref(),
        };
        let computed = grpo_loss(config, &input).map_err(LmError::loss)?;
        let of_tokens = |table: &[f64]| token_entries(samples, width, table);
        let grads = TokenGrads {
            logps: of_tokens(&computed.grad_logps),
            entropies: computed.grad_entropies.as_deref().map(of_tokens),
        };
        output = Some((computed, logps));
        Ok(grads)
    };
    let grads = model.token_gradients(&batch, &selection, head, pass, loss)?;
    let (output, logps) = output.ok_or(LmError::Length {
        what: "the outputs of a loss",
        found: 0,
        expected: 1,
    })?;
    Ok((output, grads, logps))
}

/// Returns the entries of a `[samples, width]` table that are tokens, in the order of the
/// selected tokens.
fn token_entries(samples: &[&Sample], width: usize, table: &[f64]) -> Vec<f32> {
    let rows = samples.iter().enumerate();
    let of_row = |(row, sample): (usize, &&Sample)| {
        let row = &table[row * width..row * width + sample.completion.len()];
        row.iter().map(|entry| *entry as f32).collect::<Vec<_>>()
    };
    rows.flat_map(of_row).collect()
}

/// Computes the log-probabilities of the samples' completions without gradients: of the base model
/// for [`ForwardOptions::REFERENCE`], of the current policy for [`ForwardOptions::EVALUATION`].
///
/// # Errors
/// If a sample does not fit the model, or the device cannot be read.
pub fn completion_logps(
    model: &CausalLm,
    samples: &[&Sample],
    micro: usize,
    objective: &Objective,
    pass: ForwardOptions,
) -> Result<Vec<Vec<f64>>, LmError> {
    let parts = samples.chunks(micro.max(1)).collect();
    let work = |part: &[&Sample]| {
        let made = MicroBatch::new(model.config(), part, objective.pad)?;
        let head = HeadOptions {
            temperature: objective.temperature,
            entropy: Entropy::Skipped,
            ..HeadOptions::default()
        };
        let found = model.token_values(&made.batch, &made.selection, head, pass)?;
        let values = table(part, made.width, &found.logps);
        let row = |(row, sample): (usize, &&Sample)| {
            let start = row * made.width;
            values[start..start + sample.completion.len()].to_vec()
        };
        Ok::<_, LmError>(part.iter().enumerate().map(row).collect::<Vec<_>>())
    };
    let mut all = Vec::with_capacity(samples.len());
    par_map_ordered(model.device(), parts, work, |found| all.extend(found))?;
    Ok(all)
}

/// A packed micro-batch, and the selection of the tokens of all completions in the order of the
/// samples.
pub(super) struct MicroBatch {
    pub(super) batch: Batch,
    pub(super) selection: TokenSelection,
    /// Number of tokens in the longest completion.
    pub(super) width: usize,
}

impl MicroBatch {
    /// Packs samples into the rows of a batch.
    ///
    /// # Errors
    /// If a sample has no prompt or does not fit the model.
    pub(super) fn new(
        config: &ModelConfig,
        samples: &[&Sample],
        pad: u32,
    ) -> Result<Self, LmError> {
        if samples.iter().any(|sample| sample.prompt.is_empty()) {
            return Err(LmError::Length {
                what: "a prompt",
                found: 0,
                expected: 1,
            });
        }
        let rows = rows_by_prompt(samples);
        let packed: Vec<_> = rows.iter().map(|row| row_segments(row)).collect();
        let (batch, selection) = TokenSelection::packed(config, &packed, pad)?;
        let longest = samples.iter().map(|sample| sample.completion.len()).max();
        Ok(Self {
            batch,
            selection,
            width: longest.unwrap_or(0),
        })
    }
}

/// Groups samples into rows. Neighbors with the same prompt share a row while their completions
/// together are no longer than the prompt, because the cost of attention is quadratic in the row's
/// length.
fn rows_by_prompt<'a>(samples: &[&'a Sample]) -> Vec<Vec<&'a Sample>> {
    let mut rows: Vec<Vec<&Sample>> = Vec::new();
    let mut written = 0;
    for sample in samples {
        written += sample.completion.len();
        match rows.last_mut() {
            Some(row) if row[0].prompt == sample.prompt && written <= sample.prompt.len() => {
                row.push(sample);
            }
            _ => {
                written = sample.completion.len();
                rows.push(vec![sample]);
            }
        }
    }
    rows
}

/// Returns the prompt of a row and its completions, each with the index of its first trained token:
/// none of the prompt, all of a completion.
fn row_segments<'a>(row: &[&'a Sample]) -> Vec<(Segment<'a>, usize)> {
    let prompt = row.first().map(|sample| {
        let ids = sample.prompt.as_slice();
        (Segment { ids, prefix: None }, ids.len())
    });
    let completion = |sample: &&'a Sample| {
        let (ids, prefix) = (sample.completion.as_slice(), Some(0));
        (Segment { ids, prefix }, 0)
    };
    let completions = row.iter().map(completion);
    prompt.into_iter().chain(completions).collect()
}

/// Sets the log-probabilities `old` and the correction of each sample. `old` holds those under the
/// policy before the update. Returns TRL's metrics of the difference.
///
/// # Errors
/// If a sample has no log-probabilities of its sampler, or not one for each token.
pub(super) fn apply_sampling_correction(
    config: ImportanceSamplingConfig,
    samples: &mut [Sample],
    old: Vec<Vec<f64>>,
) -> Result<Metrics, RlError> {
    let lengths = samples.iter().map(|sample| sample.completion.len());
    let width = lengths.max().unwrap_or(0);
    let table = |rows: &mut dyn Iterator<Item = &Vec<f64>>| -> Vec<f64> {
        rows.flat_map(|row| {
            let padding = std::iter::repeat_n(0.0, width - row.len());
            row.iter().copied().chain(padding)
        })
        .collect()
    };
    let missing = || RlError::Missing {
        option: "importance_sampling_mode",
        input: "sampling_logps",
    };
    let sampled: Option<Vec<&Vec<f64>>> = samples
        .iter()
        .map(|sample| sample.sampled.as_ref())
        .collect();
    let sampled = table(&mut sampled.ok_or_else(missing)?.into_iter());
    let mask = samples
        .iter()
        .flat_map(|sample| (0..width).map(|at| sample.has_loss_at(at)));
    let mask: Vec<bool> = mask.collect();
    let found = importance_sampling_ratio(config, width, &table(&mut old.iter()), &sampled, &mask)?;
    for (row, (sample, old)) in samples.iter_mut().zip(old).enumerate() {
        sample.correction = Some(if config.mode.per_sequence() {
            Correction::Sequence(found.ratios[row])
        } else {
            let start = row * width;
            Correction::Token(found.ratios[start..start + old.len()].to_vec())
        });
        sample.old = Some(old);
    }
    let mut metrics = found.metrics;
    metrics.extend(found.raw_metrics);
    Ok(metrics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rl::importance_sampling::ImportanceSamplingMode;

    fn samples() -> Vec<Sample> {
        let sample = |length: usize, by: f64| Sample {
            completion: vec![1; length],
            sampled: Some(vec![-1.0 - by; length]),
            ..Sample::default()
        };
        vec![sample(2, 0.0), sample(3, 2.0_f64.ln())]
    }

    fn corrected(mode: ImportanceSamplingMode, clip_max: f64) -> Result<Vec<Sample>, RlError> {
        let mut samples = samples();
        let config = ImportanceSamplingConfig {
            mode,
            clip_min: None,
            clip_max: Some(clip_max),
        };
        let old = vec![vec![-1.0; 2], vec![-1.0; 3]];
        let metrics = apply_sampling_correction(config, &mut samples, old.clone())?;
        assert_eq!(metrics.len(), 9);
        let outside = metrics["sampling/importance_sampling_ratio/outside"];
        assert!(outside == 0.0 || metrics["sampling/importance_sampling_ratio/raw_max"] > clip_max);
        assert!(
            samples
                .iter()
                .zip(old)
                .all(|(sample, old)| sample.old == Some(old))
        );
        Ok(samples)
    }

    #[test]
    fn sampling_correction_truncates_or_masks_by_mode() -> Result<(), RlError> {
        let near = |found: &Option<Correction>, expected: &[f64]| {
            let found = match found {
                Some(Correction::Token(all)) => all.clone(),
                Some(Correction::Sequence(one)) => vec![*one],
                None => Vec::new(),
            };
            let pairs = found.iter().zip(expected);
            found.len() == expected.len() && pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12)
        };
        let all = corrected(ImportanceSamplingMode::TokenTruncate, 1.5)?;
        assert!(near(&all[0].correction, &[1.0; 2]) && near(&all[1].correction, &[1.5; 3]));
        let all = corrected(ImportanceSamplingMode::TokenMask, 1.5)?;
        assert!(near(&all[1].correction, &[0.0; 3]));
        let all = corrected(ImportanceSamplingMode::SequenceTruncate, 9.0)?;
        assert!(near(&all[0].correction, &[1.0]) && near(&all[1].correction, &[8.0]));
        let all = corrected(ImportanceSamplingMode::SequenceMask, 7.0)?;
        assert!(near(&all[1].correction, &[0.0]));
        Ok(())
    }

    #[test]
    fn missing_sampler_logprobs_are_an_error() {
        let mut samples = samples();
        samples[1].sampled = None;
        let config = ImportanceSamplingConfig {
            mode: ImportanceSamplingMode::TokenMask,
            clip_min: None,
            clip_max: None,
        };
        let old = vec![vec![-1.0; 2], vec![-1.0; 3]];
        assert!(apply_sampling_correction(config, &mut samples, old).is_err());
    }
}
