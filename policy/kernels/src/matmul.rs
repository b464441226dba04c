//! Products of matrices, for training: both factors can be read as they are or transposed.
//!
//! A tile of the product stays in registers while it is summed. Each element is the sum over the
//! inner index in its order, in `f32` without fused multiply-add, so that all targets give the same
//! bits.

use wide::f32x4;

/// The number of rows of a tile.
const ROWS: usize = 4;
/// The number of columns of a tile.
const COLUMNS: usize = 8;

/// A matrix in a slice, row by row.
#[derive(Clone, Copy, Debug)]
pub struct MatrixView<'a> {
    values: &'a [f32],
    /// The number of rows and columns, after transposition.
    shape: [usize; 2],
    transposed: bool,
}

impl<'a> MatrixView<'a> {
    /// Views `values`, which are stored row by row, as a matrix of `shape`.
    ///
    /// # Panics
    /// If their number is another one.
    #[must_use]
    pub fn new(values: &'a [f32], shape: [usize; 2]) -> Self {
        assert_eq!(values.len(), shape[0] * shape[1], "a matrix of {shape:?}");
        Self {
            values,
            shape,
            transposed: false,
        }
    }

    /// Returns the transposed matrix, in the same slice.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self {
            values: self.values,
            shape: [self.shape[1], self.shape[0]],
            transposed: !self.transposed,
        }
    }

    /// Copies the matrix into panels of [`COLUMNS`] columns, one after the other; the last one is
    /// filled up with zeros.
    fn panels(&self) -> Vec<[f32; COLUMNS]> {
        let [rows, columns] = self.shape;
        let mut panels = vec![[0.0; COLUMNS]; columns.div_ceil(COLUMNS) * rows];
        for (index, panel) in panels.chunks_exact_mut(rows.max(1)).enumerate() {
            let first = index * COLUMNS;
            let count = COLUMNS.min(columns - first);
            if self.transposed {
                let stored = self.values[first * rows..].chunks_exact(rows);
                for (column, stored) in stored.take(count).enumerate() {
                    for (row, value) in panel.iter_mut().zip(stored) {
                        row[column] = *value;
                    }
                }
            } else {
                for (row, stored) in panel.iter_mut().zip(self.values.chunks_exact(columns)) {
                    row[..count].copy_from_slice(&stored[first..first + count]);
                }
            }
        }
        panels
    }

    /// Computes `R` rows from `first` of the product with a panel.
    #[inline(always)]
    fn tile<const R: usize>(&self, first: usize, panel: &[[f32; COLUMNS]]) -> [[f32; COLUMNS]; R] {
        let [rows, inner] = self.shape;
        let mut sums = [[f32x4::ZERO; 2]; R];
        if self.transposed {
            for (stored, b) in self.values.chunks_exact(rows).zip(panel) {
                if let Some(a) = stored[first..].first_chunk::<R>() {
                    add_products(a, b, &mut sums);
                }
            }
        } else {
            let mut rows = [&self.values[..inner]; R];
            for (row, stored) in rows
                .iter_mut()
                .zip(self.values[first * inner..].chunks_exact(inner))
            {
                *row = stored;
            }
            for (index, b) in panel.iter().enumerate() {
                let mut a = [0.0; R];
                for (a, row) in a.iter_mut().zip(&rows) {
                    *a = row[index];
                }
                add_products(&a, b, &mut sums);
            }
        }
        let mut tile = [[0.0; COLUMNS]; R];
        for (tile, [low, high]) in tile.iter_mut().zip(sums) {
            tile[..4].copy_from_slice(&low.to_array());
            tile[4..].copy_from_slice(&high.to_array());
        }
        tile
    }
}

/// Computes the product `a b`, row by row.
///
/// # Panics
/// If the columns of `a` are not as many as the rows of `b`.
#[must_use]
#[inline(never)]
pub fn product(a: MatrixView<'_>, b: MatrixView<'_>) -> Vec<f32> {
    let ([rows, inner], [other, columns]) = (a.shape, b.shape);
    assert_eq!(inner, other, "{:?} times {:?}", a.shape, b.shape);
    let mut out = vec![0.0; rows * columns];
    if inner == 0 {
        return out;
    }
    for (index, panel) in b.panels().chunks_exact(inner).enumerate() {
        let column = index * COLUMNS;
        let count = COLUMNS.min(columns - column);
        let mut row = 0;
        while row + ROWS <= rows {
            let tile = a.tile::<ROWS>(row, panel);
            for (offset, sums) in tile.iter().enumerate() {
                let start = (row + offset) * columns + column;
                out[start..start + count].copy_from_slice(&sums[..count]);
            }
            row += ROWS;
        }
        for row in row..rows {
            let [sums] = a.tile::<1>(row, panel);
            let start = row * columns + column;
            out[start..start + count].copy_from_slice(&sums[..count]);
        }
    }
    out
}

/// Adds the products of `R` values with a row of a panel to as many sums.
#[inline(always)]
fn add_products<const R: usize>(a: &[f32; R], b: &[f32; COLUMNS], sums: &mut [[f32x4; 2]; R]) {
    let [b0, b1, b2, b3, b4, b5, b6, b7] = *b;
    let (low, high) = (f32x4::new([b0, b1, b2, b3]), f32x4::new([b4, b5, b6, b7]));
    for (sums, a) in sums.iter_mut().zip(a) {
        let a = f32x4::splat(*a);
        sums[0] += a * low;
        sums[1] += a * high;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers between -1 and 1 without a pattern.
    fn values(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn transposed(values: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
        let of = |index: usize| values[index % rows * columns + index / rows];
        (0..rows * columns).map(of).collect()
    }

    /// Every size of a tile's rest, in all four ways to store the factors, has the bits of a plain
    /// loop.
    #[test]
    fn product_has_bits_of_plain_loop() {
        for rows in [1, 3, 4, 9] {
            for inner in [0, 1, 5] {
                for columns in [1, 7, 8, 17] {
                    let a = values(rows * inner, 1);
                    let b = values(inner * columns, 2);
                    let mut wanted = vec![0.0_f32; rows * columns];
                    for (index, sum) in wanted.iter_mut().enumerate() {
                        for at in 0..inner {
                            *sum +=
                                a[index / columns * inner + at] * b[at * columns + index % columns];
                        }
                    }
                    let (at, bt) = (
                        transposed(&a, [rows, inner]),
                        transposed(&b, [inner, columns]),
                    );
                    let left = [
                        MatrixView::new(&a, [rows, inner]),
                        MatrixView::new(&at, [inner, rows]).transposed(),
                    ];
                    let right = [
                        MatrixView::new(&b, [inner, columns]),
                        MatrixView::new(&bt, [columns, inner]).transposed(),
                    ];
                    for a in left {
                        for b in right {
                            assert_eq!(product(a, b), wanted, "{rows} x {inner} x {columns}");
                        }
                    }
                }
            }
        }
    }
}
