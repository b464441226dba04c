//! AdamW over the trained parameters of a model, with the gradient clipped by its global norm.

use std::collections::BTreeMap;

use burn::optim::{AdamW, AdamWState, Optimizer as _};
use sentinel_tensor::adamw::{AdamOptions, Moments, clip_factor};

use super::parameter::Grads;
use super::{CausalLm, LmError};

/// An AdamW optimizer with its moments, keyed by parameter name. Weight decay is not applied to norms
/// and biases, as in transformers' trainer.
pub struct Optimizer {
    decaying: AdamW,
    keeping: AdamW,
    max_grad_norm: f64,
    states: BTreeMap<String, AdamWState<2>>,
}

impl Optimizer {
    /// Creates an optimizer that has taken no step.
    #[must_use]
    pub fn new(options: &AdamOptions) -> Self {
        Self {
            decaying: options.update_rule(options.weight_decay),
            keeping: options.update_rule(0.0),
            max_grad_norm: options.max_grad_norm,
            states: BTreeMap::new(),
        }
    }

    /// Applies one update and returns the gradient norm before clipping. Nothing changes if the
    /// norm is not finite.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn step(
        &mut self,
        model: &mut CausalLm,
        grads: Grads,
        learning_rate: f64,
    ) -> Result<f64, LmError> {
        let norm = grads.norm()?;
        if !norm.is_finite() {
            return Ok(norm);
        }
        let factor = clip_factor(norm, self.max_grad_norm);
        for (parameter, gradient) in model.parameters_mut().into_iter().zip(grads.tensors) {
            let Some(mut gradient) = gradient.filter(|_| parameter.is_trainable()) else {
                continue;
            };
            if let Some(factor) = factor {
                gradient = gradient.mul_scalar(factor);
            }
            let rule = if parameter.is_vector() {
                &self.keeping
            } else {
                &self.decaying
            };
            let state = self.states.remove(parameter.name());
            let (moved, next) = rule.step(learning_rate, parameter.get(false), gradient, state);
            parameter.set(moved);
            if let Some(next) = next {
                self.states.insert(parameter.name().to_owned(), next);
            }
        }
        Ok(norm)
    }

    /// Returns the moments by parameter name, for a checkpoint.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn moments(&self) -> Result<BTreeMap<String, Moments>, LmError> {
        let plain = |(name, state): (&String, &AdamWState<2>)| {
            Ok((name.clone(), Moments::from_device(state)?))
        };
        self.states.iter().map(plain).collect()
    }

    /// Restores the moments from a checkpoint.
    ///
    /// # Errors
    /// If the model has no parameter with that name or size.
    pub fn restore(
        &mut self,
        moments: BTreeMap<String, Moments>,
        model: &CausalLm,
    ) -> Result<(), LmError> {
        let mut states = BTreeMap::new();
        for (name, moments) in moments {
            let parameters = model.parameters();
            let found = parameters.iter().find(|parameter| parameter.name() == name);
            let size = found.map_or(0, |parameter| parameter.shape().iter().product());
            for length in [moments.first.len(), moments.second.len()] {
                if length != size || size == 0 {
                    return Err(LmError::Length {
                        what: "moments of the optimizer",
                        found: length,
                        expected: size,
                    });
                }
            }
            let Some(parameter) = found else { continue };
            let shape = parameter.get(false).dims();
            states.insert(name, moments.into_device(shape, model.device()));
        }
        self.states = states;
        Ok(())
    }
}
