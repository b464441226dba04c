//! The kernels of a decoding step of graphics processors against plain loops.

use burn::tensor::{DType, Int, Tensor, TensorData};
use sentinel_lm_cube::DecodePlaces;

use crate::device_kernels::{assert_close, both, formats, numbers};
use crate::oracle::device;

/// The shape of a step.
#[derive(Clone, Copy, Debug)]
struct Step {
    rows: usize,
    heads: usize,
    groups: usize,
    capacity: usize,
    head: usize,
    /// Column of the new tokens.
    column: usize,
}

const STEPS: [Step; 5] = [
    Step {
        rows: 1,
        heads: 14,
        groups: 2,
        capacity: 64,
        head: 64,
        column: 37,
    },
    Step {
        rows: 3,
        heads: 4,
        groups: 4,
        capacity: 32,
        head: 16,
        column: 31,
    },
    Step {
        rows: 2,
        heads: 6,
        groups: 1,
        capacity: 1024,
        head: 32,
        column: 777,
    },
    Step {
        rows: 5,
        heads: 2,
        groups: 2,
        capacity: 8,
        head: 2,
        column: 0,
    },
    Step {
        rows: 2,
        heads: 2,
        groups: 1,
        capacity: 512,
        head: 128,
        column: 256,
    },
];

fn whole(values: impl IntoIterator<Item = usize>) -> Tensor<1, Int> {
    let values: Vec<i32> = values
        .into_iter()
        .map(|value| i32::try_from(value).unwrap())
        .collect();
    let count = values.len();
    Tensor::from_data(TensorData::new(values, [count]), &device())
}

fn cpu(values: Vec<f32>, shape: [usize; 2]) -> Tensor<2> {
    Tensor::from_data(
        TensorData::new(values, shape),
        &burn::tensor::Device::flex(),
    )
}

/// Row `i` has begun at the column `i`, and no later than the new token.
fn start(step: Step, row: usize) -> usize {
    row.min(step.column)
}

#[test]
fn device_kernels_append_a_token_and_attend_from_it() {
    for (format, bound) in formats() {
        for step in STEPS {
            for has_bias in [true, false] {
                compare(step, has_bias, format, bound);
            }
        }
    }
}

