//! AdamW with a gradient that is clipped by its global norm as in torch: the part that compact
//! policies and language models share. Each has its own optimizer over its parameters.

#[cfg(feature = "burn")]
use burn::optim::{AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState};
#[cfg(feature = "burn")]
use burn::tensor::Device;

#[cfg(feature = "burn")]
use crate::transfer::{DeviceReadError, matrix, numbers};

/// Options of AdamW, with the defaults of transformers' `TrainingArguments`, which TRL uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamOptions {
    /// Decay rate of the first moment.
    pub beta1: f32,
    /// Decay rate of the second moment.
    pub beta2: f32,
    /// Term added to the square root of the second moment.
    pub epsilon: f32,
    /// Decoupled weight decay of AdamW.
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

#[cfg(feature = "burn")]
impl AdamOptions {
    /// Returns the update rule for parameters with this weight decay.
    pub fn update_rule(&self, weight_decay: f32) -> AdamW {
        AdamWConfig::new()
            .with_beta_1(self.beta1)
            .with_beta_2(self.beta2)
            .with_epsilon(self.epsilon)
            .with_weight_decay(weight_decay)
            .build()
    }
}

/// Returns the factor that brings a gradient of this norm below `max_grad_norm`; `None` if it is
/// below already or clipping is disabled. As in torch, the norm is increased slightly.
pub fn clip_factor(norm: f64, max_grad_norm: f64) -> Option<f64> {
    let clip = max_grad_norm > 0.0 && norm > max_grad_norm;
    clip.then(|| max_grad_norm / (norm + 1e-6))
}

/// The AdamW moments of one parameter as plain numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// Number of steps taken.
    pub time: usize,
    /// Running mean of the gradients, in row-major order.
    pub first: Vec<f32>,
    /// Running mean of the squared gradients, in row-major order.
    pub second: Vec<f32>,
}

#[cfg(feature = "burn")]
impl Moments {
    /// Reads the moments from a device.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn from_device(state: &AdamWState<2>) -> Result<Self, DeviceReadError> {
        let momentum = &state.momentum;
        Ok(Self {
            time: momentum.time,
            first: numbers(momentum.moment_1.clone())?,
            second: numbers(momentum.moment_2.clone())?,
        })
    }

    /// Copies the moments to a device; their lengths must fit the shape.
    pub fn into_device(self, shape: [usize; 2], device: &Device) -> AdamWState<2> {
        let first = matrix(self.first, shape, device);
        let second = matrix(self.second, shape, device);
        let mut momentum = AdaptiveMomentumState::new(self.time, first, second);
        momentum.max_moment_2 = None;
        AdamWState::new(momentum)
    }
}
