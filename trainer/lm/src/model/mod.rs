//! A decoder-only language model on a device: loading, forward and backward passes, and selection of the trained
//! parameters.

mod adapted_linear;
mod attention_mask;
mod backward;
mod batch;
mod cache;
pub(crate) mod cube;
mod decode;
mod forward_options;
mod fused;
mod head;
mod layers;
mod load;
mod precision;
mod prepared_weight;
mod row_parts;

use burn::tensor::{DType, Device, Int, Tensor};

pub use batch::check_lengths;
pub use batch::{Batch, Segment};
pub(crate) use cache::Cache;
pub(crate) use decode::{Attention, DecodeLayer};
pub use forward_options::ForwardOptions;
pub use head::MAX_LOGITS;
pub use head::{Entropy, HeadOptions, TokenGrads, TokenLogProbs, TokenSelection, TokenValues};
pub(crate) use layers::{AttentionContext, Block, Linear, LoraPair, RopeTable};
pub use load::MODEL_FILES;
pub use precision::check_precision;
pub(crate) use precision::round_weight;
pub(crate) use prepared_weight::PreparedWeight;
use sentinel_base::precision::Precision;

use super::LmError;
use super::config::ModelConfig;
use super::lora::LoraConfig;
use super::parameter::{Parameter, indices};
use super::weights::{EMBEDDING, HEAD};
use precision::{activations, matmul_weight};

/// The part of a model that is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainedPart {
    /// No parameters: the model is used for inference only.
    Nothing,
    /// The matrices of the adapter.
    Adapter,
    /// All weights of the base model.
    Everything,
}

/// A decoder-only language model on a device, of one of the families of
/// [`ModelType`](crate::ModelType).
#[derive(Clone, Debug)]
pub struct CausalLm {
    pub(crate) config: ModelConfig,
    pub(crate) device: Device,
    pub(crate) embedding: Parameter,
    pub(crate) blocks: Vec<Block>,
    pub(crate) norm: Parameter,
    /// Output head; `None` if it is tied to the embedding.
    pub(crate) head: Option<Parameter>,
    pub(crate) adapter: Option<LoraConfig>,
    /// A tensor of the adapter that has changed the base model; `None` if none has.
    pub(crate) changed_by_adapter: Option<String>,
    /// Digest of the base weights before they were rounded to bf16, or changed by an adapter; `None` if
    /// they were not.
    pub(crate) digest: Option<String>,
    pub(crate) precision: Precision,
}

impl CausalLm {
    /// Returns the model's configuration.
    #[must_use]
    pub const fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Returns the device that holds the model.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the options of the adapter, if one is attached.
    #[must_use]
    pub const fn adapter(&self) -> Option<&LoraConfig> {
        self.adapter.as_ref()
    }

    /// Returns the number formats of the model.
    #[must_use]
    pub const fn precision(&self) -> Precision {
        self.precision
    }

    /// Computes the digest of the weights once, for many comparisons with adapters.
    ///
    /// # Errors
    /// If the weights cannot be read from the device.
    pub fn keep_digest(&mut self) -> Result<(), LmError> {
        self.digest = Some(self.base_digest()?);
        Ok(())
    }

    /// Computes with `precision` from now on, and rounds the frozen matrices to it. A model that is
    /// less exact already stays as it is. The digest of the model remains that of the original
    /// weights, so that an adapter still matches its base.
    ///
    /// # Errors
    /// If the device does not support bf16, or cannot be read.
    pub fn lower_precision(&mut self, precision: Precision) -> Result<(), LmError> {
        check_precision(precision, &self.device)?;
        if precision <= self.precision {
            return Ok(());
        }
        self.keep_digest()?;
        for parameter in self.parameters_mut() {
            let of_adapter = parameter.name().contains(".lora_");
            if !of_adapter && !parameter.is_vector() && !parameter.is_trainable() {
                parameter.value = parameter.get(false).cast(DType::BF16);
            }
        }
        self.precision = precision;
        Ok(())
    }

    /// Returns all parameters in the order of a checkpoint; a linear layer's adapter follows its
    /// weight and bias.
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

