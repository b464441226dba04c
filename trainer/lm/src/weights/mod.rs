//! Weights in safetensors files: names and shapes of a model's tensors, reading and writing.

mod names;
mod read;
mod write;

pub(crate) use names::linear_shape;
pub(crate) use names::{
    BLOCK_LINEARS, EMBEDDING, FINAL_NORM, HEAD, Initializer, KEY_NORM, PREFIX, QUERY_NORM,
};
pub use names::{TensorSpec, tensor_specs};
pub(crate) use read::{Tensors, read_checkpoint, read_file, read_metadata};
pub use write::StoredDtype;
pub(crate) use write::{safetensors_bytes, write_tensors};
