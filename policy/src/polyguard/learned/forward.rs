//! The polyguard world's network: its forward pass as plain loops over `f32`, and its actions.
//!
//! Per candidate: `h = relu(candidate W + global G + b)`, averaged over those that are shown;
//! `z = relu(h V + mean P + c)`; its logit is `z w`. Candidates share all weights, so their order
//! means nothing (Deep Sets, arXiv:1703.06114).

use std::ops::Range;

use sentinel_env::polyguard::{Action, CANDIDATES, CandidateId, Observation, PolyguardEnv};

use super::candidate;
use super::features::{Features, Observer};
use super::global;
use super::net::{PolyguardNet, at};
use crate::nn::{
    Choice, FeatureSchema, Network, Output, Scratch, Weights, add_product, linear, relu, set_layer,
};
use crate::replay::Recordable;

const _: () = assert!(
    <PolyguardNet as Network>::SEGMENTS[0].end == <PolyguardEnv as Recordable>::ACTION_DIM,
    "replays hold the probabilities of the first factor"
);

impl Network for PolyguardNet {
    type Env = PolyguardEnv;
    type Observer = Observer;
    type Features = Features;

    const LOGITS: usize = CANDIDATES;
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "an action has one factor, so there is one segment"
    )]
    const SEGMENTS: &'static [Range<usize>] = &[0..CANDIDATES];
    const FEATURE_SCHEMAS: &'static [FeatureSchema] = &[candidate::SCHEMA, global::SCHEMA];

    fn observer(&self) -> Observer {
        Observer::default()
    }

    fn scratch(&self) -> Scratch {
        let h = self.hidden;
        Scratch::new(&[h, h, CANDIDATES * h])
    }

    fn forward(w: &Weights<Self>, x: &Features, scratch: &mut Scratch, out: &mut Output) {
        let [shared, pooled, first] = scratch.buffers();
        let bias = w.tensor(at::BIAS_IN);
        linear(&x.global, w.tensor(at::GLOBAL_IN), bias, shared);
        let shown = x.shown.iter().filter(|shown| **shown).count();
        let share = 1.0 / shown.max(1) as f32;
        let rows = (x.candidates.iter().zip(x.shown)).map(|(row, on)| on.then_some(&row[..]));
        let weight = w.tensor(at::CANDIDATE_IN);
        set_layer(rows, weight, shared, first, share, pooled);
        let bias = w.tensor(at::BIAS_MID);
        linear(pooled, w.tensor(at::POOL_MID), bias, shared);
        // The mean has been used: its buffer holds one row of the second layer.
        let row = pooled;
        for (index, h) in first.chunks_exact(row.len()).enumerate() {
            if x.shown[index] {
                linear(h, w.tensor(at::CANDIDATE_MID), shared, row);
                relu(row);
                let logit = &mut out.logits[index..=index];
                add_product(row, w.tensor(at::HEAD), logit);
            }
        }
    }

    fn action_mask(o: &Observation, mask: &mut [bool]) {
        for candidate in o.candidates.iter() {
            mask[candidate.id.index()] = true;
        }
    }

    fn action(choice: &Choice, observation: &Observation) -> Action {
        let id = CandidateId::new(choice.column(0) as u8 + 1).unwrap_or(CandidateId::FIRST);
        Action::explained(observation, id)
    }

    fn choice_of(action: Action, _observation: &Observation) -> Option<Choice> {
        action.id().map(CandidateId::index).map(Choice::single)
    }
}
