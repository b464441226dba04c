//! Estimate of the memory that a run needs, computed from the tensors that it allocates.
//!
//! Everything is f32 except what `--precision` puts in bf16. The estimate includes weights, adapter,
//! gradients, moments, the inputs of all blocks that gradient checkpointing keeps, one block with
//! everything that its backward pass needs, the logits that exist at a time, and the generation's
//! key-value cache with its merged weights. It excludes the program itself, text and the
//! allocator's reserve, which are small in comparison.

use sentinel_base::precision::Precision;
use sentinel_lm::lora::LoraConfig;
use sentinel_lm::model::MAX_LOGITS;
use sentinel_lm::parallel::{batches_at_once, gradients_at_once};
use sentinel_lm::weights::tensor_specs;
use sentinel_lm::{LmError, ModelConfig, ModelType};

use super::GrpoConfig;

/// Bytes of an f32 number.
const NUMBER: u128 = 4;
/// Bytes of a bf16 number.
const HALF: u128 = 2;
/// Number of tensors as wide as the hidden state that a block's backward pass needs: inputs and
/// outputs of both norms, the output of attention, both residual sums.
const HIDDEN_TENSORS: u128 = 7;
/// Number of tensors as wide as all queries: queries with and without rotation, and the mixed values.
const QUERY_TENSORS: u128 = 3;
/// Number of further tensors as wide as all queries and keys if these are normalized in each head.
const HEAD_NORM_TENSORS: u128 = 2;
/// Number of tensors as wide as the feed-forward layers: gate, its activation, up, their product.
const INNER_TENSORS: u128 = 5;
/// Number of tensors of attention scores: before and after the mask, after softmax, their
/// gradients. With activations in bf16 the softmax is in f32, and its input and result also exist in
/// bf16, which takes as much in all.
const SCORE_TENSORS: u128 = 4;
/// Number of f32 copies, as wide as the hidden state, of activations in bf16: inputs of both norms.
const NORM_COPIES: u128 = 2;
/// Number of tensors of logits: logits, log-probabilities, gradients, entropies.
const LOGIT_TENSORS: u128 = 4;
/// Copies of each trained number while a checkpoint is written: moments as read (2), weight and
/// moments as bytes (3), and the file (3).
const SAVED: u128 = 8;

/// The memory of a run in bytes, with the counts it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MemoryEstimate {
    /// Number of scalars in the base model.
    pub parameters: u128,
    /// Number of scalars that are trained.
    pub trained: u128,
    /// Bytes of base weights and adapter.
    pub weights: u128,
    /// Bytes of gradients and both moments.
    pub optimizer: u128,
    /// Bytes of a micro-batch's forward and backward pass.
    pub activations: u128,
    /// Bytes of merged weights and cache during generation.
    pub generation: u128,
    /// Bytes of a copy of the head, which a processor makes for generation.
    pub head: u128,
    /// Number of micro-batches in an optimizer step.
    pub parts: u128,
    /// Number of parts that a processor divides the rows of a micro-batch into.
    pub row_parts: usize,
    /// Bytes of a second model, needed for the KL term if disabling the adapter does not give the
    /// reference.
    pub reference: u128,
}

impl MemoryEstimate {
    /// Returns the peak memory in bytes; training passes and generation alternate.
    #[must_use]
    pub fn total_bytes(&self) -> u128 {
        let turn = self.activations.max(self.generation);
        self.weights + self.optimizer + self.reference + turn
    }

    /// Returns the peak memory in bytes on a processor with `cores` cores.
    ///
    /// It divides the rows of a micro-batch among cores, each with gradients of its own, and computes several micro-batches
    /// at a time if these are small. It also writes checkpoints in the same memory: values, moments and the bytes of the
    /// file. For generation it copies the head, too.
    #[must_use]
    pub fn total_bytes_on_cpu(&self, cores: usize) -> u128 {
        let trained = usize::try_from(self.trained).unwrap_or(usize::MAX);
        let batches = batches_at_once(self.row_parts, cores) as u128;
        let together = self.parts.min(batches).max(1);
        let rows_at_once = self.row_parts.min(gradients_at_once(trained, cores)) as u128;
        let gradients = NUMBER * self.trained * together.max(rows_at_once);
        let passes = together * self.activations + gradients;
        let saving = NUMBER * self.trained * SAVED;
        let turn = passes.max(self.generation + self.head).max(saving);
        self.weights + self.optimizer + self.reference + turn
    }
}

