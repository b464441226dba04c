//! Every function is compared with its definition in f64, and every gradient with finite differences.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_lm_kernels::*;

/// Returns numbers between -2 and 2 that look random.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 22) as f32 - 2.0
    };
    (0..count).map(|_| next()).collect()
}

fn rows(values: &[f32], width: usize) -> Rows<'_> {
    Rows::new(values, width, width).unwrap()
}

fn close(ours: &[f32], exact: &[f64], share: f64) {
    assert_eq!(ours.len(), exact.len());
    for (at, (ours, exact)) in ours.iter().zip(exact).enumerate() {
        assert!(
            (f64::from(*ours) - exact).abs() < share * (1.0 + exact.abs()),
            "{at}: {ours} {exact}"
        );
    }
}

/// Compares a gradient with central differences of `loss`, in f64.
fn is_gradient(x: &[f32], grad: &[f32], loss: impl Fn(&[f64]) -> f64) {
    let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let step = 1e-4;
    let difference = |at: usize| {
        let moved = |by: f64| {
            let mut x = x.clone();
            x[at] += by;
            loss(&x)
        };
        (moved(step) - moved(-step)) / (2.0 * step)
    };
    let exact: Vec<f64> = (0..x.len()).map(difference).collect();
    close(grad, &exact, 2e-5);
}

fn weighted(values: &[f64], grad: &[f32]) -> f64 {
    values
        .iter()
        .zip(grad)
        .map(|(value, grad)| value * f64::from(*grad))
        .sum()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

fn norm_in_f64(x: &[f64], weight: &[f64]) -> Vec<f64> {
    let row = |x: &[f64]| {
        let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        let factor = 1.0 / (mean + 1e-6).sqrt();
        x.iter()
            .zip(weight)
            .map(|(x, weight)| x * factor * weight)
            .collect::<Vec<f64>>()
    };
    x.chunks(weight.len()).flat_map(row).collect()
}

#[test]
fn norm_has_its_definition_and_gradient() {
    for width in [1, 7, 16, 37] {
        let (x, weight, grad) = (
            numbers(3 * width, 1),
            numbers(width, 2),
            numbers(3 * width, 3),
        );
        let (mut out, mut factors) = (vec![0.0; 3 * width], vec![0.0; 3]);
        rms_norm(rows(&x, width), &weight, 1e-6, &mut out, &mut factors);
        close(&out, &norm_in_f64(&wide(&x), &wide(&weight)), 1e-6);
        let (mut x_grad, mut weight_grad) = (vec![0.0; 3 * width], vec![0.0; width]);
        rms_norm_backward(
            rows(&x, width),
            &weight,
            &factors,
            &grad,
            &mut x_grad,
            &mut weight_grad,
        );
        is_gradient(&x, &x_grad, |x| {
            weighted(&norm_in_f64(x, &wide(&weight)), &grad)
        });
        is_gradient(&weight, &weight_grad, |weight| {
            weighted(&norm_in_f64(&wide(&x), weight), &grad)
        });
    }
}

#[test]
fn rows_apart_are_read_like_rows_side_by_side() {
    let (width, stride) = (5, 8);
    let x = numbers(3 * stride, 4);
    let dense: Vec<f32> = x
        .chunks(stride)
        .flat_map(|row| row[..width].to_vec())
        .collect();
    let apart = Rows::new(&x[..2 * stride + width], stride, width).unwrap();
    let weight = numbers(width, 5);
    let norm = |x: Rows<'_>| {
        let (mut out, mut factors) = (vec![0.0; 3 * width], vec![0.0; 3]);
        rms_norm(x, &weight, 1e-6, &mut out, &mut factors);
        out
    };
    assert_eq!(norm(apart), norm(rows(&dense, width)));
    assert!(Rows::new(&x, 4, 5).is_none() && Rows::new(&x, 4, 0).is_none());
}

fn unit_in_f64(gate: &[f64], up: &[f64]) -> Vec<f64> {
    gate.iter()
        .zip(up)
        .map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up)
        .collect()
}

