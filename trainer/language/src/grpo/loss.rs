//! The loss of [`sentinel_rl`] for a language model, from log-probabilities to gradients of the
//! weights.
//!
//! The ranks of a run take the micro-batches in turn; all get the results of all. [`apply_sampling_correction`]
//! compensates for a sampler that differs from the trained policy, such as one with another precision, order of
//! operations or machine (truncated importance sampling, TRL's
//! `vllm_importance_sampling_correction`).

use std::collections::BTreeMap;

use sentinel_lm::parallel::{micro_batches_at_once, par_map_ordered};
use sentinel_lm::{
    CausalLm, Entropy, ForwardOptions, Grads, HeadOptions, LmError, TokenGrads, TokenValues,
};
use sentinel_rl::config::LossConfig;
use sentinel_rl::importance_sampling::{ImportanceSamplingConfig, importance_sampling_ratio};
use sentinel_rl::loss::{Advantages, LossInput, LossOutput, grpo_loss};
use sentinel_rl::{Metrics, RlError};
use sentinel_run::distributed::{ExactF64, ProcessGroup};
use serde::{Deserialize, Serialize};

use super::micro_batch::{MicroBatch, packed_size};
use super::sample::{Correction, Sample};
use crate::exchange::exchange;
use crate::training::sum_gradients;

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

/// The results of a micro-batch that every rank needs.
#[derive(Serialize, Deserialize)]
struct MicroBatchResult {
    index: usize,
    loss: ExactF64,
    metrics: BTreeMap<String, ExactF64>,
    /// Log-probabilities of each sample's tokens.
    logps: Vec<Vec<ExactF64>>,
}

/// Divides samples into micro-batches, and returns those of this rank with their indices.
fn own_micro_batches<'a, 'b>(
    samples: &'a [&'b Sample],
    micro: usize,
    ranks: &ProcessGroup,
) -> Vec<(usize, &'a [&'b Sample])> {
    let share = ranks.share();
    let parts = samples.chunks(micro.max(1)).enumerate();
    parts.filter(|(index, _)| share.takes(*index)).collect()
}

/// Returns the rows of a `[samples, width]` table without padding.
fn unpadded<'a>(
    samples: &'a [&Sample],
    width: usize,
    values: &'a [f64],
) -> impl Iterator<Item = &'a [f64]> {
    let rows = samples.iter().enumerate();
    rows.map(move |(row, sample)| &values[row * width..row * width + sample.completion.len()])
}

fn exact(values: &[f64]) -> Vec<ExactF64> {
    values.iter().copied().map(ExactF64::from).collect()
}

fn inexact(values: Vec<ExactF64>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

/// Computes loss and gradients of the samples of one optimizer step, `micro` at a time. All ranks pass
/// the same samples, and get the same results.
///
/// # Errors
/// If an option is invalid or needs an input that is missing, a sample has no prompt, nothing is
/// trained, the device cannot be read, or another rank failed.
pub fn accumulate(
    model: &CausalLm,
    samples: &[&Sample],
    micro: usize,
    objective: &Objective,
    pass: ForwardOptions,
    ranks: &ProcessGroup,
) -> Result<Accumulated, LmError> {
    let (mut grads, mut own) = (Grads::default(), Vec::new());
    let parts = own_micro_batches(samples, micro, ranks);
    let work = |(index, part): (usize, &[&Sample])| {
        // A smaller last micro-batch is weighted by its number of rows.
        let steps = samples.len() as f64 / part.len() as f64;
        let pass = pass.for_micro_batch(index as u64);
        let found = micro_batch(model, part, objective, steps, pass);
        found.map(|(output, grads, logps)| {
            let width = logps.len().checked_div(part.len()).unwrap_or(0);
            let metrics = output.metrics.into_iter();
            let result = MicroBatchResult {
                index,
                loss: output.loss.into(),
                metrics: metrics.map(|(name, v)| (name, v.into())).collect(),
                logps: unpadded(part, width, &logps).map(exact).collect(),
            };
            (result, grads)
        })
    };
    let at_once = micro_batches_at_once(parts.iter().map(|(_, part)| packed_size(part)));
    let done = par_map_ordered(model.device(), at_once, parts, work, |(result, more)| {
        own.push(result);
        grads.add(more);
    });
    let mut results: Vec<_> = exchange(ranks, done.map(|()| own))?
        .into_iter()
        .flatten()
        .collect();
    results.sort_by_key(|result| result.index);
    let mut all = Accumulated {
        loss: 0.0,
        grads: sum_gradients(ranks, model, grads)?,
        metrics: Metrics::new(),
        logps: Vec::with_capacity(samples.len()),
    };
    let mut seen: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for result in results {
        all.loss += f64::from(result.loss);
        for (name, value) in result.metrics {
            seen.entry(name).or_default().push(value.into());
        }
        all.logps.extend(result.logps.into_iter().map(inexact));
    }
    for (name, values) in seen {
        all.metrics.insert(name, sentinel_rl::nan_mean(&values));
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
/// for [`ForwardOptions::REFERENCE`], of the current policy for [`ForwardOptions::EVALUATION`]. All ranks
/// pass the same samples, and get the same results.
///
/// # Errors
/// If a sample does not fit the model, the device cannot be read, or another rank failed.
pub fn completion_logps(
    model: &CausalLm,
    samples: &[&Sample],
    micro: usize,
    objective: &Objective,
    pass: ForwardOptions,
    ranks: &ProcessGroup,
) -> Result<Vec<Vec<f64>>, LmError> {
    let work = |(index, part): (usize, &[&Sample])| {
        let made = MicroBatch::new(model.config(), part, objective.pad)?;
        let head = HeadOptions {
            temperature: objective.temperature,
            entropy: Entropy::Skipped,
            ..HeadOptions::default()
        };
        let found = model.token_values(&made.batch, &made.selection, head, pass)?;
        let values = table(part, made.width, &found.logps);
        let rows: Vec<_> = unpadded(part, made.width, &values).map(exact).collect();
        Ok::<_, LmError>((index, rows))
    };
    let mut own = Vec::new();
    let parts = own_micro_batches(samples, micro, ranks);
    let at_once = micro_batches_at_once(parts.iter().map(|(_, part)| packed_size(part)));
    let done = par_map_ordered(model.device(), at_once, parts, work, |found| {
        own.push(found);
    });
    let mut all: Vec<_> = exchange(ranks, done.map(|()| own))?
        .into_iter()
        .flatten()
        .collect();
    all.sort_by_key(|(index, _)| *index);
    let rows = all.into_iter().flat_map(|(_, rows)| rows);
    Ok(rows.map(inexact).collect())
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
    use sentinel_rl::importance_sampling::ImportanceSamplingMode;

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
        let raw = |name: &str| metrics[&format!("sampling/importance_sampling_ratio/{name}")];
        let (mean, share) = if mode.per_sequence() {
            (4.5, 0.5)
        } else {
            (1.6, 0.6)
        };
        let most = raw("raw_max");
        assert!((raw("raw_min") - 1.0).abs() < 1e-12 && (raw("raw_mean") - mean).abs() < 1e-12);
        let outside = if most > clip_max { share } else { 0.0 };
        assert!(
            (raw("outside") - outside).abs() < 1e-12,
            "{}",
            raw("outside")
        );
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
