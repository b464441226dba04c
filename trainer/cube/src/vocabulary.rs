//! Distributions over a vocabulary: a token drawn from each, its statistics, and the gradient of a loss of them.
//!
//! A row has some hundred thousand logits. Each is computed by one block, of as many threads as a block can have.

use burn::tensor::{DType, Tensor};
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::Cube;
use cubecl::prelude::{Tensor as Buffer, *};

use super::block::{MAX_UNITS, block_max, block_sum, blocks, row_of_block, units};
use super::device_tensor::{dense, dense_f32, empty, on_device, whole_numbers};

/// The least value of `-ln(u)`: that of the largest `u`, which a device may round to 0.
const LEAST: f32 = 5.96e-8;

/// The options by which tokens are selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingOptions {
    /// Divisor of the logits; 1 is used if `greedy` is set.
    pub temperature: f64,
    /// The most likely token is taken.
    pub greedy: bool,
    /// Seed of the random numbers.
    pub seed: u32,
    /// Number of the step; the same seed and step give the same random numbers.
    pub step: u32,
}

impl SamplingOptions {
    pub(crate) fn inverse_temperature(&self) -> f32 {
        if self.greedy {
            1.0
        } else {
            (1.0 / self.temperature) as f32
        }
    }

    /// Returns the factor of the noise.
    pub(crate) const fn noise(&self) -> f32 {
        if self.greedy { 0.0 } else { 1.0 }
    }
}

/// Selects a token of each row of logits, `[rows, vocabulary]`; returns it, `[rows, 1]`, with its log-probability.
///
/// A token is drawn as the largest of logit plus Gumbel noise. The noise is made of 23 random bits, so that tokens of
/// a probability below about 1e-7 are not drawn.
#[must_use]
pub fn sample(
    logits: &Tensor<2>,
    options: SamplingOptions,
) -> Option<(Tensor<2, burn::tensor::Int>, Tensor<2>)> {
    let ([rows, width], logits) = (logits.dims(), dense(on_device(logits)?)?);
    if rows * width == 0 {
        return None;
    }
    let units = units(&logits, MAX_UNITS);
    let ids = empty(&logits, [rows, 1], DType::I32);
    let logps = empty(&logits, [rows, 1], DType::F32);
    sample_kernel::launch(
        &logits.client.clone(),
        blocks(rows),
        CubeDim::new_1d(units),
        logits.clone().into_tensor_arg(),
        ids.clone().into_tensor_arg(),
        logps.clone().into_tensor_arg(),
        rows,
        width,
        options.inverse_temperature(),
        options.noise(),
        options.seed,
        options.step,
        units,
        dtype_to_elem_type(logits.dtype),
    );
    let ids = Tensor::<2, burn::tensor::Int>::from_primitive::<Cube>(ids);
    Some((ids, Tensor::from_primitive::<Cube>(logps)))
}

/// A hash of a number.
#[cube]
pub(crate) fn hash(x: u32) -> u32 {
    let mut h = x;
    h = (h ^ (h >> 16)) * 0x7feb_352d;
    h = (h ^ (h >> 15)) * 0x846c_a68b;
    h ^ (h >> 16)
}

#[cube(launch)]
fn sample_kernel<F: Float>(
    logits: &Buffer<F>,
    ids: &mut Buffer<i32>,
    logps: &mut Buffer<f32>,
    rows: usize,
    width: usize,
    inverse_temperature: f32,
    noise: f32,
    seed: u32,
    step: u32,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let row = row_of_block();
    if row < rows {
        let key = hash(hash(seed ^ hash(step)) ^ u32::cast_from(row));
        let start = row * width;
        let (id, logp) =
            draw_token::<F>(logits, start, width, inverse_temperature, noise, key, units);
        if UNIT_POS == 0 {
            ids[row] = i32::cast_from(id);
            logps[row] = logp;
        }
    }
}

