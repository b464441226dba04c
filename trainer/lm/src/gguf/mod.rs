//! Import of GGUF files, in which llama.cpp and programs around it keep models: read `import.rs` first.
//!
//! The format is a header of keys and a table of tensors (`header.rs`, `metadata.rs`, `source.rs`), and the numbers,
//! mostly quantized (`tensor_type.rs`). From the keys follow the shape of the model (`shape.rs`) and its tokenizer
//! (`tokenizer.rs`, `pre_tokenizer.rs`). Everything but the numbers is checked before weights are read, and tensors are read and
//! written one after the other.

mod header;
mod import;
mod metadata;
mod names;
mod pre_tokenizer;
mod shape;
mod source;
mod tensor_type;
#[cfg(test)]
mod tests;
mod tokenizer;

pub use import::{GgufModel, GgufOrigin};
