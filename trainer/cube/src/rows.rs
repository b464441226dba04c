//! Norms and gated units of rows, with their gradients.

use burn::tensor::{DType, Tensor};
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::Cube;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{Tensor as Buffer, *};

use super::autodiff::{DeviceOp, apply};
use super::block::{
    UNITS, block_sum, blocks, blocks_of_numbers, number_of_thread, row_of_block, units,
};
use super::device_tensor::{dense_f32, empty, on_device, rows_of};

/// Applies the RMS norm to each row, and multiplies the result by `weight`, `[1, width]` in f32; returns it in the
/// format of `x`, `[rows, width]`.
#[must_use]
pub fn rms_norm(x: &Tensor<2>, weight: &Tensor<2>, epsilon: f64) -> Option<Tensor<2>> {
    let epsilon = epsilon as f32;
    apply(RmsNorm { epsilon }, [x, weight])
}

#[derive(Debug)]
struct RmsNorm {
    epsilon: f32,
}

impl DeviceOp<2> for RmsNorm {
    /// The input and the weight of the norm.
    type Saved = [CubeTensor; 2];

    fn forward(&self, [x, weight]: [CubeTensor; 2]) -> Option<(CubeTensor, Self::Saved)> {
        let ((x, pitch), weight) = (rows_of(x)?, dense_f32(weight)?);
        let [rows, width] = x.meta.shape().dims();
        if rows * width == 0 || weight.meta.shape().num_elements() != width {
            return None;
        }
        let (out, units) = (empty(&x, [rows, width], x.dtype), units(&x, UNITS));
        rms_norm_kernel::launch(
            &x.client.clone(),
            blocks(rows),
            CubeDim::new_1d(units),
            x.clone().into_tensor_arg(),
            weight.clone().into_tensor_arg(),
            out.clone().into_tensor_arg(),
            self.epsilon,
            rows,
            width,
            pitch,
            units,
            dtype_to_elem_type(x.dtype),
        );
        Some((out, [x, weight]))
    }

    fn backward(
        &self,
        [x, weight]: Self::Saved,
        grad: CubeTensor,
        [of_x, of_weight]: [bool; 2],
    ) -> [Option<CubeTensor>; 2] {
        let weight_grad = of_weight.then(|| self.weight_grad(x.clone(), grad.clone()));
        let x_grad = of_x.then(|| self.x_grad(x, weight, grad));
        [x_grad.flatten(), weight_grad.flatten()]
    }
}

impl RmsNorm {
    fn x_grad(&self, x: CubeTensor, weight: CubeTensor, grad: CubeTensor) -> Option<CubeTensor> {
        let ([rows, width], (grad, grad_pitch)) = (x.meta.shape().dims(), rows_of(grad)?);
        let (out, units) = (empty(&x, [rows, width], x.dtype), units(&x, UNITS));
        rms_norm_backward_kernel::launch(
            &x.client.clone(),
            blocks(rows),
            CubeDim::new_1d(units),
            x.clone().into_tensor_arg(),
            weight.into_tensor_arg(),
            grad.into_tensor_arg(),
            out.clone().into_tensor_arg(),
            self.epsilon,
            rows,
            width,
            x.meta.strides()[0],
            grad_pitch,
            units,
            dtype_to_elem_type(x.dtype),
        );
        Some(out)
    }

