//! Matrix products whose right factor is in row-major order.

use pulp::{Arch, Simd};

use crate::panels::{Blocks, InRegisters, PANEL, Weight, rows_from};

/// Largest number of inputs in a panel, which then fits the second-level cache.
const MAX_INPUTS: usize = 2048;

/// Two factors of a product.
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a> {
    /// Left factor, `[rows, inputs]`.
    pub left: &'a [f32],
    /// Right factor, `[inputs, width]`.
    pub right: &'a [f32],
    /// Number of columns of the left factor, which are summed over.
    pub inputs: usize,
}

/// Computes the sum of products, `[rows, width]`.
///
/// Every number is summed over at most 2048 inputs in order, with one rounding for each, and such sums are added in order.
///
/// # Panics
/// If a length does not fit the shape.
pub fn matmul(products: &[Factors<'_>], width: usize, out: &mut [f32]) {
    let Some(rows) = out.len().checked_div(width) else {
        assert!(out.is_empty(), "rows");
        return;
    };
    assert_eq!(out.len(), rows * width, "rows");
    for product in products {
        assert_eq!(product.left.len(), rows * product.inputs, "left factor");
        assert_eq!(product.right.len(), product.inputs * width, "right factor");
    }
    if rows == 0 || products.iter().all(|product| product.inputs == 0) {
        out.fill(0.0);
        return;
    }
    Arch::new().dispatch(InRegisters(Matmul {
        groups: &groups(products),
        rows,
        width,
        out,
    }));
}

/// Returns the transpose of a matrix, `[rows, columns]`.
#[must_use]
pub fn transpose(matrix: &[f32], columns: usize) -> Vec<f32> {
    let of_column = |column| matrix.iter().skip(column).step_by(columns).copied();
    (0..columns).flat_map(of_column).collect()
}

/// Inputs of a product from `first` on.
#[derive(Clone, Copy)]
struct Inputs<'a> {
    product: Factors<'a>,
    first: usize,
    count: usize,
}

/// Divides the inputs of all products into groups of at most [`MAX_INPUTS`].
fn groups<'a>(products: &[Factors<'a>]) -> Vec<Vec<Inputs<'a>>> {
    let (mut groups, mut room) = (vec![Vec::new()], MAX_INPUTS);
    for product in products {
        let mut first = 0;
        while first < product.inputs {
            if room == 0 {
                groups.push(Vec::new());
                room = MAX_INPUTS;
            }
            let count = room.min(product.inputs - first);
            if let Some(group) = groups.last_mut() {
                group.push(Inputs {
                    product: *product,
                    first,
                    count,
                });
            }
            (first, room) = (first + count, room - count);
        }
    }
    groups
}

struct Matmul<'a> {
    groups: &'a [Vec<Inputs<'a>>],
    rows: usize,
    width: usize,
    out: &'a mut [f32],
}

impl Blocks for Matmul<'_> {
    #[inline(always)]
    fn compute<S: Simd, const ROWS: usize, const VECTORS: usize>(mut self, simd: S) {
        let mut panel = vec![0.0; MAX_INPUTS * PANEL];
        for column in (0..self.width).step_by(PANEL) {
            let is_narrow = self.width - column <= S::F32_LANES;
            for (number, group) in self.groups.iter().enumerate() {
                copy_panel(group, self.width, column, &mut panel);
                let (group, adds) = (group.as_slice(), number > 0);
                let mut row = 0;
                while row < self.rows {
                    let place = [row, column];
                    match self.rows - row {
                        rows if is_narrow && rows > 4 => {
                            self.block::<S, ROWS, 1>(simd, group, &panel, place, adds);
                        }
                        1 => self.block::<S, 1, VECTORS>(simd, group, &panel, place, adds),
                        2 => self.block::<S, 2, VECTORS>(simd, group, &panel, place, adds),
                        3 | 4 => self.block::<S, 4, VECTORS>(simd, group, &panel, place, adds),
                        _ => self.block::<S, ROWS, VECTORS>(simd, group, &panel, place, adds),
                    }
                    row += ROWS;
                }
            }
        }
    }
}

