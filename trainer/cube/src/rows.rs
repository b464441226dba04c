//! Norms and gated units of rows.

use burn::tensor::Tensor;
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::Cube;
use cubecl::prelude::{Tensor as Buffer, *};

use super::block::{
    UNITS, block_sum, blocks, blocks_of_numbers, number_of_thread, row_of_block, units,
};
use super::device_tensor::{dense_f32, empty, rows_of};

/// Applies the RMS norm to each row, and multiplies the result by `weight`, `[1, width]` in f32; returns it in the
/// format of `x`, `[rows, width]`.
#[must_use]
pub fn rms_norm(x: &Tensor<2>, weight: &Tensor<2>, epsilon: f64) -> Option<Tensor<2>> {
    let ([rows, width], (x, pitch), weight) = (x.dims(), rows_of(x)?, dense_f32(weight)?);
    if rows * width == 0 || weight.meta.shape().num_elements() != width {
        return None;
    }
    let (out, units) = (empty(&x, [rows, width], x.dtype), units(&x, UNITS));
    rms_norm_kernel::launch(
        &x.client.clone(),
        blocks(rows),
        CubeDim::new_1d(units),
        x.clone().into_tensor_arg(),
        weight.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        epsilon as f32,
        rows,
        width,
        pitch,
        units,
        dtype_to_elem_type(x.dtype),
    );
    Some(Tensor::from_primitive::<Cube>(out))
}

#[cube(launch)]
fn rms_norm_kernel<F: Float>(
    x: &Buffer<F>,
    weight: &Buffer<f32>,
    out: &mut Buffer<F>,
    epsilon: f32,
    rows: usize,
    width: usize,
    pitch: usize,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let row = row_of_block();
    if row < rows {
        let (from, to) = (row * pitch, row * width);
        let mut squares = f32::new(0.0);
        let mut i = UNIT_POS as usize;
        while i < width {
            let value = f32::cast_from(x[from + i]);
            squares += value * value;
            i += units as usize;
        }
        let total = block_sum(squares, &mut shared, units);
        let scale = (total / f32::cast_from(width) + epsilon).inverse_sqrt();
        let mut i = UNIT_POS as usize;
        while i < width {
            out[to + i] = F::cast_from(f32::cast_from(x[from + i]) * scale * weight[i]);
            i += units as usize;
        }
    }
}

/// Computes the gated unit of a feed-forward layer, `silu(gate) * up`, from `[rows, 2 * inner]`, whose columns are gate
/// and up.
#[must_use]
pub fn swiglu(gate_up: &Tensor<2>) -> Option<Tensor<2>> {
    let ([rows, width], (gate_up, pitch)) = (gate_up.dims(), rows_of(gate_up)?);
    let inner = width / 2;
    if rows * inner == 0 || width % 2 != 0 {
        return None;
    }
    let (out, units) = (
        empty(&gate_up, [rows, inner], gate_up.dtype),
        units(&gate_up, UNITS),
    );
    swiglu_kernel::launch(
        &gate_up.client.clone(),
        blocks_of_numbers(rows * inner, units),
        CubeDim::new_1d(units),
        gate_up.clone().into_tensor_arg(),
        out.clone().into_tensor_arg(),
        inner,
        pitch,
        rows * inner,
        dtype_to_elem_type(gate_up.dtype),
    );
    Some(Tensor::from_primitive::<Cube>(out))
}

#[cube(launch)]
fn swiglu_kernel<F: Float>(
    gate_up: &Buffer<F>,
    out: &mut Buffer<F>,
    inner: usize,
    pitch: usize,
    count: usize,
    #[define(F)] _kind: ElemType,
) {
    let at = number_of_thread();
    if at < count {
        let start = at / inner * pitch + at % inner;
        let gate = f32::cast_from(gate_up[start]);
        let up = f32::cast_from(gate_up[start + inner]);
        out[at] = F::cast_from(gate / (f32::new(1.0) + (-gate).exp()) * up);
    }
}