fn compare(step: Step, has_bias: bool, format: DType, bound: f64) {
    let Step {
        rows,
        heads,
        groups,
        capacity,
        head,
        column,
    } = step;
    let (width, half) = ((heads + 2 * groups) * head, head / 2);
    let [qkv, qkv_cpu] = both([rows, width], 1, 2.0, format);
    let [bias, bias_cpu] = both([1, width], 2, 1.0, DType::F32);
    let [cosine, c] = both([capacity, half], 3, 1.0, DType::F32);
    let [sine, s] = both([capacity, half], 4, 1.0, DType::F32);
    let cached = [rows, groups, capacity, head];
    let [[keys, keys_cpu], [values, values_cpu]] =
        [5, 6].map(|seed| both(cached, seed, 1.0, format));
    let places = DecodePlaces {
        rope: [cosine.clone(), sine],
        positions: whole((0..rows).map(|row| column - start(step, row))),
        starts: whole((0..rows).map(|row| start(step, row))),
        column: whole([column]),
    };
    assert!(DecodePlaces::are_supported(&cosine, cached));
    // Another owner of the keys must not see the new token.
    let before = keys.clone();
    let bias = has_bias.then_some(&bias);
    let appended = sentinel_lm_cube::append_token(&qkv, bias, &places, [keys, values], 0.25);
    let (query, [keys, values]) = appended.unwrap();
    let mixed = sentinel_lm_cube::cached_attention(&query, [&keys, &values], &places).unwrap();

    let (x, bias, c, s) = (numbers(qkv_cpu), numbers(bias_cpu), numbers(c), numbers(s));
    let [mut k, mut v] = [numbers(keys_cpu.clone()), numbers(values_cpu)];
    let mut q = vec![0.0; rows * heads * head];
    for row in 0..rows {
        let position = column - start(step, row);
        for number in 0..heads + 2 * groups {
            for i in 0..half {
                let of_head = number * head + i;
                let value = |at: usize| x[row * width + at] + if has_bias { bias[at] } else { 0.0 };
                let (a, b) = (value(of_head), value(of_head + half));
                let (c, s) = (c[position * half + i], s[position * half + i]);
                let turned = [a * c - b * s, b * c + a * s];
                for (part, plain) in [a, b].into_iter().enumerate() {
                    let i = i + part * half;
                    let place = |group| ((row * groups + group) * capacity + column) * head + i;
                    if number < heads {
                        q[(row * heads + number) * head + i] = turned[part] * 0.25;
                    } else if number < heads + groups {
                        k[place(number - heads)] = turned[part];
                    } else {
                        v[place(number - heads - groups)] = plain;
                    }
                }
            }
        }
    }
    let mut expected = vec![0.0; rows * heads * head];
    for row in 0..rows {
        for number in 0..heads {
            let query = &q[(row * heads + number) * head..][..head];
            let from = (row * groups + number * groups / heads) * capacity * head;
            let of = |all: &[f32], token: usize, i: usize| all[from + token * head + i];
            let tokens = start(step, row)..=column;
            let scores: Vec<f32> = tokens
                .clone()
                .map(|token| (0..head).map(|i| query[i] * of(&k, token, i)).sum())
                .collect();
            let most = scores.iter().copied().fold(f32::MIN, f32::max);
            let total: f32 = scores.iter().map(|score| (score - most).exp()).sum();
            for i in 0..head {
                let parts = scores.iter().zip(tokens.clone());
                let sum: f32 = parts
                    .map(|(score, token)| (score - most).exp() * of(&v, token, i))
                    .sum();
                expected[(row * heads + number) * head + i] = sum / total;
            }
        }
    }
    let what = format!("{step:?}, {format:?}, bias {has_bias}");
    let shape = [rows, heads * head];
    assert_close(&format!("queries, {what}"), query, cpu(q, shape), bound);
    assert_close(
        &format!("attention, {what}"),
        mixed,
        cpu(expected, shape),
        bound,
    );
    for (name, found, expected) in [("keys", keys, k), ("values", values, v)] {
        let expected = cpu(expected, [rows * groups * capacity, head]);
        let found = found.reshape([rows * groups * capacity, head]);
        assert_close(&format!("{name}, {what}"), found, expected, bound);
    }
    assert_close("keys of another owner", before, keys_cpu, 0.0);
}

#[test]
fn device_kernels_refuse_caches_that_they_cannot_read() {
    let table = Tensor::<2>::zeros([4, 12], &device());
    for cache in [
        [1, 1, 4, 24],
        [1, 1, 4, 1],
        [1, 1, 4, 4096],
        [1 << 20, 1 << 20, 1 << 20, 2],
    ] {
        assert!(!DecodePlaces::are_supported(&table, cache), "{cache:?}");
    }
    let on_cpu = Tensor::<2>::zeros([4, 16], &burn::tensor::Device::flex());
    assert!(!DecodePlaces::are_supported(&on_cpu, [1, 1, 4, 32]));
}

#[test]
fn device_kernels_add_and_norm_rows() {
    for (format, bound) in formats() {
        for width in [1, 31, 896, 4864] {
            let [x, x_cpu] = both([5, width], 1, 3.0, format);
            let [more, more_cpu] = both([5, width], 2, 3.0, format);
            let [weight, weight_cpu] = both([1, width], 3, 1.0, DType::F32);
            let [sum, normed] = sentinel_lm_cube::add_rms_norm(&x, &more, &weight, 1e-6).unwrap();
            let added = x_cpu + more_cpu;
            let mean = added.clone().square().mean_dim(1);
            let expected = added.clone() * mean.add_scalar(1e-6).sqrt().recip() * weight_cpu;
            assert_close(&format!("sum, {format:?} {width}"), sum, added, bound);
            assert_close(
                &format!("norm, {format:?} {width}"),
                normed,
                expected,
                2.0 * bound,
            );
        }
    }
}
