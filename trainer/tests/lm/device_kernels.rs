//! The kernels of graphics processors against the operations of the tensor library on the processor.

use burn::tensor::activation::{log_softmax, silu, softmax};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sentinel_lm_cube::SamplingOptions;
use sentinel_lm_kernels::HeadLayout;

use crate::oracle::device;

/// Formats with the largest error relative to the largest number: TF32 has the digits of f16, bf16 eight bits.
const FORMATS: [(DType, f64); 2] = [(DType::F32, 2e-3), (DType::BF16, 2e-2)];

/// Returns the formats that the tested device computes with; none on the processor.
pub(crate) fn formats() -> impl Iterator<Item = (DType, f64)> {
    let device = device();
    let kept = device != Device::flex();
    FORMATS
        .into_iter()
        .filter(move |(format, _)| kept && device.supports_dtype(*format))
}

/// Returns numbers between -1 and 1, in the order of a hash.
pub(crate) fn noise(count: usize, seed: u32) -> Vec<f32> {
    let hash = |at: usize| {
        let mut h = (at as u32).wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
        h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
        ((h ^ (h >> 16)) >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(hash).collect()
}

/// Returns a tensor on the tested device, and the same numbers, rounded alike, on the processor.
pub(crate) fn both<const D: usize>(
    shape: [usize; D],
    seed: u32,
    scale: f32,
    format: DType,
) -> [Tensor<D>; 2] {
    let values = noise(shape.iter().product(), seed);
    let values: Vec<f32> = values.into_iter().map(|value| value * scale).collect();
    let on =
        |device: &Device| Tensor::<D>::from_data(TensorData::new(values.clone(), shape), device);
    let cpu = on(&Device::flex()).cast(format).cast(DType::F32);
    [on(&device()).cast(format), cpu]
}

pub(crate) fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.cast(DType::F32).try_into_vec_as::<f32>().unwrap()
}

/// Checks that two tensors differ by at most `bound` of the largest number.
pub(crate) fn assert_close<const D: usize>(
    what: &str,
    found: Tensor<D>,
    expected: Tensor<D>,
    bound: f64,
) {
    assert_eq!(found.dims(), expected.dims(), "{what}");
    let (found, expected) = (numbers(found), numbers(expected));
    let largest = expected
        .iter()
        .fold(1e-6_f64, |most, value| most.max(f64::from(value.abs())));
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let error = f64::from((found - expected).abs()) / largest;
        assert!(
            error <= bound,
            "{what}, number {at}: {found} instead of {expected}, of {largest}"
        );
    }
}

pub(crate) const WIDTHS: [usize; 6] = [1, 31, 896, 1152, 4864, 9728];

#[test]
fn device_kernels_norm_rows() {
    for (format, bound) in formats() {
        for width in WIDTHS {
            let [x, cpu] = both([5, width], 1, 3.0, format);
            let [weight, of_cpu] = both([1, width], 2, 1.0, DType::F32);
            let found = sentinel_lm_cube::rms_norm(&x, &weight, 1e-6).unwrap();
            assert_eq!(found.dtype(), format);
            let mean = cpu.clone().square().mean_dim(1);
            let expected = cpu * mean.add_scalar(1e-6).sqrt().recip() * of_cpu;
            assert_close(&format!("{format:?} {width}"), found, expected, bound);
        }
    }
}

#[test]
fn device_kernels_read_columns_of_a_wider_tensor() {
    for (format, bound) in formats() {
        // A view that begins at a multiple of 512 bytes is not copied on CUDA, others are.
        for start in [0, 256, 900] {
            let [x, cpu] = both([7, 1024], 3, 3.0, format);
            let [weight, of_cpu] = both([1, 64], 2, 1.0, DType::F32);
            let (x, cpu) = (x.narrow(1, start, 64), cpu.narrow(1, start, 64));
            let found = sentinel_lm_cube::rms_norm(&x, &weight, 1e-6).unwrap();
            let mean = cpu.clone().square().mean_dim(1);
            let expected = cpu.clone() * mean.add_scalar(1e-6).sqrt().recip() * of_cpu;
            assert_close("norms", found, expected, bound);
            let found = sentinel_lm_cube::swiglu_of_joined(&x).unwrap();
            let expected = silu(cpu.clone().narrow(1, 0, 32)) * cpu.clone().narrow(1, 32, 32);
            assert_close("gated units", found, expected, bound);
            let [weight, of_cpu] = both([24, 64], 11, 1.0, format);
            let found = sentinel_lm_cube::matmul_weight(&x, &weight).unwrap();
            assert_close("products", found, cpu.matmul(of_cpu.transpose()), bound);
        }
    }
}

#[test]
fn device_kernels_compute_gated_units() {
    for (format, bound) in formats() {
        for inner in WIDTHS {
            let [x, cpu] = both([3, 2 * inner], 4, 20.0, format);
            let found = sentinel_lm_cube::swiglu_of_joined(&x).unwrap();
            let expected = silu(cpu.clone().narrow(1, 0, inner)) * cpu.narrow(1, inner, inner);
            assert_close(&format!("{format:?} {inner}"), found, expected, bound);
        }
    }
}