    /// Returns the sum over the rows of the gradient times the normed rows.
    fn weight_grad(&self, x: CubeTensor, grad: CubeTensor) -> Option<CubeTensor> {
        let of = |tensor| Tensor::<2>::from_primitive::<Cube>(tensor).cast(DType::F32);
        let (x, grad) = (of(x), of(grad));
        let ones = Tensor::ones([1, x.dims()[1]], &x.device());
        let normed = rms_norm(&x, &ones, f64::from(self.epsilon))?;
        let sum = (normed * grad).sum_dim(0);
        sum.try_into_primitive::<Cube>().ok()
    }
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

#[cube(launch)]
fn rms_norm_backward_kernel<F: Float>(
    x: &Buffer<F>,
    weight: &Buffer<f32>,
    grad: &Buffer<F>,
    out: &mut Buffer<F>,
    epsilon: f32,
    rows: usize,
    width: usize,
    pitch: usize,
    grad_pitch: usize,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let row = row_of_block();
    if row < rows {
        let (from, of_grad, to) = (row * pitch, row * grad_pitch, row * width);
        let mut squares = f32::new(0.0);
        let mut along = f32::new(0.0);
        let mut i = UNIT_POS as usize;
        while i < width {
            let value = f32::cast_from(x[from + i]);
            squares += value * value;
            along += f32::cast_from(grad[of_grad + i]) * weight[i] * value;
            i += units as usize;
        }
        let total = block_sum(squares, &mut shared, units);
        let along = block_sum(along, &mut shared, units);
        let scale = (total / f32::cast_from(width) + epsilon).inverse_sqrt();
        let share = along * scale * scale / f32::cast_from(width);
        let mut i = UNIT_POS as usize;
        while i < width {
            let weighted = f32::cast_from(grad[of_grad + i]) * weight[i];
            let value = f32::cast_from(x[from + i]);
            out[to + i] = F::cast_from((weighted - value * share) * scale);
            i += units as usize;
        }
    }
}

/// Adds two matrices of the same shape and format, and applies the RMS norm to the sum like [`rms_norm`], without a gradient;
/// returns sum and norm.
#[must_use]
pub fn add_rms_norm(
    x: &Tensor<2>,
    more: &Tensor<2>,
    weight: &Tensor<2>,
    epsilon: f64,
) -> Option<[Tensor<2>; 2]> {
    let [rows, width] = x.dims();
    let [(x, pitch), (more, more_pitch)] = [rows_of(on_device(x)?)?, rows_of(on_device(more)?)?];
    let weight = dense_f32(on_device(weight)?)?;
    if rows * width == 0
        || more.meta.shape() != x.meta.shape()
        || more.dtype != x.dtype
        || weight.meta.shape().num_elements() != width
    {
        return None;
    }
    let out = [(); 2].map(|()| empty(&x, [rows, width], x.dtype));
    let units = units(&x, UNITS);
    add_rms_norm_kernel::launch(
        &x.client.clone(),
        blocks(rows),
        CubeDim::new_1d(units),
        x.clone().into_tensor_arg(),
        more.into_tensor_arg(),
        weight.into_tensor_arg(),
        out[0].clone().into_tensor_arg(),
        out[1].clone().into_tensor_arg(),
        epsilon as f32,
        rows,
        width,
        pitch,
        more_pitch,
        units,
        dtype_to_elem_type(x.dtype),
    );
    Some(out.map(Tensor::from_primitive::<Cube>))
}

#[cube(launch)]
fn add_rms_norm_kernel<F: Float>(
    x: &Buffer<F>,
    more: &Buffer<F>,
    weight: &Buffer<f32>,
    sum: &mut Buffer<F>,
    normed: &mut Buffer<F>,
    epsilon: f32,
    rows: usize,
    width: usize,
    pitch: usize,
    more_pitch: usize,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let row = row_of_block();
    if row < rows {
        let to = row * width;
        let mut squares = f32::new(0.0);
        let mut i = UNIT_POS as usize;
        while i < width {
            let rounded = F::cast_from(
                f32::cast_from(x[row * pitch + i]) + f32::cast_from(more[row * more_pitch + i]),
            );
            sum[to + i] = rounded;
            let value = f32::cast_from(rounded);
            squares += value * value;
            i += units as usize;
        }
        let total = block_sum(squares, &mut shared, units);
        let scale = (total / f32::cast_from(width) + epsilon).inverse_sqrt();
        let mut i = UNIT_POS as usize;
        while i < width {
            // Each thread reads the numbers that it has written.
            normed[to + i] = F::cast_from(f32::cast_from(sum[to + i]) * scale * weight[i]);
            i += units as usize;
        }
    }
}

/// Computes the gated unit of a feed-forward layer, `silu(gate) * up`, of matrices of the same shape and format.
#[must_use]
pub fn swiglu(gate: &Tensor<2>, up: &Tensor<2>) -> Option<Tensor<2>> {
    apply(Swiglu, [gate, up])
}

/// Computes the gated unit of `[rows, 2 * inner]`, whose columns are gate and up, without a gradient.
#[must_use]
pub fn swiglu_of_joined(gate_up: &Tensor<2>) -> Option<Tensor<2>> {
    let inner = gate_up.dims()[1] / 2;
    if !gate_up.dims()[1].is_multiple_of(2) {
        return None;
    }
    let (gate_up, pitch) = rows_of(on_device(gate_up)?)?;
    let out = launch_swiglu([&gate_up, &gate_up], [pitch, pitch], inner, inner)?;
    Some(Tensor::from_primitive::<Cube>(out))
}

/// Computes gated units of width `inner`. The columns of the second tensor begin at `up_start`.
fn launch_swiglu(
    [gate, up]: [&CubeTensor; 2],
    [gate_pitch, up_pitch]: [usize; 2],
    up_start: usize,
    inner: usize,
) -> Option<CubeTensor> {
    let rows = gate.meta.shape()[0];
    if rows * inner == 0 {
        return None;
    }
    let (out, units) = (empty(gate, [rows, inner], gate.dtype), units(gate, UNITS));
    swiglu_kernel::launch(
        &gate.client.clone(),
        blocks_of_numbers(rows * inner, units),
        CubeDim::new_1d(units),
        gate.clone().into_tensor_arg(),
        up.clone().into_tensor_arg(),
        out.clone().into_tensor_arg(),
        inner,
        gate_pitch,
        up_pitch,
        up_start,
        rows * inner,
        dtype_to_elem_type(gate.dtype),
    );
    Some(out)
}

#[derive(Debug)]
struct Swiglu;

impl DeviceOp<2> for Swiglu {
    /// Both inputs, gate and up projection.
    type Saved = [CubeTensor; 2];

