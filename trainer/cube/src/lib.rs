//! Kernels of a language model for graphics processors. Each replaces several operations of the tensor library, or one that
//! uses only a few threads.
//!
//! A kernel is written once, for f32 and bf16, and runs on CUDA and wgpu. Sums and functions are computed in f32, and
//! stored in the format of the activations. Every function returns `None` for tensors on the CPU, for shapes that do
//! not fit together or are too large, and, except `matmul_weight`, for tensors with gradients. The caller then uses the
//! operations of the tensor library.
//!
//! It knows shapes and numbers, and no model. Read `products` first, then one kernel of `rows`.
#![cfg(feature = "device")]

mod block;
mod device_tensor;
mod heads;
mod products;
mod rows;
mod vocabulary;

pub use heads::{masked_softmax, split_heads};
pub use products::matmul_weight;
pub use rows::{rms_norm, swiglu};
pub use vocabulary::{SamplingOptions, logit_grads, sample, token_stats};
