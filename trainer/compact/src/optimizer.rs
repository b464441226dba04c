//! AdamW over all parameters, with the gradient clipped by its global norm as in TRL.

use burn::optim::{AdamW, AdamWState, Optimizer as _};
use burn::tensor::Tensor;
use sentinel_policy::nn::Architecture;
use sentinel_tensor::adamw::{AdamOptions, Moments, clip_factor};
use sentinel_tensor::numbers;

use super::Error;
use super::parameter_tensors::ParameterTensors;

/// The optimizer with its moments.
pub struct Optimizer {
    rule: AdamW,
    max_grad_norm: f64,
    states: Vec<Option<AdamWState<2>>>,
}

impl Optimizer {
    /// Creates an optimizer before its first step.
    #[must_use]
    pub fn new(options: &AdamOptions, parameters: usize) -> Self {
        Self {
            rule: options.update_rule(options.weight_decay),
            max_grad_norm: options.max_grad_norm,
            states: vec![None; parameters],
        }
    }

    /// Takes a step; returns the norm of the gradient before clipping. A norm that is not finite
    /// leaves the parameters unchanged.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn step<A: Architecture>(
        &mut self,
        net: &mut ParameterTensors<A>,
        gradients: Vec<Option<Tensor<2>>>,
        learning_rate: f64,
    ) -> Result<f64, Error> {
        let mut squares = 0.0;
        for gradient in gradients.iter().flatten() {
            let sum = numbers(gradient.clone().square().sum())?;
            squares += sum.iter().map(|s| f64::from(*s)).sum::<f64>();
        }
        let norm = squares.sqrt();
        if !norm.is_finite() {
            return Ok(norm);
        }
        let factor = clip_factor(norm, self.max_grad_norm);
        let all = net.tensors.iter_mut().zip(gradients).zip(&mut self.states);
        for ((parameter, gradient), state) in all {
            // A parameter without a gradient stays as it is.
            let Some(mut gradient) = gradient else {
                continue;
            };
            let Some(tensor) = parameter.take() else {
                continue;
            };
            if let Some(factor) = factor {
                gradient = gradient.mul_scalar(factor);
            }
            let (moved, next) =
                (self.rule).step(learning_rate, tensor.inner(), gradient, state.take());
            *parameter = Some(moved.autodiff().require_grad());
            *state = next;
        }
        Ok(norm)
    }

    /// Returns the moments for a checkpoint; `None` before the first step.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn moments(&self) -> Result<Vec<Option<Moments>>, Error> {
        let plain = |state: &Option<AdamWState<2>>| {
            let moments = state.as_ref().map(Moments::from_device);
            Ok(moments.transpose()?)
        };
        self.states.iter().map(plain).collect()
    }

    /// Restores the moments of a checkpoint, whose lengths must fit the shapes.
    pub fn restore<A: Architecture>(
        &mut self,
        moments: Vec<Option<Moments>>,
        net: &ParameterTensors<A>,
    ) {
        let states = net.tensors.iter().zip(moments).map(|(parameter, moments)| {
            let shape = parameter.as_ref()?.dims();
            Some(moments?.into_device(shape, net.device()))
        });
        self.states = states.collect();
    }
}
