//! Attention of a step of decoding, which adds one token to each row of a cache.
//!
//! Both kernels read where the new tokens stand from the device, so that steps differ in no number of the host.

use burn::tensor::{Int, Tensor};
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::Cube;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{Tensor as Buffer, *};

use super::block::{
    UNITS, block_max, block_sum, blocks, blocks_of_numbers, number_of_thread, row_of_block, units,
};
use super::device_tensor::{dense, dense_f32, empty, on_device, rows_of, whole_numbers};

/// The places of the new tokens.
#[derive(Clone, Debug)]
pub struct DecodePlaces {
    /// Cosines and sines of all positions, `[positions, head / 2]` each.
    pub rope: [Tensor<2>; 2],
    /// `[rows]`: position of the new token in its row.
    pub positions: Tensor<1, Int>,
    /// `[rows]`: the first column of the cache that belongs to the row.
    pub starts: Tensor<1, Int>,
    /// `[1]`: the column of the cache for the new tokens.
    pub column: Tensor<1, Int>,
}

impl DecodePlaces {
    /// Returns `true` if the kernels compute steps with a cache of this shape, `[rows, groups, capacity, head]`, on the device
    /// of `rope`.
    #[must_use]
    pub fn are_supported(rope: &Tensor<2>, cache: [usize; 4]) -> bool {
        let head = cache[3];
        let fits = |table: CubeTensor| head <= units(&table, UNITS) as usize;
        let numbers = cache.into_iter().try_fold(1_usize, usize::checked_mul);
        numbers.is_some_and(|numbers| u32::try_from(numbers).is_ok())
            && head >= 2
            && head.is_power_of_two()
            && on_device(rope).is_some_and(fits)
    }
}

/// The cached keys and values of a layer, `[rows, groups, capacity, head]` each.
pub type KeysAndValues = [Tensor<4>; 2];

/// Divides queries, keys and values, `[rows, (heads + 2 * groups) * head]`, plus a bias in f32, into heads; rotates queries and
/// keys, and multiplies queries by `scale`. Writes keys and values to the cache. Returns the queries, `[rows, heads * head]`, and
/// the cache; `None` if the shapes do not fit.
#[must_use]
pub fn append_token(
    qkv: &Tensor<2>,
    bias: Option<&Tensor<2>>,
    places: &DecodePlaces,
    cache: KeysAndValues,
    scale: f64,
) -> Option<(Tensor<2>, KeysAndValues)> {
    let inputs = AppendInputs::new(qkv, bias, places, &cache)?;
    let [keys, values] = cache;
    let (keys, values) = (own(keys)?, own(values)?);
    let query = inputs.launch(&keys, &values, scale as f32);
    let cache = [keys, values].map(Tensor::from_primitive::<Cube>);
    Some((Tensor::from_primitive::<Cube>(query), cache))
}

/// Returns the only owner of a tensor's numbers, without gaps: a copy if there are others.
fn own(cache: Tensor<4>) -> Option<CubeTensor> {
    let cache = cache.try_into_primitive::<Cube>().ok()?;
    // A copy can have gaps, and a tensor without gaps is not copied again.
    Some(into_contiguous(if cache.can_mut() {
        cache
    } else {
        cache.copy()
    }))
}

struct AppendInputs {
    qkv: CubeTensor,
    pitch: usize,
    bias: Option<CubeTensor>,
    rope: [CubeTensor; 2],
    positions: CubeTensor,
    column: CubeTensor,
    heads: usize,
    /// Rows, groups, capacity and width of a head.
    cache: [usize; 4],
}

