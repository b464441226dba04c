//! The gradients of the kernels of graphics processors against those of the tensor library on the processor.

use burn::tensor::activation::{silu, softmax};
use burn::tensor::{DType, Device, Tensor, TensorData};
use sentinel_lm::{AdamOptions, Moments};
use sentinel_lm_cube::AdamWStep;
use sentinel_lm_kernels::HeadLayout;

use crate::device_kernels::{
    WEIGHTS, WIDTHS, assert_close, both, formats, mixed_formats, noise, numbers,
};
use crate::oracle::device;

/// Compares the result of an operation, and the gradients of its inputs, with those of the tensor library. `inputs`
/// has a tensor on the device and one on the processor each.
fn assert_gradients<const N: usize, const A: usize, const B: usize>(
    what: &str,
    inputs: [[Tensor<A>; 2]; N],
    bound: f64,
    operation: impl Fn([Tensor<A>; N]) -> Option<Tensor<B>>,
    reference: impl Fn([Tensor<A>; N]) -> Tensor<B>,
) {
    let leaf = |tensor: &Tensor<A>| tensor.clone().autodiff().require_grad();
    let ours = inputs.each_ref().map(|[tensor, _]| leaf(tensor));
    let theirs = inputs.each_ref().map(|[_, tensor]| leaf(tensor));
    let plain = operation(inputs.clone().map(|[tensor, _]| tensor)).unwrap();
    let found = operation(ours.clone()).unwrap();
    let expected = reference(theirs.clone());
    let [by, by_cpu] = both(expected.dims(), 99, 1.0, found.dtype());
    assert_close(what, plain, expected.clone().without_autodiff(), bound);
    assert_close(
        what,
        found.clone().without_autodiff(),
        expected.clone().without_autodiff(),
        bound,
    );
    let found = (found * by).cast(DType::F32).sum().backward();
    let expected = (expected * by_cpu).sum().backward();
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let (found, expected) = (ours.grad(&found).unwrap(), theirs.grad(&expected).unwrap());
        let what = format!("{what}, the gradient of input {at}");
        assert_eq!(found.dtype(), ours.dtype(), "{what}");
        assert_close(&what, found, expected, bound);
    }
}

#[test]
fn device_kernels_have_the_gradient_of_norms() {
    for (format, bound) in formats() {
        for width in WIDTHS {
            assert_gradients(
                &format!("{format:?} {width}"),
                [
                    both([5, width], 1, 3.0, format),
                    both([1, width], 2, 1.0, DType::F32),
                ],
                2.0 * bound,
                |[x, weight]| sentinel_lm_cube::rms_norm(&x, &weight, 1e-6),
                |[x, weight]| {
                    let mean = x.clone().square().mean_dim(1);
                    x * mean.add_scalar(1e-6).sqrt().recip() * weight
                },
            );
        }
    }
}

#[test]
fn device_kernels_have_the_gradient_of_gated_units() {
    for (format, bound) in formats() {
        for inner in WIDTHS {
            assert_gradients(
                &format!("{format:?} {inner}"),
                [
                    both([3, inner], 4, 20.0, format),
                    both([3, inner], 5, 2.0, format),
                ],
                bound,
                |[gate, up]| sentinel_lm_cube::swiglu(&gate, &up),
                |[gate, up]| silu(gate) * up,
            );
        }
    }
}

#[test]
fn device_kernels_have_the_gradient_of_heads() {
    for (format, bound) in formats() {
        for (rows, tokens, heads, head) in [(3, 1, 14, 64), (2, 5, 2, 64), (1, 7, 3, 2)] {
            let layout = HeadLayout {
                rows,
                tokens,
                heads,
                head,
            };
            let [cosine, c] = both([rows, tokens, 1, head / 2], 6, 1.0, DType::F32);
            let [sine, s] = both([rows, tokens, 1, head / 2], 7, 1.0, DType::F32);
            for rotates in [true, false] {
                assert_gradients(
                    &format!("{format:?} {tokens} of {head}, {rotates}"),
                    [both([rows * tokens, heads * head], 5, 2.0, format)],
                    bound,
                    |[x]| {
                        let angles = rotates.then_some([&cosine, &sine]);
                        sentinel_lm_cube::split_heads(&x, layout, angles, 0.125)
                    },
                    |[x]| {
                        let mut x = x.reshape([rows, tokens, heads, head]);
                        if rotates {
                            let (a, b) = (
                                x.clone().narrow(3, 0, head / 2),
                                x.narrow(3, head / 2, head / 2),
                            );
                            let first = a.clone() * c.clone() - b.clone() * s.clone();
                            let second = b * c.clone() + a * s.clone();
                            x = Tensor::cat(vec![first, second], 3);
                        }
                        x.swap_dims(1, 2).mul_scalar(0.125)
                    },
                );
            }
        }
    }
}

