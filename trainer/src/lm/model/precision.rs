//! The number formats of frozen weights and of activations.
//!
//! bf16 halves the memory and uses tensor cores where the device has them. As under PyTorch's
//! autocast, the parts that would suffer stay in f32: trained weights, gradients of parameters,
//! the statistics of norms, rotary angles, both softmaxes, log-probabilities and the loss.

use burn::tensor::{DType, Device, Tensor};

use super::{CausalLm, cube};
use crate::lm::LmError;
use crate::precision::Precision;

impl Precision {
    /// Returns the format of activations: the residual stream, keys, values and the inputs of
    /// matrix products.
    pub(crate) const fn activations(self) -> DType {
        match self {
            Self::F32 | Self::Bf16Weights => DType::F32,
            Self::Bf16 => DType::BF16,
        }
    }

    /// Returns a weight in the format that products of activations have.
    pub(crate) fn round_weight(self, weight: Tensor<2>) -> Tensor<2> {
        match self {
            Self::F32 | Self::Bf16Weights => weight,
            Self::Bf16 => weight.cast(DType::BF16),
        }
    }

    /// Checks that a device computes with these formats.
    ///
    /// # Errors
    /// If the device does not support bf16.
    pub fn check_device(self, device: &Device) -> Result<(), LmError> {
        if self == Self::F32 || device.supports_dtype(DType::BF16) {
            return Ok(());
        }
        Err(LmError::Option {
            option: "precision",
            value: self.name().to_owned(),
            allowed: "f32 on this device, which does not compute with bf16",
        })
    }
}

/// Computes a matrix product in bf16 if a factor is in bf16, and returns it in that format.
pub(crate) fn mixed_matmul(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    let half = a.dtype() == DType::BF16 || b.dtype() == DType::BF16;
    let kind = if half { DType::BF16 } else { DType::F32 };
    a.cast(kind).matmul(b.cast(kind))
}

/// Computes `x Wᵀ` for a weight `[outputs, inputs]`, and returns it in the format of `x`.
pub(crate) fn matmul_weight(x: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    if let Some(product) = cube::matmul_weight(&x, &weight) {
        return product;
    }
    let kind = x.dtype();
    mixed_matmul(x, weight.transpose()).cast(kind)
}

impl CausalLm {
    /// Returns the number formats of the model.
    #[must_use]
    pub const fn precision(&self) -> Precision {
        self.precision
    }

    /// Computes with `precision` from now on, and rounds the frozen matrices to it. A model that is
    /// less exact already stays as it is. The digest of the model remains that of the original
    /// weights, so that an adapter still matches its base.
    ///
    /// # Errors
    /// If the device does not support bf16, or cannot be read.
    pub fn lower_precision(&mut self, precision: Precision) -> Result<(), LmError> {
        precision.check_device(&self.device)?;
        if precision <= self.precision {
            return Ok(());
        }
        self.digest = Some(self.base_digest()?);
        for parameter in self.parameters_mut() {
            let of_adapter = parameter.name().contains(".lora_");
            if !of_adapter && !parameter.is_vector() && !parameter.is_trainable() {
                parameter.value = parameter.get(false).cast(DType::BF16);
            }
        }
        self.precision = precision;
        Ok(())
    }
}