    fn forward(&self, [gate, up]: [CubeTensor; 2]) -> Option<(CubeTensor, Self::Saved)> {
        let ((gate, gate_pitch), (up, up_pitch)) = (rows_of(gate)?, rows_of(up)?);
        if gate.meta.shape() != up.meta.shape() || gate.dtype != up.dtype {
            return None;
        }
        let inner = gate.meta.shape()[1];
        let out = launch_swiglu([&gate, &up], [gate_pitch, up_pitch], 0, inner)?;
        Some((out, [gate, up]))
    }

    fn backward(
        &self,
        [gate, up]: Self::Saved,
        grad: CubeTensor,
        wanted: [bool; 2],
    ) -> [Option<CubeTensor>; 2] {
        let Some((grad, grad_pitch)) = rows_of(grad) else {
            return [None, None];
        };
        let [rows, inner] = gate.meta.shape().dims();
        let [of_gate, of_up] = [(); 2].map(|()| empty(&gate, [rows, inner], gate.dtype));
        let units = units(&gate, UNITS);
        swiglu_backward_kernel::launch(
            &gate.client.clone(),
            blocks_of_numbers(rows * inner, units),
            CubeDim::new_1d(units),
            gate.clone().into_tensor_arg(),
            up.clone().into_tensor_arg(),
            grad.into_tensor_arg(),
            of_gate.clone().into_tensor_arg(),
            of_up.clone().into_tensor_arg(),
            inner,
            gate.meta.strides()[0],
            up.meta.strides()[0],
            grad_pitch,
            rows * inner,
            dtype_to_elem_type(gate.dtype),
        );
        let [gate_wanted, up_wanted] = wanted;
        [gate_wanted.then_some(of_gate), up_wanted.then_some(of_up)]
    }
}

#[cube(launch)]
fn swiglu_kernel<F: Float>(
    gate: &Buffer<F>,
    up: &Buffer<F>,
    out: &mut Buffer<F>,
    inner: usize,
    gate_pitch: usize,
    up_pitch: usize,
    up_start: usize,
    count: usize,
    #[define(F)] _kind: ElemType,
) {
    let at = number_of_thread();
    if at < count {
        let (row, i) = (at / inner, at % inner);
        let gate = f32::cast_from(gate[row * gate_pitch + i]);
        let up = f32::cast_from(up[row * up_pitch + up_start + i]);
        out[at] = F::cast_from(gate / (f32::new(1.0) + (-gate).exp()) * up);
    }
}

#[cube(launch)]
fn swiglu_backward_kernel<F: Float>(
    gate: &Buffer<F>,
    up: &Buffer<F>,
    grad: &Buffer<F>,
    of_gate: &mut Buffer<F>,
    of_up: &mut Buffer<F>,
    inner: usize,
    gate_pitch: usize,
    up_pitch: usize,
    grad_pitch: usize,
    count: usize,
    #[define(F)] _kind: ElemType,
) {
    let at = number_of_thread();
    if at < count {
        let (row, i) = (at / inner, at % inner);
        let gate = f32::cast_from(gate[row * gate_pitch + i]);
        let up = f32::cast_from(up[row * up_pitch + i]);
        let grad = f32::cast_from(grad[row * grad_pitch + i]);
        let open = f32::new(1.0) / (f32::new(1.0) + (-gate).exp());
        of_up[at] = F::cast_from(grad * gate * open);
        let slope = open * (f32::new(1.0) + gate * (f32::new(1.0) - open));
        of_gate[at] = F::cast_from(grad * up * slope);
    }
}
