//! The forward pass as plain loops over `f32`: what rollouts and the page run.
//!
//! Per candidate: `h = relu(candidate W + situation G + b)`, averaged over those that are shown;
//! `z = relu(h V + mean P + c)`; its logit is `z w`. Candidates share all weights, so their order
//! means nothing (Deep Sets, 1703.06114).

use sentinel_env::polyguard::CANDIDATES;

use super::features::Features;
use super::layout::{PolyguardNet, at};
use crate::learned::{Weights, add_product, relu};

/// Room for the hidden layers, so that a pass allocates nothing.
#[derive(Clone, Debug)]
pub struct Scratch {
    shared: Vec<f32>,
    row: Vec<f32>,
    pooled: Vec<f32>,
    first: Vec<f32>,
}

impl Scratch {
    /// Room for the hidden layers of these weights.
    #[must_use]
    pub fn new(weights: &Weights<PolyguardNet>) -> Self {
        let hidden = weights.config().hidden;
        Self {
            shared: vec![0.0; hidden],
            row: vec![0.0; hidden],
            pooled: vec![0.0; hidden],
            first: vec![0.0; CANDIDATES * hidden],
        }
    }
}

impl Weights<PolyguardNet> {
    /// The logit of each candidate; 0 where none is shown.
    #[must_use]
    pub fn forward(&self, x: &Features, scratch: &mut Scratch) -> [f32; CANDIDATES] {
        let Scratch {
            shared,
            row,
            pooled,
            first,
        } = scratch;
        let hidden = row.len();
        shared.copy_from_slice(self.tensor(at::BIAS_IN));
        add_product(&x.global, self.tensor(at::GLOBAL_IN), shared);
        let shown = x.shown.iter().filter(|shown| **shown).count();
        let share = 1.0 / shown.max(1) as f32;
        pooled.fill(0.0);
        for (at, h) in first.chunks_exact_mut(hidden).enumerate() {
            if x.shown[at] {
                h.copy_from_slice(shared);
                add_product(&x.candidates[at], self.tensor(at::CANDIDATE_IN), h);
                relu(h);
                add_product(&[share], h, pooled);
            }
        }
        shared.copy_from_slice(self.tensor(at::BIAS_MID));
        add_product(pooled, self.tensor(at::POOL_MID), shared);
        let mut logits = [0.0; CANDIDATES];
        for (at, h) in first.chunks_exact(hidden).enumerate() {
            if x.shown[at] {
                row.copy_from_slice(shared);
                add_product(h, self.tensor(at::CANDIDATE_MID), row);
                relu(row);
                add_product(row, self.tensor(at::HEAD), &mut logits[at..=at]);
            }
        }
        logits
    }
}
