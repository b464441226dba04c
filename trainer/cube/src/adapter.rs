//! A frozen linear layer with an adapter of low rank: `x Wᵀ + b + scale (x Aᵀ) Bᵀ`, with the gradients of `x`, `A` and `B`.
//!
//! The products with `A` and `B` read or write a long side and a few ranks, for which a general product uses a few blocks
//! only. Here three kernels do all of them: rows by ranks, ranks added to rows, and the sum over rows of both. The
//! products with ranks are in f32 in every format.

use burn::tensor::{DType, Tensor};
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{Tensor as Buffer, *};

use super::autodiff::{DeviceOp, apply};
use super::block::{UNITS, blocks, blocks_of_numbers, number_of_thread, row_of_block, units};
use super::device_tensor::{dense_f32, empty, on_device, rows_of};
use super::products::{Side, product};

/// Ranks that a block computes.
const RANKS: usize = 8;
/// Rows whose products with [`RANKS`] ranks a block computes.
const ROWS: usize = 4;
/// Sums of a thread: of each row and rank.
const SUMS: usize = ROWS * RANKS;
/// Rows to which a thread adds.
const ADDED_ROWS: usize = 16;
/// Rows of which a block computes a part of a sum.
const PART: usize = 64;
/// Largest number of threads of a block in the kernels that keep [`RANKS`] sums for each thread.
const FEW_UNITS: u32 = 64;

/// Computes `x Wᵀ + bias + scale (x Aᵀ) Bᵀ` for `x`, `[rows, inputs]`, a weight, `[outputs, inputs]`, and a bias in f32,
/// `[1, outputs]`, without gradients, and an adapter in f32, `A`, `[rank, inputs]`, and `B`, `[outputs, rank]`; returns it in
/// the format of `x`, `[rows, outputs]`.
#[must_use]
pub fn adapted_linear(
    x: &Tensor<2>,
    weight: &Tensor<2>,
    bias: Option<&Tensor<2>>,
    [a, b]: [&Tensor<2>; 2],
    scale: f64,
) -> Option<Tensor<2>> {
    let bias = match bias {
        Some(bias) => Some(dense_f32(on_device(bias)?)?),
        None => None,
    };
    let layer = AdaptedLinear {
        weight: on_device(weight)?,
        bias,
        scale: scale as f32,
    };
    apply(layer, [x, a, b])
}

#[derive(Debug)]
struct AdaptedLinear {
    weight: CubeTensor,
    bias: Option<CubeTensor>,
    scale: f32,
}

/// The tensors that the gradients of a layer are computed from.
#[derive(Clone, Debug)]
struct Saved {
    x: CubeTensor,
    a: CubeTensor,
    b: CubeTensor,
    /// `x Aᵀ`, `[rows, rank]`.
    thin: CubeTensor,
}

impl DeviceOp<3> for AdaptedLinear {
    type Saved = Saved;

    fn forward(&self, [x, a, b]: [CubeTensor; 3]) -> Option<(CubeTensor, Saved)> {
        let (x, a, b) = (rows_of(x)?.0, dense_f32(a)?, dense_f32(b)?);
        let [outputs, inputs] = self.weight.meta.shape().dims();
        let rank = a.meta.shape()[0];
        let bias = self.bias.as_ref();
        if a.meta.shape()[..] != [rank, inputs]
            || b.meta.shape()[..] != [outputs, rank]
            || bias.is_some_and(|bias| bias.meta.shape().num_elements() != outputs)
            || rank == 0
        {
            return None;
        }
        let y = product(x.clone(), self.weight.clone(), Side::Transposed)?;
        let thin = rows_by_ranks(&x, &Factor::ranks_first(&a), 1.0)?;
        add_ranks(&y, &thin, &Factor::ranks_last(&b), bias, self.scale)?;
        Some((y, Saved { x, a, b, thin }))
    }

    fn backward(
        &self,
        saved: Saved,
        grad: CubeTensor,
        [of_x, of_a, of_b]: [bool; 3],
    ) -> [Option<CubeTensor>; 3] {
        let Saved { x, a, b, thin } = saved;
        let (ranks_of_a, ranks_of_b) = (Factor::ranks_first(&a), Factor::ranks_last(&b));
        let Some(thin_grad) = rows_by_ranks(&grad, &ranks_of_b, self.scale) else {
            return [const { None }; 3];
        };
        let x_grad = || {
            let out = product(grad.clone(), self.weight.clone(), Side::AsStored)?;
            add_ranks(&out, &thin_grad, &ranks_of_a, None, 1.0)?;
            Some(out)
        };
        [
            of_x.then(x_grad).flatten(),
            (of_a.then(|| sum_over_rows(&x, &thin_grad, &ranks_of_a, 1.0))).flatten(),
            (of_b.then(|| sum_over_rows(&grad, &thin, &ranks_of_b, self.scale))).flatten(),
        ]
    }
}

