//! The settings of a forward pass.

/// Settings of a forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardOptions {
    /// `true` if gradients are recorded.
    pub track: bool,
    /// `true` if the LoRA adapter is applied; without it the model is the reference.
    pub adapter: bool,
    /// Seed of LoRA's dropout; `None` disables it.
    pub dropout: Option<u64>,
    /// `true` if [`CausalLm::gradients`](super::CausalLm::gradients) keeps the activations of one layer at a time (gradient
    /// checkpointing), which saves memory but costs a second forward pass.
    pub by_block: bool,
}

impl ForwardOptions {
    /// Creates a training pass: gradients, adapter, dropout from `seed`, gradient checkpointing.
    #[must_use]
    pub const fn training(seed: u64) -> Self {
        Self {
            track: true,
            adapter: true,
            dropout: Some(seed),
            by_block: true,
        }
    }

    /// Returns the pass with or without gradient checkpointing.
    #[must_use]
    pub const fn with_gradient_checkpointing(self, by_block: bool) -> Self {
        Self { by_block, ..self }
    }

    /// Returns the pass with recording of gradients.
    #[must_use]
    pub const fn with_tracking(self) -> Self {
        Self {
            track: true,
            ..self
        }
    }

    /// Returns the pass without recording of gradients.
    #[must_use]
    pub const fn without_tracking(self) -> Self {
        Self {
            track: false,
            ..self
        }
    }

    /// Returns the pass for micro-batch `index`, with a dropout seed of its own.
    #[must_use]
    pub const fn for_micro_batch(self, index: u64) -> Self {
        let dropout = match self.dropout {
            Some(seed) => Some(sentinel_base::rng::Rng::indexed(seed, index).next()),
            None => None,
        };
        Self { dropout, ..self }
    }

    /// A pass with the adapter, without gradients and dropout.
    pub const EVALUATION: Self = Self {
        track: false,
        adapter: true,
        dropout: None,
        by_block: true,
    };

    /// A pass of the base model alone, without gradients and dropout.
    pub const REFERENCE: Self = Self {
        track: false,
        adapter: false,
        dropout: None,
        by_block: true,
    };
}
