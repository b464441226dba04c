//! Backward passes, optionally block by block, which recomputes activations to save memory.

use burn::tensor::Tensor;
use sentinel_tensor::numbers;

use super::layers::AttentionContext;
use super::{Batch, CausalLm, ForwardOptions};
use crate::LmError;
use crate::parameter::Grads;

impl CausalLm {
    /// Returns the gradients of all trained parameters for a `loss` computed from tracked tensors.
    ///
    /// # Errors
    /// If no trained parameter takes part in the loss.
    pub fn backward(&self, loss: &Tensor<1>) -> Result<Grads, LmError> {
        if !loss.is_tracked() {
            return Err(untrained());
        }
        let gradients = loss.backward();
        Ok(Grads::collect(&self.parameters(), &gradients))
    }

    /// Computes a loss of a batch's hidden states and its gradients, with gradient checkpointing if
    /// `pass.by_block`.
    ///
    /// # Errors
    /// As [`Self::backward_by_block`].
    pub fn gradients<F>(
        &self,
        batch: &Batch,
        pass: ForwardOptions,
        loss: F,
    ) -> Result<(f32, Grads), LmError>
    where
        F: FnOnce(Tensor<2>) -> Result<Tensor<1>, LmError>,
    {
        if pass.by_block {
            return self.backward_by_block(batch, pass, loss);
        }
        let loss = loss(self.hidden_states(batch, pass))?;
        let value = numbers(loss.clone())?.first().copied().unwrap_or(0.0);
        Ok((value, self.backward(&loss)?))
    }

    /// Computes the same loss and gradients as [`Self::hidden_states`] and [`Self::backward`] with the
    /// activations of one block in memory at a time, at the cost of a second forward pass.
    ///
    /// `loss` maps hidden states (`[rows * tokens, hidden]`) to a scalar.
    ///
    /// # Errors
    /// If `loss` fails, nothing is trained, or the device cannot be read.
    pub fn backward_by_block<F>(
        &self,
        batch: &Batch,
        pass: ForwardOptions,
        loss: F,
    ) -> Result<(f32, Grads), LmError>
    where
        F: FnOnce(Tensor<2>) -> Result<Tensor<1>, LmError>,
    {
        let parameters = self.parameters();
        if !parameters.iter().any(|parameter| parameter.is_trainable()) {
            return Err(untrained());
        }
        let context = AttentionContext::from_batch(&self.config, batch, &self.device);
        let plain = pass.without_tracking();
        let pass = ForwardOptions {
            track: true,
            ..pass
        };
        let mut inputs = vec![self.embed(batch, plain)];
        for block in &self.blocks {
            let x = inputs[inputs.len() - 1].clone();
            inputs.push(block.forward(x, &context, plain, None));
        }
        let leaf = |x: Option<Tensor<2>>| x.map(|x| x.autodiff().require_grad());

        let Some(x) = leaf(inputs.pop()) else {
            return Err(untrained());
        };
        let loss = loss(self.last_norm(x.clone(), pass))?;
        let value = numbers(loss.clone())?.first().copied().unwrap_or(0.0);
        let gradients = loss.backward();
        let mut all = Grads::collect(&parameters, &gradients);
        let mut slope = x.grad(&gradients);
        for block in self.blocks.iter().rev() {
            let (Some(x), Some(above)) = (leaf(inputs.pop()), slope) else {
                return Err(untrained());
            };
            let y = block.forward(x.clone(), &context, pass, None);
            let gradients = (y * above).sum().backward();
            all.add(Grads::collect(&parameters, &gradients));
            slope = x.grad(&gradients);
        }
        if let (true, Some(above)) = (self.embedding.is_trainable(), slope) {
            let gradients = (self.embed(batch, pass) * above).sum().backward();
            all.add(Grads::collect(&parameters, &gradients));
        }
        Ok((value, all))
    }
}

fn untrained() -> LmError {
    LmError::Option {
        option: "trained parameters",
        value: "none".to_owned(),
        allowed: "set by set_trained_part before a backward pass",
    }
}
