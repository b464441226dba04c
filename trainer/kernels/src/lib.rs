//! The loops between the matrix products of a transformer, over slices of `f32`: norms, rotations,
//! gated units, attention weights and the log-probabilities of tokens, with their gradients.
//!
//! Each function makes one pass where a tensor library makes one for every operation, and is compiled
//! for the vectors of the processor at hand. The crate is separate so that a development build can
//! optimize it. It knows no tensor library; [`Rows`] describes the layout of an input.
//!
//! The order of additions depends on lengths only, not on the processor. Products and sums are not
//! fused, so that all vector widths give the same bits.

mod attention;
mod elementwise;
mod exp;
mod heads;
mod norm;
mod tokens;

pub use attention::{
    CachedAttention, CachedHeads, cached_attention, masked_softmax, masked_softmax_backward,
};
pub use elementwise::{swiglu, swiglu_backward};
pub use heads::{HeadLayout, Rotation, merge_heads, split_heads};
pub use norm::{rms_norm, rms_norm_backward};
pub use tokens::{TokenStats, exp_sum, token_stats, token_stats_backward, weights};

/// A matrix whose rows are contiguous, but not necessarily next to each other.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f32],
    stride: usize,
    width: usize,
}

impl<'a> Rows<'a> {
    /// Creates a matrix of rows of `width` numbers, each `stride` after the one before; `None` if the
    /// rows overlap or are empty.
    #[must_use]
    pub const fn new(values: &'a [f32], stride: usize, width: usize) -> Option<Self> {
        if width == 0 || stride < width {
            return None;
        }
        Some(Self {
            values,
            stride,
            width,
        })
    }

    /// Returns the number of columns.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Iterates over the rows. A last row that is too short is left out.
    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = &'a [f32]> {
        let width = self.width;
        let rows = self.values.chunks(self.stride);
        rows.filter_map(move |row| row.get(..width))
    }
}

/// Number of sums that a reduction adds up separately.
const LANES: usize = 16;

/// Returns the sum of `f(a, b)` over the pairs of two slices of the same length.
#[inline(always)]
fn sum_pairs(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let (a_vectors, a_rest) = a.as_chunks::<LANES>();
    let (b_vectors, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a_vectors.iter().zip(b_vectors) {
        for lane in 0..LANES {
            sums[lane] += f(a[lane], b[lane]);
        }
    }
    for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += f(*a, *b);
    }
    sum_lanes(sums)
}

/// Returns the sum of `f(x)` over a slice.
#[inline(always)]
fn sum(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (vectors, rest) = x.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for x in vectors {
        for lane in 0..LANES {
            sums[lane] += f(x[lane]);
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += f(*x);
    }
    sum_lanes(sums)
}

/// Returns the largest number of a slice; negative infinity if there is none.
#[inline(always)]
fn largest(x: &[f32]) -> f32 {
    let (vectors, rest) = x.as_chunks::<LANES>();
    let mut most = [f32::NEG_INFINITY; LANES];
    for x in vectors {
        for lane in 0..LANES {
            most[lane] = if x[lane] > most[lane] {
                x[lane]
            } else {
                most[lane]
            };
        }
    }
    let all = most.into_iter().chain(rest.iter().copied());
    all.fold(f32::NEG_INFINITY, f32::max)
}

#[inline(always)]
fn sum_lanes(mut sums: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}
