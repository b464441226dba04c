//! A linear layer with a low-rank adapter.

use pulp::{Arch, Simd};

use crate::panels::{Blocks, InRegisters, PANEL, Weight, rows_from};

/// The sizes of a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearShape {
    /// Numbers in a row of the input.
    pub inputs: usize,
    /// Numbers in a row of the output.
    pub outputs: usize,
    /// Rank of the adapter, 0 without one.
    pub rank: usize,
}

/// The matrices of a low-rank adapter.
#[derive(Clone, Copy, Debug)]
pub struct Adapter<'a> {
    /// Matrix that is applied first, `[rank, inputs]`.
    pub a: &'a [f32],
    /// Matrix that is applied second, `[outputs, rank]`.
    pub b: &'a [f32],
    /// Factor of the product `x Aᵀ Bᵀ`.
    pub scale: f32,
}

/// Computes `x Wᵀ + scale x Aᵀ Bᵀ` for `x`, `[rows, inputs]`, and a weight, `[outputs, inputs]`: writes it to `y`,
/// `[rows, outputs]`, and `scale x Aᵀ` to `thin`, `[rows, rank]`. An adapter of rank 0 is none.
///
/// Every number is summed over the inputs and then over the rank in order, with one rounding for each.
///
/// # Panics
/// If a length does not fit the shape.
pub fn adapted_linear(
    x: &[f32],
    weight: &[f32],
    adapter: Adapter<'_>,
    shape: LinearShape,
    y: &mut [f32],
    thin: &mut [f32],
) {
    let LinearShape {
        inputs,
        outputs,
        rank,
    } = shape;
    let rows = y.len().checked_div(outputs).unwrap_or(0);
    assert_eq!(x.len(), rows * inputs, "input");
    assert_eq!(y.len(), rows * outputs, "output");
    assert_eq!(thin.len(), rows * rank, "thin output");
    assert_eq!(weight.len(), outputs * inputs, "weight");
    assert_eq!(adapter.a.len(), rank * inputs, "A");
    assert_eq!(adapter.b.len(), outputs * rank, "B");
    if inputs == 0 {
        y.fill(0.0);
        thin.fill(0.0);
        return;
    }
    Arch::new().dispatch(InRegisters(AdaptedLinear {
        x,
        weight,
        adapter,
        shape,
        y,
        thin,
    }));
}

struct AdaptedLinear<'a> {
    x: &'a [f32],
    weight: &'a [f32],
    adapter: Adapter<'a>,
    shape: LinearShape,
    y: &'a mut [f32],
    thin: &'a mut [f32],
}

