//! AdamW over all parameters, with the gradient clipped by its global norm as in TRL.

use burn::optim::{AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState, Optimizer as _};
use burn::tensor::Tensor;
use sentinel_policy::nn::Architecture;

use super::TrainError;
use super::net::{Net, numbers, tensor};

/// The options of AdamW, with the names and defaults of TRL.
#[derive(Clone, Copy, Debug)]
pub struct AdamOptions {
    /// The decay rate of the first moment.
    pub adam_beta1: f32,
    /// The decay rate of the second moment.
    pub adam_beta2: f32,
    /// The number added to the root of the second moment.
    pub adam_epsilon: f32,
    /// The decoupled weight decay.
    pub weight_decay: f32,
    /// The largest global norm of a gradient; 0 turns clipping off.
    pub max_grad_norm: f64,
}

/// The optimizer with its moments.
pub struct Optimizer {
    rule: AdamW,
    max_grad_norm: f64,
    states: Vec<Option<AdamWState<2>>>,
}

/// The moments of one parameter as plain numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// The number of steps taken.
    pub time: usize,
    /// The running mean of gradients.
    pub first: Vec<f32>,
    /// The running mean of squared gradients.
    pub second: Vec<f32>,
}

impl Optimizer {
    /// Creates an optimizer before its first step.
    #[must_use]
    pub fn new(options: &AdamOptions, parameters: usize) -> Self {
        let rule = AdamWConfig::new()
            .with_beta_1(options.adam_beta1)
            .with_beta_2(options.adam_beta2)
            .with_epsilon(options.adam_epsilon)
            .with_weight_decay(options.weight_decay)
            .build();
        Self {
            rule,
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
        net: &mut Net<A>,
        gradients: Vec<Option<Tensor<2>>>,
        learning_rate: f64,
    ) -> Result<f64, TrainError> {
        let mut squares = 0.0;
        for gradient in gradients.iter().flatten() {
            let sum = numbers(gradient.clone().square().sum())?;
            squares += sum.iter().map(|s| f64::from(*s)).sum::<f64>();
        }
        let norm = squares.sqrt();
        if !norm.is_finite() {
            return Ok(norm);
        }
        let clip = self.max_grad_norm > 0.0 && norm > self.max_grad_norm;
        // As torch does: divide by slightly more than the norm, so that the result stays below the
        // bound.
        let scale = clip.then(|| self.max_grad_norm / (norm + 1e-6));
        let all = net.tensors.iter_mut().zip(gradients).zip(&mut self.states);
        for ((parameter, gradient), state) in all {
            let (Some(tensor), Some(mut gradient)) = (parameter.take(), gradient) else {
                continue;
            };
            if let Some(scale) = scale {
                gradient = gradient.mul_scalar(scale);
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
    pub fn moments(&self) -> Result<Vec<Option<Moments>>, TrainError> {
        let plain = |state: &Option<AdamWState<2>>| {
            let Some(state) = state else { return Ok(None) };
            let momentum = &state.momentum;
            Ok(Some(Moments {
                time: momentum.time,
                first: numbers(momentum.moment_1.clone())?,
                second: numbers(momentum.moment_2.clone())?,
            }))
        };
        self.states.iter().map(plain).collect()
    }

    /// Restores the moments of a checkpoint, whose lengths must fit the shapes.
    pub fn restore<A: Architecture>(&mut self, moments: Vec<Option<Moments>>, net: &Net<A>) {
        let states = net.tensors.iter().zip(moments).map(|(parameter, moments)| {
            let (shape, moments) = (parameter.as_ref()?.dims(), moments?);
            let place = |values| tensor(values, shape, net.device());
            let mut momentum = AdaptiveMomentumState::new(
                moments.time,
                place(moments.first),
                place(moments.second),
            );
            momentum.max_moment_2 = None;
            Some(AdamWState::new(momentum))
        });
        self.states = states.collect();
    }
}