#[test]
fn device_kernels_have_the_gradient_of_the_masked_softmax() {
    for (format, bound) in formats() {
        for (rows, heads, tokens, seen) in [(2, 14, 1, 257), (3, 2, 4, 31), (1, 1, 1, 1)] {
            let offsets: Vec<f32> = (noise(rows * tokens * seen, 9).into_iter())
                .map(|value| if value > 0.3 { -1e30 } else { 0.0 })
                .collect();
            let on = |device: &Device| {
                let data = TensorData::new(offsets.clone(), [rows, 1, tokens, seen]);
                Tensor::<4>::from_data(data, device)
            };
            assert_gradients(
                &format!("{format:?} {seen}"),
                [both([rows, heads, tokens, seen], 8, 9.0, format)],
                2.0 * bound,
                |[scores]| sentinel_lm_cube::masked_softmax(&scores, &on(&device())),
                |[scores]| softmax(scores + on(&Device::flex()), 3),
            );
        }
    }
}

#[test]
fn device_kernels_have_the_gradients_of_adapted_layers() {
    for ([format, of_weight], bound) in mixed_formats() {
        for (rows, rank) in [(1, 8), (17, 3), (130, 16)] {
            for [outputs, inputs] in WEIGHTS {
                let [weight, weight_cpu] = both([outputs, inputs], 13, 1.0, of_weight);
                let [bias, bias_cpu] = both([1, outputs], 14, 1.0, DType::F32);
                for has_bias in [true, false] {
                    assert_gradients(
                        &format!("{format:?} {rows} rows, {outputs} of {inputs}, rank {rank}"),
                        [
                            both([rows, inputs], 12, 1.0, format),
                            both([rank, inputs], 15, 1.0, DType::F32),
                            both([outputs, rank], 16, 1.0, DType::F32),
                        ],
                        bound,
                        |[x, a, b]| {
                            let bias = has_bias.then_some(&bias);
                            sentinel_lm_cube::adapted_linear(&x, &weight, bias, [&a, &b], 1.5)
                        },
                        |[x, a, b]| {
                            let beside = x.clone().matmul(a.transpose()).matmul(b.transpose());
                            let y = x.matmul(weight_cpu.clone().transpose());
                            let y = y + beside.mul_scalar(1.5);
                            if has_bias { y + bias_cpu.clone() } else { y }
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn device_kernels_have_gradients_of_columns_of_a_wider_tensor() {
    for (format, bound) in formats() {
        // A view that begins at a multiple of 512 bytes is not copied on CUDA, others are.
        for start in [0, 256, 900] {
            let wide = || both([7, 1024], 3, 3.0, format);
            let [weight, weight_cpu] = both([24, 64], 11, 1.0, format);
            let columns = |x: Tensor<2>| x.narrow(1, start, 64);
            assert_gradients(
                &format!("norms, {format:?} {start}"),
                [wide(), both([1, 64], 2, 1.0, DType::F32)],
                2.0 * bound,
                |[x, weight]| sentinel_lm_cube::rms_norm(&columns(x), &weight, 1e-6),
                |[x, weight]| {
                    let x = columns(x);
                    let mean = x.clone().square().mean_dim(1);
                    x * mean.add_scalar(1e-6).sqrt().recip() * weight
                },
            );
            assert_gradients(
                &format!("gated units, {format:?} {start}"),
                [wide(), both([7, 64], 4, 1.0, format)],
                bound,
                |[x, y]| {
                    let gate = sentinel_lm_cube::swiglu(&columns(x.clone()), &y)?;
                    Some(gate + sentinel_lm_cube::swiglu(&y, &columns(x))?)
                },
                |[x, y]| silu(columns(x.clone())) * y.clone() + silu(y) * columns(x),
            );
            assert_gradients(
                &format!("adapted layers, {format:?} {start}"),
                [
                    wide(),
                    both([3, 64], 15, 1.0, DType::F32),
                    both([24, 3], 16, 1.0, DType::F32),
                ],
                bound,
                |[x, a, b]| {
                    sentinel_lm_cube::adapted_linear(&columns(x), &weight, None, [&a, &b], 1.5)
                },
                |[x, a, b]| {
                    let x = columns(x);
                    let beside = x.clone().matmul(a.transpose()).matmul(b.transpose());
                    x.matmul(weight_cpu.clone().transpose()) + beside.mul_scalar(1.5)
                },
            );
        }
    }
}

#[test]
fn device_kernels_of_an_adapted_layer_refuse_shapes_that_do_not_fit() {
    let ones = |shape: [usize; 2]| Tensor::<2>::ones(shape, &device());
    for (x, weight, a, b) in [
        ([3, 8], [4, 9], [2, 9], [4, 2]),
        ([3, 8], [4, 8], [2, 9], [4, 2]),
        ([3, 8], [4, 8], [2, 8], [4, 3]),
        ([3, 8], [4, 8], [2, 8], [5, 2]),
    ] {
        let [x, weight, a, b] = [x, weight, a, b].map(ones);
        let found = sentinel_lm_cube::adapted_linear(&x, &weight, None, [&a, &b], 1.0);
        assert!(found.is_none());
    }
}

#[test]
fn device_kernels_step_as_adamw_does() {
    if formats().next().is_none() {
        return;
    }
    let options = AdamOptions {
        weight_decay: 0.1,
        ..AdamOptions::default()
    };
    let rule = options.update_rule(options.weight_decay);
    for shape in [[8, 896], [1, 31], [1152, 8]] {
        let ([mut value, mut cpu], mut moments) = (both(shape, 1, 1.0, DType::F32), None);
        let mut state = None;
        for time in 1..4 {
            let [grad, of_cpu] = both(shape, 10 + time as u32, 0.1, DType::F32);
            let step = AdamWStep {
                learning_rate: 0.01,
                betas: [options.beta1, options.beta2],
                epsilon: options.epsilon,
                weight_decay: options.weight_decay,
                clip_factor: 0.5,
                time,
            };
            let before = moments.as_ref().map(<[Tensor<2>; 2]>::each_ref);
            let [next, first, second] =
                sentinel_lm_cube::adamw(&value, &grad, before, step).unwrap();
            let (expected, after) =
                burn::optim::Optimizer::step(&rule, 0.01, cpu, of_cpu.mul_scalar(0.5), state);
            let of_cpu = Moments::from_device(after.as_ref().unwrap()).unwrap();
            for (found, expected) in [(&first, &of_cpu.first), (&second, &of_cpu.second)] {
                let expected = TensorData::new(expected.clone(), shape);
                let expected = Tensor::from_data(expected, &Device::flex());
                assert_close("moments", found.clone(), expected, 1e-6);
            }
            assert_close("values", next.clone(), expected.clone(), 1e-6);
            (value, moments, cpu, state) = (next, Some([first, second]), expected, after);
        }
    }
}

#[test]
fn device_kernels_add_the_squares_of_gradients() {
    if formats().next().is_none() {
        return;
    }
    let all: Vec<_> = [[8, 896], [1, 1], [300, 31]]
        .map(|shape| both(shape, 3, 1.0, DType::F32))
        .into();
    let found = sentinel_lm_cube::sums_of_squares(all.iter().map(|[tensor, _]| tensor)).unwrap();
    for (found, [_, cpu]) in numbers(found).iter().zip(&all) {
        let expected = numbers(cpu.clone().square().sum())[0];
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
    }
}
