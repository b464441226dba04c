//! The part of tensors that compact policies and language models share: their device, numbers to it
//! and back, and AdamW with its moments.
//!
//! It must never know a model, an algorithm, a file or a world, and it compiles for wasm32. burn's
//! features for threads, wide vectors and devices are switched on here, for all crates. Without the
//! feature `burn` only plain data is left: names of devices, options and moments of AdamW.
//!
//! Read `adamw.rs` first.

pub mod adamw;
pub mod device;
#[cfg(feature = "burn")]
mod product_check;
mod transfer;

#[cfg(feature = "burn")]
pub use burn::tensor::Device;
#[cfg(feature = "burn")]
pub use product_check::ProductCheck;
pub use transfer::DeviceReadError;
#[cfg(feature = "burn")]
pub use transfer::{matrix, numbers};
