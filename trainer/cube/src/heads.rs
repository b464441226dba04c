//! Queries, keys and values by head, and the softmax of attention, with their gradients.

use burn::tensor::{DType, Tensor};
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{Tensor as Buffer, *};
use sentinel_lm_kernels::HeadLayout;

use super::autodiff::{DeviceOp, apply};
use super::block::{
    UNITS, block_max, block_sum, blocks, blocks_of_numbers, number_of_thread, row_of_block, units,
};
use super::device_tensor::{dense, dense_f32, empty, on_device, rows_of};

/// Maps queries, keys or values, `[rows * tokens, heads * head]`, to `[rows, heads, tokens, head]`, multiplied by `scale`
/// and, if `angles` are given, rotated by the cosines and sines of their positions. Each table has `head / 2` numbers in f32
/// for each token, in the order of the tokens.
#[must_use]
pub fn split_heads<const D: usize>(
    x: &Tensor<2>,
    layout: HeadLayout,
    angles: Option<[&Tensor<D>; 2]>,
    scale: f64,
) -> Option<Tensor<4>> {
    let angles = match angles {
        Some([cosine, sine]) => Some([table(cosine, layout)?, table(sine, layout)?]),
        None => None,
    };
    let scale = scale as f32;
    apply(
        SplitHeads {
            layout,
            angles,
            scale,
        },
        [x],
    )
}

/// Returns a table of angles; `None` if it does not have the numbers of all tokens.
fn table<const D: usize>(table: &Tensor<D>, layout: HeadLayout) -> Option<CubeTensor> {
    let numbers = layout.rows * layout.tokens * (layout.head / 2);
    let table = dense_f32(on_device(&table.clone().without_autodiff())?)?;
    (table.meta.shape().num_elements() == numbers).then_some(table)
}

#[derive(Debug)]
struct SplitHeads {
    layout: HeadLayout,
    /// Cosines and sines, `[rows * tokens, head / 2]`.
    angles: Option<[CubeTensor; 2]>,
    scale: f32,
}

impl DeviceOp<1> for SplitHeads {
    type Saved = ();

    fn forward(&self, [x]: [CubeTensor; 1]) -> Option<(CubeTensor, ())> {
        let (x, pitch) = rows_of(x)?;
        let HeadLayout {
            rows,
            tokens,
            heads,
            head,
        } = self.layout;
        if x.meta.shape()[..] != [rows * tokens, heads * head] {
            return None;
        }
        let out = empty(&x, [rows, heads, tokens, head], x.dtype);
        self.launch(&x, &out, pitch, false).then_some((out, ()))
    }

    fn backward(&self, (): (), grad: CubeTensor, _: [bool; 1]) -> [Option<CubeTensor>; 1] {
        let HeadLayout {
            rows,
            tokens,
            heads,
            head,
        } = self.layout;
        let merged = dense(grad).and_then(|grad| {
            let out = empty(&grad, [rows * tokens, heads * head], grad.dtype);
            self.launch(&grad, &out, heads * head, true).then_some(out)
        });
        [merged]
    }
}

impl SplitHeads {
    /// Moves numbers from rows at a distance of `pitch` to their heads, or, if `merges`, from heads to rows, rotated the other
    /// way. Returns `false` if there are no numbers, or a head has no halves.
    fn launch(&self, from: &CubeTensor, to: &CubeTensor, pitch: usize, merges: bool) -> bool {
        let HeadLayout {
            rows,
            tokens,
            heads,
            head,
        } = self.layout;
        let (half, units) = (head / 2, units(from, UNITS));
        let count = rows * tokens * heads * half;
        if count == 0 || !head.is_multiple_of(2) {
            return false;
        }
        let [cosine, sine] = self.angles.clone().unwrap_or_else(|| {
            let unread = empty(from, [1], DType::F32);
            [unread.clone(), unread]
        });
        move_heads_kernel::launch(
            &from.client.clone(),
            blocks_of_numbers(count, units),
            CubeDim::new_1d(units),
            from.clone().into_tensor_arg(),
            cosine.into_tensor_arg(),
            sine.into_tensor_arg(),
            to.clone().into_tensor_arg(),
            tokens,
            heads,
            half,
            pitch,
            count,
            self.scale,
            merges,
            self.angles.is_some(),
            dtype_to_elem_type(from.dtype),
        );
        true
    }
}

