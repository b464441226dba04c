//! Names and shapes of the tensors of a Qwen2 checkpoint, as transformers writes them.

use crate::lm::config::ModelConfig;

/// Name of the token embedding.
pub(crate) const EMBEDDING: &str = "model.embed_tokens.weight";
/// Name of the norm before the head.
pub(crate) const FINAL_NORM: &str = "model.norm.weight";
/// Name of the output head, which is absent if tied to the embedding.
pub(crate) const HEAD: &str = "lm_head.weight";

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
pub(crate) struct TensorSpec {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) initial: Initializer,
}

/// Returns the number of outputs and inputs of a block's linear layer.
pub(crate) fn linear_shape(config: &ModelConfig, linear: &str) -> [usize; 2] {
    let (hidden, inner) = (config.hidden_size, config.intermediate_size);
    match linear {
        "k_proj" | "v_proj" => [config.key_value_size(), hidden],
        "gate_proj" | "up_proj" => [inner, hidden],
        "down_proj" => [hidden, inner],
        _ => [hidden, hidden],
    }
}

/// Returns all tensors of a model in the order of [`crate::lm::Qwen2::parameters`].
pub(crate) fn tensor_specs(config: &ModelConfig) -> Vec<TensorSpec> {
    let hidden = config.hidden_size;
    let table = |name: &str| TensorSpec {
        name: name.to_owned(),
        shape: vec![config.vocab_size, hidden],
        initial: Initializer::Normal,
    };
    let norm = |name: String| TensorSpec {
        name,
        shape: vec![hidden],
        initial: Initializer::Ones,
    };
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
            if has_bias(linear) {
                all.push(TensorSpec {
                    name: format!("{block}{part}.{linear}.bias"),
                    shape: vec![outputs],
                    initial: Initializer::Zeros,
                });
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

fn has_bias(linear: &str) -> bool {
    matches!(linear, "q_proj" | "k_proj" | "v_proj")
}
