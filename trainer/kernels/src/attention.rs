//! The weights of attention: the softmax of masked scores.

use pulp::Arch;

use crate::exp::exp;
use crate::reduce::{largest, sum, sum_pairs};

/// Replaces scores, `[rows, heads, queries, seen]`, by the softmax of `scores + mask` over the last
/// axis. The mask is `[rows, 1, queries, seen]`.
///
/// # Panics
/// If the lengths do not fit the shape.
pub fn masked_softmax(scores: &mut [f32], mask: &[f32], heads: usize, queries: usize, seen: usize) {
    assert_eq!(scores.len(), mask.len() * heads, "scores and mask");
    assert_eq!(mask.len() % (queries * seen), 0, "mask");
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (index, scores) in scores.chunks_exact_mut(seen).enumerate() {
                let (query, row) = (index % queries, index / (queries * heads));
                let start = (row * queries + query) * seen;
                let Some(mask) = mask.get(start..start + seen) else {
                    return;
                };
                for (score, mask) in scores.iter_mut().zip(mask) {
                    *score += mask;
                }
                let most = largest(scores);
                for score in scores.iter_mut() {
                    *score = exp(*score - most);
                }
                let factor = 1.0 / sum(scores, |x| x);
                for score in scores {
                    *score *= factor;
                }
            }
        },
    );
}

/// Replaces the gradient with respect to the weights by that with respect to the scores.
pub fn masked_softmax_backward(weights: &[f32], grad: &mut [f32], seen: usize) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (weights, grad) in weights.chunks_exact(seen).zip(grad.chunks_exact_mut(seen)) {
                let along = sum_pairs(weights, grad, |a, b| a * b);
                for (grad, weight) in grad.iter_mut().zip(weights) {
                    *grad = weight * (*grad - along);
                }
            }
        },
    );
}

/// The cached keys or values of a batch, `[rows, groups, capacity, head]`, of which the first `seen`
/// columns are read.
#[derive(Clone, Copy, Debug)]
pub struct CachedHeads<'a> {
    /// The numbers of all columns, also of those that are not filled.
    pub values: &'a [f32],
    /// Number of columns that there is room for.
    pub capacity: usize,
}

/// The shape of attention from one new token per row to cached ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedAttention {
    /// Number of heads of the queries.
    pub heads: usize,
    /// Number of heads of keys and values, each of which serves `heads / groups` query heads.
    pub groups: usize,
    /// Width of a head.
    pub head: usize,
    /// Number of cached tokens, the new one included.
    pub seen: usize,
}

/// Computes attention from one query per row, `[rows, heads, head]`, to cached keys and values. The
/// mask, `[rows, seen]`, is added to the scores. Writes `[rows, heads, head]`.
///
/// # Panics
/// If the lengths do not fit the shape.
pub fn cached_attention(
    query: &[f32],
    keys: CachedHeads<'_>,
    values: CachedHeads<'_>,
    mask: &[f32],
    shape: CachedAttention,
    out: &mut [f32],
) {
    let CachedAttention {
        heads,
        groups,
        head,
        seen,
    } = shape;
    assert_eq!(query.len(), out.len(), "query and result");
    assert_eq!(
        query.len() * seen,
        mask.len() * heads * head,
        "query and mask"
    );
    for cached in [keys, values] {
        let length = mask.len() / seen * groups * cached.capacity * head;
        assert!(
            cached.values.len() == length && seen <= cached.capacity,
            "cache"
        );
    }
    let of_group = |cached: CachedHeads<'_>, group: usize| {
        let start = group * cached.capacity * head;
        start..start + seen * head
    };
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut weights = vec![0.0; seen];
            let all = query.chunks_exact(head).zip(out.chunks_exact_mut(head));
            for (index, (query, out)) in all.enumerate() {
                let (row, number) = (index / heads, index % heads);
                let group = row * groups + number * groups / heads;
                let (Some(keys), Some(cached), Some(mask)) = (
                    keys.values.get(of_group(keys, group)),
                    values.values.get(of_group(values, group)),
                    mask.get(row * seen..(row + 1) * seen),
                ) else {
                    return;
                };
                let tokens = weights.iter_mut().zip(keys.chunks_exact(head)).zip(mask);
                for ((weight, key), mask) in tokens {
                    *weight = sum_pairs(query, key, |a, b| a * b) + mask;
                }
                let most = largest(&weights);
                for weight in &mut weights {
                    *weight = exp(*weight - most);
                }
                let factor = 1.0 / sum(&weights, |x| x);
                out.fill(0.0);
                for (weight, cached) in weights.iter().zip(cached.chunks_exact(head)) {
                    let share = weight * factor;
                    for (out, value) in out.iter_mut().zip(cached) {
                        *out += share * value;
                    }
                }
            }
        },
    );
}
