//! What a checkpoint's JSON files say: the model's shape and how it wants to be sampled.

mod fields;
mod generation;
mod model;
mod tokens;

pub(crate) use fields::Fields;
pub use generation::GenerationDefaults;
pub use model::ModelConfig;
pub(crate) use tokens::special_tokens;
