//! The forward pass as plain loops over `f32`: what rollouts and the page run.
//!
//! Per slot: `h = relu(slot W + situation G + b)`, pooled over the slots; `z = relu(h V + pool P + c)`;
//! heads for the slot's two actions and its behaviour from `z`, for the two other actions from the
//! mean of `z`. Slots share all weights, so exchanging two slots exchanges their outputs.

use sentinel_env::slot::SLOTS;

use super::config::Pooling;
use super::features::Features;
use super::layout::{GLOBAL_ACTIONS, SLOT_ACTIONS, at};
use super::weights::Weights;

/// What a network says to one observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Output {
    /// Logits of [`Action::ALL`](sentinel_env::trust::Action::ALL).
    pub actions: [f32; 12],
    /// Logits of each behaviour behind each slot, `[slot][behaviour]`.
    pub beliefs: [[f32; SLOTS]; SLOTS],
}

/// Room for the hidden layers, so that a pass allocates nothing.
#[derive(Clone, Debug)]
pub struct Scratch {
    shared: Vec<f32>,
    pooled: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Scratch {
    /// Room for the hidden layers of these weights.
    #[must_use]
    pub fn new(weights: &Weights) -> Self {
        let hidden = weights.config().hidden;
        Self {
            shared: vec![0.0; hidden],
            pooled: vec![0.0; hidden],
            first: vec![0.0; SLOTS * hidden],
            second: vec![0.0; SLOTS * hidden],
        }
    }
}

impl Weights {
    /// Runs the network on one observation.
    #[must_use]
    pub fn forward(&self, features: &Features, scratch: &mut Scratch) -> Output {
        let hidden = self.config().hidden;
        let Scratch {
            shared,
            pooled,
            first,
            second,
        } = scratch;
        shared.copy_from_slice(self.tensor(at::BIAS_IN));
        add_product(&features.global, self.tensor(at::GLOBAL_IN), shared);
        for (slot, out) in features.slots.iter().zip(first.chunks_exact_mut(hidden)) {
            out.copy_from_slice(shared);
            add_product(slot, self.tensor(at::SLOT_IN), out);
            relu(out);
        }
        shared.copy_from_slice(self.tensor(at::BIAS_MID));
        if pool(self.config().pooling, first, pooled) {
            add_product(pooled, self.tensor(at::POOL_MID), shared);
        }
        let rows = first.chunks_exact(hidden);
        for (slot, out) in rows.zip(second.chunks_exact_mut(hidden)) {
            out.copy_from_slice(shared);
            add_product(slot, self.tensor(at::SLOT_MID), out);
            relu(out);
        }
        self.heads(second, pooled)
    }

    fn heads(&self, second: &[f32], pooled: &mut [f32]) -> Output {
        let mut output = Output {
            actions: [0.0; 12],
            beliefs: [[0.0; SLOTS]; SLOTS],
        };
        let rows = second.chunks_exact(pooled.len());
        for (slot, (z, belief)) in rows.zip(&mut output.beliefs).enumerate() {
            let mut actions = [0.0; SLOT_ACTIONS];
            actions.copy_from_slice(self.tensor(at::SLOT_ACTIONS_BIAS));
            add_product(z, self.tensor(at::SLOT_ACTIONS), &mut actions);
            [output.actions[slot], output.actions[SLOTS + slot]] = actions;
            belief.copy_from_slice(self.tensor(at::BELIEF_BIAS));
            add_product(z, self.tensor(at::BELIEF), belief);
        }
        pool(Pooling::Mean, second, pooled);
        let mut others = [0.0; GLOBAL_ACTIONS];
        others.copy_from_slice(self.tensor(at::GLOBAL_ACTIONS_BIAS));
        add_product(pooled, self.tensor(at::GLOBAL_ACTIONS), &mut others);
        output.actions[2 * SLOTS..].copy_from_slice(&others);
        output
    }
}

/// `out += x W`, `W` being `[x.len(), out.len()]` row by row. Zeros, which half of all hidden units
/// are, cost nothing.
#[inline]
pub(crate) fn add_product(x: &[f32], w: &[f32], out: &mut [f32]) {
    for (x, row) in x.iter().zip(w.chunks_exact(out.len())) {
        if *x != 0.0 {
            for (out, w) in out.iter_mut().zip(row) {
                *out += x * w;
            }
        }
    }
}

#[inline]
pub(crate) fn relu(values: &mut [f32]) {
    for value in values {
        *value = value.max(0.0);
    }
}

/// Pools `[slots, hidden]` into `[hidden]`; whether there is anything pooled.
fn pool(pooling: Pooling, slots: &[f32], out: &mut [f32]) -> bool {
    let rows = slots.chunks_exact(out.len());
    match pooling {
        Pooling::None => return false,
        Pooling::Mean => {
            out.fill(0.0);
            for row in rows {
                add_product(&[1.0 / SLOTS as f32], row, out);
            }
        }
        Pooling::Max => {
            out.fill(0.0);
            for row in rows {
                for (out, value) in out.iter_mut().zip(row) {
                    *out = out.max(*value);
                }
            }
        }
    }
    true
}
