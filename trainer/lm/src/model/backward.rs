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
    /// `loss` maps hidden states (`[rows * tokens, hidden]`) to a scalar.
    ///
    /// # Errors
    /// If `loss` fails, nothing is trained, or the device cannot be read.
    pub fn gradients<F>(
        &self,
        batch: &Batch,
        pass: ForwardOptions,
        loss: F,
    ) -> Result<(f32, Grads), LmError>
    where
        F: FnOnce(Tensor<2>) -> Result<Tensor<1>, LmError>,
    {
        let activations = self.activations(batch, pass)?;
        let loss = loss(activations.hidden.clone())?;
        let value = numbers(loss.clone())?.first().copied().unwrap_or(0.0);
        Ok((value, self.backward_from(activations, batch, pass, &loss)?))
    }

    /// Computes the same loss and gradients as [`Self::hidden_states`] and [`Self::backward`] with the
    /// activations of one block in memory at a time, at the cost of a second forward pass.
    ///
    /// # Errors
    /// As [`Self::gradients`].
    pub fn backward_by_block<F>(
        &self,
        batch: &Batch,
        pass: ForwardOptions,
        loss: F,
    ) -> Result<(f32, Grads), LmError>
    where
        F: FnOnce(Tensor<2>) -> Result<Tensor<1>, LmError>,
    {
        self.gradients(batch, pass.with_gradient_checkpointing(true), loss)
    }

    /// Runs the forward pass of a batch, and keeps what its backward pass needs.
    ///
    /// # Errors
    /// If nothing is trained.
    pub(super) fn activations(
        &self,
        batch: &Batch,
        pass: ForwardOptions,
    ) -> Result<Activations, LmError> {
        if !self.parameters().iter().any(|p| p.is_trainable()) {
            return Err(untrained());
        }
        if !pass.by_block {
            let hidden = self.hidden_states(batch, pass);
            return Ok(Activations {
                hidden,
                checkpoints: None,
            });
        }
        let context = AttentionContext::from_batch(&self.config, batch, &self.device);
        let (plain, pass) = (pass.without_tracking(), pass.with_tracking());
        let mut inputs = Vec::with_capacity(self.blocks.len());
        let mut x = self.embed(batch, plain);
        for block in &self.blocks {
            inputs.push(x.clone());
            x = block.forward(x, &context, plain, None);
        }
        let output = leaf(x);
        Ok(Activations {
            hidden: self.last_norm(output.clone(), pass),
            checkpoints: Some(Checkpoints {
                inputs,
                output,
                context,
            }),
        })
    }

    /// Returns the gradients for a scalar `loss` that was computed from the hidden states of a pass.
    ///
    /// # Errors
    /// If no trained parameter takes part in the loss.
    pub(super) fn backward_from(
        &self,
        activations: Activations,
        batch: &Batch,
        pass: ForwardOptions,
        loss: &Tensor<1>,
    ) -> Result<Grads, LmError> {
        let Some(checkpoints) = activations.checkpoints else {
            return self.backward(loss);
        };
        let (parameters, pass) = (self.parameters(), pass.with_tracking());
        let gradients = loss.backward();
        let mut all = Grads::collect(&parameters, &gradients);
        let mut above = checkpoints.output.grad(&gradients).ok_or_else(untrained)?;
        let inputs = checkpoints.inputs.into_iter();
        for (block, x) in self.blocks.iter().zip(inputs).rev() {
            let x = leaf(x);
            let y = block.forward(x.clone(), &checkpoints.context, pass, None);
            let gradients = (y * above).sum().backward();
            all.add(Grads::collect(&parameters, &gradients));
            above = x.grad(&gradients).ok_or_else(untrained)?;
        }
        if self.embedding.is_trainable() {
            let gradients = (self.embed(batch, pass) * above).sum().backward();
            all.add(Grads::collect(&parameters, &gradients));
        }
        Ok(all)
    }
}

/// The results of a forward pass that its backward pass needs.
#[derive(Debug)]
pub(super) struct Activations {
    /// Hidden states after the last norm, `[rows * tokens, hidden]`, with gradients recorded.
    pub(super) hidden: Tensor<2>,
    /// Present with gradient checkpointing; without it, `hidden` keeps all activations.
    checkpoints: Option<Checkpoints>,
}

/// The input of each block, from which the backward pass computes the activations of the block again.
#[derive(Debug)]
struct Checkpoints {
    inputs: Vec<Tensor<2>>,
    /// Output of the last block, from which gradients are recorded.
    output: Tensor<2>,
    context: AttentionContext,
}

/// Returns a tensor from which gradients are recorded.
fn leaf(x: Tensor<2>) -> Tensor<2> {
    x.autodiff().require_grad()
}

fn untrained() -> LmError {
    LmError::Option {
        option: "trained parameters",
        value: "none".to_owned(),
        allowed: "set by set_trained_part before a backward pass",
    }
}
