//! The loops of a transformer on a processor, over slices of `f32`: matrix products, norms, rotations,
//! gated units, attention weights and the log-probabilities of tokens, with their gradients.
//!
//! Each function makes one pass where a tensor library makes one for every operation, and is compiled
//! for the vectors of the processor at hand. The crate is separate so that a development build can
//! optimize it. It must never know a tensor library; [`Rows`] describes the layout of an input. Read
//! `norm.rs` first.
//!
//! The order of additions depends on lengths only, not on the processor. Between the matrix products, multiplications
//! and additions are not fused, in them they always are ([`has_fma`]), so that all vector
//! widths give the same bits.

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

/// Returns `true` if the processor fuses a multiplication and an addition (AVX2 or AVX-512 with FMA, NEON). On others the
/// products of this crate give the same bits, but many times as slowly as those of a tensor library.
#[must_use]
pub fn has_fma() -> bool {
    !matches!(pulp::Arch::new(), pulp::Arch::Scalar)
}
