//! Sums of products of a few rows with a panel of columns: the innermost loop of all products.
//!
//! A panel holds 32 columns of a factor: for each input, its 32 numbers. They are read once for several rows, whose sums
//! stay in registers. Products and sums are fused, with one rounding for each input, in the order of the inputs, so
//! results depend neither on the processor nor on other rows or columns.

use pulp::{Simd, WithSimd};

/// Number of columns in a panel.
pub(crate) const PANEL: usize = 32;

/// A computation of `ROWS` rows and `VECTORS` vectors of columns at a time.
pub(crate) trait Blocks {
    fn compute<S: Simd, const ROWS: usize, const VECTORS: usize>(self, simd: S);
}

/// Blocks as large as fit the registers: 16 sums of 32 registers with AVX-512, 8 of 16 with AVX2.
pub(crate) struct InRegisters<T>(pub(crate) T);

impl<T: Blocks> WithSimd for InRegisters<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::F32_LANES >= 16 {
            self.0.compute::<S, 8, 2>(simd);
        } else {
            self.0.compute::<S, 4, 2>(simd);
        }
    }
}

/// Returns the rows of a matrix from `first` on. Rows that are missing repeat the last of `count`.
#[inline(always)]
pub(crate) fn rows_from<const ROWS: usize>(
    matrix: &[f32],
    width: usize,
    [first, count]: [usize; 2],
) -> [&[f32]; ROWS] {
    std::array::from_fn(|at| &matrix[(first + at).min(count - 1) * width..][..width])
}

/// A number of a panel.
pub(crate) trait Weight: Copy {
    /// Adds the products of a panel's weights to `sums`: for each row of `xs` the columns from `first` on.
    fn add_products<S: Simd, const ROWS: usize, const VECTORS: usize>(
        simd: S,
        panel: &[Self],
        first: usize,
        xs: [&[f32]; ROWS],
        sums: &mut [[S::f32s; VECTORS]; ROWS],
    );
}

/// The weight of one input.
impl Weight for f32 {
    #[inline(always)]
    fn add_products<S: Simd, const ROWS: usize, const VECTORS: usize>(
        simd: S,
        panel: &[Self],
        first: usize,
        xs: [&[f32]; ROWS],
        sums: &mut [[S::f32s; VECTORS]; ROWS],
    ) {
        let (panel, _) = panel.as_chunks::<PANEL>();
        for (input, weights) in panel.iter().enumerate() {
            let (weights, _) = S::as_simd_f32s(&weights[first..]);
            for row in 0..ROWS {
                let x = simd.splat_f32s(xs[row][input]);
                for vector in 0..VECTORS {
                    sums[row][vector] = simd.mul_add_f32s(x, weights[vector], sums[row][vector]);
                }
            }
        }
    }
}

/// The weights of two inputs in bf16, that of the first in the lower half.
impl Weight for u32 {
    #[inline(always)]
    fn add_products<S: Simd, const ROWS: usize, const VECTORS: usize>(
        simd: S,
        panel: &[Self],
        first: usize,
        xs: [&[f32]; ROWS],
        sums: &mut [[S::f32s; VECTORS]; ROWS],
    ) {
        let (panel, _) = panel.as_chunks::<PANEL>();
        let (half, upper) = (simd.splat_u32s(16), simd.splat_u32s(0xffff_0000));
        for (pair, weights) in panel.iter().enumerate() {
            let (weights, _) = S::as_simd_u32s(&weights[first..]);
            let mut values = [[simd.splat_f32s(0.0); VECTORS]; 2];
            for vector in 0..VECTORS {
                let lower = simd.wrapping_dyn_shl_u32s(weights[vector], half);
                values[0][vector] = simd.transmute_f32s_u32s(lower);
                let upper = simd.and_u32s(weights[vector], upper);
                values[1][vector] = simd.transmute_f32s_u32s(upper);
            }
            for (of_pair, values) in values.iter().enumerate() {
                for row in 0..ROWS {
                    // The second weight of a last single input is zero.
                    let x = xs[row].get(2 * pair + of_pair).copied().unwrap_or(0.0);
                    let x = simd.splat_f32s(x);
                    for vector in 0..VECTORS {
                        sums[row][vector] = simd.mul_add_f32s(x, values[vector], sums[row][vector]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    /// Returns different numbers between -0.5 and 0.5.
    pub(crate) fn numbers(count: usize, seed: usize) -> Vec<f32> {
        let number = |at: usize| ((at * 37 + seed * 11) % 101) as f32 / 101.0 - 0.5;
        (0..count).map(number).collect()
    }
}
