//! A Qwen2 model on a device: loading, the forward pass, what is trained.

mod backward;
mod batch;
mod decode;
mod head;
mod layers;
mod load;
mod precision;

use burn::tensor::{DType, Device, Tensor};

pub(crate) use batch::check_lengths;
pub use batch::{Batch, Segment};
pub(crate) use decode::{Cache, DecodeLayer, matmul_weight_few_rows};
pub use head::{Entropy, TokenLogProbs, TokenSelection};
pub(crate) use layers::{AttentionContext, Block, Linear, LoraPair, Rope};
pub(crate) use load::MODEL_FILES;
use precision::matmul_weight;

use super::config::ModelConfig;
use super::lora::LoraConfig;
use super::parameter::{Parameter, indices};

/// How a forward pass is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Whether gradients are recorded.
    pub track: bool,
    /// Whether the LoRA adapter takes part; without it the model is the reference.
    pub adapter: bool,
    /// The seed of LoRA's dropout; none outside of training.
    pub dropout: Option<u64>,
    /// Whether [`Qwen2::gradients`] keeps the activations of one layer at a time (gradient
    /// checkpointing) or of all: less memory, or a forward pass less.
    pub by_block: bool,
}

impl Pass {
    /// For training: gradients, adapter, dropout drawn from the seed.
    #[must_use]
    pub const fn training(seed: u64) -> Self {
        Self {
            track: true,
            adapter: true,
            dropout: Some(seed),
            by_block: true,
        }
    }

    /// The same with or without gradient checkpointing.
    #[must_use]
    pub const fn checkpointed(self, by_block: bool) -> Self {
        Self { by_block, ..self }
    }

    /// The same pass for one of several micro-batches: dropout draws anew for each.
    #[must_use]
    pub const fn part(self, index: u64) -> Self {
        let dropout = match self.dropout {
            Some(seed) => Some(crate::lm::random::Random::indexed(seed, index).next()),
            None => None,
        };
        Self { dropout, ..self }
    }

    /// Without gradients and dropout.
    pub const EVALUATION: Self = Self {
        track: false,
        adapter: true,
        dropout: None,
        by_block: true,
    };

    /// The base model alone, without gradients.
    pub const REFERENCE: Self = Self {
        track: false,
        adapter: false,
        dropout: None,
        by_block: true,
    };
}

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trained {
    /// Nothing: the model is only run.
    Nothing,
    /// The adapter's matrices.
    Adapter,
    /// All weights of the base model.
    Everything,
}

/// A Qwen2 model.
#[derive(Clone, Debug)]
pub struct Qwen2 {
    pub(crate) config: ModelConfig,
    pub(crate) device: Device,
    pub(crate) embedding: Parameter,
    pub(crate) blocks: Vec<Block>,
    pub(crate) norm: Parameter,
    /// Absent where it is the embedding.
    pub(crate) head: Option<Parameter>,
    pub(crate) adapter: Option<LoraConfig>,
    /// Of the base model's numbers as they were read, where they were rounded since.
    pub(crate) digest: Option<String>,
}

impl Qwen2 {
    /// The shape of the model.
    #[must_use]
    pub const fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Where the model is.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// The options of the adapter, if there is one.
    #[must_use]
    pub const fn adapter(&self) -> Option<&LoraConfig> {
        self.adapter.as_ref()
    }

    /// All parameters: those of the base model in the order of a checkpoint, each linear layer's
    /// adapter behind it.
    #[must_use]
    pub fn parameters(&self) -> Vec<&Parameter> {
        let mut all = vec![&self.embedding];
        for block in &self.blocks {
            block.parameters(&mut all);
        }
        all.push(&self.norm);
        all.extend(&self.head);
        all
    }

    /// The same, to change them.
    pub fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        let mut all = vec![&mut self.embedding];
        for block in &mut self.blocks {
            block.parameters_mut(&mut all);
        }
        all.push(&mut self.norm);
        all.extend(&mut self.head);
        all
    }

    /// Says what is trained from now on.
    pub fn train(&mut self, trained: Trained) {
        for parameter in self.parameters_mut() {
            let of_adapter = parameter.name().contains(".lora_");
            parameter.train(match trained {
                Trained::Nothing => false,
                Trained::Adapter => of_adapter,
                Trained::Everything => !of_adapter,
            });
        }
    }

    /// The same model, the same numbers, with gradients of its own: two of them can be at work at
    /// once.
    pub(crate) fn fork(&self) -> Self {
        let mut fork = self.clone();
        let trained = fork.parameters_mut().into_iter();
        trained
            .filter(|parameter| parameter.is_trainable())
            .for_each(|parameter| parameter.train(true));
        fork
    }

    /// The numbers that are trained.
    #[must_use]
    pub fn trainable_count(&self) -> usize {
        let trained = self.parameters().into_iter().filter(|p| p.is_trainable());
        trained.map(|p| p.shape().iter().product::<usize>()).sum()
    }

    /// `[rows * tokens, hidden]`: the embeddings of a batch.
    pub(crate) fn embed(&self, batch: &Batch, pass: Pass) -> Tensor<2> {
        let ids = indices(batch.ids().iter().map(|id| *id as usize), &self.device);
        let rows = self.embedding.get(pass.track).select(0, ids);
        rows.cast(DType::F32)
    }

    /// `[rows * tokens, hidden]`: what the head is applied to, after the last norm.
    #[must_use]
    pub fn hidden(&self, batch: &Batch, pass: Pass) -> Tensor<2> {
        self.hidden_observed(batch, pass, |_| ())
    }

    /// The same; `observe` is shown the embeddings and what each layer gives, before the last norm.
    #[must_use]
    pub fn hidden_observed(
        &self,
        batch: &Batch,
        pass: Pass,
        mut observe: impl FnMut(&Tensor<2>),
    ) -> Tensor<2> {
        let context = AttentionContext::from_batch(&self.config, batch, &self.device);
        let mut x = self.embed(batch, pass);
        for block in &self.blocks {
            observe(&x);
            x = block.forward(x, &context, pass, None);
        }
        observe(&x);
        self.last_norm(x, pass)
    }

    pub(crate) fn last_norm(&self, x: Tensor<2>, pass: Pass) -> Tensor<2> {
        layers::rms(x, self.norm.get(pass.track), self.config.rms_norm_eps)
    }

    /// `[rows, tokens, vocabulary]`: the logits of a batch. What padding gets means nothing.
    #[must_use]
    pub fn forward(&self, batch: &Batch, pass: Pass) -> Tensor<3> {
        let logits = self.logits(self.hidden(batch, pass), pass);
        logits.reshape([batch.rows(), batch.tokens(), self.config.vocab_size])
    }

    /// `[n, vocabulary]` from `[n, hidden]`.
    #[must_use]
    pub fn logits(&self, hidden: Tensor<2>, pass: Pass) -> Tensor<2> {
        matmul_weight(hidden, self.head_weight(pass))
    }

    /// `[vocabulary, hidden]`.
    pub(crate) fn head_weight(&self, pass: Pass) -> Tensor<2> {
        self.head
            .as_ref()
            .unwrap_or(&self.embedding)
            .get(pass.track)
    }
}
