//! Fits the imitation model with Newton's method. The loss is convex and has few weights.

use sentinel_env::Environment;
use std::ops::Range;

use sentinel_env::polyguard::{Episode, Observation, Setup};

use super::super::LookaheadOracle;
use super::super::cholesky::{Cholesky, Matrix, add_outer, identity};
use super::super::features::{FEATURES, Features, dot, features};
use super::super::fit_provenance::{Provenance, setups};
use super::super::permitted_candidates::permitted_candidates;
use super::Imitation;
use crate::policy::PrivilegedPolicy as _;
use crate::rollout::run_steps;

/// Number of steps that the oracle looks ahead.
const DEPTH: u8 = 2;
/// Weight of half the squared norm of the weights in the loss, next to the sum over the choices.
const RIDGE: f64 = 1.0;
/// Largest number of Newton steps; a handful suffice to converge.
const ROUNDS: usize = 30;
/// Gain relative to the initial loss below which the fit stops.
const ENOUGH: f64 = 1e-12;
/// Largest number of halvings of a Newton step that would raise the loss.
const HALVINGS: usize = 30;

/// Recorded choices: the features of each candidate, and the index of the one that was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedChoices(Vec<(Vec<Features>, usize)>);

/// Returns the choices of the oracle along its own episodes, one episode per seed.
#[must_use]
pub fn oracle_choices(seeds: Range<u64>) -> RecordedChoices {
    let mut all = Vec::new();
    for setup in setups(seeds) {
        all.extend(episode(&setup));
    }
    RecordedChoices(all)
}

fn episode(setup: &Setup) -> Vec<(Vec<Features>, usize)> {
    let mut oracle = LookaheadOracle::new(DEPTH);
    let mut choices = Vec::new();
    let choose = |episode: &Episode| {
        let o: &Observation = episode.observation();
        if o.done() {
            return None;
        }
        let action = oracle.choose(episode);
        let taken = permitted_candidates(o).position(|c| Some(c.id) == action.id());
        let rows = || {
            permitted_candidates(o)
                .map(|candidate| features(o, candidate))
                .collect()
        };
        // Choices that the anti-cheat rules forbid are left out of the data.
        choices.extend(taken.map(|taken| (rows(), taken)));
        Some(action)
    };
    run_steps::<sentinel_env::polyguard::PolyguardEnv>(setup, choose, |_, _| ());
    choices
}

/// Fits the weights to `choices`, which were recorded on `seeds`.
#[must_use]
pub fn fit(seeds: &Range<u64>, choices: &RecordedChoices) -> Imitation {
    let mut weights = [0.0; FEATURES];
    let start = choices.penalised_loss(&weights);
    let mut loss = start;
    for _ in 0..ROUNDS {
        let Some((next, lower)) = choices.newton(&weights, loss) else {
            break;
        };
        let gain = loss - lower;
        (weights, loss) = (next, lower);
        if gain < ENOUGH * start {
            break;
        }
    }
    let count = choices.0.len();
    Imitation {
        provenance: Provenance::from_seeds(seeds),
        teacher: format!("oracle, depth {DEPTH}"),
        decisions: count,
        ridge: RIDGE,
        loss: [[0.0; FEATURES], weights].map(|w| choices.loss(&w) / count.max(1) as f64),
        agreement: choices.agreement(&weights),
        weights,
    }
}

impl RecordedChoices {
    /// Returns the number of choices.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no choices.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the negative log-likelihood, summed over the choices.
    fn loss(&self, weights: &Features) -> f64 {
        let losses = self.0.iter().map(|(rows, taken)| {
            let logits: Vec<f64> = rows.iter().map(|row| dot(weights, row)).collect();
            log_sum_exp(&logits) - logits[*taken]
        });
        losses.sum()
    }

    fn penalised_loss(&self, weights: &Features) -> f64 {
        self.loss(weights) + 0.5 * RIDGE * dot(weights, weights)
    }

