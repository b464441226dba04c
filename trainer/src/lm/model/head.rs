//! Log-probabilities of given tokens. The head is applied to those alone: its output is by far the
//! widest tensor of a pass.

use burn::tensor::Tensor;
use burn::tensor::activation::log_softmax;

use super::{Batch, Pass, Qwen2};
use crate::lm::LmError;
use crate::lm::parameter::indices;

/// Whether the entropy of each distribution is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entropy {
    /// It is not.
    Skipped,
    /// As a number without gradient.
    Value,
    /// With gradient, for a bonus in the loss.
    Gradient,
}

/// Which tokens of a batch are asked about, as predicted by the token before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSelection {
    before: Vec<usize>,
    targets: Vec<u32>,
}

impl TokenSelection {
    /// The tokens of `batch` where `chosen` (`[rows * tokens]`) is true. A text's first token has
    /// nothing before it, and cannot be chosen.
    ///
    /// # Errors
    /// If `chosen` has another length, or chooses one of those.
    pub fn new(batch: &Batch, chosen: &[bool]) -> Result<Self, LmError> {
        let length = |what, found| LmError::Length {
            what,
            found,
            expected: batch.ids().len(),
        };
        if chosen.len() != batch.ids().len() {
            return Err(length("the choice of tokens", chosen.len()));
        }
        let mut selection = Self::default();
        for (at, _) in chosen.iter().enumerate().filter(|(_, on)| **on) {
            let Some(before) = batch.before(at) else {
                return Err(LmError::Option {
                    option: "chosen tokens",
                    value: format!("row {} column {}", at / batch.tokens(), at % batch.tokens()),
                    allowed: "a token of the text with a token of the text before it",
                });
            };
            selection.before.push(before);
            selection.targets.push(batch.ids()[at]);
        }
        Ok(selection)
    }

    /// How many tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

/// Log-probabilities of tokens, and the entropies of the distributions that they are from.
#[derive(Clone, Debug)]
pub struct TokenLogProbs {
    /// `[n]`.
    pub logps: Tensor<1>,
    /// `[n]`, if they were asked for.
    pub entropies: Option<Tensor<1>>,
    /// `[n]`: of the most likely token in each place, without gradient; with the entropies.
    pub greatest: Option<Tensor<1>>,
}

impl Qwen2 {
    /// What the chosen tokens' log-probabilities are under the distribution at `temperature`.
    /// `hidden` is that of [`Self::hidden`].
    ///
    /// # Panics
    /// If there is no pick: a device has no empty tensor.
    #[must_use]
    pub fn token_logprobs(
        &self,
        hidden: Tensor<2>,
        selection: &TokenSelection,
        temperature: f64,
        entropy: Entropy,
        pass: Pass,
    ) -> TokenLogProbs {
        let count = selection.len();
        let before = indices(selection.before.iter().copied(), &self.device);
        let targets = indices(
            selection.targets.iter().map(|id| *id as usize),
            &self.device,
        );
        let mut logits = self.logits(hidden.select(0, before), pass);
        if (temperature - 1.0).abs() > 0.0 {
            logits = logits.div_scalar(temperature);
        }
        let all = log_softmax(logits, 1);
        let entropies = match entropy {
            Entropy::Skipped => None,
            Entropy::Value => Some(all.clone().without_autodiff()),
            Entropy::Gradient => Some(all.clone()),
        };
        let entropies = entropies.map(|all| {
            let sum = (all.clone().exp() * all).sum_dim(1).neg();
            sum.reshape([count])
        });
        let greatest = (entropy != Entropy::Skipped)
            .then(|| all.clone().without_autodiff().max_dim(1).reshape([count]));
        let targets = targets.reshape([count, 1]);
        TokenLogProbs {
            greatest,
            logps: all.gather(1, targets).reshape([count]),
            entropies,
        }
    }
}
