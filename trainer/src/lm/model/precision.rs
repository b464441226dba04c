//! Frozen weights in bf16 beside an adapter in f32.
//!
//! This halves the memory and uses tensor cores where the device has them. Norms, biases, rotary
//! embeddings, softmax, residual sums and the loss stay in f32, as under PyTorch's autocast.

use burn::tensor::{DType, Tensor};

use super::CausalLm;
use crate::lm::LmError;

/// Computes `x Wᵀ` for a weight `[outputs, inputs]` in the weight's type, and returns it in f32.
pub(crate) fn matmul_weight(x: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    let product = x.cast(weight.dtype()).matmul(weight.transpose());
    product.cast(DType::F32)
}

impl CausalLm {
    /// Rounds the frozen matrices to bf16. The digest of the model remains that of the original
    /// weights, so that an adapter still matches its base.
    ///
    /// # Errors
    /// If the device does not support bf16, or cannot be read.
    pub fn freeze_in_bf16(&mut self) -> Result<(), LmError> {
        if !self.device.supports_dtype(DType::BF16) {
            return Err(LmError::Option {
                option: "bf16",
                value: "true".to_owned(),
                allowed: "left out on this device, which does not compute with it",
            });
        }
        self.digest = Some(self.base_digest()?);
        for parameter in self.parameters_mut() {
            let of_adapter = parameter.name().contains(".lora_");
            if !of_adapter && !parameter.is_vector() && !parameter.is_trainable() {
                parameter.value = parameter.get(false).cast(DType::BF16);
            }
        }
        Ok(())
    }
}
