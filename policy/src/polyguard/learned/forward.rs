//! The network of the polyguard world: its forward pass as plain loops over `f32`, and its actions.
//!
//! It applies [`SetLayers`] to the shown candidates, with `global G + b` as the shared row.

use std::ops::Range;

use sentinel_env::polyguard::{Action, CandidateId, MAX_CANDIDATES, Observation, PolyguardEnv};

use super::architecture::{LAYERS, PolyguardNet, param_index};
use super::candidate;
use super::features::{Features, Observer};
use super::global;
use crate::nn::{Choice, FeatureSchema, Network, Output, Scratch, SetLayers, Weights, linear};
use crate::replay::Recordable;

const _: () = assert!(
    <PolyguardNet as Network>::FACTOR_COLUMNS[0].end == <PolyguardEnv as Recordable>::ACTION_DIM,
    "replays hold the probabilities of the first factor"
);

impl Network for PolyguardNet {
    type Env = PolyguardEnv;
    type Observer = Observer;
    type Features = Features;

    const LOGITS: usize = MAX_CANDIDATES;
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "an action has one factor, so there is one segment"
    )]
    const FACTOR_COLUMNS: &'static [Range<usize>] = &[0..MAX_CANDIDATES];
    const FEATURE_SCHEMAS: &'static [FeatureSchema] = &[candidate::SCHEMA, global::SCHEMA];

    fn observer(&self) -> Observer {
        Observer::default()
    }

    fn scratch(&self) -> Scratch {
        SetLayers::scratch(MAX_CANDIDATES, self.hidden)
    }

    fn forward(w: &Weights<Self>, x: &Features, scratch: &mut Scratch, out: &mut Output) {
        let [shared, pooled, first] = scratch.buffers();
        let bias = w.tensor(param_index::INPUT_BIAS);
        linear(&x.global, w.tensor(param_index::GLOBAL_INPUT), bias, shared);
        let rows = x.candidates.iter().map(|row| &row[..]);
        let buffers = [shared, pooled, first];
        LAYERS.forward(w, rows, &x.shown, buffers, &mut out.logits);
    }

    fn action_mask(o: &Observation, mask: &mut [bool]) {
        for candidate in o.candidates.iter() {
            mask[candidate.id.index()] = true;
        }
    }

    fn decode_action(choice: &Choice, observation: &Observation) -> Action {
        let id = CandidateId::new(choice.column(0) as u8 + 1).unwrap_or(CandidateId::FIRST);
        Action::with_grounded_rationale(observation, id)
    }

    fn encode_action(action: Action, _observation: &Observation) -> Option<Choice> {
        action.id().map(CandidateId::index).map(Choice::single)
    }
}
