//! Log-probabilities of selected tokens. The head is applied to these alone, because its output is
//! by far the widest tensor of a pass.

use burn::tensor::Tensor;
use burn::tensor::activation::log_softmax;

use super::{Batch, CausalLm, ForwardOptions, Segment};
use crate::lm::LmError;
use crate::lm::config::ModelConfig;
use crate::lm::parameter::indices;

/// Controls the computation of the entropy of each token's distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entropy {
    /// The entropy is not computed.
    Skipped,
    /// The entropy is computed without gradient.
    Value,
    /// The entropy is computed with gradient, for a bonus in the loss.
    Gradient,
}

/// The tokens of a batch to score, each predicted from the token before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSelection {
    before: Vec<usize>,
    targets: Vec<u32>,
}

impl TokenSelection {
    /// Selects the tokens of `batch` where `chosen` (`[rows * tokens]`) is `true`. The first token
    /// of a sequence has no token before it and cannot be selected.
    ///
    /// # Errors
    /// If `chosen` has another length, or selects a first token or padding.
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
            let Some(before) = batch.previous_token(at) else {
                return Err(LmError::Option {
                    option: "selected tokens",
                    value: format!("row {} column {}", at / batch.tokens(), at % batch.tokens()),
                    allowed: "a token that follows another token of its sequence",
                });
            };
            selection.before.push(before);
            selection.targets.push(batch.ids()[at]);
        }
        Ok(selection)
    }

    /// Packs segments into a batch like [`Batch::packed`], and selects the tokens of each from the
    /// index beside it on.
    ///
    /// # Errors
    /// Returns the errors of [`Batch::packed`] and [`TokenSelection::new`].
    pub fn packed(
        config: &ModelConfig,
        rows: &[Vec<(Segment<'_>, usize)>],
        pad: u32,
    ) -> Result<(Batch, Self), LmError> {
        let packed: Vec<Vec<_>> = (rows.iter())
            .map(|row| row.iter().map(|(segment, _)| *segment).collect())
            .collect();
        let batch = Batch::packed(config, &packed, pad)?;
        let mut chosen = Vec::with_capacity(batch.ids().len());
        for row in rows {
            let end = chosen.len() + batch.tokens();
            for (segment, first) in row {
                chosen.extend((0..segment.ids.len()).map(|at| at >= *first));
            }
            chosen.resize(end, false);
        }
        let selection = Self::new(&batch, &chosen)?;
        Ok((batch, selection))
    }

    /// Returns the number of selected tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Returns `true` if no token is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

/// Log-probabilities of selected tokens, and statistics of the distributions they come from.
#[derive(Clone, Debug)]
pub struct TokenLogProbs {
    /// `[n]`: log-probability of each selected token.
    pub logps: Tensor<1>,
    /// `[n]`: entropy of each distribution, in nats, if requested.
    pub entropies: Option<Tensor<1>>,
    /// `[n]`: log-probability of the most likely token at each position, without gradient; present
    /// if the entropies are.
    pub max_logps: Option<Tensor<1>>,
}

impl CausalLm {
    /// Computes the log-probabilities of the selected tokens under the distribution at
    /// `temperature`. `hidden` is the result of [`Self::hidden_states`].
    ///
    /// # Panics
    /// If `selection` is empty, because tensors cannot be empty.
    #[must_use]
    pub fn token_logprobs(
        &self,
        hidden: Tensor<2>,
        selection: &TokenSelection,
        temperature: f64,
        entropy: Entropy,
        pass: ForwardOptions,
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
        let max_logps = (entropy != Entropy::Skipped)
            .then(|| all.clone().without_autodiff().max_dim(1).reshape([count]));
        let targets = targets.reshape([count, 1]);
        TokenLogProbs {
            max_logps,
            logps: all.gather(1, targets).reshape([count]),
            entropies,
        }
    }
}
