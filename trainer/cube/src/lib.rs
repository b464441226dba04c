//! Kernels of a language model for graphics processors. Each replaces several operations of the tensor library, or one that
//! uses only a few threads.
//!
//! A kernel is written once, for f32 and bf16, and runs on CUDA and wgpu. Sums and functions are computed in f32, and
//! stored in the format of the activations. Functions of `adapter`, `heads`, `products` and `rows` record gradients. Every
//! function returns `None` for tensors on the CPU, for shapes that do not fit together or are too large, and, without a
//! gradient of its own, for tensors that have one; the caller then uses the operations of the tensor library.
//!
//! It knows shapes and numbers, and no model. Read `products` first, then one kernel of `rows`.
#![cfg(feature = "device")]

mod adamw;
mod adapter;
mod autodiff;
mod block;
mod decode;
mod device_tensor;
mod heads;
mod products;
mod rows;
mod state;
mod vocabulary;

pub use adamw::{AdamWStep, adamw, sums_of_squares};
pub use adapter::adapted_linear;
pub use decode::{DecodePlaces, KeysAndValues, append_token, cached_attention};
pub use heads::{masked_softmax, split_heads};
pub use products::matmul_weight;
pub use rows::{add_rms_norm, rms_norm, swiglu, swiglu_of_joined};
pub use state::{StateOfRows, StepState};
pub use vocabulary::{SamplingOptions, logit_grads, sample, token_stats};