/// Draws a token from a row of logits by all threads of a block; the first thread has its log-probability.
#[cube]
pub(crate) fn draw_token<F: Float>(
    logits: &Buffer<F>,
    start: usize,
    width: usize,
    inverse_temperature: f32,
    noise: f32,
    key: u32,
    #[comptime] units: u32,
) -> (u32, f32) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let mut maxima = Shared::<[f32]>::new_slice(units as usize);
    let mut argmaxes = Shared::<[u32]>::new_slice(units as usize);
    let mut max_noisy = f32::new(-3e38);
    let mut argmax = u32::new(0);
    let mut most = f32::new(-3e38);
    let mut sum = f32::new(0.0);
    let mut i = UNIT_POS as usize;
    while i < width {
        let z = f32::cast_from(logits[start + i]) * inverse_temperature;
        // A number above 0 and below 1.
        let bits = hash(key ^ (u32::cast_from(i) * 0x9e37_79b9)) >> 9;
        let uniform = (f32::cast_from(bits) + f32::new(0.5)) * f32::new(1.192_092_9e-7);
        let gumbel = -(max(-(uniform.ln()), f32::new(LEAST))).ln();
        let noisy = z + gumbel * noise;
        if noisy > max_noisy {
            max_noisy = noisy;
            argmax = u32::cast_from(i);
        }
        if z > most {
            sum = sum * (most - z).exp() + f32::new(1.0);
            most = z;
        } else {
            sum += (z - most).exp();
        }
        i += units as usize;
    }
    let largest = block_max(most, &mut shared, units);
    let total = block_sum(sum * (most - largest).exp(), &mut shared, units);
    let at = UNIT_POS as usize;
    maxima[at] = max_noisy;
    argmaxes[at] = argmax;
    sync_cube();
    let levels = comptime!(units.ilog2() as usize);
    #[unroll]
    for level in 0..levels {
        let half = comptime!((units as usize) >> (level + 1));
        if at < half {
            let (other, other_id) = (maxima[at + half], argmaxes[at + half]);
            // Of equal ones the first.
            if other > maxima[at] || (other == maxima[at] && other_id < argmaxes[at]) {
                maxima[at] = other;
                argmaxes[at] = other_id;
            }
        }
        sync_cube();
    }
    let id = argmaxes[0];
    let z = f32::cast_from(logits[start + id as usize]) * inverse_temperature;
    (id, z - largest - total.ln())
}

/// Returns the statistics of a target, a token of the vocabulary, under the distribution of each row of logits,
/// `[rows, vocabulary]`:
/// `[rows, 3]` with its log-probability, the entropy in nats, and the log-probability of the most likely token.
#[must_use]
pub fn token_stats(
    logits: &Tensor<2>,
    targets: &Tensor<1, burn::tensor::Int>,
    temperature: f64,
) -> Option<Tensor<2>> {
    let ([rows, width], logits) = (logits.dims(), dense(on_device(logits)?)?);
    let targets = whole_numbers(targets, rows)?;
    if rows * width == 0 {
        return None;
    }
    let units = units(&logits, MAX_UNITS);
    let out = empty(&logits, [rows, 3], DType::F32);
    token_stats_kernel::launch(
        &logits.client.clone(),
        blocks(rows),
        CubeDim::new_1d(units),
        logits.clone().into_tensor_arg(),
        targets.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        width,
        (1.0 / temperature) as f32,
        units,
        dtype_to_elem_type(logits.dtype),
    );
    Some(Tensor::from_primitive::<Cube>(out))
}

/// The largest of the scaled logits of a row, the sum of `w = exp(z - largest)`, and the sum of `w (z - largest)`.
#[cube]
fn softmax_sums<F: Float>(
    logits: &Buffer<F>,
    start: usize,
    width: usize,
    inverse_temperature: f32,
    shared: &mut Shared<[f32]>,
    #[comptime] units: u32,
) -> (f32, f32, f32) {
    let mut most = f32::new(-3e38);
    let mut i = UNIT_POS as usize;
    while i < width {
        most = max(
            most,
            f32::cast_from(logits[start + i]) * inverse_temperature,
        );
        i += units as usize;
    }
    let largest = block_max(most, shared, units);
    let mut total = f32::new(0.0);
    let mut weighted_sum = f32::new(0.0);
    let mut i = UNIT_POS as usize;
    while i < width {
        let z = f32::cast_from(logits[start + i]) * inverse_temperature - largest;
        let weight = z.exp();
        total += weight;
        // A weight of 0 has no part in it, also at negative infinity.
        if weight > 0.0 {
            weighted_sum += weight * z;
        }
        i += units as usize;
    }
    let total = block_sum(total, shared, units);
    let weighted_sum = block_sum(weighted_sum, shared, units);
    (largest, total, weighted_sum)
}

