//! Names and shapes of the tensors of a checkpoint, as transformers writes them.

use crate::config::ModelConfig;

/// Beginning of the names of all tensors but the head.
pub(crate) const PREFIX: &str = "model.";
/// Name of the token embedding.
pub(crate) const EMBEDDING: &str = "model.embed_tokens.weight";
/// Name of the norm before the head.
pub(crate) const FINAL_NORM: &str = "model.norm.weight";
/// Name of the output head, which is absent if tied to the embedding.
pub(crate) const HEAD: &str = "lm_head.weight";

/// End of the name of the norm of each head's queries, which only some families have.
pub(crate) const QUERY_NORM: &str = "self_attn.q_norm.weight";
/// End of the name of the norm of each head's keys.
pub(crate) const KEY_NORM: &str = "self_attn.k_norm.weight";

/// The linear layers of a block in the order of transformers, each with its part of the block.
pub(crate) const BLOCK_LINEARS: [(&str, &str); 7] = [
    ("self_attn", "q_proj"),
    ("self_attn", "k_proj"),
    ("self_attn", "v_proj"),
    ("self_attn", "o_proj"),
    ("mlp", "gate_proj"),
    ("mlp", "up_proj"),
    ("mlp", "down_proj"),
];

/// The initial values of a new tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Initializer {
    /// Ones, used for norms.
    Ones,
    /// Zeros, used for biases.
    Zeros,
    /// Normally distributed values with the configuration's `initializer_range` as deviation.
    Normal,
}

/// Name, shape and initial values of a tensor in a checkpoint.
#[derive(Clone, Debug)]
pub struct TensorSpec {
    pub(crate) name: String,
    /// Rows and columns, or the length of a vector.
    pub shape: Vec<usize>,
    pub(crate) initial: Initializer,
}

/// Returns the number of outputs and inputs of a block's linear layer.
pub(crate) fn linear_shape(config: &ModelConfig, linear: &str) -> [usize; 2] {
    let (hidden, inner) = (config.hidden_size, config.intermediate_size);
    match linear {
        "k_proj" | "v_proj" => [config.key_value_size(), hidden],
        "gate_proj" | "up_proj" => [inner, hidden],
        "down_proj" => [hidden, inner],
        "o_proj" => [hidden, config.query_size()],
        _ => [config.query_size(), hidden],
    }
}

/// Returns all tensors of a model in the order of [`crate::CausalLm::parameters`].
pub fn tensor_specs(config: &ModelConfig) -> Vec<TensorSpec> {
    let hidden = config.hidden_size;
    let table = |name: &str| TensorSpec {
        name: name.to_owned(),
        shape: vec![config.vocab_size, hidden],
        initial: Initializer::Normal,
    };
    let norm_of = |name: String, width: usize| TensorSpec {
        name,
        shape: vec![width],
        initial: Initializer::Ones,
    };
    let norm = |name: String| norm_of(name, hidden);
    let mut all = vec![table(EMBEDDING)];
    for layer in 0..config.num_hidden_layers {
        let block = format!("model.layers.{layer}.");
        all.push(norm(format!("{block}input_layernorm.weight")));
        for (part, linear) in BLOCK_LINEARS {
            let [outputs, inputs] = linear_shape(config, linear);
            all.push(TensorSpec {
                name: format!("{block}{part}.{linear}.weight"),
                shape: vec![outputs, inputs],
                initial: Initializer::Normal,
            });
            if config.model_type.has_qkv_bias() && is_qkv(linear) {
                all.push(TensorSpec {
                    name: format!("{block}{part}.{linear}.bias"),
                    shape: vec![outputs],
                    initial: Initializer::Zeros,
                });
            }
        }
        if config.model_type.has_qk_norm() {
            for kind in [QUERY_NORM, KEY_NORM] {
                all.push(norm_of(format!("{block}{kind}"), config.head_dim()));
            }
        }
        all.push(norm(format!("{block}post_attention_layernorm.weight")));
    }
    all.push(norm(FINAL_NORM.to_owned()));
    if !config.tie_word_embeddings {
        all.push(table(HEAD));
    }
    all
}

fn is_qkv(linear: &str) -> bool {
    matches!(linear, "q_proj" | "k_proj" | "v_proj")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelType;

    /// The numbers of parameters of published checkpoints, as their files have them.
    #[test]
    fn parameter_counts_are_those_of_published_models() {
        let qwen3 = ModelConfig {
            model_type: ModelType::Qwen3,
            vocab_size: 151_936,
            hidden_size: 1024,
            intermediate_size: 3072,
            num_hidden_layers: 28,
            num_attention_heads: 16,
            num_key_value_heads: 8,
            head_dim: Some(128),
            max_position_embeddings: 40_960,
            rope_theta: 1e6,
            rope_scaling: None,
            rms_norm_eps: 1e-6,
            tie_word_embeddings: true,
            initializer_range: 0.02,
        };
        let llama = ModelConfig {
            model_type: ModelType::Llama,
            vocab_size: 128_256,
            hidden_size: 2048,
            intermediate_size: 8192,
            num_hidden_layers: 16,
            num_attention_heads: 32,
            head_dim: None,
            ..qwen3.clone()
        };
        let qwen2 = ModelConfig {
            model_type: ModelType::Qwen2,
            vocab_size: 151_936,
            hidden_size: 896,
            intermediate_size: 4864,
            num_hidden_layers: 24,
            num_attention_heads: 14,
            num_key_value_heads: 2,
            ..llama.clone()
        };
        let count = |config: &ModelConfig| -> usize {
            let specs = tensor_specs(config).into_iter();
            specs.map(|spec| spec.shape.iter().product::<usize>()).sum()
        };
        // Qwen3-0.6B, Llama-3.2-1B and Qwen2.5-0.5B.
        assert_eq!(count(&qwen3), 596_049_920);
        assert_eq!(count(&llama), 1_235_814_400);
        assert_eq!(count(&qwen2), 494_032_768);
    }
}
