//! Selection of a token from logits, in the order of Hugging Face: penalty, temperature, top-k,
//! top-p, min-p.

use sentinel_base::rng::Rng;
use sentinel_lm_kernels::{exp_sum, weights};

use super::{GenerateOptions, Sampling};

/// Score of an excluded token.
const EXCLUDED: f32 = f32::NEG_INFINITY;

impl Sampling {
    /// Returns the tokens that can be sampled, in order of their ids, with their probabilities. The
    /// repetition penalty applies to tokens in `text`.
    #[must_use]
    pub fn distribution(
        &self,
        logits: &[f32],
        text: impl IntoIterator<Item = u32>,
    ) -> Vec<(u32, f64)> {
        let mut scores = self.with_penalty(logits, text);
        if (self.temperature - 1.0).abs() > 0.0 {
            let temperature = self.temperature as f32;
            scores.iter_mut().for_each(|score| *score /= temperature);
        }
        if self.top_k > 0 && self.top_k < scores.len() {
            filter_top_k(&mut scores, self.top_k);
        }
        if self.top_p < 1.0 {
            filter_top_p(&mut scores, self.top_p);
        }
        if self.min_p > 0.0 {
            filter_min_p(&mut scores, self.min_p);
        }
        let kept = || {
            scores
                .iter()
                .zip(0_u32..)
                .filter(|(score, _)| **score > EXCLUDED)
        };
        let most = largest(&scores);
        let weight = |score: &f32| f64::from(score - most).exp();
        let total: f64 = kept().map(|(score, _)| weight(score)).sum();
        kept()
            .map(|(score, id)| (id, weight(score) / total))
            .collect()
    }

    fn with_penalty(&self, logits: &[f32], text: impl IntoIterator<Item = u32>) -> Vec<f32> {
        let mut scores = logits.to_vec();
        if (self.repetition_penalty - 1.0).abs() > 0.0 {
            apply_penalty(&mut scores, logits, text, self.repetition_penalty as f32);
        }
        scores
    }

    /// Returns `true` if no token is filtered or penalized.
    pub(super) fn is_plain(&self) -> bool {
        let penalty = (self.repetition_penalty - 1.0).abs() > 0.0;
        self.top_k == 0 && self.top_p >= 1.0 && self.min_p <= 0.0 && !penalty
    }
}

impl GenerateOptions {
    /// Selects a token among the `allowed` ones (`None`: all), and returns it with its
    /// log-probability under the model at the options' temperature (1 for greedy decoding), where
    /// every token is allowed.
    pub(super) fn sample_token(
        &self,
        logits: &[f32],
        text: impl IntoIterator<Item = u32>,
        allowed: Option<&[u32]>,
        random: &mut Rng,
    ) -> (u32, f32) {
        let sampling = self.sampling;
        let limited = allowed.map(|allowed| keep_only(logits, allowed));
        let open = limited.as_deref().unwrap_or(logits);
        if self.greedy {
            let id = argmax(&sampling.with_penalty(open, text));
            let (most, total) = mass(logits, 1.0);
            return (id as u32, logp(logits[id], most, total, 1.0));
        }
        let temperature = sampling.temperature as f32;
        let (most, total) = mass(logits, temperature);
        let point = random.uniform();
        let id = if sampling.is_plain() && limited.is_none() {
            let mut all = vec![0.0; logits.len()];
            weights(logits, most, temperature, &mut all);
            let all = all.into_iter().map(f64::from);
            sample_index(all.enumerate(), point * total)
        } else {
            let kept = sampling.distribution(open, text);
            let kept = kept.into_iter().map(|(id, share)| (id as usize, share));
            sample_index(kept, point)
        };
        (id as u32, logp(logits[id], most, total, temperature))
    }
}

/// Returns logits of which only those of the `allowed` tokens are not excluded.
fn keep_only(logits: &[f32], allowed: &[u32]) -> Vec<f32> {
    let mut kept = vec![EXCLUDED; logits.len()];
    for id in allowed {
        if let (Some(kept), Some(logit)) = (kept.get_mut(*id as usize), logits.get(*id as usize)) {
            *kept = *logit;
        }
    }
    kept
}

/// Returns the item at which the running sum of weights exceeds `point`, or the last item with a
/// positive weight if rounding keeps the sum below.
fn sample_index(weights: impl Iterator<Item = (usize, f64)>, point: f64) -> usize {
    let (mut sum, mut last) = (0.0, 0);
    for (id, weight) in weights {
        if weight > 0.0 {
            sum += weight;
            last = id;
            if sum > point {
                break;
            }
        }
    }
    last
}

/// Returns the largest logit, and the sum of `exp` of all logits relative to it.
fn mass(logits: &[f32], temperature: f32) -> (f32, f64) {
    let most = largest(logits);
    (most, exp_sum(logits, most, temperature))
}

fn logp(logit: f32, most: f32, total: f64, temperature: f32) -> f32 {
    (f64::from((logit - most) / temperature) - total.ln()) as f32
}

fn largest(scores: &[f32]) -> f32 {
    scores.iter().copied().fold(EXCLUDED, f32::max)
}

/// Returns the index of the first largest score.
fn argmax(scores: &[f32]) -> usize {
    let better = |best: (usize, f32), next: (usize, f32)| if next.1 > best.1 { next } else { best };
    scores
        .iter()
        .copied()
        .enumerate()
        .fold((0, EXCLUDED), better)
        .0
}

fn apply_penalty(
    scores: &mut [f32],
    logits: &[f32],
    text: impl IntoIterator<Item = u32>,
    penalty: f32,
) {
    for id in text {
        // Computed from the logits, so that a token that occurs twice is penalized once.
        if let (Some(score), Some(logit)) = (scores.get_mut(id as usize), logits.get(id as usize)) {
            *score = if *logit < 0.0 {
                logit * penalty
            } else {
                logit / penalty
            };
        }
    }
}

/// Keeps the `count` largest scores, and those that equal the smallest of them.
fn filter_top_k(scores: &mut [f32], count: usize) {
    let mut sorted = scores.to_vec();
    let (_, bound, _) = sorted.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a));
    let bound = *bound;
    drop_where(scores, |score| score < bound);
}

/// Drops the least likely tokens with a total probability of at most `1 - share`, but never the
/// most likely one.
fn filter_top_p(scores: &mut [f32], share: f64) {
    let most = largest(scores);
    let mut order: Vec<(f32, usize)> = scores
        .iter()
        .enumerate()
        .filter(|(_, score)| **score > EXCLUDED)
        .map(|(id, score)| (*score, id))
        .collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let weight = |score: f32| f64::from(score - most).exp();
    let total: f64 = order.iter().map(|(score, _)| weight(*score)).sum();
    let mut sum = 0.0;
    order.pop();
    for (score, id) in order {
        sum += weight(score) / total;
        if sum > 1.0 - share {
            break;
        }
        scores[id] = EXCLUDED;
    }
}

/// Drops tokens whose probability is below `share` of the largest.
fn filter_min_p(scores: &mut [f32], share: f64) {
    let most = largest(scores);
    drop_where(scores, |score| f64::from(score - most).exp() < share);
}

fn drop_where(scores: &mut [f32], condition: impl Fn(f32) -> bool) {
    for score in scores.iter_mut() {
        if condition(*score) {
            *score = EXCLUDED;
        }
    }
}