#[cube(launch)]
fn move_heads_kernel<F: Float>(
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
    #[comptime] merges: bool,
    #[comptime] rotates: bool,
    #[define(F)] _kind: ElemType,
) {
    let at = number_of_thread();
    if at < count {
        let i = at % half;
        let head = at / half % heads;
        let token = at / half / heads;
        let of_row = token * pitch + head * half * 2 + i;
        let of_head = ((token / tokens * heads + head) * tokens + token % tokens) * half * 2 + i;
        let from = if comptime!(merges) { of_head } else { of_row };
        let to = if comptime!(merges) { of_row } else { of_head };
        let (a, b) = (f32::cast_from(x[from]), f32::cast_from(x[from + half]));
        if comptime!(rotates) {
            let angle = token * half + i;
            let c = cosine[angle];
            let s = if comptime!(merges) {
                -sine[angle]
            } else {
                sine[angle]
            };
            out[to] = F::cast_from((a * c - b * s) * scale);
            out[to + half] = F::cast_from((b * c + a * s) * scale);
        } else {
            out[to] = F::cast_from(a * scale);
            out[to + half] = F::cast_from(b * scale);
        }
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
    let mask = dense_f32(on_device(&mask.clone().without_autodiff())?)?;
    apply(MaskedSoftmax { mask }, [scores])
}

#[derive(Debug)]
struct MaskedSoftmax {
    /// `[rows, 1, tokens, seen]`.
    mask: CubeTensor,
}

/// Returns the threads of a block that computes a row of attention: few keys need few threads.
fn units_of(scores: &CubeTensor, seen: usize) -> u32 {
    let keys = u32::try_from(seen).unwrap_or(UNITS).min(UNITS);
    units(scores, keys.next_power_of_two().max(32))
}

impl DeviceOp<1> for MaskedSoftmax {
    /// The result, the weights of attention.
    type Saved = CubeTensor;

    fn forward(&self, [scores]: [CubeTensor; 1]) -> Option<(CubeTensor, CubeTensor)> {
        let scores = dense(scores)?;
        let shape @ [rows, heads, tokens, seen] = scores.meta.shape().dims();
        let units = units_of(&scores, seen);
        let out = empty(&scores, shape, scores.dtype);
        masked_softmax_kernel::launch(
            &scores.client.clone(),
            blocks(rows * heads * tokens),
            CubeDim::new_1d(units),
            scores.clone().into_tensor_arg(),
            self.mask.clone().into_tensor_arg(),
            out.clone().into_tensor_arg(),
            rows * heads * tokens,
            heads * tokens,
            tokens,
            seen,
            units,
            dtype_to_elem_type(scores.dtype),
        );
        Some((out.clone(), out))
    }

    fn backward(
        &self,
        weights: CubeTensor,
        grad: CubeTensor,
        _: [bool; 1],
    ) -> [Option<CubeTensor>; 1] {
        let Some(grad) = dense(grad) else {
            return [None];
        };
        let shape @ [rows, heads, tokens, seen] = weights.meta.shape().dims();
        let units = units_of(&weights, seen);
        let out = empty(&weights, shape, weights.dtype);
        softmax_backward_kernel::launch(
            &weights.client.clone(),
            blocks(rows * heads * tokens),
            CubeDim::new_1d(units),
            weights.clone().into_tensor_arg(),
            grad.into_tensor_arg(),
            out.clone().into_tensor_arg(),
            rows * heads * tokens,
            seen,
            units,
            dtype_to_elem_type(weights.dtype),
        );
        [Some(out)]
    }
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

#[cube(launch)]
fn softmax_backward_kernel<F: Float>(
    weights: &Buffer<F>,
    grad: &Buffer<F>,
    out: &mut Buffer<F>,
    count: usize,
    seen: usize,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let row = row_of_block();
    if row < count {
        let start = row * seen;
        let mut along = f32::new(0.0);
        let mut i = UNIT_POS as usize;
        while i < seen {
            along += f32::cast_from(weights[start + i]) * f32::cast_from(grad[start + i]);
            i += units as usize;
        }
        let along = block_sum(along, &mut shared, units);
        let mut i = UNIT_POS as usize;
        while i < seen {
            let weight = f32::cast_from(weights[start + i]);
            out[start + i] = F::cast_from(weight * (f32::cast_from(grad[start + i]) - along));
            i += units as usize;
        }
    }
}
