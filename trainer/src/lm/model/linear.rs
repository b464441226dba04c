//! A linear layer, with a LoRA pair beside it or not.

use burn::tensor::Tensor;

use super::Pass;
use super::dropout;
use super::half::times;
use crate::lm::parameter::Parameter;

/// Two thin matrices beside a weight: `x Aᵀ Bᵀ` times a scale is added to the output. The product of
/// the two is never formed.
#[derive(Clone, Debug)]
pub(crate) struct LoraPair {
    /// `[rank, inputs]`.
    pub(crate) a: Parameter,
    /// `[outputs, rank]`.
    pub(crate) b: Parameter,
    /// `alpha / rank`, or `alpha / sqrt(rank)`.
    pub(crate) scale: f64,
    /// The share of inputs that training leaves out.
    pub(crate) dropout: f64,
}

/// `x Wᵀ + b`, and the adapter's part.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    /// `[outputs, inputs]`, as in a checkpoint.
    pub(crate) weight: Parameter,
    pub(crate) bias: Option<Parameter>,
    pub(crate) lora: Option<LoraPair>,
}

impl Linear {
    /// `[n, outputs]` from `[n, inputs]`.
    pub(super) fn forward(&self, x: Tensor<2>, pass: Pass) -> Tensor<2> {
        let lora = self.lora.as_ref().filter(|_| pass.adapter);
        let beside = lora.map(|lora| {
            let mut x = x.clone();
            if let Some(seed) = pass.dropout.filter(|_| lora.dropout > 0.0) {
                x = dropout::apply(x, lora.dropout, seed, lora.a.name());
            }
            let thin = x.matmul(lora.a.get(pass.track).transpose());
            let wide = thin.matmul(lora.b.get(pass.track).transpose());
            wide.mul_scalar(lora.scale)
        });
        let mut y = times(x, self.weight.get(pass.track));
        if let Some(bias) = &self.bias {
            y = y + bias.get(pass.track);
        }
        match beside {
            Some(beside) => y + beside,
            None => y,
        }
    }

    pub(super) fn parameters<'a>(&'a self, all: &mut Vec<&'a Parameter>) {
        all.push(&self.weight);
        all.extend(&self.bias);
        if let Some(lora) = &self.lora {
            all.extend([&lora.a, &lora.b]);
        }
    }

    pub(super) fn parameters_mut<'a>(&'a mut self, all: &mut Vec<&'a mut Parameter>) {
        all.push(&mut self.weight);
        all.extend(&mut self.bias);
        if let Some(lora) = &mut self.lora {
            all.extend([&mut lora.a, &mut lora.b]);
        }
    }
}
