//! Options of generation and sampling.

use super::choices::Choices;
use crate::LmError;
use crate::config::{GenerationDefaults, ModelConfig};

/// Sampling parameters with the names of Hugging Face. The defaults leave the model's distribution
/// unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Divisor of the logits; above 0.
    pub temperature: f64,
    /// Number of most likely tokens that are kept; 0 keeps all.
    pub top_k: usize,
    /// Probability mass of the most likely tokens that are kept, in `(0, 1]`; 1 keeps all.
    pub top_p: f64,
    /// Lowest probability that is kept, relative to the most likely token, in `[0, 1]`; 0 keeps
    /// all.
    pub min_p: f64,
    /// Penalty for tokens that occur in the text: positive logits are divided by it, negative ones
    /// multiplied; 1 has no effect. Unlike in Hugging Face's batches, padding does not count as
    /// text.
    pub repetition_penalty: f64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
        }
    }
}

/// Options for generating completions with [`crate::CausalLm::generate`].
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateOptions {
    /// Length of the longest completion, in tokens.
    pub max_new_tokens: usize,
    /// Length of the longest accepted prompt, in tokens. `None`, or a larger value, means the
    /// model's context less `max_new_tokens`.
    pub max_prompt_tokens: Option<usize>,
    /// `true` for greedy decoding, which uses only the repetition penalty of `sampling`.
    pub greedy: bool,
    /// Sampling parameters of the tokens.
    pub sampling: Sampling,
    /// Tokens that end a completion; usually a checkpoint's `eos_token_ids`.
    pub stop_tokens: Vec<u32>,
    /// Token that fills padding and finished rows; it does not affect any completion.
    pub pad_token: u32,
    /// Seed of the sampled tokens.
    pub seed: u64,
    /// Index of the first row's random stream; row `i` has stream `first_row + i`.
    pub first_row: u64,
    /// The completions that each row is limited to; empty for no limit. The tokens are sampled from
    /// the distribution over the allowed ones, but the log-probabilities of a [`super::Completion`]
    /// stay those of the model.
    pub choices: Vec<Choices>,
}

impl GenerateOptions {
    /// Creates options that sample from the model's own distribution and stop at the checkpoint's
    /// stop tokens.
    #[must_use]
    pub fn new(max_new_tokens: usize, defaults: &GenerationDefaults, seed: u64) -> Self {
        let first = defaults.eos_token_ids.first().copied();
        Self {
            max_new_tokens,
            max_prompt_tokens: None,
            greedy: false,
            sampling: Sampling::default(),
            stop_tokens: defaults.eos_token_ids.clone(),
            pad_token: defaults.pad_token_id.or(first).unwrap_or(0),
            seed,
            first_row: 0,
            choices: Vec::new(),
        }
    }

    /// Returns `true` if no token is filtered, penalized or excluded.
    pub(super) fn keeps_distribution(&self) -> bool {
        self.sampling.is_plain() && self.choices.is_empty()
    }

    pub(super) fn check(&self, config: &ModelConfig, rows: usize) -> Result<(), LmError> {
        let option = |option, value: String, allowed| {
            Err(LmError::Option {
                option,
                value,
                allowed,
            })
        };
        let count = self.max_new_tokens;
        if count == 0 || count >= config.max_position_embeddings {
            let allowed = "at least 1 and less than the model's max_position_embeddings";
            return option("max_new_tokens", count.to_string(), allowed);
        }
        if self.pad_token as usize >= config.vocab_size {
            let allowed = "a token of the model's vocabulary";
            return option("pad_token", self.pad_token.to_string(), allowed);
        }
        if !self.choices.is_empty() && self.choices.len() != rows {
            let count = self.choices.len().to_string();
            return option("choices", count, "one for each prompt");
        }
        if !self.choices.is_empty() && self.stop_tokens.is_empty() {
            let allowed = "at least one with `choices`, because it ends a completion";
            return option("stop_tokens", "none".to_owned(), allowed);
        }
        let longest = self.choices.iter().map(Choices::longest).max();
        if let Some(longest) = longest.filter(|longest| *longest >= count) {
            let allowed = "longer than the longest of `choices` with its stop token";
            return option(
                "max_new_tokens",
                format!("{count} for {longest} tokens"),
                allowed,
            );
        }
        let stops = |choices: &Choices| choices.contains_any(&self.stop_tokens);
        if self.choices.iter().any(stops) {
            let allowed = "completions without a stop token, which would end them early";
            return option("choices", "a stop token".to_owned(), allowed);
        }
        let largest = self.choices.iter().map(Choices::largest_token).max();
        if let Some(token) = largest.filter(|token| *token as usize >= config.vocab_size) {
            return option(
                "choices",
                format!("token {token}"),
                "tokens of the model's vocabulary",
            );
        }
        self.sampling.check()
    }
}

impl Sampling {
    fn check(&self) -> Result<(), LmError> {
        let above = |x: f64| x.is_finite() && x > 0.0;
        let checks = [
            (
                "temperature",
                self.temperature,
                // Logits are divided by the temperature as f32.
                above(f64::from(self.temperature as f32)),
                "above 0",
            ),
            (
                "top_p",
                self.top_p,
                self.top_p > 0.0 && self.top_p <= 1.0,
                "above 0 and at most 1",
            ),
            (
                "min_p",
                self.min_p,
                (0.0..=1.0).contains(&self.min_p),
                "from 0 to 1",
            ),
            (
                "repetition_penalty",
                self.repetition_penalty,
                // So are they by the penalty.
                above(f64::from(self.repetition_penalty as f32)),
                "above 0",
            ),
        ];
        for (option, value, valid, allowed) in checks {
            if !valid {
                return Err(LmError::Option {
                    option,
                    value: value.to_string(),
                    allowed,
                });
            }
        }
        Ok(())
    }
}
