//! Queries and keys by head, and the softmax of attention.

use burn::tensor::Tensor;
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::Cube;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{Tensor as Buffer, *};
use sentinel_lm_kernels::HeadLayout;

use super::block::{
    UNITS, block_max, block_sum, blocks, blocks_of_numbers, number_of_thread, row_of_block, units,
};
use super::device_tensor::{dense, dense_f32, empty, rows_of};

/// Maps queries or keys, `[rows * tokens, heads * head]`, to `[rows, heads, tokens, head]`, rotated by the
/// cosines and sines of their positions, and multiplied by `scale`. Each table has `head / 2` numbers in f32 for each token,
/// in the order of the tokens.
#[must_use]
pub fn split_heads<const D: usize>(
    x: &Tensor<2>,
    layout: HeadLayout,
    [cosine, sine]: [&Tensor<D>; 2],
    scale: f64,
) -> Option<Tensor<4>> {
    let ((x, pitch), cosine, sine) = (rows_of(x)?, dense_f32(cosine)?, dense_f32(sine)?);
    let HeadLayout {
        rows,
        tokens,
        heads,
        head,
    } = layout;
    let (all, half) = (rows * tokens, head / 2);
    let of_table = |table: &CubeTensor| table.meta.shape().num_elements() == all * half;
    let fits = x.meta.shape()[..] == [all, heads * head] && of_table(&cosine) && of_table(&sine);
    let count = all * heads * half;
    if count == 0 || head % 2 != 0 || !fits {
        return None;
    }
    let out = empty(&x, [rows, heads, tokens, head], x.dtype);
    let units = units(&x, UNITS);
    split_heads_kernel::launch(
        &x.client.clone(),
        blocks_of_numbers(count, units),
        CubeDim::new_1d(units),
        x.clone().into_tensor_arg(),
        cosine.into_tensor_arg(),
        sine.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        tokens,
        heads,
        half,
        pitch,
        count,
        scale as f32,
        dtype_to_elem_type(x.dtype),
    );
    Some(Tensor::from_primitive::<Cube>(out))
}

#[cube(launch)]
fn split_heads_kernel<F: Float>(
    x: &Buffer<F>,
    cosine: &Buffer<f32>,
    sine: &Buffer<f32>,
    out: &mut Buffer<F>,
    tokens: usize,
    heads: usize,
    half: usize,
    pitch: usize,
    count: usize,
    scale: f32,
    #[define(F)] _kind: ElemType,
) {
    let at = number_of_thread();
    if at < count {
        let i = at % half;
        let head = at / half % heads;
        let token = at / half / heads;
        let angle = token * half + i;
        let from = token * pitch + head * half * 2 + i;
        let (a, b) = (f32::cast_from(x[from]), f32::cast_from(x[from + half]));
        let (c, s) = (cosine[angle], sine[angle]);
        let to = ((token / tokens * heads + head) * tokens + token % tokens) * half * 2 + i;
        out[to] = F::cast_from((a * c - b * s) * scale);
        out[to + half] = F::cast_from((b * c + a * s) * scale);
    }
}

/// Computes the softmax over the last dimension of attention scores, `[rows, heads, tokens, seen]`, with the offsets
/// `mask`, `[rows, 1, tokens, seen]` in f32; returns it in the format of the scores.
#[must_use]
pub fn masked_softmax(scores: &Tensor<4>, mask: &Tensor<4>) -> Option<Tensor<4>> {
    let ([rows, heads, tokens, seen], offsets) = (scores.dims(), mask.dims());
    if offsets != [rows, 1, tokens, seen] || rows * heads * tokens * seen == 0 {
        return None;
    }
    let (scores, mask) = (dense(scores)?, dense_f32(mask)?);
    // Few keys need few threads.
    let keys = u32::try_from(seen).unwrap_or(UNITS).min(UNITS);
    let units = units(&scores, keys.next_power_of_two().max(32));
    let out = empty(&scores, [rows, heads, tokens, seen], scores.dtype);
    masked_softmax_kernel::launch(
        &scores.client.clone(),
        blocks(rows * heads * tokens),
        CubeDim::new_1d(units),
        scores.clone().into_tensor_arg(),
        mask.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows * heads * tokens,
        heads * tokens,
        tokens,
        seen,
        units,
        dtype_to_elem_type(scores.dtype),
    );
    Some(Tensor::from_primitive::<Cube>(out))
}

#[cube(launch)]
fn masked_softmax_kernel<F: Float>(
    scores: &Buffer<F>,
    mask: &Buffer<f32>,
    out: &mut Buffer<F>,
    count: usize,
    of_sequence: usize,
    tokens: usize,
    seen: usize,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let row = row_of_block();
    if row < count {
        let start = row * seen;
        let offsets = (row / of_sequence * tokens + row % tokens) * seen;
        let mut most = f32::new(-3e38);
        let mut i = UNIT_POS as usize;
        while i < seen {
            most = max(most, f32::cast_from(scores[start + i]) + mask[offsets + i]);
            i += units as usize;
        }
        let most = block_max(most, &mut shared, units);
        let mut sum = f32::new(0.0);
        let mut i = UNIT_POS as usize;
        while i < seen {
            sum += (f32::cast_from(scores[start + i]) + mask[offsets + i] - most).exp();
            i += units as usize;
        }
        let total = block_sum(sum, &mut shared, units);
        let mut i = UNIT_POS as usize;
        while i < seen {
            let weight = (f32::cast_from(scores[start + i]) + mask[offsets + i] - most).exp();
            out[start + i] = F::cast_from(weight / total);
            i += units as usize;
        }
    }
}
