//! AdamW over the trained parameters of a model, with the gradient clipped by its global norm.

use std::collections::BTreeMap;

use burn::optim::{AdamWState, AdaptiveMomentumState, Optimizer as _};
use burn::tensor::Tensor;
use sentinel_tensor::adamw::{AdamOptions, Moments, clip_factor};

use super::model::cube;
use super::parameter::Grads;
use super::{CausalLm, LmError};

/// An AdamW optimizer with its moments, keyed by parameter name. Weight decay is not applied to norms
/// and biases, as in transformers' trainer.
pub struct Optimizer {
    options: AdamOptions,
    states: BTreeMap<String, AdamWState<2>>,
}

/// The step of one parameter.
struct Rule<'a> {
    options: &'a AdamOptions,
    learning_rate: f64,
    decay: f32,
    /// Factor of the gradient, where it is clipped.
    factor: Option<f64>,
}

impl Rule<'_> {
    /// Returns the values and the moments after the step.
    fn apply(
        &self,
        value: Tensor<2>,
        gradient: Tensor<2>,
        state: Option<AdamWState<2>>,
    ) -> (Tensor<2>, AdamWState<2>) {
        let momentum = state.as_ref().map(|state| &state.momentum);
        let time = momentum.map_or(0, |momentum| momentum.time) + 1;
        let step = cube::AdamWStep {
            learning_rate: self.learning_rate,
            betas: [self.options.beta1, self.options.beta2],
            epsilon: self.options.epsilon,
            weight_decay: self.decay,
            clip_factor: self.factor.unwrap_or(1.0),
            time,
        };
        let moments = momentum.map(|momentum| [&momentum.moment_1, &momentum.moment_2]);
        if let Some([value, first, second]) = cube::adamw(&value, &gradient, moments, step) {
            let momentum = AdaptiveMomentumState::new(time, first, second);
            return (value, AdamWState::new(momentum));
        }
        let gradient = match self.factor {
            Some(factor) => gradient.mul_scalar(factor),
            None => gradient,
        };
        let rule = self.options.update_rule(self.decay);
        let (value, next) = rule.step(self.learning_rate, value, gradient, state);
        (value, next.expect("the rule keeps moments"))
    }
}

impl Optimizer {
    /// Creates an optimizer that has taken no step.
    #[must_use]
    pub fn new(options: &AdamOptions) -> Self {
        Self {
            options: *options,
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
        let factor = clip_factor(norm, self.options.max_grad_norm);
        for (parameter, gradient) in model.parameters_mut().into_iter().zip(grads.tensors) {
            let Some(gradient) = gradient.filter(|_| parameter.is_trainable()) else {
                continue;
            };
            let decay = if parameter.is_vector() {
                0.0
            } else {
                self.options.weight_decay
            };
            let rule = Rule {
                options: &self.options,
                learning_rate,
                decay,
                factor,
            };
            let state = self.states.remove(parameter.name());
            let (moved, next) = rule.apply(parameter.get(false), gradient, state);
            parameter.set(moved);
            self.states.insert(parameter.name().to_owned(), next);
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
