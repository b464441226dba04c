//! Frozen weights in bf16, beside an adapter in f32: half the memory, and the products of tensor cores
//! on devices that have them. Norms, biases, rotations, softmax, the sums between layers and the loss
//! stay in f32, as under PyTorch's autocast.

use burn::tensor::{DType, Tensor};

use super::Qwen2;
use crate::lm::LmError;

/// `x Wᵀ` for a weight `[outputs, inputs]`, computed in the weight's type; f32 comes out.
pub(crate) fn matmul_weight(x: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    let product = x.cast(weight.dtype()).matmul(weight.transpose());
    product.cast(DType::F32)
}

impl Qwen2 {
    /// Rounds the matrices that are not trained to bf16. The digest of the model stays that of the
    /// numbers as they were, so that an adapter still belongs to its base.
    ///
    /// # Errors
    /// If the device has no bf16, or cannot be read.
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
