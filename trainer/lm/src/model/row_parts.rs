//! Values and gradients of selected tokens, computed on several parts of a batch at once.
//!
//! On the processor, the rows of a batch are divided into parts, and each part takes a core for the whole pass. A
//! graphics processor gets the whole batch.

use std::ops::Range;

use burn::tensor::{DType, Device, Tensor};

use super::adapted_linear::plain_product;
use super::backward::Activations;
use super::precision::mixed_matmul;
use super::{
    Batch, CausalLm, ForwardOptions, HeadOptions, TokenGrads, TokenSelection, TokenValues,
};
use crate::LmError;
use crate::parallel::{MIN_PART_TOKENS, core_count, gradients_at_once, par_map_ordered};
use crate::parameter::{Grads, indices};

/// Consecutive rows of a batch, without columns in which all of them have padding on the right.
struct RowPart {
    /// Index of the part.
    index: u64,
    batch: Batch,
    selection: TokenSelection,
    /// The selected tokens of the batch that are in this part.
    selected: Range<usize>,
}

/// The forward pass of a part.
struct PartPass {
    part: RowPart,
    /// A copy of the model that records the gradients of this part alone.
    model: CausalLm,
    pass: ForwardOptions,
    activations: Activations,
    /// Hidden states before the selected tokens, with gradients recorded.
    hidden: Tensor<2>,
    /// Logits of the selected tokens, if they are kept for the backward pass.
    logits: Option<Tensor<2>>,
}

impl RowPart {
    /// Divides a batch into parts of at least 256 tokens, but for the last. Those without selected tokens are left out.
    ///
    /// The division does not depend on the number of cores, so results are the same on every machine.
    fn divide(batch: &Batch, selection: &TokenSelection, device: &Device) -> Vec<Self> {
        if *device != Device::flex() {
            return vec![Self {
                index: 0,
                batch: batch.clone(),
                selection: selection.clone(),
                selected: 0..selection.len(),
            }];
        }
        let mut parts = Vec::new();
        let (mut first, mut width) = (0, 0);
        for row in 0..batch.rows() {
            width = width.max(batch.width_of(row));
            let rows = first..row + 1;
            if rows.len() * width < MIN_PART_TOKENS && row + 1 < batch.rows() {
                continue;
            }
            let (batch, selection, selected) = selection.select_rows(batch, rows, width);
            if !selected.is_empty() {
                parts.push(Self {
                    index: parts.len() as u64,
                    batch,
                    selection,
                    selected,
                });
            }
            (first, width) = (row + 1, 0);
        }
        parts
    }

    /// Returns the options of the part's pass. Each draws random numbers of its own, the first those of the batch, so
    /// dropout on the processor differs from that on a device that computes the batch as a whole.
    const fn options(&self, pass: ForwardOptions) -> ForwardOptions {
        match self.index {
            0 => pass,
            index => pass.for_micro_batch(index),
        }
    }

    fn forward(
        self,
        model: CausalLm,
        head: HeadOptions,
        pass: ForwardOptions,
        keeps_logits: bool,
    ) -> Result<(PartPass, TokenValues), LmError> {
        let activations = model.activations(&self.batch, pass)?;
        let before = indices(self.selection.before.iter().copied(), &model.device);
        let hidden = activations.hidden.clone().select(0, before);
        let (plain, untracked) = (hidden.clone().without_autodiff(), pass.without_tracking());
        let logits = keeps_logits.then(|| model.logits(plain.clone(), untracked));
        let values = match &logits {
            Some(logits) => head.values(logits.clone(), &self.selection.targets)?,
            None => model.values_in_parts(plain, &self.selection, head, untracked)?,
        };
        let pass = PartPass {
            part: self,
            model,
            pass,
            activations,
            hidden,
            logits,
        };
        Ok((pass, values))
    }
}

