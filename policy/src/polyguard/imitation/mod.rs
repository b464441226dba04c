//! Imitation of the oracle: a multinomial logistic model over the features of the shown candidates,
//! with the same weights for all of them (spec polyguard §10). The policy takes the most probable
//! candidate.

mod fit;

use std::sync::LazyLock;

use sentinel_env::polyguard::{Action, MAX_CANDIDATES, Observation, PolyguardEnv};
use serde::{Deserialize, Serialize};

pub use fit::{RecordedChoices, fit, oracle_choices};

use crate::policy::Policy;

use super::features::{FEATURES, Features, dot, features};
use super::fit_provenance::{Provenance, builtin};
use super::permitted_candidates::argmax_permitted;

static SHIPPED: LazyLock<Imitation> =
    LazyLock::new(|| builtin(include_str!("../../../data/polyguard/imitation.json")));

/// The fitted imitation model, as stored in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imitation {
    /// Data that the model was fitted on.
    pub provenance: Provenance,
    /// Description of the imitated policy.
    pub teacher: String,
    /// Number of choices that the model was fitted on.
    pub decisions: usize,
    /// Weight of half the squared norm of the weights in the loss.
    pub ridge: f64,
    /// Mean negative log-likelihood of a choice, with zero weights and with the fitted ones.
    pub loss: [f64; 2],
    /// Share of the choices that the model agrees with, 0..=1.
    pub agreement: f64,
    /// Weights of the model, in the order of the features.
    pub weights: Features,
}

impl Imitation {
    /// Returns the fitted model that is compiled into the program.
    #[must_use]
    pub fn builtin() -> &'static Self {
        &SHIPPED
    }
}

/// A policy that plays a fitted imitation model.
#[derive(Clone, Debug)]
pub struct ImitationPolicy {
    weights: Features,
    values: Option<[f64; MAX_CANDIDATES]>,
}

impl ImitationPolicy {
    /// Creates the policy from fitted weights.
    #[must_use]
    pub const fn new(weights: [f64; FEATURES]) -> Self {
        Self {
            weights,
            values: None,
        }
    }
}

impl Policy<PolyguardEnv> for ImitationPolicy {
    fn choose(&mut self, o: &Observation) -> Action {
        let mut values = [f64::NEG_INFINITY; MAX_CANDIDATES];
        let id = argmax_permitted(o, |candidate| {
            // Softmax keeps the order, so the logits suffice to find the most probable candidate.
            let value = dot(&self.weights, &features(o, candidate));
            values[candidate.id.index()] = value;
            value
        });
        self.values = Some(values);
        Action::with_grounded_rationale(o, id)
    }

    /// Returns the logits, `-inf` for candidates that are not permitted.
    fn action_values(&self) -> Option<Vec<f64>> {
        self.values.map(Vec::from)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fit_provenance::assert_training_data_only;
    use super::*;

    #[test]
    fn builtin_model_has_clean_provenance_and_lower_loss() {
        let model = Imitation::builtin();
        assert_training_data_only(&model.provenance);
        assert!(model.loss[1] < 0.8 * model.loss[0], "{:?}", model.loss);
        assert!(model.weights.iter().all(|w| w.is_finite()));
    }
}
