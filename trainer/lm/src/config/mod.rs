//! The JSON files of a checkpoint: model configuration and suggested sampling parameters.

mod fields;
mod generation;
mod model;
mod model_type;
mod rope;
mod tokens;

pub(crate) use fields::Fields;
pub use generation::GenerationDefaults;
pub use model::ModelConfig;
pub use model_type::ModelType;
pub use rope::{Llama3RopeScaling, RopeScaling, YarnRopeScaling};
pub use tokens::special_tokens;