impl Blocks for AdaptedLinear<'_> {
    /// Takes 32 rows of `x` as a panel, and computes `ROWS` outputs of all of them at a time.
    #[inline(always)]
    fn compute<S: Simd, const ROWS: usize, const VECTORS: usize>(self, simd: S) {
        let LinearShape {
            inputs,
            outputs,
            rank,
        } = self.shape;
        let Adapter { a, b, scale } = self.adapter;
        let mut panel = vec![0.0; inputs * PANEL];
        let mut thin_panel = vec![0.0; rank * PANEL];
        let mut tile = [[0.0; PANEL]; ROWS];
        let mut thin = self.thin.chunks_mut((rank * PANEL).max(1));
        let blocks = self.x.chunks(PANEL * inputs);
        for (x, y) in blocks.zip(self.y.chunks_mut(PANEL * outputs)) {
            for (row, x) in x.chunks_exact(inputs).enumerate() {
                for (input, x) in x.iter().enumerate() {
                    panel[input * PANEL + row] = *x;
                }
            }
            let x = Columns {
                rows: a,
                inputs,
                panel: &panel,
            };
            let none = Columns {
                rows: &[],
                inputs: 0,
                panel: &[],
            };
            if let Some(thin) = thin.next().filter(|_| rank > 0) {
                for first in (0..rank).step_by(ROWS) {
                    block::<S, ROWS, VECTORS>(simd, [x, none], [first, rank], &mut tile);
                    for (at, sums) in tile.iter().enumerate().take(rank - first) {
                        let panel = &mut thin_panel[(first + at) * PANEL..][..PANEL];
                        for (thin, sum) in panel.iter_mut().zip(sums) {
                            *thin = scale * sum;
                        }
                        let column = thin.iter_mut().skip(first + at).step_by(rank);
                        column.zip(panel).for_each(|(to, from)| *to = *from);
                    }
                }
            }
            let x = Columns {
                rows: self.weight,
                ..x
            };
            let more = Columns {
                rows: b,
                inputs: rank,
                panel: &thin_panel,
            };
            for first in (0..outputs).step_by(ROWS) {
                block::<S, ROWS, VECTORS>(simd, [x, more], [first, outputs], &mut tile);
                for (row, y) in y.chunks_exact_mut(outputs).enumerate() {
                    match y[first..].first_chunk_mut::<ROWS>() {
                        Some(y) => *y = std::array::from_fn(|at| tile[at][row]),
                        None => {
                            for (y, sums) in y[first..].iter_mut().zip(&tile) {
                                *y = sums[row];
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Rows of a weight, `[count, inputs]`, and a panel that each is multiplied by.
#[derive(Clone, Copy)]
struct Columns<'a> {
    rows: &'a [f32],
    inputs: usize,
    panel: &'a [f32],
}

/// Computes the sums of two products for `ROWS` rows of weights from `first` on, of `count`.
#[inline(always)]
fn block<S: Simd, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    products: [Columns<'_>; 2],
    [first, count]: [usize; 2],
    tile: &mut [[f32; PANEL]; ROWS],
) {
    for column in (0..PANEL).step_by(VECTORS * S::F32_LANES) {
        let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
        for product in products.iter().filter(|product| product.inputs > 0) {
            let xs: [&[f32]; ROWS] = rows_from(product.rows, product.inputs, [first, count]);
            f32::add_products(simd, product.panel, column, xs, &mut sums);
        }
        for (tile, sums) in tile.iter_mut().zip(sums) {
            let stored = tile[column..].chunks_mut(S::F32_LANES);
            for (out, sum) in stored.zip(sums) {
                simd.partial_store_f32s(out, sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::tests::numbers;

    fn sum(start: f32, a: &[f32], b: &[f32]) -> f32 {
        a.iter()
            .zip(b)
            .fold(start, |sum, (a, b)| a.mul_add(*b, sum))
    }

    #[test]
    fn layer_equals_plain_sums_bit_for_bit() {
        for (inputs, outputs, rank) in [(1, 1, 0), (5, 3, 1), (40, 33, 16), (7, 20, 9), (64, 8, 0)]
        {
            let (weight, a, b) = (
                numbers(outputs * inputs, 1),
                numbers(rank * inputs, 2),
                numbers(outputs * rank, 3),
            );
            let (shape, scale) = (
                LinearShape {
                    inputs,
                    outputs,
                    rank,
                },
                0.7,
            );
            for rows in [1, 2, 31, 32, 33, 70] {
                let x = numbers(rows * inputs, 4);
                let (mut y, mut thin) =
                    (vec![f32::NAN; rows * outputs], vec![f32::NAN; rows * rank]);
                let adapter = Adapter {
                    a: &a,
                    b: &b,
                    scale,
                };
                adapted_linear(&x, &weight, adapter, shape, &mut y, &mut thin);
                for row in 0..rows {
                    let x = &x[row * inputs..][..inputs];
                    let expected: Vec<f32> = (0..rank)
                        .map(|at| scale * sum(0.0, &a[at * inputs..][..inputs], x))
                        .collect();
                    assert_eq!(thin[row * rank..][..rank], expected, "row {row}");
                    for output in 0..outputs {
                        let of_x = sum(0.0, &weight[output * inputs..][..inputs], x);
                        let all = sum(of_x, &b[output * rank..][..rank], &expected);
                        assert_eq!(y[row * outputs + output], all, "row {row}, output {output}");
                    }
                }
            }
        }
    }
}