impl AppendInputs {
    fn new(
        qkv: &Tensor<2>,
        bias: Option<&Tensor<2>>,
        places: &DecodePlaces,
        [keys, values]: &KeysAndValues,
    ) -> Option<Self> {
        let [rows, width] = qkv.dims();
        let cache @ [cached_rows, groups, capacity, head] = keys.dims();
        let heads = (width / head.max(1)).checked_sub(2 * groups)?;
        let (qkv, pitch) = rows_of(on_device(qkv)?)?;
        let bias = match bias {
            Some(bias) => Some(dense_f32(on_device(bias)?)?),
            None => None,
        };
        let [cosine, sine] = &places.rope;
        let rope = [dense_f32(on_device(cosine)?)?, dense_f32(on_device(sine)?)?];
        let fits = values.dims() == cache
            && on_device(keys)?.dtype == qkv.dtype
            && on_device(values)?.dtype == qkv.dtype
            && cached_rows == rows
            && (heads + 2 * groups) * head == width
            && head.is_multiple_of(2)
            && rows * heads * capacity != 0
            && u32::try_from(rows * groups * capacity * head).is_ok()
            && (rope.iter()).all(|table| table.meta.shape()[1] == head / 2)
            && (bias.iter()).all(|bias| bias.meta.shape().num_elements() == width);
        fits.then_some(Self {
            qkv,
            pitch,
            bias,
            rope,
            positions: whole_numbers(&places.positions, rows)?,
            column: whole_numbers(&places.column, 1)?,
            heads,
            cache,
        })
    }

    fn launch(self, keys: &CubeTensor, values: &CubeTensor, scale: f32) -> CubeTensor {
        let [rows, groups, capacity, head] = self.cache;
        let out = empty(&self.qkv, [rows, self.heads * head], self.qkv.dtype);
        let (all, units) = (self.heads + 2 * groups, units(&self.qkv, UNITS));
        let count = rows * all * head / 2;
        let [cosine, sine] = self.rope;
        let has_bias = self.bias.is_some();
        append_token_kernel::launch(
            &self.qkv.client.clone(),
            blocks_of_numbers(count, units),
            CubeDim::new_1d(units),
            self.qkv.clone().into_tensor_arg(),
            self.bias
                .unwrap_or_else(|| cosine.clone())
                .into_tensor_arg(),
            cosine.into_tensor_arg(),
            sine.into_tensor_arg(),
            self.positions.into_tensor_arg(),
            self.column.into_tensor_arg(),
            out.clone().into_tensor_arg(),
            keys.clone().into_tensor_arg(),
            values.clone().into_tensor_arg(),
            self.pitch,
            self.heads,
            groups,
            capacity,
            head / 2,
            count,
            scale,
            has_bias,
            dtype_to_elem_type(self.qkv.dtype),
        );
        out
    }
}

#[cube(launch)]
fn append_token_kernel<F: Float>(
    qkv: &Buffer<F>,
    bias: &Buffer<f32>,
    cosine: &Buffer<f32>,
    sine: &Buffer<f32>,
    positions: &Buffer<i32>,
    column: &Buffer<i32>,
    query: &mut Buffer<F>,
    keys: &mut Buffer<F>,
    values: &mut Buffer<F>,
    pitch: usize,
    heads: usize,
    groups: usize,
    capacity: usize,
    half: usize,
    count: usize,
    scale: f32,
    #[comptime] has_bias: bool,
    #[define(F)] _kind: ElemType,
) {
    let at = number_of_thread();
    if at < count {
        let i = at % half;
        let all = heads + 2 * groups;
        let number = at / half % all;
        let row = at / half / all;
        let of_head = number * half * 2 + i;
        let from = row * pitch + of_head;
        let mut a = f32::cast_from(qkv[from]);
        let mut b = f32::cast_from(qkv[from + half]);
        if comptime!(has_bias) {
            a += bias[of_head];
            b += bias[of_head + half];
        }
        let angle = positions[row] as usize * half + i;
        let (c, s) = (cosine[angle], sine[angle]);
        let (first, second) = (a * c - b * s, b * c + a * s);
        let here = column[0] as usize;
        if number < heads {
            let to = (row * heads + number) * half * 2 + i;
            query[to] = F::cast_from(first * scale);
            query[to + half] = F::cast_from(second * scale);
        } else if number < heads + groups {
            let to = ((row * groups + number - heads) * capacity + here) * half * 2 + i;
            keys[to] = F::cast_from(first);
            keys[to + half] = F::cast_from(second);
        } else {
            let to = ((row * groups + number - heads - groups) * capacity + here) * half * 2 + i;
            values[to] = F::cast_from(a);
            values[to + half] = F::cast_from(b);
        }
    }
}

