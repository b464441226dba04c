//! The JSON files of a checkpoint: model configuration and suggested sampling parameters.

mod fields;
mod generation;
mod model;
mod tokens;

pub(crate) use fields::Fields;
pub use generation::GenerationDefaults;
pub use model::ModelConfig;
pub(crate) use tokens::special_tokens;
