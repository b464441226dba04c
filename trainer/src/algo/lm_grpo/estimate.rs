//! How much memory a run takes, from the tensors that it makes.
//!
//! Everything is f32, but frozen weights with `--bf16`. Counted are weights, adapter, gradients, moments, the inputs of all blocks
//! that gradient checkpointing keeps, one block with all that its backward pass needs, the logits of
//! a micro-batch, and the generation's cached keys and values with its merged weights. What is not
//! counted (the program itself, text, what an allocator holds back) is small beside these.

use super::GrpoConfig;
use crate::lm::ModelConfig;
use crate::lm::lora::LoraConfig;
use crate::lm::weights::{linear_shape, specs};

/// Bytes of a number.
const NUMBER: u128 = 4;
/// The same in bf16.
const HALF: u128 = 2;
/// Tensors as wide as the hidden state that a block's backward pass needs: inputs and outputs of
/// both norms, queries with and without rotation, the mix, both sums.
const HIDDEN_TENSORS: u128 = 10;
/// The same as wide as the feed-forward part: gate, its activation, up, their product.
const INNER_TENSORS: u128 = 5;
/// The same for scores of attention: before and after the mask, after softmax, their slopes.
const SCORE_TENSORS: u128 = 4;
/// The same for logits: logits, their logarithms, slopes, entropies.
const LOGIT_TENSORS: u128 = 4;
/// Copies of each trained number while a checkpoint is written: moments as they are read (2), all three
/// as bytes (3), and the file (3).
const SAVED: u128 = 8;

/// Bytes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Estimate {
    /// Numbers of the base model.
    pub parameters: u128,
    /// Numbers that are trained.
    pub trained: u128,
    /// Weights, base and adapter.
    pub weights: u128,
    /// Gradients and both moments.
    pub optimizer: u128,
    /// A micro-batch's forward and backward pass.
    pub activations: u128,
    /// Merged weights and the cache while completions are written.
    pub generation: u128,
    /// Micro-batches of a step.
    pub parts: u128,
    /// A second model, where the divergence from it counts and the adapter cannot be switched off.
    pub reference: u128,
}

impl Estimate {
    /// The most at any time: passes and generation take turns.
    #[must_use]
    pub fn total(&self) -> u128 {
        let turn = self.activations.max(self.generation);
        self.weights + self.optimizer + self.reference + turn
    }

    /// The most on a processor with so many cores. It computes as many micro-batches at a time, each
    /// with gradients of its own, and has no other memory to make a checkpoint in: values, moments and
    /// the bytes of the file.
    #[must_use]
    pub fn on_processor(&self, cores: usize) -> u128 {
        let together = self.parts.min(cores as u128).max(1);
        let gradients = NUMBER * self.trained;
        let passes = together * (self.activations + gradients);
        let saving = NUMBER * self.trained * SAVED;
        let turn = passes.max(self.generation).max(saving);
        self.weights + self.optimizer + self.reference + turn
    }
}

/// The shapes of Qwen2.5's small models, as their `config.json` has them.
#[must_use]
pub fn known() -> [(&'static str, ModelConfig); 3] {
    let shape =
        |hidden_size, intermediate_size, num_hidden_layers, num_attention_heads| ModelConfig {
            vocab_size: 151_936,
            hidden_size,
            intermediate_size,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads: 2,
            max_position_embeddings: 32_768,
            rope_theta: 1e6,
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

/// What a run with these options takes for a model of this shape.
#[must_use]
pub fn estimate(config: &GrpoConfig, lora: &LoraConfig, model: &ModelConfig) -> Estimate {
    let wide = |count: usize| count as u128;
    let parameters: u128 = (specs(model).iter())
        .map(|spec| spec.shape.iter().map(|side| wide(*side)).product::<u128>())
        .sum();
    let layers = wide(model.num_hidden_layers);
    let pairs = lora.targets.iter().map(|target| {
        let [outputs, inputs] = linear_shape(model, target.name());
        wide(lora.rank) * wide(outputs + inputs)
    });
    let adapter = if config.run.full {
        0
    } else {
        layers * pairs.sum::<u128>()
    };
    let trained = if config.run.full { parameters } else { adapter };

    let rows = wide(config.per_device_train_batch_size);
    let length = wide(config.run.max_length);
    let tokens = rows * length;
    let (hidden, inner) = (wide(model.hidden_size), wide(model.intermediate_size));
    let kept = tokens * hidden * (layers + 1);
    let scores = rows * wide(model.num_attention_heads) * length * length;
    let block = tokens * (hidden * HIDDEN_TENSORS + inner * INNER_TENSORS) + scores * SCORE_TENSORS;
    let blocks = if config.run.no_gradient_checkpointing {
        layers * block
    } else {
        block
    };
    let completions = rows * wide(config.max_completion_length);
    let logits = completions * wide(model.vocab_size) * LOGIT_TENSORS;

    let samples = config.groups_per_update * config.num_generations;
    let group = config.episodes_per_update.max(samples);
    let speakers = wide(config.generation_batch_size.min(group));
    let head = wide(model.head_dim() * model.num_key_value_heads);
    let cache = 2 * layers * speakers * length * head;
    let table = wide(model.vocab_size) * hidden;
    // Joined and transposed copies of all but the embedding.
    let merged = parameters - table;
    // Norms and biases, which stay f32, are next to nothing.
    let frozen = if config.run.bf16 { HALF } else { NUMBER };
    let reading = speakers * length * (hidden * 4 + inner * 2);
    let apart = config.run.full || config.run.adapter.is_some();
    let second = if config.beta != 0.0 && apart {
        parameters
    } else {
        0
    };
    Estimate {
        parameters,
        trained,
        weights: frozen * parameters + NUMBER * adapter,
        optimizer: NUMBER * 3 * trained,
        activations: NUMBER * (kept + blocks.max(logits)),
        generation: frozen * merged
            + NUMBER * (cache + reading + speakers * wide(model.vocab_size)),
        parts: wide(samples.div_ceil(config.per_device_train_batch_size.max(1))),
        reference: frozen * second,
    }
}