/// Computes attention from one new token per row, whose scaled queries are `[rows, heads * head]`, to the cached tokens of the
/// row, itself included; returns `[rows, heads * head]`.
#[must_use]
pub fn cached_attention(
    query: &Tensor<2>,
    [keys, values]: [&Tensor<4>; 2],
    places: &DecodePlaces,
) -> Option<Tensor<2>> {
    let [rows, width] = query.dims();
    let cache @ [cached_rows, groups, capacity, head] = keys.dims();
    let heads = width / head.max(1);
    let query = dense(on_device(query)?)?;
    let [keys, values] = [dense(on_device(keys)?)?, dense(on_device(values)?)?];
    let units = units(&query, UNITS);
    let fits = values.meta.shape()[..] == cache
        && [&keys, &values]
            .iter()
            .all(|cached| cached.dtype == query.dtype)
        && cached_rows == rows
        && heads * head == width
        && rows * heads * groups * capacity != 0
        && heads.is_multiple_of(groups)
        && head.is_power_of_two()
        && head <= units as usize;
    if !fits {
        return None;
    }
    let out = empty(&query, [rows, width], query.dtype);
    cached_attention_kernel::launch(
        &query.client.clone(),
        blocks(rows * heads),
        CubeDim::new_1d(units),
        query.clone().into_tensor_arg(),
        keys.into_tensor_arg(),
        values.into_tensor_arg(),
        whole_numbers(&places.starts, rows)?.into_tensor_arg(),
        whole_numbers(&places.column, 1)?.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        heads,
        groups,
        capacity,
        head,
        units,
        dtype_to_elem_type(query.dtype),
    );
    Some(Tensor::from_primitive::<Cube>(out))
}

/// A block computes one head of one row, and passes over the cached tokens once: as many at a time as it has threads.
#[cube(launch)]
fn cached_attention_kernel<F: Float>(
    query: &Buffer<F>,
    keys: &Buffer<F>,
    values: &Buffer<F>,
    starts: &Buffer<i32>,
    column: &Buffer<i32>,
    out: &mut Buffer<F>,
    rows: usize,
    heads: usize,
    groups: usize,
    capacity: usize,
    #[comptime] head: usize,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let mut weights = Shared::<[f32]>::new_slice(units as usize);
    let mut of_query = Shared::<[f32]>::new_slice(head);
    let block = row_of_block();
    if block < rows * heads {
        let row = block / heads;
        let group = row * groups + block % heads / (heads / groups);
        let cached = group * capacity * head;
        let unit = UNIT_POS as usize;
        let (i, part) = (unit % head, unit / head);
        let parts = comptime!(units as usize / head);
        if unit < head {
            of_query[unit] = f32::cast_from(query[block * head + unit]);
        }
        sync_cube();
        let end = column[0] as usize + 1;
        let mut most = f32::new(-3e38);
        let mut total = f32::new(0.0);
        let mut sum = f32::new(0.0);
        let mut tile = starts[row] as usize;
        while tile < end {
            let mut score = f32::new(-3e38);
            if tile + unit < end {
                let from = cached + (tile + unit) * head;
                let mut product = f32::new(0.0);
                for k in 0..head {
                    product += of_query[k] * f32::cast_from(keys[from + k]);
                }
                score = product;
            }
            let highest = max(most, block_max(score, &mut shared, units));
            let mut weight = f32::new(0.0);
            if tile + unit < end {
                weight = (score - highest).exp();
            }
            weights[unit] = weight;
            let before = (most - highest).exp();
            // All threads have written their weight when the sum is known.
            total = total * before + block_sum(weight, &mut shared, units);
            sum *= before;
            let tokens = min(end - tile, units as usize);
            let mut token = part;
            while token < tokens {
                let value = f32::cast_from(values[cached + (tile + token) * head + i]);
                sum += weights[token] * value;
                token += parts;
            }
            most = highest;
            tile += units as usize;
        }
        sync_cube();
        shared[unit] = sum;
        sync_cube();
        if unit < head {
            let mut mixed = f32::new(0.0);
            #[unroll]
            for k in 0..parts {
                mixed += shared[k * head + unit];
            }
            out[block * head + unit] = F::cast_from(mixed / total);
        }
    }
}
