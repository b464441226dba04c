//! The families of models, and how their decoders differ.

/// A family of models, as `model_type` of `config.json` names it.
///
/// All have the same decoder: RMS norms before attention and feed-forward layers, rotary position
/// embeddings, grouped-query attention, and a gated feed-forward layer with SiLU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ModelType {
    /// Qwen2 and Qwen2.5: queries, keys and values have a bias
    #[default]
    Qwen2,
    /// Qwen3: queries and keys are normalized in each head, before they are rotated
    Qwen3,
    /// Llama 2, 3, 3.1 and 3.2 (text only): neither
    Llama,
}

impl ModelType {
    /// All families that can be run.
    pub const ALL: [Self; 3] = [Self::Qwen2, Self::Qwen3, Self::Llama];

    /// Returns the name in `config.json`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
            Self::Llama => "llama",
        }
    }

    /// Returns the family with a name, or `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Returns the name of the class in transformers.
    #[must_use]
    pub const fn architecture(self) -> &'static str {
        match self {
            Self::Qwen2 => "Qwen2ForCausalLM",
            Self::Qwen3 => "Qwen3ForCausalLM",
            Self::Llama => "LlamaForCausalLM",
        }
    }

    /// Returns `true` if the projections of queries, keys and values have a bias.
    pub(crate) const fn has_qkv_bias(self) -> bool {
        matches!(self, Self::Qwen2)
    }

    /// Returns `true` if queries and keys are normalized in each head.
    pub const fn has_qk_norm(self) -> bool {
        matches!(self, Self::Qwen3)
    }

    /// Returns `true` if `config.json` can name a width of heads other than
    /// `hidden_size / num_attention_heads`.
    pub(super) const fn has_free_head_dim(self) -> bool {
        !matches!(self, Self::Qwen2)
    }

    /// Returns the width of heads in transformers if `config.json` names none; `None` for
    /// `hidden_size / num_attention_heads`.
    pub(super) const fn default_head_dim(self) -> Option<usize> {
        match self {
            Self::Qwen3 => Some(128),
            Self::Qwen2 | Self::Llama => None,
        }
    }
}
