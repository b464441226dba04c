//! Kernels of a language model for graphics processors. Each replaces several operations of the tensor library, or one that
//! uses only a few threads.
//!
//! A kernel is written once, for f32 and bf16, and runs on CUDA and wgpu. Sums and functions are computed in f32, and
//! stored in the format of the activations. Every function returns `None` for tensors on the CPU, for shapes that do
//! not fit together or are too large, and, except `matmul_weight`, for tensors with gradients. The caller then uses the
//! operations of the tensor library.
//!
//! It knows shapes and numbers, and no model. Read `products` first, then one kernel of `rows`.
#![cfg(feature = "device")]

mod heads;
mod products;
mod rows;
mod vocabulary;

use burn::tensor::{DType, Tensor};
use burn_backend::Shape;
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::Cube;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{Tensor as Buffer, *};

pub use heads::{masked_softmax, split_heads};
pub use products::matmul_weight;
pub use rows::{rms_norm, swiglu};
pub use vocabulary::{SamplingOptions, logit_grads, sample, token_stats};

/// Largest number of threads of a block that computes a row.
const UNITS: u32 = 256;

/// Returns the largest power of two of threads that a block can have on the device of a tensor, at most `most`.
fn units(tensor: &CubeTensor, most: u32) -> u32 {
    let limit = tensor.client.properties().hardware.max_units_per_cube;
    (1 << limit.max(1).ilog2()).min(most)
}

/// Returns a tensor on a graphics processor, without gradients, in f32 or bf16; `None` for others.
fn on_device<const D: usize>(tensor: &Tensor<D>) -> Option<CubeTensor> {
    if !matches!(tensor.dtype(), DType::F32 | DType::BF16) || tensor.is_autodiff() {
        return None;
    }
    tensor.clone().try_into_primitive::<Cube>().ok()
}

/// Returns `true` if the kernels can count this many numbers: they index with 32 bits.
fn can_count(numbers: usize) -> bool {
    u32::try_from(numbers).is_ok()
}

/// Returns a tensor of [`on_device`] with its numbers in row-major order without gaps, which can be a copy: the library
/// pads rows on CUDA.
fn dense<const D: usize>(tensor: &Tensor<D>) -> Option<CubeTensor> {
    can_count(tensor.shape().num_elements())
        .then(|| on_device(tensor))?
        .map(into_contiguous)
}

/// Returns [`dense`] of a tensor in f32.
fn dense_f32<const D: usize>(tensor: &Tensor<D>) -> Option<CubeTensor> {
    (tensor.dtype() == DType::F32).then(|| dense(tensor))?
}

/// Returns a matrix whose rows are contiguous, with gaps between them or not; a copy of it if they are not.
fn with_contiguous_rows(matrix: CubeTensor) -> CubeTensor {
    let (width, strides) = (matrix.meta.shape()[1], matrix.meta.strides());
    if strides[1] == 1 && strides[0] >= width {
        return matrix;
    }
    into_contiguous(matrix)
}

/// Returns a matrix of [`on_device`] by [`with_contiguous_rows`], and the distance of the starts of its rows.
fn rows_of(matrix: &Tensor<2>) -> Option<(CubeTensor, usize)> {
    let [rows, _] = matrix.dims();
    let matrix = with_contiguous_rows(on_device(matrix)?);
    let pitch = matrix.meta.strides()[0];
    can_count(rows * pitch).then_some((matrix, pitch))
}

/// Creates a tensor without values beside another one.
fn empty(beside: &CubeTensor, shape: impl Into<Shape>, kind: DType) -> CubeTensor {
    let (client, device) = (beside.client.clone(), beside.device.clone());
    empty_device_contiguous_dtype(client, device, shape.into(), kind)
}

/// Returns one block for each of `rows` rows.
fn blocks(rows: usize) -> CubeCount {
    let rows = u32::try_from(rows).unwrap_or(u32::MAX);
    // The second dimension holds the rest of what one dimension can count on every device.
    CubeCount::Static(rows.min(1 << 15), rows.div_ceil(1 << 15), 1)
}

/// Returns the blocks of a kernel that computes each of `count` numbers by a thread of its own.
fn blocks_of_numbers(count: usize, units: u32) -> CubeCount {
    blocks(count.div_ceil(units as usize))
}

/// The row that a block computes, with [`blocks`].
#[cube]
fn row_of_block() -> usize {
    (CUBE_POS_Y * CUBE_COUNT_X + CUBE_POS_X) as usize
}

/// The number that a thread computes, with [`blocks_of_numbers`].
#[cube]
fn number_of_thread() -> usize {
    row_of_block() * CUBE_DIM_X as usize + UNIT_POS as usize
}

/// Returns the sum of the values of all threads of a block to each of them. `shared` has a place for each thread.
#[cube]
fn block_sum(value: f32, shared: &mut Shared<[f32]>, #[comptime] units: u32) -> f32 {
    block_reduce(value, shared, units, false)
}

/// Returns the largest of the values of all threads of a block to each of them.
#[cube]
fn block_max(value: f32, shared: &mut Shared<[f32]>, #[comptime] units: u32) -> f32 {
    block_reduce(value, shared, units, true)
}

/// Returns the maximum, or else the sum, of the values of all threads of a block to each of them.
#[cube]
fn block_reduce(
    value: f32,
    shared: &mut Shared<[f32]>,
    #[comptime] units: u32,
    #[comptime] is_max: bool,
) -> f32 {
    let at = UNIT_POS as usize;
    sync_cube();
    shared[at] = value;
    sync_cube();
    let levels = comptime!(units.ilog2() as usize);
    #[unroll]
    for level in 0..levels {
        let half = comptime!((units as usize) >> (level + 1));
        if at < half {
            let other = shared[at + half];
            if comptime!(is_max) {
                shared[at] = max(shared[at], other);
            } else {
                shared[at] += other;
            }
        }
        sync_cube();
    }
    shared[0]
}