    /// Returns all parameters as mutable references, in the order of [`Self::parameters`].
    pub fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        let mut all = vec![&mut self.embedding];
        for block in &mut self.blocks {
            block.parameters_mut(&mut all);
        }
        all.push(&mut self.norm);
        all.extend(&mut self.head);
        all
    }

    /// Returns the shape of a weight, or `None` if there is none; a tied head has that of the embedding.
    pub(crate) fn shape_of(&self, name: &str) -> Option<Vec<usize>> {
        let own = self.parameters().into_iter().find(|p| p.name() == name);
        let tied = (name == HEAD).then_some(&self.embedding);
        own.or(tied).map(|parameter| parameter.shape().to_vec())
    }

    /// Gives the head a weight of its own, equal to the embedding, if it is tied to it.
    pub(crate) fn untie(&mut self) {
        if self.head.is_none() {
            self.config.tie_word_embeddings = false;
            self.head = Some(self.embedding.renamed(HEAD));
        }
    }

    /// Replaces a weight by another of its name; one of a tied head replaces the embedding.
    pub(crate) fn replace(&mut self, weight: Parameter) {
        let name = weight.name().to_owned();
        let is_tied = name == HEAD && self.head.is_none();
        let wanted = if is_tied { EMBEDDING } else { name.as_str() };
        if let Some(own) = self
            .parameters_mut()
            .into_iter()
            .find(|p| p.name() == wanted)
        {
            own.set(weight.get(false));
        }
    }

    /// Sets which parameters are trained.
    pub fn set_trained_part(&mut self, trained: TrainedPart) {
        for parameter in self.parameters_mut() {
            let of_adapter = parameter.name().contains(".lora_");
            parameter.set_trainable(match trained {
                TrainedPart::Nothing => false,
                TrainedPart::Adapter => of_adapter,
                TrainedPart::Everything => !of_adapter,
            });
        }
    }

    /// Clones the model with separate gradient tracking, so that several backward passes can run at
    /// the same time.
    fn fork(&self) -> Self {
        let mut fork = self.clone();
        let trained = fork.parameters_mut().into_iter();
        trained
            .filter(|parameter| parameter.is_trainable())
            .for_each(|parameter| parameter.set_trainable(true));
        fork
    }

    /// Returns the number of trained scalars.
    #[must_use]
    pub fn trainable_count(&self) -> usize {
        let trained = self.parameters().into_iter().filter(|p| p.is_trainable());
        trained.map(|p| p.shape().iter().product::<usize>()).sum()
    }

    /// Creates a cache of keys and values, with room for `capacity` tokens in each row.
    pub(crate) fn new_cache(&self, rows: usize, capacity: usize) -> Cache {
        let place = (&self.device, activations(self.precision));
        Cache::new(&self.config, [rows, capacity], place)
    }

    /// Returns the embeddings of a batch, `[rows * tokens, hidden]`.
    pub(crate) fn embed(&self, batch: &Batch, pass: ForwardOptions) -> Tensor<2> {
        let ids = indices(batch.ids().iter().map(|id| *id as usize), &self.device);
        self.embed_ids(ids, pass)
    }

    /// Returns the embeddings of token ids, `[n, hidden]`.
    pub(crate) fn embed_ids(&self, ids: Tensor<1, Int>, pass: ForwardOptions) -> Tensor<2> {
        let rows = self.embedding.get(pass.track).select(0, ids);
        rows.cast(activations(self.precision))
    }

    /// Returns the hidden states after the last norm, `[rows * tokens, hidden]`, to which the head
    /// is applied.
    #[must_use]
    pub fn hidden_states(&self, batch: &Batch, pass: ForwardOptions) -> Tensor<2> {
        self.hidden_states_observed(batch, pass, |_| ())
    }

    /// Returns the same as [`Self::hidden_states`], and calls `observe` with the embeddings and with the
    /// output of each layer before the last norm.
    #[must_use]
    pub fn hidden_states_observed(
        &self,
        batch: &Batch,
        pass: ForwardOptions,
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

    pub(crate) fn last_norm(&self, x: Tensor<2>, pass: ForwardOptions) -> Tensor<2> {
        layers::rms_norm(x, self.norm.get(pass.track), self.config.rms_norm_eps)
    }

    /// Returns the logits of a batch, `[rows, tokens, vocabulary]`. The logits at padding are
    /// meaningless.
    #[must_use]
    pub fn forward(&self, batch: &Batch, pass: ForwardOptions) -> Tensor<3> {
        let logits = self.logits(self.hidden_states(batch, pass), pass);
        logits.reshape([batch.rows(), batch.tokens(), self.config.vocab_size])
    }

    /// Applies the head to hidden states: `[n, hidden]` to `[n, vocabulary]`, in f32.
    #[must_use]
    pub fn logits(&self, hidden: Tensor<2>, pass: ForwardOptions) -> Tensor<2> {
        matmul_weight(hidden, self.head_weight(pass)).cast(DType::F32)
    }

    /// Returns the weight of the head, `[vocabulary, hidden]`.
    pub(crate) fn head_weight(&self, pass: ForwardOptions) -> Tensor<2> {
        self.head
            .as_ref()
            .unwrap_or(&self.embedding)
            .get(pass.track)
    }
}