/// A matrix of an adapter, dense and in f32.
struct Factor<'a> {
    matrix: &'a CubeTensor,
    rank: usize,
    width: usize,
    /// Distance of two ranks of the same column.
    by_rank: usize,
    /// Distance of two columns of the same rank.
    by_column: usize,
}

impl<'a> Factor<'a> {
    /// A matrix `[rank, width]`.
    fn ranks_first(matrix: &'a CubeTensor) -> Self {
        let [rank, width] = matrix.meta.shape().dims();
        Self {
            matrix,
            rank,
            width,
            by_rank: width,
            by_column: 1,
        }
    }

    /// A matrix `[width, rank]`.
    fn ranks_last(matrix: &'a CubeTensor) -> Self {
        let [width, rank] = matrix.meta.shape().dims();
        Self {
            matrix,
            rank,
            width,
            by_rank: 1,
            by_column: rank,
        }
    }
}

/// Multiplies rows, `[rows, width]`, with all ranks, and by `scale`; returns `[rows, rank]` in f32.
fn rows_by_ranks(x: &CubeTensor, factor: &Factor<'_>, scale: f32) -> Option<CubeTensor> {
    let (x, pitch) = rows_of(x.clone())?;
    let (rows, units) = (x.meta.shape()[0], units(&x, FEW_UNITS));
    let out = empty(&x, [rows, factor.rank], DType::F32);
    rows_by_ranks_kernel::launch(
        &x.client.clone(),
        blocks(rows.div_ceil(ROWS) * factor.rank.div_ceil(RANKS)),
        CubeDim::new_1d(units),
        x.clone().into_tensor_arg(),
        factor.matrix.clone().into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        factor.width,
        pitch,
        factor.rank,
        factor.by_rank,
        factor.by_column,
        scale,
        units,
        dtype_to_elem_type(x.dtype),
    );
    Some(out)
}

#[cube(launch)]
fn rows_by_ranks_kernel<F: Float>(
    x: &Buffer<F>,
    matrix: &Buffer<f32>,
    out: &mut Buffer<f32>,
    rows: usize,
    width: usize,
    pitch: usize,
    rank: usize,
    by_rank: usize,
    by_column: usize,
    scale: f32,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    // One place more for each thread, so that neighbors are in different banks.
    let mut shared = Shared::<[f32]>::new_slice(comptime!(units as usize * (SUMS + 1)));
    let parts = rank.div_ceil(RANKS);
    let first_row = row_of_block() / parts * ROWS;
    let first_rank = row_of_block() % parts * RANKS;
    if first_row < rows {
        let mut sums = Array::<f32>::new(SUMS);
        #[unroll]
        for at in 0..SUMS {
            sums[at] = f32::new(0.0);
        }
        let mut i = UNIT_POS as usize;
        while i < width {
            let mut factors = Array::<f32>::new(RANKS);
            #[unroll]
            for r in 0..RANKS {
                factors[r] = matrix[min(first_rank + r, rank - 1) * by_rank + i * by_column];
            }
            #[unroll]
            for k in 0..ROWS {
                let value = f32::cast_from(x[min(first_row + k, rows - 1) * pitch + i]);
                #[unroll]
                for r in 0..RANKS {
                    sums[k * RANKS + r] += value * factors[r];
                }
            }
            i += units as usize;
        }
        let own = UNIT_POS as usize * (SUMS + 1);
        #[unroll]
        for at in 0..SUMS {
            shared[own + at] = sums[at];
        }
        sync_cube();
        let mut at = UNIT_POS as usize;
        while at < SUMS {
            let mut total = f32::new(0.0);
            for unit in 0..units as usize {
                total += shared[unit * (SUMS + 1) + at];
            }
            let (row, r) = (first_row + at / RANKS, first_rank + at % RANKS);
            if row < rows && r < rank {
                out[row * rank + r] = total * scale;
            }
            at += units as usize;
        }
    }
}

/// Adds the product of `thin`, `[rows, rank]`, with all ranks, times `scale`, and a bias to contiguous rows,
/// `[rows, width]`.
fn add_ranks(
    rows: &CubeTensor,
    thin: &CubeTensor,
    factor: &Factor<'_>,
    bias: Option<&CubeTensor>,
    scale: f32,
) -> Option<()> {
    let (count, units) = (rows.meta.shape()[0], units(rows, UNITS));
    let tiles = factor.width.div_ceil(units as usize) * count.div_ceil(ADDED_ROWS);
    add_ranks_kernel::launch(
        &rows.client.clone(),
        blocks(tiles),
        CubeDim::new_1d(units),
        rows.clone().into_tensor_arg(),
        thin.clone().into_tensor_arg(),
        factor.matrix.clone().into_tensor_arg(),
        bias.unwrap_or(thin).clone().into_tensor_arg(),
        count,
        factor.width,
        rows.meta.strides()[0],
        factor.rank,
        factor.by_rank,
        factor.by_column,
        scale,
        bias.is_some(),
        dtype_to_elem_type(rows.dtype),
    );
    Some(())
}

