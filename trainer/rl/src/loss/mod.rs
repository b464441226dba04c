//! The loss of the GRPO family: its value, its gradients, and the metrics that TRL logs.
//!
//! The policy loss of a token is `terms::policy_term` times `terms::policy_weights`, plus `beta` times `terms::k3`.
//! `Normaliser` weights the tokens, and the entropy bonus is subtracted last. Every term has two
//! separate derivatives, by the log-probability itself and by the log of its importance ratio,
//! because one ratio may belong to a whole sequence (`Ratio` distributes the second one over the
//! tokens).

mod input;
mod terms;

pub use input::{Advantages, LossInput, LossOutput};

use super::config::{LossConfig, LossType};
use super::{Metrics, RlError};
use input::Batch;
use terms::{Normaliser, Ratio, Term};

/// Computes the loss of one micro-batch and its gradients (TRL: `_compute_loss` in training).
///
/// For an evaluation, set `gradient_accumulation_steps` and `steps_per_generation` to 1. The
/// gradients equal those of automatic differentiation with these values held constant: the old,
/// reference and sampler's log-probabilities, advantages, all masks, CISPO's truncated ratio and
/// VESPO's weight.
///
/// ```
/// use sentinel_rl::config::LossConfig;
/// use sentinel_rl::loss::{Advantages, LossInput, grpo_loss};
///
/// let input = LossInput {
///     tokens: 2,
///     logps: &[-0.5, -1.0, -0.7, -0.2],
///     old_logps: None,
///     ref_logps: None,
///     entropies: None,
///     completion_mask: &[true, true, true, false],
///     advantages: Advantages::PerSequence(&[1.0, -1.0]),
///     num_items_in_batch: Some(3.0),
///     importance_sampling_ratio: None,
///     sampling_logps: None,
/// };
/// let found = grpo_loss(&LossConfig::default(), &input)?;
/// // Descending the gradient makes the better completion more probable.
/// assert!(found.grad_logps[0] < 0.0 && found.grad_logps[2] > 0.0);
/// assert_eq!(found.grad_logps[3], 0.0);
/// # Ok::<(), sentinel_rl::RlError>(())
/// ```
///
/// # Errors
/// If an option is out of range, a slice does not have its shape, or an option needs an input that
/// is missing.
pub fn grpo_loss(config: &LossConfig, input: &LossInput<'_>) -> Result<LossOutput, RlError> {
    config.check()?;
    let batch = Batch::new(config, input)?;
    let ratio = Ratio::new(config.importance_sampling_level, &batch);
    let normalizer = Normaliser::new(config, &batch)?;
    let high_entropy = terms::high_entropy(config, &batch)?;
    let policy_weights = terms::policy_weights(config, &batch, high_entropy.as_deref());
    let phi = (config.loss_type == LossType::Vespo).then(|| terms::vespo_weights(config, &batch));

    let size = batch.rows * batch.tokens;
    let mut divergences = vec![0.0; size];
    let (mut direct, mut through) = (vec![0.0; size], vec![0.0; size]);
    let mut policy_loss = 0.0;
    for row in 0..batch.rows {
        let weight = normalizer.weight(row);
        for at in batch.row(row).filter(|at| batch.mask[*at]) {
            let phi = phi.as_ref().map_or(0.0, |phi| phi[at]);
            let (coef, advantage) = (ratio.coef[at], batch.advantage(at));
            let term = terms::policy_term(config, coef, advantage, input.logps[at], phi);
            let mut term = term.times(policy_weights[at]);
            if let Some(reference) = input.ref_logps.filter(|_| config.beta != 0.0) {
                let corrected = config.use_bias_correction_kl.then_some(coef);
                let kl = terms::k3(reference[at] - input.logps[at], corrected);
                divergences[at] = kl.value;
                term = term.plus(kl.times(config.beta));
            }
            let Term {
                value,
                by_logp,
                by_ratio,
            } = term.times(weight);
            policy_loss += value;
            direct[at] = by_logp;
            through[at] = by_ratio;
        }
    }
    let grad_logps = ratio.gradient(&batch, direct, &through);
    let loss = policy_loss / normalizer.accumulation;
    let grad_logps = grad_logps
        .into_iter()
        .map(|grad| grad / normalizer.accumulation)
        .collect();

    let mut metrics = Metrics::new();
    terms::record_metrics(config, &batch, &ratio, phi.as_deref(), &mut metrics);
    if config.beta != 0.0 {
        metrics.insert("kl".into(), terms::token_mean(&batch, &divergences));
    }
    let mut output = LossOutput {
        loss,
        grad_logps,
        grad_entropies: None,
        metrics,
    };
    if config.entropy_coef != 0.0 {
        add_entropy_bonus(config, &batch, high_entropy.as_deref(), &mut output)?;
        output.metrics.insert("policy_loss".into(), policy_loss);
    }
    Ok(output)
}

/// Subtracts `entropy_coef` times the mean entropy of the tokens that carry loss.
fn add_entropy_bonus(
    config: &LossConfig,
    batch: &Batch<'_>,
    high_entropy: Option<&[bool]>,
    output: &mut LossOutput,
) -> Result<(), RlError> {
    let entropies = batch.input.entropies.ok_or(RlError::Missing {
        option: "entropy_coef",
        input: "entropies",
    })?;
    let acts = |at: &usize| batch.mask[*at] && high_entropy.is_none_or(|high| high[*at]);
    let tokens: Vec<usize> = (0..entropies.len()).filter(acts).collect();
    let each =
        config.entropy_coef / (tokens.len().max(1) as f64 * config.gradient_accumulation_steps);
    let mut gradient = vec![0.0; entropies.len()];
    for at in tokens {
        output.loss -= each * entropies[at];
        gradient[at] = -each;
    }
    output.grad_entropies = Some(gradient);
    output
        .metrics
        .insert("entropy_coef".into(), config.entropy_coef);
    Ok(())
}