#[cube(launch)]
fn token_stats_kernel<F: Float>(
    logits: &Buffer<F>,
    targets: &Buffer<i32>,
    out: &mut Buffer<f32>,
    rows: usize,
    width: usize,
    inverse_temperature: f32,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let row = row_of_block();
    if row < rows {
        let start = row * width;
        let (largest, total, weighted_sum) = softmax_sums::<F>(
            logits,
            start,
            width,
            inverse_temperature,
            &mut shared,
            units,
        );
        if UNIT_POS == 0 {
            let log_total = total.ln();
            let target =
                f32::cast_from(logits[start + targets[row] as usize]) * inverse_temperature;
            out[3 * row] = target - largest - log_total;
            out[3 * row + 1] = log_total - weighted_sum / total;
            out[3 * row + 2] = -log_total;
        }
    }
}

/// Returns the derivatives of a loss with respect to logits, `[rows, vocabulary]`, from those with respect to the
/// log-probability of each row's target and to its entropy, if the loss depends on it, both `[rows]` in f32.
#[must_use]
pub fn logit_grads(
    logits: &Tensor<2>,
    targets: &Tensor<1, burn::tensor::Int>,
    temperature: f64,
    by_logp: &Tensor<1>,
    by_entropy: Option<&Tensor<1>>,
) -> Option<Tensor<2>> {
    let ([rows, width], logits) = (logits.dims(), dense(on_device(logits)?)?);
    let targets = whole_numbers(targets, rows)?;
    let by_entropy = match by_entropy {
        Some(by_entropy) => by_entropy.clone(),
        None => Tensor::<1>::zeros([rows], &by_logp.device()),
    };
    let by_entropy = dense_f32(on_device(&by_entropy)?)?;
    let by_logp = dense_f32(on_device(by_logp)?)?;
    if rows * width == 0 {
        return None;
    }
    if [&by_logp, &by_entropy]
        .iter()
        .any(|of| of.meta.shape()[0] != rows)
    {
        return None;
    }
    let units = units(&logits, MAX_UNITS);
    let out = empty(&logits, [rows, width], logits.dtype);
    logit_grads_kernel::launch(
        &logits.client.clone(),
        blocks(rows),
        CubeDim::new_1d(units),
        logits.clone().into_tensor_arg(),
        targets.into_tensor_arg(),
        by_logp.into_tensor_arg(),
        by_entropy.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        width,
        (1.0 / temperature) as f32,
        units,
        dtype_to_elem_type(logits.dtype),
    );
    Some(Tensor::from_primitive::<Cube>(out))
}

#[cube(launch)]
fn logit_grads_kernel<F: Float>(
    logits: &Buffer<F>,
    targets: &Buffer<i32>,
    by_logp: &Buffer<f32>,
    by_entropy: &Buffer<f32>,
    out: &mut Buffer<F>,
    rows: usize,
    width: usize,
    inverse_temperature: f32,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let row = row_of_block();
    if row < rows {
        let start = row * width;
        let (largest, total, weighted_sum) = softmax_sums::<F>(
            logits,
            start,
            width,
            inverse_temperature,
            &mut shared,
            units,
        );
        let log_total = total.ln();
        let entropy = log_total - weighted_sum / total;
        let (of_logp, of_entropy) = (by_logp[row], by_entropy[row]);
        let target = targets[row] as usize;
        let mut i = UNIT_POS as usize;
        while i < width {
            let z = f32::cast_from(logits[start + i]) * inverse_temperature - largest;
            let share = z.exp() / total;
            let mut grad = -share * of_logp;
            if share > 0.0 {
                grad -= share * (z - log_total + entropy) * of_entropy;
            }
            if i == target {
                grad += of_logp;
            }
            out[start + i] = F::cast_from(grad * inverse_temperature);
            i += units as usize;
        }
    }
}
