//! The loops between the matrix products of a transformer, over slices of `f32`: norms, rotations,
//! gated units, attention weights and the log-probabilities of tokens, with their gradients.
//!
//! Each function makes one pass where a tensor library makes one for every operation, and is compiled
//! for the vectors of the processor at hand. The crate is separate so that a development build can
//! optimize it. It must never know a tensor library; [`Rows`] describes the layout of an input. Read
//! `norm.rs` first.
//!
//! The order of additions depends on lengths only, not on the processor. Products and sums are not
//! fused, so that all vector widths give the same bits.

mod attention;
mod elementwise;
mod exp;
mod heads;
mod linear;
mod matmul;
mod norm;
mod packed;
mod panels;
mod reduce;
mod rows;
mod tokens;

pub use attention::{
    CachedAttention, CachedHeads, cached_attention, masked_softmax, masked_softmax_backward,
};
pub use elementwise::{swiglu, swiglu_backward};
pub use heads::{HeadLayout, Rotation, merge_heads, split_heads};
pub use linear::{Adapter, LinearShape, adapted_linear};
pub use matmul::{Factors, matmul, transpose};
pub use norm::{rms_norm, rms_norm_backward};
pub use packed::PackedWeight;
pub use rows::Rows;
pub use tokens::{TokenStats, exp_sum, token_stats, token_stats_backward, weights};
