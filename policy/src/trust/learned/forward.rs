//! The network of the trust world: its forward pass as plain loops over `f32`, and its actions.
//!
//! Per slot: `h = relu(slot W + global G + b)`, pooled over the slots; `z = relu(h V + pool P +
//! c)`. The slot's two actions and its behavior have heads on `z`, the two other actions on the
//! mean of `z` over the slots. All slots share their weights, so exchanging two slots exchanges
//! their outputs.

use std::ops::Range;

use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, Observation, TrustEnv};

use super::architecture::{GLOBAL_ACTIONS, Pooling, SLOT_ACTIONS, TrustNet, param_index};
use super::features::{Features, GLOBAL_SCHEMA, Observer, SLOT_SCHEMA};
use crate::nn::{
    Choice, FeatureSchema, Network, Output, Scratch, Weights, add_product, linear, set_layer,
};
use crate::replay::Recordable;

/// Weight of one slot in the mean over all slots.
const SHARE: f32 = 1.0 / SLOTS as f32;

const _: () = assert!(
    <TrustNet as Network>::FACTOR_COLUMNS[0].end == <TrustEnv as Recordable>::ACTION_DIM,
    "replays hold the probabilities of the first factor"
);

impl Network for TrustNet {
    type Env = TrustEnv;
    type Observer = Observer;
    type Features = Features;

    const LOGITS: usize = Action::ALL.len();
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "an action has one factor, so there is one segment"
    )]
    const FACTOR_COLUMNS: &'static [Range<usize>] = &[0..Action::ALL.len()];
    const BELIEF_SHAPE: Option<[usize; 2]> = Some([SLOTS, SLOTS]);
    const FEATURE_SCHEMAS: &'static [FeatureSchema] = &[SLOT_SCHEMA, GLOBAL_SCHEMA];

    fn observer(&self) -> Observer {
        Observer::new(self.features)
    }

    fn scratch(&self) -> Scratch {
        let h = self.hidden;
        Scratch::new(&[h, h, SLOTS * h, SLOTS * h])
    }

    fn forward(w: &Weights<Self>, x: &Features, scratch: &mut Scratch, out: &mut Output) {
        let [shared, pooled, first, second] = scratch.buffers();
        let pooling = w.config().pooling;
        linear(
            &x.global,
            w.tensor(param_index::GLOBAL_INPUT),
            w.tensor(param_index::INPUT_BIAS),
            shared,
        );
        let rows = x.slots.iter().map(|row| Some(&row[..]));
        set_layer(
            rows,
            w.tensor(param_index::SLOT_INPUT),
            shared,
            first,
            SHARE,
            pooled,
        );
        if pooling == Pooling::Max {
            max_pool(first, pooled);
        }
        shared.copy_from_slice(w.tensor(param_index::HIDDEN_BIAS));
        if pooling != Pooling::None {
            add_product(pooled, w.tensor(param_index::POOL_HIDDEN), shared);
        }
        let rows = first.chunks_exact(shared.len()).map(Some);
        set_layer(
            rows,
            w.tensor(param_index::SLOT_HIDDEN),
            shared,
            second,
            SHARE,
            pooled,
        );
        heads(w, second, pooled, out);
    }

    fn decode_action(choice: &Choice, _observation: &Observation) -> Action {
        Action::ALL[choice.column(0)]
    }

    fn encode_action(action: Action, _observation: &Observation) -> Option<Choice> {
        let index = Action::ALL.iter().position(|a| *a == action);
        index.map(Choice::single)
    }
}

/// Computes the outputs from the second layer and its mean over the slots.
fn heads(w: &Weights<TrustNet>, second: &[f32], mean: &[f32], out: &mut Output) {
    let rows = second.chunks_exact(mean.len());
    let beliefs = out.beliefs.chunks_exact_mut(SLOTS);
    for (slot, (z, belief)) in rows.zip(beliefs).enumerate() {
        let mut actions = [0.0; SLOT_ACTIONS];
        let bias = w.tensor(param_index::SLOT_ACTIONS_BIAS);
        linear(z, w.tensor(param_index::SLOT_ACTIONS), bias, &mut actions);
        [out.logits[slot], out.logits[SLOTS + slot]] = actions;
        linear(
            z,
            w.tensor(param_index::BELIEF),
            w.tensor(param_index::BELIEF_BIAS),
            belief,
        );
    }
    let others = &mut out.logits[2 * SLOTS..];
    debug_assert_eq!(others.len(), GLOBAL_ACTIONS);
    let bias = w.tensor(param_index::GLOBAL_ACTIONS_BIAS);
    linear(mean, w.tensor(param_index::GLOBAL_ACTIONS), bias, others);
}

/// Computes the column-wise maximum over rows of non-negative numbers.
fn max_pool(rows: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    for row in rows.chunks_exact(out.len()) {
        for (out, value) in out.iter_mut().zip(row) {
            *out = out.max(*value);
        }
    }
}