#[test]
fn device_kernels_rotate_heads() {
    for (format, bound) in formats() {
        for (rows, tokens, heads, head) in [(3, 1, 14, 64), (2, 5, 2, 64), (1, 7, 3, 2)] {
            let [x, cpu] = both([rows * tokens, heads * head], 5, 2.0, format);
            let [cosine, c] = both([rows, tokens, 1, head / 2], 6, 1.0, DType::F32);
            let [sine, s] = both([rows, tokens, 1, head / 2], 7, 1.0, DType::F32);
            let layout = HeadLayout {
                rows,
                tokens,
                heads,
                head,
            };
            let found = sentinel_lm_cube::split_heads(&x, layout, Some([&cosine, &sine]), 0.125);
            let found = found.unwrap();
            let cpu = cpu.reshape([rows, tokens, heads, head]);
            let (a, b) = (
                cpu.clone().narrow(3, 0, head / 2),
                cpu.narrow(3, head / 2, head / 2),
            );
            let first = a.clone() * c.clone() - b.clone() * s.clone();
            let second = b * c + a * s;
            let expected = Tensor::cat(vec![first, second], 3)
                .swap_dims(1, 2)
                .mul_scalar(0.125);
            assert_close(
                &format!("{format:?} {tokens} of {head}"),
                found,
                expected,
                bound,
            );
        }
    }
}

#[test]
fn device_kernels_mask_the_softmax() {
    for (format, bound) in formats() {
        for (rows, heads, tokens, seen) in [(2, 14, 1, 257), (3, 2, 4, 31), (1, 1, 1, 1)] {
            let [scores, cpu] = both([rows, heads, tokens, seen], 8, 9.0, format);
            let offsets: Vec<f32> = (noise(rows * tokens * seen, 9).into_iter())
                .map(|value| if value > 0.3 { -1e30 } else { 0.0 })
                .collect();
            let on = |device: &Device| {
                let data = TensorData::new(offsets.clone(), [rows, 1, tokens, seen]);
                Tensor::<4>::from_data(data, device)
            };
            let found = sentinel_lm_cube::masked_softmax(&scores, &on(&device())).unwrap();
            let expected = softmax(cpu + on(&Device::flex()), 3);
            assert_close(&format!("{format:?} {seen}"), found, expected, bound);
        }
    }
}

/// Pairs of formats of activations and weights that the tested device computes with.
pub(crate) fn mixed_formats() -> Vec<([DType; 2], f64)> {
    let all: Vec<_> = formats().collect();
    let pairs = all.iter().flat_map(|(x, a)| {
        let of = |(weight, b): &(DType, f64)| ([*x, *weight], a.max(*b));
        all.iter().map(of).collect::<Vec<_>>()
    });
    pairs.collect()
}

/// Outputs and inputs of weights: of a model, and those whose rows are padded or cannot be read in vectors.
pub(crate) const WEIGHTS: [[usize; 2]; 8] = [
    [1152, 896],
    [96, 64],
    [40, 72],
    [896, 2],
    [64, 1],
    [33, 36],
    [1003, 64],
    [64, 6],
];

#[test]
fn device_kernels_multiply_rows_with_weights() {
    for ([format, of_weight], bound) in mixed_formats() {
        for rows in [1, 2, 16, 17, 300] {
            for [outputs, inputs] in WEIGHTS {
                let [x, cpu] = both([rows, inputs], 10, 1.0, format);
                let [weight, of_cpu] = both([outputs, inputs], 11, 1.0, of_weight);
                let found = sentinel_lm_cube::matmul_weight(&x, &weight).unwrap();
                assert_eq!(found.dtype(), format);
                let expected = cpu.matmul(of_cpu.transpose());
                let what = format!("{format:?} {rows} rows, {outputs} of {inputs}");
                assert_close(&what, found, expected, bound);
            }
        }
    }
}

#[test]
fn device_kernels_carry_the_gradient_through_a_frozen_product() {
    for ([format, of_weight], bound) in mixed_formats() {
        for rows in [1, 17, 300] {
            for [outputs, inputs] in WEIGHTS {
                let [x, _] = both([rows, inputs], 12, 1.0, format);
                let [weight, of_cpu] = both([outputs, inputs], 13, 1.0, of_weight);
                let [by, by_cpu] = both([rows, outputs], 14, 1.0, format);
                let x = x.autodiff().require_grad();
                let product = sentinel_lm_cube::matmul_weight(&x, &weight).unwrap();
                let grads = (product * by).sum().backward();
                let what = format!("{format:?} {rows} rows, {outputs} of {inputs}");
                let found = x.grad(&grads).unwrap();
                assert_close(&what, found, by_cpu.matmul(of_cpu), bound);
            }
        }
    }
}

/// Logits of a few distributions over 151 936 tokens, with targets.
fn distributions(format: DType) -> ([Tensor<2>; 2], Vec<i32>) {
    let [logits, cpu] = both([3, 151_936], 15, 8.0, format);
    ([logits, cpu], vec![0, 151_935, 77_777])
}

