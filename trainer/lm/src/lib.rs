//! Language models of the families Qwen2, Qwen3 and Llama ([`ModelType`]) on burn, with LoRA, in
//! Hugging Face's file formats.
//!
//! It must never know a world, an episode or an algorithm. Read `model/mod.rs` first: the decoder,
//! whose layers are in `model/layers.rs`. `weights/` and `config/` read the files of a checkpoint,
//! `generate/` samples, `lora/` is the adapter. To add a family of models: a variant of [`ModelType`]
//! in `config/model_type.rs`, what its `config.json` says in `config/model.rs`, its tensors in
//! `weights/names.rs`, and its block twice, in `model/layers.rs` and `model/decode.rs`
//! (`docs/how-to/extend-the-trainer.md`).
//!
//! The items in the order in which a trainer needs them:
//!
//! * Model: [`find_model`] (local folder, Hugging Face's cache, the Hub), then [`CausalLm::load`], or
//!   [`CausalLm::initialize`] for a new one. [`CausalLm::save`] writes it.
//! * Files of other programs: [`gguf::GgufModel`] reads a GGUF file and writes it as a folder.
//! * Text: [`Tokenizer::load`], [`Tokenizer::check_fits`], and [`Tokenizer::encode_chat`], which
//!   also returns the mask of the assistant's tokens.
//! * Trained parameters: [`Lora::attach`] or [`Lora::load`] adds an adapter to the linear layers;
//!   [`CausalLm::set_trained_part`] selects whether the adapter, all base weights or nothing is trained.
//! * Passes: a [`Batch`] (padded on either side) and a [`ForwardOptions`]: [`ForwardOptions::training`] records
//!   gradients and applies dropout, [`ForwardOptions::EVALUATION`] does neither, and [`ForwardOptions::REFERENCE`] also
//!   disables the adapter, which gives the reference model of a KL term. [`CausalLm::forward`] returns
//!   all logits; [`CausalLm::hidden_states`] with [`CausalLm::token_logprobs`] applies the head to selected
//!   tokens ([`TokenSelection`]) only.
//! * Completions: [`CausalLm::generate`], with the log-probabilities that a training pass would
//!   compute.
//! * Gradients: [`CausalLm::backward`] of a loss, or [`CausalLm::backward_by_block`], which returns the
//!   same gradients while it keeps the activations of one layer in memory. [`CausalLm::token_gradients`]
//!   takes the derivatives of a loss with respect to log-probabilities, as the crate `sentinel-rl` computes them,
//!   and never holds the logits of all tokens. [`Grads::add`] sums over micro-batches.
//! * Steps: [`Optimizer::step`] is AdamW after clipping by the global norm; [`Optimizer::moments`]
//!   exports its state for checkpoints. [`CausalLm::parameters`] and [`Grads::get`] use the same
//!   order.
//! * Results: [`Lora::save`] writes PEFT's layout, [`Lora::merge_into`] a plain checkpoint.
//!
//! Weights are converted to f32 on loading, whatever type a checkpoint has;
//! [`CausalLm::lower_precision`] then rounds the frozen matrices, or also computes, in bf16.
//!
//! ```no_run
//! use burn::tensor::Device;
//! use sentinel_lm::*;
//!
//! # fn main() -> Result<(), LmError> {
//! let folder = find_model("Qwen/Qwen2.5-0.5B-Instruct", &HubOptions::from_environment())?.folder;
//! let mut model = CausalLm::load(&folder, &Device::flex())?;
//! let tokenizer = Tokenizer::load(&folder)?;
//! tokenizer.check_fits(model.config())?;
//! Lora::attach(&mut model, LoraConfig::default(), 0)?;
//! let mut optimizer = Optimizer::new(&AdamOptions::default());
//!
//! let chat = [Message::new("user", "2+2?"), Message::new("assistant", "4")];
//! let row = tokenizer.encode_chat(&chat, None, false)?;
//! let batch = Batch::left_padded(model.config(), &[row.ids], 0)?;
//! let chosen: Vec<bool> = (0..batch.tokens()).map(|at| at > 0).collect();
//! let (selection, pass) = (TokenSelection::new(&batch, &chosen)?, ForwardOptions::training(0));
//! let (loss, grads) = model.backward_by_block(&batch, pass, |hidden| {
//!     let found = model.token_logprobs(hidden, &selection, 1.0, Entropy::Skipped, pass);
//!     Ok(found.logps.mean().neg())
//! })?;
//! optimizer.step(&mut model, grads, 1e-4)?;
//! # let _ = loss;
//! # Ok(())
//! # }
//! ```

pub mod chat;
pub mod companion_files;
pub mod config;
mod error;
mod generate;
pub mod gguf;
pub mod init;
pub mod lora;
pub mod model;
mod optimizer;
pub mod parallel;
pub(crate) mod parameter;
mod source;
mod special_tokens;
pub(crate) mod stop_tokens;
mod tokenizer;
mod tokenizer_class;
mod vocabulary_files;
pub mod weights;

pub use chat::{ChatTemplate, ChatTemplateKwargs, Message, Rendered};
pub use companion_files::tokenizer_folder;
pub use config::{
    GenerationDefaults, Llama3RopeScaling, ModelConfig, ModelType, RopeScaling, YarnRopeScaling,
};
pub use error::LmError;
pub use generate::{
    Choices, Completion, GenerateOptions, Generator, PreparedLayers, Sampler, Sampling,
};
pub use lora::{BaseCheck, Lora, LoraConfig, MergeReport, ModuleNames, Target};
pub(crate) use model::LoraPair;
pub use model::{
    Batch, CausalLm, Entropy, ForwardOptions, HeadOptions, Segment, TokenGrads, TokenLogProbs,
    TokenSelection, TokenValues, TrainedPart, check_precision,
};
pub use optimizer::Optimizer;
pub use parameter::{Grads, Parameter};
pub use sentinel_base::precision::Precision;
pub use sentinel_tensor::adamw::{AdamOptions, Moments};
pub use source::{FoundModel, HubOptions, find_model};
pub use stop_tokens::StopTokens;
pub use stop_tokens::load_tokenizer;
pub use tokenizer::{Encoded, EncodedText, Tokenizer};