impl Matmul<'_> {
    /// Computes at most `ROWS` rows and 32 columns from a place on, and stores the sums or adds them.
    #[inline(always)]
    fn block<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        group: &[Inputs<'_>],
        panel: &[f32],
        [row, column]: [usize; 2],
        adds: bool,
    ) {
        for first in (0..PANEL).step_by(VECTORS * S::F32_LANES) {
            let Some(count) = self.width.checked_sub(column + first).filter(|n| *n > 0) else {
                return;
            };
            let count = count.min(VECTORS * S::F32_LANES);
            let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
            let mut start = 0;
            for inputs in group {
                let end = start + inputs.count * PANEL;
                let Factors {
                    left,
                    inputs: width,
                    ..
                } = inputs.product;
                let xs: [&[f32]; ROWS] = rows_from(left, width, [row, self.rows]);
                let xs = xs.map(|row| &row[inputs.first..][..inputs.count]);
                f32::add_products(simd, &panel[start..end], first, xs, &mut sums);
                start = end;
            }
            for (at, sums) in sums.iter().enumerate().take(self.rows - row) {
                let start = (row + at) * self.width + column + first;
                let stored = self.out[start..start + count].chunks_mut(S::F32_LANES);
                for (out, sum) in stored.zip(sums) {
                    let sum = if adds {
                        simd.add_f32s(simd.partial_load_f32s(out), *sum)
                    } else {
                        *sum
                    };
                    simd.partial_store_f32s(out, sum);
                }
            }
        }
    }
}

/// Copies the columns of a group's right factors from `column` on. Columns that are missing keep their numbers, which are
/// not used.
#[inline(always)]
fn copy_panel(group: &[Inputs<'_>], width: usize, column: usize, panel: &mut [f32]) {
    let (rows, _) = panel.as_chunks_mut::<PANEL>();
    let mut rows = rows.iter_mut();
    for inputs in group {
        let right = &inputs.product.right[inputs.first * width..][..inputs.count * width];
        for (from, to) in right.chunks_exact(width).zip(rows.by_ref()) {
            match from[column..].first_chunk::<PANEL>() {
                Some(from) => *to = *from,
                None => to[..width - column].copy_from_slice(&from[column..]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::tests::numbers;

    /// Returns the sum of products as the documentation of [`matmul`] says.
    fn plain(products: &[Factors<'_>], rows: usize, width: usize) -> Vec<f32> {
        let number = |at: usize| {
            let (row, column) = (at / width, at % width);
            let terms: Vec<_> = (products.iter())
                .flat_map(|p| {
                    let left = p.left[row * p.inputs..][..p.inputs].iter();
                    left.zip(p.right.iter().skip(column).step_by(width))
                })
                .collect();
            let of_group = |group: &[(&f32, &f32)]| {
                group
                    .iter()
                    .fold(0.0_f32, |sum, (a, b)| a.mul_add(**b, sum))
            };
            terms.chunks(MAX_INPUTS).map(of_group).sum::<f32>()
        };
        (0..rows * width).map(number).collect()
    }

    #[test]
    fn products_equal_plain_sums_bit_for_bit() {
        for (inputs, more, width) in [
            (1, 0, 1),
            (5, 3, 31),
            (64, 16, 33),
            (7, 0, 100),
            (2050, 40, 16),
        ] {
            let (right, other) = (numbers(inputs * width, 1), numbers(more * width, 2));
            for rows in [1, 2, 3, 5, 8, 13] {
                let (left, thin) = (numbers(rows * inputs, 3), numbers(rows * more, 4));
                let products = [
                    Factors {
                        left: &left,
                        right: &right,
                        inputs,
                    },
                    Factors {
                        left: &thin,
                        right: &other,
                        inputs: more,
                    },
                ];
                let mut found = vec![f32::NAN; rows * width];
                matmul(&products, width, &mut found);
                assert_eq!(
                    found,
                    plain(&products, rows, width),
                    "{rows} x {inputs} x {width}"
                );
            }
        }
    }

    #[test]
    fn products_without_columns_or_inputs_are_empty_or_zero() {
        let factors = |inputs| Factors {
            left: &[1.0; 6][..2 * inputs],
            right: &[],
            inputs,
        };
        matmul(&[factors(3)], 0, &mut []);
        let mut out = [f32::NAN; 8];
        matmul(&[factors(0)], 4, &mut out);
        assert_eq!(out, [0.0; 8]);
    }

    #[test]
    fn transpose_exchanges_rows_and_columns() {
        assert_eq!(
            transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3),
            [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
        );
        assert!(transpose(&[], 0).is_empty());
    }
}
