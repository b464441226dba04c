//! Low-rank adapters (LoRA, arXiv:2106.09685) beside the linear layers of a model, in PEFT's files.

mod attach;
mod config;
mod files;
mod merge;

pub use config::{LoraConfig, Target};
pub(crate) use files::ADAPTER_FILES;
pub use files::BaseCheck;
pub(crate) use merge::COMPANIONS;
pub use merge::MergeReport;

/// Adapters of a model: [`Self::attach`] a new one, [`Self::load`] a saved one, [`Self::save`] it,
/// or [`Self::merge_into`] a checkpoint of its own.
#[derive(Clone, Copy, Debug)]
pub struct Lora;
