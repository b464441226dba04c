//! AdamW over all parameters, with the gradient clipped by its global norm as in TRL.

use sentinel_policy::nn::Architecture;
use sentinel_tensor::adamw::{AdamOptions, Moments, clip_factor};

use super::Error;
use super::parameter_tensors::{DefaultTensor, ParameterTensors};
use super::tensor::Tensor;

/// The optimizer with its moments.
pub struct Optimizer<T: Tensor = DefaultTensor> {
    options: AdamOptions,
    states: Vec<Option<T::Moments>>,
}

impl<T: Tensor> Optimizer<T> {
    /// Creates an optimizer before its first step.
    #[must_use]
    pub fn new(options: &AdamOptions, parameters: usize) -> Self {
        Self {
            options: *options,
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
        net: &mut ParameterTensors<A, T>,
        gradients: Vec<Option<T>>,
        learning_rate: f64,
    ) -> Result<f64, Error> {
        let mut squares = 0.0;
        for gradient in gradients.iter().flatten() {
            squares += gradient.square_sum()?;
        }
        let norm = squares.sqrt();
        if !norm.is_finite() {
            return Ok(norm);
        }
        let factor = clip_factor(norm, self.options.max_grad_norm);
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
                gradient = gradient.scale_gradient(factor);
            }
            let (moved, next) = tensor.adamw(gradient, state.take(), &self.options, learning_rate);
            *parameter = Some(moved);
            *state = next;
        }
        Ok(norm)
    }

    /// Returns the moments for a checkpoint; `None` before the first step.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn moments(&self) -> Result<Vec<Option<Moments>>, Error> {
        let plain = |state: &Option<T::Moments>| state.as_ref().map(T::read_moments).transpose();
        self.states.iter().map(plain).collect()
    }

    /// Restores the moments of a checkpoint, whose lengths must fit the shapes.
    pub fn restore<A: Architecture>(
        &mut self,
        moments: Vec<Option<Moments>>,
        net: &ParameterTensors<A, T>,
    ) {
        let states = net.tensors.iter().zip(moments).map(|(parameter, moments)| {
            let shape = parameter.as_ref()?.size();
            Some(T::restore_moments(moments?, shape, net.device()))
        });
        self.states = states.collect();
    }
}
