//! AdamW over the trained parameters of a model, with the gradient clipped by its global norm.

use std::collections::BTreeMap;

use burn::optim::{AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState, Optimizer as _};

use super::parameter::{Grads, matrix, numbers};
use super::{LmError, Qwen2};

/// Options of [`Optimizer`], with the defaults of transformers' `TrainingArguments`, which TRL
/// uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamOptions {
    /// Decay rate of the first moment.
    pub beta1: f32,
    /// Decay rate of the second moment.
    pub beta2: f32,
    /// Term added to the square root of the second moment.
    pub epsilon: f32,
    /// Decoupled weight decay. It is not applied to norms and biases, as in transformers' trainer.
    pub weight_decay: f32,
    /// Largest global norm of the gradient; 0 disables clipping.
    pub max_grad_norm: f64,
}

impl Default for AdamOptions {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
            max_grad_norm: 1.0,
        }
    }
}

/// The AdamW moments of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Number of steps taken.
    pub time: usize,
    /// Running mean of the gradients, in row-major order.
    pub first: Vec<f32>,
    /// Running mean of the squared gradients, in row-major order.
    pub second: Vec<f32>,
}

/// An AdamW optimizer with its moments, keyed by parameter name.
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
        let rule = |weight_decay| {
            AdamWConfig::new()
                .with_beta_1(options.beta1)
                .with_beta_2(options.beta2)
                .with_epsilon(options.epsilon)
                .with_weight_decay(weight_decay)
                .build()
        };
        Self {
            decaying: rule(options.weight_decay),
            keeping: rule(0.0),
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
        model: &mut Qwen2,
        grads: Grads,
        learning_rate: f64,
    ) -> Result<f64, LmError> {
        let norm = grads.norm()?;
        if !norm.is_finite() {
            return Ok(norm);
        }
        let clip = self.max_grad_norm > 0.0 && norm > self.max_grad_norm;
        // As in torch, the norm is increased slightly, so that the result stays below the bound.
        let scale = clip.then(|| self.max_grad_norm / (norm + 1e-6));
        for (parameter, gradient) in model.parameters_mut().into_iter().zip(grads.tensors) {
            let Some(mut gradient) = gradient.filter(|_| parameter.is_trainable()) else {
                continue;
            };
            if let Some(scale) = scale {
                gradient = gradient.mul_scalar(scale);
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
            let momentum = &state.momentum;
            let moments = Moments {
                time: momentum.time,
                first: numbers(momentum.moment_1.clone())?,
                second: numbers(momentum.moment_2.clone())?,
            };
            Ok((name.clone(), moments))
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
        model: &Qwen2,
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
            let place = |values| matrix(values, shape, model.device());
            let (first, second) = (place(moments.first), place(moments.second));
            let mut momentum = AdaptiveMomentumState::new(moments.time, first, second);
            momentum.max_moment_2 = None;
            states.insert(name, AdamWState::new(momentum));
        }
        self.states = states;
        Ok(())
    }
}