    /// Returns the share of choices whose candidate has the largest logit, the first one on a tie.
    fn agreement(&self, weights: &Features) -> f64 {
        let agrees = |(rows, taken): &&(Vec<Features>, usize)| {
            let mut best = 0;
            for at in 1..rows.len() {
                if dot(weights, &rows[at]) > dot(weights, &rows[best]) {
                    best = at;
                }
            }
            best == *taken
        };
        self.0.iter().filter(agrees).count() as f64 / self.0.len().max(1) as f64
    }

    /// Takes one Newton step and returns the new weights with their loss; `None` if no step in that
    /// direction lowers the loss.
    fn newton(&self, weights: &Features, loss: f64) -> Option<(Features, f64)> {
        let (gradient, hessian) = self.derivatives(weights);
        let direction = Cholesky::new(&hessian)?.solve(&gradient);
        let mut scale = 1.0;
        for _ in 0..HALVINGS {
            let next = std::array::from_fn(|at| weights[at] - scale * direction[at]);
            let lower = self.penalised_loss(&next);
            if lower < loss {
                return Some((next, lower));
            }
            scale *= 0.5;
        }
        None
    }

    /// Returns the gradient and the Hessian of the penalized loss.
    fn derivatives(&self, weights: &Features) -> (Features, Matrix) {
        let mut gradient: Features = weights.map(|w| RIDGE * w);
        let mut hessian = identity(RIDGE);
        for (rows, taken) in &self.0 {
            let logits: Vec<f64> = rows.iter().map(|row| dot(weights, row)).collect();
            let norm = log_sum_exp(&logits);
            let mut mean = [0.0; FEATURES];
            for (row, logit) in rows.iter().zip(&logits) {
                let p = (logit - norm).exp();
                add_outer(&mut hessian, row, p);
                for (sum, value) in mean.iter_mut().zip(row) {
                    *sum += p * value;
                }
            }
            add_outer(&mut hessian, &mean, -1.0);
            for at in 0..FEATURES {
                gradient[at] += mean[at] - rows[*taken][at];
            }
        }
        (gradient, hessian)
    }
}

/// Returns the logarithm of a sum of exponentials, without overflow.
fn log_sum_exp(logits: &[f64]) -> f64 {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|logit| (logit - top).exp()).sum();
    top + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns choices between two candidates; the one with more of feature 0 is taken in 3 of 4
    /// cases.
    fn coin() -> RecordedChoices {
        let (mut one, two) = ([0.0; FEATURES], [0.0; FEATURES]);
        one[0] = 1.0;
        let all = (0..4000).map(|at| (vec![one, two], usize::from(at % 4 == 0)));
        RecordedChoices(all.collect())
    }

    #[test]
    fn fit_recovers_known_model() {
        let model = fit(&(0..1), &coin());
        // The likelihood of 3 in 4 is largest at log(3); the ridge penalty lowers it a little.
        assert!(
            (model.weights[0] - 3f64.ln()).abs() < 0.01,
            "{:?}",
            model.weights
        );
        assert!(model.weights[1..].iter().all(|w| *w == 0.0));
        assert!((model.loss[0] - 2f64.ln()).abs() < 1e-12);
        assert_eq!(model.agreement, 0.75);
    }

    #[test]
    fn gradient_matches_finite_differences() {
        let choices = oracle_choices(0..24);
        let at: Features = std::array::from_fn(|i| (i % 5) as f64 * 0.1 - 0.2);
        let (gradient, _) = choices.derivatives(&at);
        for i in 0..FEATURES {
            let (mut up, mut down) = (at, at);
            up[i] += 1e-5;
            down[i] -= 1e-5;
            let slope = (choices.penalised_loss(&up) - choices.penalised_loss(&down)) / 2e-5;
            assert!(
                (slope - gradient[i]).abs() < 1e-4 * (1.0 + slope.abs()),
                "feature {i}"
            );
        }
    }

    #[test]
    fn fit_lowers_loss_and_is_deterministic() {
        let choices = oracle_choices(0..72);
        assert_eq!(choices, oracle_choices(0..72));
        let model = fit(&(0..72), &choices);
        assert!(choices.len() > 150 && model.decisions == choices.len());
        assert!(model.loss[1] < 0.85 * model.loss[0], "{:?}", model.loss);
        assert_eq!(model, fit(&(0..72), &choices));
    }
}