#[cube(launch)]
fn add_ranks_kernel<F: Float>(
    out: &mut Buffer<F>,
    thin: &Buffer<f32>,
    matrix: &Buffer<f32>,
    bias: &Buffer<f32>,
    rows: usize,
    width: usize,
    pitch: usize,
    rank: usize,
    by_rank: usize,
    by_column: usize,
    scale: f32,
    #[comptime] has_bias: bool,
    #[define(F)] _kind: ElemType,
) {
    let tiles = width.div_ceil(CUBE_DIM_X as usize);
    let column = row_of_block() % tiles * CUBE_DIM_X as usize + UNIT_POS as usize;
    let first = row_of_block() / tiles * ADDED_ROWS;
    if column < width && first < rows {
        let mut sums = Array::<f32>::new(ADDED_ROWS);
        #[unroll]
        for k in 0..ADDED_ROWS {
            sums[k] = f32::new(0.0);
        }
        for r in 0..rank {
            let factor = matrix[r * by_rank + column * by_column];
            #[unroll]
            for k in 0..ADDED_ROWS {
                sums[k] += thin[min(first + k, rows - 1) * rank + r] * factor;
            }
        }
        #[unroll]
        for k in 0..ADDED_ROWS {
            if first + k < rows {
                let at = (first + k) * pitch + column;
                let mut value = f32::cast_from(out[at]) + sums[k] * scale;
                if comptime!(has_bias) {
                    value += bias[column];
                }
                out[at] = F::cast_from(value);
            }
        }
    }
}

/// Returns the sum over rows of `x`, `[rows, width]`, times `thin`, `[rows, rank]`, times `scale`, in the layout of `like`.
fn sum_over_rows(
    x: &CubeTensor,
    thin: &CubeTensor,
    like: &Factor<'_>,
    scale: f32,
) -> Option<CubeTensor> {
    let (x, pitch) = rows_of(x.clone())?;
    let (rows, few, units) = (x.meta.shape()[0], units(&x, FEW_UNITS), units(&x, UNITS));
    let Factor { rank, width, .. } = *like;
    let parts = rows.div_ceil(PART);
    let partial = empty(&x, [parts, rank * width], DType::F32);
    let tiles = width.div_ceil(few as usize) * rank.div_ceil(RANKS) * parts;
    partial_sums_kernel::launch(
        &x.client.clone(),
        blocks(tiles),
        CubeDim::new_1d(few),
        x.clone().into_tensor_arg(),
        thin.clone().into_tensor_arg(),
        partial.clone().into_tensor_arg(),
        rows,
        width,
        pitch,
        rank,
        dtype_to_elem_type(x.dtype),
    );
    let out = empty(&x, like.matrix.meta.shape().clone(), DType::F32);
    add_parts_kernel::launch(
        &x.client.clone(),
        blocks_of_numbers(rank * width, units),
        CubeDim::new_1d(units),
        partial.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        parts,
        width,
        rank * width,
        like.by_rank,
        like.by_column,
        scale,
    );
    Some(out)
}

#[cube(launch)]
fn partial_sums_kernel<F: Float>(
    x: &Buffer<F>,
    thin: &Buffer<f32>,
    partial: &mut Buffer<f32>,
    rows: usize,
    width: usize,
    pitch: usize,
    rank: usize,
    #[define(F)] _kind: ElemType,
) {
    let tiles = width.div_ceil(CUBE_DIM_X as usize);
    let ranks = rank.div_ceil(RANKS);
    let block = row_of_block();
    let column = block % tiles * CUBE_DIM_X as usize + UNIT_POS as usize;
    let first_rank = block / tiles % ranks * RANKS;
    let part = block / tiles / ranks;
    let first = part * PART;
    if column < width && first < rows {
        let mut sums = Array::<f32>::new(RANKS);
        #[unroll]
        for r in 0..RANKS {
            sums[r] = f32::new(0.0);
        }
        let end = min(first + PART, rows);
        let mut row = first;
        while row < end {
            let value = f32::cast_from(x[row * pitch + column]);
            #[unroll]
            for r in 0..RANKS {
                sums[r] += value * thin[row * rank + min(first_rank + r, rank - 1)];
            }
            row += 1;
        }
        #[unroll]
        for r in 0..RANKS {
            if first_rank + r < rank {
                partial[(part * rank + first_rank + r) * width + column] = sums[r];
            }
        }
    }
}

#[cube(launch)]
fn add_parts_kernel(
    partial: &Buffer<f32>,
    out: &mut Buffer<f32>,
    parts: usize,
    width: usize,
    count: usize,
    by_rank: usize,
    by_column: usize,
    scale: f32,
) {
    let at = number_of_thread();
    if at < count {
        let mut total = f32::new(0.0);
        for part in 0..parts {
            total += partial[part * count + at];
        }
        out[at / width * by_rank + at % width * by_column] = total * scale;
    }
}