#[test]
fn gated_unit_has_its_definition_and_gradient() {
    let (gate, up, grad) = (numbers(42, 6), numbers(42, 7), numbers(42, 8));
    let mut out = vec![0.0; 42];
    swiglu(rows(&gate, 21), rows(&up, 21), &mut out);
    close(&out, &unit_in_f64(&wide(&gate), &wide(&up)), 1e-6);
    let (mut gate_grad, mut up_grad) = (vec![0.0; 42], vec![0.0; 42]);
    swiglu_backward(
        rows(&gate, 21),
        rows(&up, 21),
        &grad,
        &mut gate_grad,
        &mut up_grad,
    );
    is_gradient(&gate, &gate_grad, |gate| {
        weighted(&unit_in_f64(gate, &wide(&up)), &grad)
    });
    is_gradient(&up, &up_grad, |up| {
        weighted(&unit_in_f64(&wide(&gate), up), &grad)
    });
}

#[test]
fn heads_are_split_rotated_and_merged_again() {
    let layout = HeadLayout {
        rows: 2,
        tokens: 3,
        heads: 4,
        head: 6,
    };
    let HeadLayout {
        rows: r,
        tokens,
        heads,
        head,
    } = layout;
    let x = numbers(r * tokens * heads * head, 9);
    let angles = numbers(r * tokens * head / 2, 10);
    let cosine: Vec<f32> = angles.iter().map(|angle| angle.cos()).collect();
    let sine: Vec<f32> = angles.iter().map(|angle| angle.sin()).collect();
    let rotation = Some(Rotation {
        cosine: &cosine,
        sine: &sine,
    });
    let mut split = vec![0.0; x.len()];
    split_heads(rows(&x, heads * head), layout, rotation, 0.5, &mut split);
    for row in 0..r {
        for token in 0..tokens {
            for number in 0..heads {
                for at in 0..head / 2 {
                    let index = row * tokens + token;
                    let from = (index * heads + number) * head;
                    let (a, b) = (f64::from(x[from + at]), f64::from(x[from + head / 2 + at]));
                    let angle = f64::from(angles[index * head / 2 + at]);
                    let to = ((row * heads + number) * tokens + token) * head;
                    let exact = [
                        a * angle.cos() - b * angle.sin(),
                        b * angle.cos() + a * angle.sin(),
                    ];
                    close(
                        &[split[to + at], split[to + head / 2 + at]],
                        &exact.map(|x| x * 0.5),
                        1e-6,
                    );
                }
            }
        }
    }
    // A rotation is undone by its inverse, which is also its gradient.
    let mut merged = vec![0.0; x.len()];
    merge_heads(&split, layout, rotation, 2.0, &mut merged);
    close(&merged, &wide(&x), 1e-6);
    let mut plain = vec![0.0; x.len()];
    split_heads(rows(&x, heads * head), layout, None, 1.0, &mut plain);
    merge_heads(&plain, layout, None, 1.0, &mut merged);
    assert_eq!(merged, x);
}

