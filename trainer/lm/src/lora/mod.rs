//! Low-rank adapters (LoRA, arXiv:2106.09685) of a model's linear layers, in PEFT's file formats.

mod attach;
mod config;
mod files;
mod merge;
mod modules;
mod pairs;
mod whole_weights;

pub use config::ADAPTER_FILES;
pub use config::{LoraConfig, Target};
pub use files::BaseCheck;
pub use merge::MergeReport;
pub use modules::ModuleNames;

/// Operations on the adapter of a model: [`Self::attach`] a new one, [`Self::load`] a saved one,
/// [`Self::save`] it, or [`Self::merge_into`] a plain checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct Lora;