fn targets(of: &[i32], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(of.to_vec(), [of.len()]), device)
}

#[test]
fn device_kernels_compute_statistics_of_tokens() {
    for (format, _) in formats() {
        let ([logits, cpu], of) = distributions(format);
        let found = sentinel_lm_cube::token_stats(&logits, &targets(&of, &device()), 0.7).unwrap();
        let all = log_softmax(cpu.div_scalar(0.7), 1);
        let places = targets(&of, &Device::flex()).reshape([3, 1]);
        let logp = all.clone().gather(1, places);
        let entropy = (all.clone().exp() * all.clone()).sum_dim(1).neg();
        let expected = Tensor::cat(vec![logp, entropy, all.max_dim(1)], 1);
        assert_close(&format!("{format:?}"), found, expected, 1e-5);
    }
}

#[test]
fn device_kernels_compute_gradients_of_logits() {
    for (format, bound) in formats() {
        let ([logits, cpu], of) = distributions(format);
        let [by_logp, of_logp] = both([3], 16, 1.0, DType::F32);
        let [by_entropy, of_entropy] = both([3], 17, 1.0, DType::F32);
        let of_device = targets(&of, &device());
        let found =
            sentinel_lm_cube::logit_grads(&logits, &of_device, 0.7, &by_logp, Some(&by_entropy));
        let cpu = cpu.autodiff().require_grad();
        let all = log_softmax(cpu.clone().div_scalar(0.7), 1);
        let places = targets(&of, &Device::flex()).reshape([3, 1]);
        let logp = all.clone().gather(1, places).reshape([3]);
        let entropy = (all.clone().exp() * all).sum_dim(1).neg().reshape([3]);
        let loss = (logp * of_logp + entropy * of_entropy).sum();
        let expected = cpu.grad(&loss.backward()).unwrap();
        assert_close(&format!("{format:?}"), found.unwrap(), expected, bound);
    }
}

#[test]
fn device_kernels_take_the_most_likely_token() {
    for (format, _) in formats() {
        let ([logits, cpu], _) = distributions(format);
        let draw = SamplingOptions {
            temperature: 0.5,
            greedy: true,
            seed: 1,
            step: 0,
        };
        let (ids, logps) = sentinel_lm_cube::sample(&logits, draw).unwrap();
        let of_cpu = cpu.clone().argmax(1);
        let ids = ids.try_into_vec_as::<i64>().unwrap();
        assert_eq!(
            ids,
            of_cpu.clone().try_into_vec_as::<i64>().unwrap(),
            "{format:?}"
        );
        assert_close(
            "log-probabilities",
            logps,
            log_softmax(cpu, 1).gather(1, of_cpu),
            1e-5,
        );
    }
}

/// The χ² of 15 degrees of freedom that one of a million fair draws exceeds.
const CHI_SQUARE: f64 = 56.5;

#[test]
fn device_kernels_draw_tokens_by_their_probabilities() {
    let Some((format, _)) = formats().next() else {
        return;
    };
    let (rows, tokens, steps) = (4096, 16, 16);
    let of_row: Vec<f32> = (0..tokens).map(|token| token as f32 / 5.0).collect();
    let logits: Vec<f32> = (0..rows).flat_map(|_| of_row.clone()).collect();
    let logits = Tensor::<2>::from_data(TensorData::new(logits, [rows, tokens]), &device());
    let logits = logits.cast(format);
    let mut counts = vec![0.0; tokens];
    for step in 0..steps {
        let draw = SamplingOptions {
            temperature: 0.8,
            greedy: false,
            seed: 9,
            step,
        };
        let (ids, logps) = sentinel_lm_cube::sample(&logits, draw).unwrap();
        let again = sentinel_lm_cube::sample(&logits, draw).unwrap().0;
        let ids = ids.try_into_vec_as::<i64>().unwrap();
        assert_eq!(
            ids,
            again.try_into_vec_as::<i64>().unwrap(),
            "the same numbers again"
        );
        assert!(
            numbers(logps)
                .iter()
                .all(|logp| logp.is_finite() && *logp < 0.0)
        );
        for id in ids {
            counts[id as usize] += 1.0;
        }
    }
    let weights: Vec<f64> = of_row.iter().map(|z| (f64::from(*z) / 0.8).exp()).collect();
    let (total, drawn) = (weights.iter().sum::<f64>(), f64::from(rows as u32 * steps));
    let parts = counts.iter().zip(&weights).map(|(count, weight)| {
        let expected = drawn * weight / total;
        (count - expected) * (count - expected) / expected
    });
    let found: f64 = parts.sum();
    assert!(found < CHI_SQUARE, "χ² is {found} of {counts:?}");
}

#[test]
fn device_kernels_apply_only_to_graphics_processors() {
    let x = Tensor::<2>::ones([2, 4], &Device::flex());
    assert!(sentinel_lm_cube::swiglu(&x, &x).is_none());
    assert!(sentinel_lm_cube::matmul_weight(&x, &x).is_none());
}