fn softmax_in_f64(scores: &[f64], mask: &[f32], [heads, queries, seen]: [usize; 3]) -> Vec<f64> {
    let row = |(index, scores): (usize, &[f64])| {
        let start = (index / (queries * heads) * queries + index % queries) * seen;
        let mask = &mask[start..start + seen];
        let sums: Vec<f64> = scores
            .iter()
            .zip(mask)
            .map(|(s, m)| s + f64::from(*m))
            .collect();
        let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = sums.iter().map(|s| (s - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| w / total).collect::<Vec<f64>>()
    };
    scores.chunks(seen).enumerate().flat_map(row).collect()
}

#[test]
fn masked_softmax_has_its_definition_and_gradient() {
    let shape @ [heads, queries, seen] = [2, 3, 19];
    let scores = numbers(2 * heads * queries * seen, 11);
    let mask: Vec<f32> = (0..2 * queries * seen)
        .map(|at| if at % 5 == 1 { -1e30 } else { 0.0 })
        .collect();
    let mut weights = scores.clone();
    masked_softmax(&mut weights, &mask, heads, queries, seen);
    close(
        &weights,
        &softmax_in_f64(&wide(&scores), &mask, shape),
        1e-6,
    );
    assert!(weights.contains(&0.0));
    let grad = numbers(scores.len(), 12);
    let mut score_grad = grad.clone();
    masked_softmax_backward(&weights, &mut score_grad, seen);
    is_gradient(&scores, &score_grad, |scores| {
        weighted(&softmax_in_f64(scores, &mask, shape), &grad)
    });
}

#[test]
fn cached_attention_has_its_definition() {
    let (r, capacity) = (3, 9);
    let shape = CachedAttention {
        heads: 4,
        groups: 2,
        head: 18,
        seen: 7,
    };
    let CachedAttention {
        heads,
        groups,
        head,
        seen,
    } = shape;
    let query = numbers(r * heads * head, 14);
    let [keys, cached] = [15, 16].map(|seed| numbers(r * groups * capacity * head, seed));
    let mask: Vec<f32> = (0..r * seen)
        .map(|at| if at % 4 == 0 { -1e30 } else { 0.0 })
        .collect();
    let mut out = vec![0.0; query.len()];
    let [k, v] = [&keys, &cached].map(|values| CachedHeads { values, capacity });
    cached_attention(&query, k, v, &mask, shape, &mut out);
    let mut exact = Vec::new();
    for row in 0..r {
        for number in 0..heads {
            let start = (row * groups + number / 2) * capacity * head;
            let query = &query[(row * heads + number) * head..][..head];
            let product = |at: usize| {
                let key = &keys[start + at * head..][..head];
                query
                    .iter()
                    .zip(key)
                    .map(|(a, b)| f64::from(*a) * f64::from(*b))
                    .sum::<f64>()
            };
            let scores: Vec<f64> = (0..seen).map(product).collect();
            let weights = softmax_in_f64(&scores, &mask[row * seen..][..seen], [1, 1, seen]);
            for place in 0..head {
                let value = |at: usize| f64::from(cached[start + at * head + place]);
                exact.push((0..seen).map(|at| weights[at] * value(at)).sum());
            }
        }
    }
    close(&out, &exact, 2e-6);
}

#[test]
fn rows_that_see_nothing_are_no_nan() {
    let mut scores = vec![0.5; 4];
    masked_softmax(&mut scores, &[-1e30; 4], 1, 1, 4);
    assert_eq!(scores, [0.25; 4]);
}

fn stats_in_f64(logits: &[f64], target: usize, temperature: f64) -> [f64; 3] {
    let scaled: Vec<f64> = logits.iter().map(|x| x / temperature).collect();
    let most = scaled.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = scaled.iter().map(|x| (x - most).exp()).sum::<f64>().ln() + most;
    let entropy = scaled
        .iter()
        .map(|x| -(x - total).exp() * (x - total))
        .sum();
    [scaled[target] - total, most - total, entropy]
}

#[test]
fn token_statistics_have_their_definition_and_gradient() {
    for count in [1, 5, 8, 101] {
        let (logits, target, temperature) = (numbers(count, 13), count / 2, 0.7);
        let found = token_stats(&logits, target, temperature);
        let exact = stats_in_f64(&wide(&logits), target, f64::from(temperature));
        close(&[found.logp, found.max_logp, found.entropy], &exact, 1e-6);
        let mut grad = logits.clone();
        token_stats_backward(&mut grad, target, temperature, 0.3, -0.2);
        let [by_logp, by_entropy] = [0.3_f32, -0.2].map(f64::from);
        is_gradient(&logits, &grad, |logits| {
            let [logp, _, entropy] = stats_in_f64(logits, target, f64::from(temperature));
            by_logp * logp + by_entropy * entropy
        });
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut all = vec![0.0; count];
        weights(&logits, most, temperature, &mut all);
        let total: f64 = all.iter().map(|weight| f64::from(*weight)).sum();
        assert!((exp_sum(&logits, most, temperature) - total).abs() < 1e-9 * total);
    }
    assert!(token_stats(&[0.0], 1, 1.0).logp.is_nan());
}

#[test]
fn excluded_logits_have_no_part_in_the_entropy() {
    let found = token_stats(&[0.0, f32::NEG_INFINITY, 0.0], 0, 1.0);
    assert!(
        (f64::from(found.entropy) - 2.0_f64.ln()).abs() < 1e-6,
        "{found:?}"
    );
    let mut grad = [0.0, f32::NEG_INFINITY, 1.0];
    token_stats_backward(&mut grad, 0, 1.0, 1.0, 1.0);
    assert!(
        grad.iter().all(|x| x.is_finite()) && grad[1] == 0.0,
        "{grad:?}"
    );
}
