//! A completion as the loss sees it.

/// A completion of a prompt with its data for the loss. Vectors have one element per token of the
/// completion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Tokens of the prompt.
    pub prompt: Vec<u32>,
    /// Tokens of the completion, including the stop token.
    pub completion: Vec<u32>,
    /// `true` for tokens that carry loss; `None` if all do.
    pub mask: Option<Vec<bool>>,
    /// Advantage of the completion.
    pub advantage: f64,
    /// Log-probabilities under the policy that generated it; `None` while that is the trained
    /// policy.
    pub old: Option<Vec<f64>>,
    /// Log-probabilities under the reference policy.
    pub reference: Option<Vec<f64>>,
    /// Log-probabilities that the sampler reported; NaN for tokens without one.
    pub sampled: Option<Vec<f64>>,
    /// Correction for a sampler that differs from the policy.
    pub correction: Option<Correction>,
}

/// The ratio of the old policy over the sampler, within its bounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Correction {
    /// One ratio for each token of the completion.
    Token(Vec<f64>),
    /// One ratio for the whole completion.
    Sequence(f64),
}

impl Sample {
    /// Returns `true` if the token at `at` carries loss.
    pub(super) fn has_loss_at(&self, at: usize) -> bool {
        at < self.completion.len() && self.mask.as_ref().is_none_or(|mask| mask[at])
    }

    /// Returns the number of tokens that carry loss.
    #[must_use]
    pub fn loss_tokens(&self) -> usize {
        (0..self.completion.len())
            .filter(|at| self.has_loss_at(*at))
            .count()
    }
}
