//! The divergence from the reference policy.

use super::objective::Term;

/// Schulman's k3 estimate `exp(d) - d - 1` for `d = ref - logp`; never negative.
///
/// With `corrected`, the importance ratio, the estimate is multiplied by it, which makes it
/// unbiased for actions of the old policy (DeepSeek-V3.2; TRL: `use_bias_correction_kl`).
pub(super) fn k3(difference: f64, corrected: Option<f64>) -> Term {
    let value = difference.exp() - difference - 1.0;
    let by_logp = 1.0 - difference.exp();
    let ratio = corrected.unwrap_or(1.0);
    Term {
        value: value * ratio,
        by_logp: by_logp * ratio,
        by_ratio: corrected.map_or(0.0, |ratio| value * ratio),
    }
}