/// Returns the configurations of Qwen2.5's small models, as in their `config.json`.
#[must_use]
pub fn qwen_presets() -> [(&'static str, ModelConfig); 3] {
    let shape =
        |hidden_size, intermediate_size, num_hidden_layers, num_attention_heads| ModelConfig {
            model_type: ModelType::Qwen2,
            vocab_size: 151_936,
            hidden_size,
            intermediate_size,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads: 2,
            head_dim: None,
            max_position_embeddings: 32_768,
            rope_theta: 1e6,
            rope_scaling: None,
            rms_norm_eps: 1e-6,
            tie_word_embeddings: true,
            initializer_range: 0.02,
        };
    [
        ("Qwen2.5-0.5B-Instruct", shape(896, 4864, 24, 14)),
        ("Qwen2.5-1.5B-Instruct", shape(1536, 8960, 28, 12)),
        ("Qwen2.5-3B-Instruct", shape(2048, 11_008, 36, 16)),
    ]
}

/// Estimates the memory of a run with these options for a model of this shape.
///
/// # Errors
/// If the adapter has no place in the model.
pub fn estimate_memory(
    config: &GrpoConfig,
    lora: &LoraConfig,
    model: &ModelConfig,
) -> Result<MemoryEstimate, LmError> {
    let wide = |count: usize| count as u128;
    let parameters: u128 = (tensor_specs(model).iter())
        .map(|spec| spec.shape.iter().map(|side| wide(*side)).product::<u128>())
        .sum();
    let layers = wide(model.num_hidden_layers);
    let adapter = if config.run.full {
        0
    } else {
        wide(lora.parameter_count(model)?)
    };
    let trained = if config.run.full { parameters } else { adapter };

    let rows = wide(config.per_device_train_batch_size);
    let length = wide(config.run.max_length);
    let (hidden, inner) = (wide(model.hidden_size), wide(model.intermediate_size));
    let (queries, keys) = (wide(model.query_size()), wide(model.key_value_size()));
    let precision = config.run.precision;
    let activation = activation_bytes(precision);
    let kept = activation * rows * length * hidden * (layers + 1);
    let table = wide(model.vocab_size) * hidden;
    // Concatenated copies of everything except the embedding and the head.
    let tables = if model.tie_word_embeddings { 1 } else { 2 };
    let merged = parameters - tables * table;
    let mut block = block_bytes(config, model);
    // Trained matrices are rounded for each product.
    let rounded_head = if precision == Precision::Bf16 && config.run.full {
        block += HALF * merged / layers.max(1);
        HALF * table
    } else {
        0
    };
    let blocks = if config.run.no_gradient_checkpointing {
        layers * block
    } else {
        block
    };
    let completions = rows * wide(config.max_completion_length);
    let all = completions * wide(model.vocab_size);
    // Computed in parts, which need the hidden states with their gradients.
    let parts = all.min(wide(MAX_LOGITS));
    let mut logits = NUMBER * (parts * LOGIT_TENSORS + 3 * completions * hidden) + rounded_head;
    if precision == Precision::Bf16 {
        // The product is in bf16 before it is converted.
        logits += HALF * parts;
    }

    let samples = config.groups_per_update * config.num_generations;
    let group = config.episodes_per_update.max(samples);
    let speakers = wide(config.generation_batch_size.min(group));
    // On an accelerator the capacity doubles when it is exhausted; the processor needs less.
    let capacity = (length + 1).next_power_of_two();
    let cache = 2 * layers * speakers * capacity * keys;
    // Norms and biases stay f32, but are negligible.
    let rounded = match precision {
        Precision::F32 => NUMBER,
        Precision::Bf16Weights | Precision::Bf16 => HALF,
    };
    let frozen = if config.run.full { NUMBER } else { rounded };
    let reading = speakers * length * (hidden * 3 + queries + inner * 2);
    let apart = config.run.full || config.run.adapter.is_some();
    let second = if config.beta != 0.0 && apart {
        parameters
    } else {
        0
    };
    Ok(MemoryEstimate {
        parameters,
        trained,
        weights: frozen * parameters + NUMBER * adapter,
        optimizer: NUMBER * 3 * trained,
        activations: kept + blocks.max(logits),
        generation: rounded * merged
            + rounded_head
            + activation * (cache + reading)
            + NUMBER * speakers * wide(model.vocab_size),
        head: rounded * table,
        row_parts: config.row_parts(),
        parts: wide(samples.div_ceil(config.per_device_train_batch_size.max(1))),
        reference: rounded * second,
    })
}

/// Returns the bytes of a number of the activations.
const fn activation_bytes(precision: Precision) -> u128 {
    match precision {
        Precision::F32 | Precision::Bf16Weights => NUMBER,
        Precision::Bf16 => HALF,
    }
}

/// Returns the bytes of everything that the backward pass of one block needs, except its weights.
fn block_bytes(config: &GrpoConfig, model: &ModelConfig) -> u128 {
    let wide = |count: usize| count as u128;
    let rows = wide(config.per_device_train_batch_size);
    let length = wide(config.run.max_length);
    let tokens = rows * length;
    let (hidden, inner) = (wide(model.hidden_size), wide(model.intermediate_size));
    let (queries, keys) = (wide(model.query_size()), wide(model.key_value_size()));
    let scores = rows * wide(model.num_attention_heads) * length * length;
    let normed_heads = if model.model_type.has_qk_norm() {
        queries + keys
    } else {
        0
    };
    let widths =
        hidden * HIDDEN_TENSORS + queries * QUERY_TENSORS + normed_heads * HEAD_NORM_TENSORS;
    let precision = config.run.precision;
    let bytes = activation_bytes(precision) * tokens * (widths + inner * INNER_TENSORS)
        + NUMBER * scores * SCORE_TENSORS;
    match precision {
        Precision::F32 | Precision::Bf16Weights => bytes,
        // Norms and rotary embeddings are computed in f32.
        Precision::Bf16 => {
            let rotated = queries + keys;
            bytes + NUMBER * tokens * (hidden * NORM_COPIES + rotated + normed_heads)
        }
    }
}
