//! Language models: Qwen2 and Qwen2.5 on burn.

pub mod config;
mod error;
pub mod lora;
mod model;
mod parameter;
mod random;
mod weights;

pub use config::{GenerationDefaults, ModelConfig};
pub use error::LmError;
pub use lora::{BaseCheck, Lora, LoraConfig, MergeReport, Target};
pub(crate) use model::LoraPair;
pub use model::{Batch, Entropy, Pass, Picks, Qwen2, TokenLogProbs, Trained};
pub use parameter::{Grads, Parameter};
