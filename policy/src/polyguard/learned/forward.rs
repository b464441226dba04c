//! The network of the polyguard world: its forward pass as plain loops over `f32`, and its actions.
//!
//! It applies [`SetLayers`] to the shown candidates, with `global G + b` as the shared row.

use std::ops::Range;

use sentinel_env::polyguard::{Action, CANDIDATES, CandidateId, Observation, PolyguardEnv};

use super::architecture::{LAYERS, PolyguardNet, at};
use super::candidate;
use super::features::{Features, Observer};
use super::global;
use crate::nn::{Choice, FeatureSchema, Network, Output, Scratch, SetLayers, Weights, linear};
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
        SetLayers::scratch(CANDIDATES, self.hidden)
    }

    fn forward(w: &Weights<Self>, x: &Features, scratch: &mut Scratch, out: &mut Output) {
        let [shared, pooled, first] = scratch.buffers();
        let bias = w.tensor(at::BIAS_IN);
        linear(&x.global, w.tensor(at::GLOBAL_IN), bias, shared);
        let rows = x.candidates.iter().map(|row| &row[..]);
        let buffers = [shared, pooled, first];
        LAYERS.forward(w, rows, &x.shown, buffers, &mut out.logits);
    }

    fn action_mask(o: &Observation, mask: &mut [bool]) {
        for candidate in o.candidates.iter() {
            mask[candidate.id.index()] = true;
        }
    }

    fn action(choice: &Choice, observation: &Observation) -> Action {
        let id = CandidateId::new(choice.column(0) as u8 + 1).unwrap_or(CandidateId::FIRST);
        Action::with_grounded_rationale(observation, id)
    }

    fn encode_action(action: Action, _observation: &Observation) -> Option<Choice> {
        action.id().map(CandidateId::index).map(Choice::single)
    }
}