impl PartPass {
    /// Returns the gradients of the model from the derivatives of the loss with respect to the values of this part.
    fn backward(self, head: HeadOptions, grads: &TokenGrads) -> Result<Grads, LmError> {
        let Self {
            part,
            model,
            pass,
            activations,
            hidden,
            logits: mut kept,
        } = self;
        let (plain, untracked) = (hidden.clone().without_autodiff(), pass.without_tracking());
        let weight = model.head_weight(untracked);
        let (parameters, selection) = (model.parameters(), &part.selection);
        let mut grads_of_head = Grads::default();
        let tokens = match &kept {
            Some(_) => std::iter::once(0..selection.len()).collect(),
            None => head.parts(selection.len(), model.config.vocab_size),
        };
        let mut grads_of_hidden = Vec::with_capacity(tokens.len());
        for tokens in tokens {
            let x = plain.clone().slice([tokens.clone()]);
            let logits = kept.take();
            let logits = logits.unwrap_or_else(|| model.logits(x.clone(), untracked));
            let grad = head.logit_grads(logits, &selection.targets, grads, tokens)?;
            let grad = grad.cast(x.dtype());
            if let Some(index) = model.trained_head(&parameters) {
                let mut tensors = vec![None; parameters.len()];
                let grad = mixed_matmul(grad.clone().transpose(), x);
                tensors[index] = Some(grad.cast(DType::F32));
                grads_of_head.add(Grads { tensors });
            }
            let of_hidden = plain_product(&grad, &weight);
            let of_hidden = of_hidden.unwrap_or_else(|| mixed_matmul(grad, weight.clone()));
            grads_of_hidden.push(of_hidden.cast(DType::F32));
        }
        // A scalar whose gradient with respect to the hidden states is the one just computed.
        let loss = (hidden.cast(DType::F32) * Tensor::cat(grads_of_hidden, 0)).sum();
        let mut all = model.backward_from(activations, &part.batch, pass, &loss)?;
        all.add(grads_of_head);
        Ok(all)
    }
}

impl TokenGrads {
    /// Returns the derivatives of some of the tokens; `None` if there are fewer.
    fn part(&self, tokens: Range<usize>) -> Option<Self> {
        let entropies = match &self.entropies {
            Some(entropies) => Some(entropies.get(tokens.clone())?.to_vec()),
            None => None,
        };
        Some(Self {
            logps: self.logps.get(tokens)?.to_vec(),
            entropies,
        })
    }
}

/// Checks that a token is selected, because tensors cannot be empty.
const fn check_selection(selection: &TokenSelection) -> Result<(), LmError> {
    if selection.is_empty() {
        return Err(LmError::Length {
            what: "the selected tokens",
            found: 0,
            expected: 1,
        });
    }
    Ok(())
}

impl CausalLm {
    /// Returns the values of the selected tokens of a batch, without gradients.
    ///
    /// # Errors
    /// If no token is selected, or the device cannot be read.
    pub fn token_values(
        &self,
        batch: &Batch,
        selection: &TokenSelection,
        head: HeadOptions,
        pass: ForwardOptions,
    ) -> Result<TokenValues, LmError> {
        check_selection(selection)?;
        let mut values = TokenValues::default();
        let parts = RowPart::divide(batch, selection, &self.device);
        let head = head.divided(parts.len());
        let work = |part: RowPart| {
            let pass = part.options(pass);
            let hidden = self.hidden_states(&part.batch, pass);
            let before = indices(part.selection.before.iter().copied(), &self.device);
            self.values_in_parts(hidden.select(0, before), &part.selection, head, pass)
        };
        par_map_ordered(&self.device, core_count(), parts, work, |found| {
            values.append(found);
        })?;
        Ok(values)
    }

    /// Computes a loss of the values of the selected tokens of a batch, and its gradients. `loss`
    /// returns the derivatives of the loss.
    ///
    /// # Errors
    /// If no token is selected, `loss` fails, nothing is trained, or the device cannot be read.
    pub fn token_gradients<F>(
        &self,
        batch: &Batch,
        selection: &TokenSelection,
        head: HeadOptions,
        pass: ForwardOptions,
        loss: F,
    ) -> Result<Grads, LmError>
    where
        F: FnOnce(&TokenValues) -> Result<TokenGrads, LmError>,
    {
        check_selection(selection)?;
        // All logits are kept for the gradient if there are few.
        let keeps_logits = head.parts(selection.len(), self.config.vocab_size).len() == 1;
        let parts = RowPart::divide(batch, selection, &self.device);
        let count = parts.len();
        let head = head.divided(count);
        let forward = |part: RowPart| {
            let pass = part.options(pass);
            part.forward(self.fork(), head, pass, keeps_logits)
        };
        let (mut values, mut passes) = (TokenValues::default(), Vec::with_capacity(count));
        par_map_ordered(&self.device, count, parts, forward, |(pass, found)| {
            passes.push(pass);
            values.append(found);
        })?;
        let grads = loss(&values)?;
        let backward = |pass: PartPass| {
            let of_part = grads.part(pass.part.selected.clone());
            let of_part = of_part.ok_or_else(|| LmError::Length {
                what: "the derivatives of a loss",
                found: grads.logps.len(),
                expected: selection.len(),
            })?;
            pass.backward(head, &of_part)
        };
        let mut all = Grads::default();
        let at_once = gradients_at_once(self.trainable_count(), core_count());
        par_map_ordered(&self.device, at_once, passes, backward, |found| {
            all.add(found);
        })?;
        Ok(all)
    }
}
