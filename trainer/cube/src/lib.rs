//! Kernels of a language model for graphics processors: what takes many operations of the tensor library, or one that
//! keeps most of the processor idle, in one kernel each.
//!
//! A kernel is written once, for f32 and bf16, and runs on CUDA and wgpu. Numbers are computed in f32 and stored in the
//! format of the activations. Every function returns `None` where it does not apply: to tensors of the processor and
//! to tensors with gradients, except by `matmul_weight`. The caller then composes the operation of those of the tensor
//! library.
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

pub use heads::{Heads, masked_softmax, split_heads};
pub use products::matmul_weight;
pub use rows::{rms_norm, swiglu};
pub use vocabulary::{Draw, logit_grads, sample, token_stats};

/// Number of threads of a block that computes a row.
const UNITS: u32 = 256;

/// Returns a tensor as the kernels read it: on a graphics processor, without gradients, in f32 or bf16, its numbers in
/// row-major order without gaps.
fn dense<const D: usize>(tensor: &Tensor<D>) -> Option<CubeTensor> {
    if !matches!(tensor.dtype(), DType::F32 | DType::BF16) || tensor.is_autodiff() {
        return None;
    }
    let tensor = tensor.clone().try_into_primitive::<Cube>().ok()?;
    // Rows of a tensor of the library can be padded on CUDA.
    Some(into_contiguous(tensor))
}

/// Returns a matrix as [`dense`] does, but its rows may have gaps between them: the second value is the distance of
/// their starts.
fn rows_of(matrix: &Tensor<2>) -> Option<(CubeTensor, usize)> {
    if !matches!(matrix.dtype(), DType::F32 | DType::BF16) || matrix.is_autodiff() {
        return None;
    }
    let matrix = matrix.clone().try_into_primitive::<Cube>().ok()?;
    let (width, strides) = (matrix.meta.shape()[1], matrix.meta.strides());
    let pitch = strides[0];
    if strides[1] == 1 && pitch >= width {
        return Some((matrix, pitch));
    }
    Some((into_contiguous(matrix), width))
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
fn blocks_of_numbers(count: usize) -> CubeCount {
    blocks(count.div_ceil(UNITS as usize))
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
            shared[at] += other;
        }
        sync_cube();
    }
    shared[0]
}

/// Returns the largest of the values of all threads of a block to each of them.
#[cube]
fn block_max(value: f32, shared: &mut Shared<[f32]>, #[comptime] units: u32) -> f32 {
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
            shared[at] = max(shared[at], other);
        }
        sync_cube();
    }
    shared[0]
}
