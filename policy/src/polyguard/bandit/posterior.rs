//! Bayesian linear regression, updated observation by observation.

use sentinel_env::rng::PcgRandom;
use serde::{Deserialize, Serialize};

use super::super::cholesky::{Cholesky, Matrix, add_outer, identity};
use super::super::features::{FEATURES, Features, dot};

/// The sufficient statistics of a linear bandit: `A = I + Σ φφᵀ` and `b = Σ rφ`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SufficientStatistics {
    /// Precision matrix `A`, row by row.
    precision: Matrix,
    /// Response vector `b`, one entry per feature.
    response: Features,
}

impl SufficientStatistics {
    /// Creates the statistics before any observation.
    #[must_use]
    pub(super) fn prior() -> Self {
        Self {
            precision: identity(1.0),
            response: [0.0; FEATURES],
        }
    }

    /// Adds the reward of one chosen candidate.
    pub(super) fn update(&mut self, features: &Features, reward: f64) {
        add_outer(&mut self.precision, features, 1.0);
        for (sum, feature) in self.response.iter_mut().zip(features) {
            *sum += reward * feature;
        }
    }

    /// Returns the posterior over the weights; `None` if the precision matrix is not positive
    /// definite.
    #[must_use]
    pub(super) fn posterior(&self) -> Option<Posterior> {
        let cholesky = Cholesky::new(&self.precision)?;
        Some(Posterior {
            mean: cholesky.solve(&self.response),
            cholesky,
        })
    }
}

/// Posterior over the weights of a linear model.
#[derive(Clone, Debug)]
pub(super) struct Posterior {
    /// Mean of the weights, `A⁻¹b`.
    pub(super) mean: Features,
    cholesky: Cholesky,
}

impl Posterior {
    /// Returns the standard deviation of a candidate's expected reward, `√(φᵀ A⁻¹ φ)`.
    pub(super) fn std_dev(&self, features: &Features) -> f64 {
        let half = self.cholesky.forward(features);
        dot(&half, &half).sqrt()
    }

    /// Samples weights from `N(A⁻¹b, scale² A⁻¹)`.
    pub(super) fn sample_weights(&self, scale: f64, stream: &mut PcgRandom) -> Features {
        let noise = std::array::from_fn(|_| scale * nearly_normal(stream));
        let moved = self.cholesky.backward(&noise);
        std::array::from_fn(|at| self.mean[at] + moved[at])
    }
}

/// Returns a random number with mean 0 and variance 1: the sum of twelve uniform ones minus 6
/// (Irwin-Hall). Its distribution is close to normal within ±3, and it needs no logarithm or
/// cosine, whose bits differ between targets.
fn nearly_normal(stream: &mut PcgRandom) -> f64 {
    (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polyguard::policy_stream;

    #[test]
    fn nearly_normal_draws_have_normal_moments() {
        let mut stream = policy_stream(7);
        let draws: Vec<f64> = (0..40_000).map(|_| nearly_normal(&mut stream)).collect();
        let mean = |power: i32| draws.iter().map(|x| x.powi(power)).sum::<f64>() / 40_000.0;
        assert!(mean(1).abs() < 0.02 && (mean(2) - 1.0).abs() < 0.03);
        assert!(
            mean(3).abs() < 0.06 && (mean(4) - 2.9).abs() < 0.1,
            "{}",
            mean(4)
        );
    }

    #[test]
    fn posterior_recovers_known_linear_model() {
        let truth: Features = std::array::from_fn(|at| at as f64 / 10.0 - 1.0);
        let (mut statistics, mut stream) = (SufficientStatistics::prior(), policy_stream(3));
        for _ in 0..5000 {
            let features = std::array::from_fn(|_| stream.unit());
            statistics.update(&features, dot(&truth, &features));
        }
        let posterior = statistics.posterior().expect("positive definite");
        let one: Features = std::array::from_fn(|at| if at == 4 { 1.0 } else { 0.0 });
        assert!((posterior.mean[4] - truth[4]).abs() < 0.02);
        let draws =
            (0..2000).map(|_| posterior.sample_weights(0.5, &mut stream)[4] - posterior.mean[4]);
        let squares: f64 = draws.map(|d| d * d).sum::<f64>() / 2000.0;
        let expected = 0.25 * posterior.std_dev(&one).powi(2);
        assert!(
            (squares / expected - 1.0).abs() < 0.15,
            "{squares} {expected}"
        );
    }
}
