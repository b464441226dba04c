//! The correction for a sampler that is not quite the policy that is trained: it may compute in another
//! precision, in another order, or on another machine (truncated importance sampling, TRL's
//! `vllm_importance_sampling_correction`).

use super::objective::{Correction, Sample};
use crate::rl::sampling::{SamplingConfig, importance_sampling_ratio};
use crate::rl::{Metrics, RlError};

/// Gives each sample the log-probabilities `old` of its tokens under the policy before the update, and its
/// correction. Returns TRL's metrics of the distance.
///
/// # Errors
/// If a sample has no log-probabilities of its sampler, or not one for each token.
pub(super) fn correct(
    config: SamplingConfig,
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
        .flat_map(|sample| (0..width).map(|at| sample.carries(at)));
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
    Ok(found.metrics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rl::sampling::SamplingMode;

    fn samples() -> Vec<Sample> {
        let sample = |length: usize, by: f64| Sample {
            completion: vec![1; length],
            sampled: Some(vec![-1.0 - by; length]),
            ..Sample::default()
        };
        vec![sample(2, 0.0), sample(3, 2.0_f64.ln())]
    }

    fn corrected(mode: SamplingMode, clip_max: f64) -> Result<Vec<Sample>, RlError> {
        let mut samples = samples();
        let config = SamplingConfig {
            mode,
            clip_min: None,
            clip_max: Some(clip_max),
        };
        let old = vec![vec![-1.0; 2], vec![-1.0; 3]];
        let metrics = correct(config, &mut samples, old.clone())?;
        assert_eq!(metrics.len(), 5);
        assert!(
            samples
                .iter()
                .zip(old)
                .all(|(sample, old)| sample.old == Some(old))
        );
        Ok(samples)
    }

    #[test]
    fn a_sampler_that_is_surer_counts_less() -> Result<(), RlError> {
        let near = |found: &Option<Correction>, expected: &[f64]| {
            let found = match found {
                Some(Correction::Token(all)) => all.clone(),
                Some(Correction::Sequence(one)) => vec![*one],
                None => Vec::new(),
            };
            let pairs = found.iter().zip(expected);
            found.len() == expected.len() && pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12)
        };
        let all = corrected(SamplingMode::TokenTruncate, 1.5)?;
        assert!(near(&all[0].correction, &[1.0; 2]) && near(&all[1].correction, &[1.5; 3]));
        let all = corrected(SamplingMode::TokenMask, 1.5)?;
        assert!(near(&all[1].correction, &[0.0; 3]));
        let all = corrected(SamplingMode::SequenceTruncate, 9.0)?;
        assert!(near(&all[0].correction, &[1.0]) && near(&all[1].correction, &[8.0]));
        let all = corrected(SamplingMode::SequenceMask, 7.0)?;
        assert!(near(&all[1].correction, &[0.0]));
        Ok(())
    }

    #[test]
    fn a_sampler_that_says_nothing_cannot_be_corrected() {
        let mut samples = samples();
        samples[1].sampled = None;
        let config = SamplingConfig {
            mode: SamplingMode::TokenMask,
            clip_min: None,
            clip_max: None,
        };
        let old = vec![vec![-1.0; 2], vec![-1.0; 3]];
        assert!(correct(config, &mut samples, old).is_err());
    }
}
