//! Imitates the oracle: a multinomial logistic model over the features of the shown candidates, with
//! the same weights for all of them (spec polyguard §10). Plays the most probable one.

mod fit;

use std::sync::LazyLock;

use sentinel_env::polyguard::{Action, CANDIDATES, Observation, PolyguardEnv};
use serde::{Deserialize, Serialize};

pub use fit::{Choices, fit, oracle_choices};

use crate::policy::Policy;

use super::features::{FEATURES, Features, dot, features};
use super::fitted::{Provenance, shipped};
use super::permitted::argmax;

static SHIPPED: LazyLock<Imitation> =
    LazyLock::new(|| shipped(include_str!("../../../data/polyguard/imitation.json")));

/// The fitted model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imitation {
    /// What it was fitted on.
    pub provenance: Provenance,
    /// Who was imitated.
    pub teacher: String,
    /// Choices of the teacher.
    pub decisions: usize,
    /// Weight of the squared weights in the loss.
    pub ridge: f64,
    /// Mean negative log-likelihood of a choice: with equal weights, and fitted.
    pub loss: [f64; 2],
    /// Share of the choices that the model would make too.
    pub agreement: f64,
    /// The weights, in the order of the features.
    pub weights: Features,
}

impl Imitation {
    /// Returns the model that is part of the program.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }
}

/// Plays a fitted model.
#[derive(Clone, Debug)]
pub struct Imitates {
    weights: Features,
    values: Option<[f64; CANDIDATES]>,
}

impl Imitates {
    /// Plays with these weights.
    #[must_use]
    pub const fn new(weights: [f64; FEATURES]) -> Self {
        Self {
            weights,
            values: None,
        }
    }
}

impl Policy<PolyguardEnv> for Imitates {
    fn choose(&mut self, o: &Observation) -> Action {
        let mut values = [f64::NEG_INFINITY; CANDIDATES];
        let id = argmax(o, |candidate| {
            // No probability is needed to know the greatest: softmax keeps the order.
            let value = dot(&self.weights, &features(o, candidate));
            values[candidate.id.index()] = value;
            value
        });
        self.values = Some(values);
        Action::explained(o, id)
    }

    /// Logits; none of what was not considered.
    fn action_values(&self) -> Option<Vec<f64>> {
        self.values.map(Vec::from)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fitted::assert_clean;
    use super::*;

    #[test]
    fn the_shipped_model_says_what_it_was_fitted_on() {
        let model = Imitation::shipped();
        assert_clean(&model.provenance);
        assert!(model.loss[1] < 0.8 * model.loss[0], "{:?}", model.loss);
        assert!(model.weights.iter().all(|w| w.is_finite()));
    }
}
