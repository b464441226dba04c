//! Language models: Qwen2 and Qwen2.5 on burn.

pub mod chat;
pub mod config;
mod error;
mod generate;
pub mod lora;
mod model;
mod optimizer;
mod parameter;
mod random;
mod source;
mod tokenizer;
mod weights;

pub use chat::{ChatTemplate, Message, Rendered};
pub use config::{GenerationDefaults, ModelConfig};
pub use error::LmError;
pub use generate::{Completion, GenerateOptions, Sampling};
pub use lora::{BaseCheck, Lora, LoraConfig, MergeReport, Target};
pub(crate) use model::LoraPair;
pub use model::{Batch, Entropy, Pass, Picks, Qwen2, TokenLogProbs, Trained};
pub use optimizer::{AdamOptions, Moments, Optimizer};
pub use parameter::{Grads, Parameter};
pub use source::{HubOptions, find_model};
pub use tokenizer::{Encoded, Tokenizer, check_prompts};
