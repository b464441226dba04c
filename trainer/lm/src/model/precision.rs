//! The number formats of frozen weights and of activations.
//!
//! bf16 halves the memory and uses tensor cores where the device has them. As under PyTorch's
//! autocast, the parts that would suffer stay in f32: trained weights, gradients of parameters,
//! the statistics of norms, rotary angles, both softmaxes, log-probabilities and the loss.

use burn::tensor::{DType, Device, Tensor};
use sentinel_base::precision::Precision;

use super::adapted_linear::linear;
use super::cube;
use crate::LmError;

/// Returns the format of activations: the residual stream, keys, values and the inputs of matrix
/// products.
pub(crate) const fn activations(precision: Precision) -> DType {
    match precision {
        Precision::F32 | Precision::Bf16Weights => DType::F32,
        Precision::Bf16 => DType::BF16,
    }
}

/// Returns a weight in the format that products of activations have.
pub(crate) fn round_weight(precision: Precision, weight: Tensor<2>) -> Tensor<2> {
    match precision {
        Precision::F32 | Precision::Bf16Weights => weight,
        Precision::Bf16 => weight.cast(DType::BF16),
    }
}

/// Checks that a device computes with the formats of a precision.
///
/// # Errors
/// If the device does not support bf16.
pub fn check_precision(precision: Precision, device: &Device) -> Result<(), LmError> {
    if precision == Precision::F32 || device.supports_dtype(DType::BF16) {
        return Ok(());
    }
    Err(LmError::Option {
        option: "precision",
        value: precision.name().to_owned(),
        allowed: "f32 on this device, which does not compute with bf16",
    })
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
    if let Some(product) = linear(&x, &weight) {
        return product;
    }
    let kind = x.dtype();
    mixed_matmul(x, weight.transpose()).cast(kind)
}
