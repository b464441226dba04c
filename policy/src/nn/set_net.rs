//! A ready-made network for environments in which an action is a choice among alternatives, each
//! described by one row of features.
//!
//! It applies [`SetLayers`] to the rows of the alternatives that can be chosen; the shared row is a
//! bias.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;

use sentinel_env::World;
use serde::{Deserialize, Serialize};

use super::{
    Architecture, Choice, FeatureSchema, Init, Network, Observe, Output, RowWriter, Scratch,
    SetLayers, Shape, Weights,
};

/// An environment whose action is a choice among alternatives with features.
pub trait ChoiceSet: World {
    /// Number of alternatives, whether or not they can be chosen.
    const ALTERNATIVES: usize;
    /// The feature schema of an alternative.
    const SCHEMA: FeatureSchema;
    /// Version of the features. Increase it when their meaning changes, so that weights of another
    /// version are refused.
    const FEATURE_VERSION: u32 = 1;

    /// Writes the features of one alternative: every feature of the schema, in order.
    fn features(observation: &Self::Observation, alternative: usize, row: &mut RowWriter<'_>);

    /// Returns `true` if the alternative can be chosen.
    fn can_choose(_observation: &Self::Observation, _alternative: usize) -> bool {
        true
    }

    /// Returns the action that chooses the alternative.
    fn choose(observation: &Self::Observation, alternative: usize) -> Self::Action;
}

/// Hyperparameters of the network.
#[derive(Serialize, Deserialize)]
#[serde(bound = "", deny_unknown_fields)]
pub struct SetNet<E> {
    /// Version of the features that the weights were trained on.
    feature_version: u32,
    /// Units of each of the two hidden layers.
    hidden: usize,
    #[serde(skip)]
    environment: PhantomData<fn() -> E>,
}

impl<E: ChoiceSet> SetNet<E> {
    /// Creates a network with `hidden` units in each of the two layers.
    #[must_use]
    pub const fn new(hidden: usize) -> Self {
        Self {
            feature_version: E::FEATURE_VERSION,
            hidden,
            environment: PhantomData,
        }
    }
}

// Implemented by hand because derives would require the same traits of `E`.
impl<E> Clone for SetNet<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for SetNet<E> {}

impl<E> PartialEq for SetNet<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.feature_version, self.hidden) == (other.feature_version, other.hidden)
    }
}

impl<E> Debug for SetNet<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetNet")
            .field("feature_version", &self.feature_version)
            .field("hidden", &self.hidden)
            .finish()
    }
}

/// Indices of the parameters in [`Architecture::shapes`].
pub mod param_index {
    /// Features to the first layer, `[features, hidden]`.
    pub const ROW_INPUT: usize = 0;
    /// Bias of the first layer, `[hidden]`.
    pub const INPUT_BIAS: usize = 1;
    /// First layer to the second, `[hidden, hidden]`.
    pub const ROW_HIDDEN: usize = 2;
    /// Mean of the first layer to the second, `[hidden, hidden]`.
    pub const POOL_HIDDEN: usize = 3;
    /// Bias of the second layer, `[hidden]`.
    pub const HIDDEN_BIAS: usize = 4;
    /// Second layer to the logit, `[hidden, 1]`.
    pub const HEAD: usize = 5;
}

/// The parameters of the set layers, by role.
pub const LAYERS: SetLayers = SetLayers {
    row_input: param_index::ROW_INPUT,
    row_hidden: param_index::ROW_HIDDEN,
    pool_hidden: param_index::POOL_HIDDEN,
    hidden_bias: param_index::HIDDEN_BIAS,
    head: param_index::HEAD,
};

impl<E: ChoiceSet> Architecture for SetNet<E> {
    const WORLD: &'static str = E::NAME;
    const FEATURE_VERSION: u32 = E::FEATURE_VERSION;

    fn shapes(&self) -> Vec<Shape> {
        let (h, width) = (self.hidden, E::SCHEMA.width());
        let first = Init::Hidden { inputs: width };
        let second = Init::Hidden { inputs: 2 * h };
        vec![
            Shape::new("encoder.row.weight", width, h, first),
            Shape::new("encoder.bias", 1, h, Init::Zero),
            Shape::new("mixer.row.weight", h, h, second),
            Shape::new("mixer.pool.weight", h, h, second),
            Shape::new("mixer.bias", 1, h, Init::Zero),
            Shape::new("policy.weight", h, 1, Init::Head),
        ]
    }

    fn feature_version(&self) -> u32 {
        self.feature_version
    }

    fn hidden(&self) -> usize {
        self.hidden
    }
}

/// The features of all alternatives of one observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetFeatures {
    /// Feature matrix `[alternatives, features]`, stored row by row.
    pub rows: Vec<f32>,
    /// `true` for each alternative that can be chosen.
    pub legal: Vec<bool>,
}

/// Computes [`SetFeatures`] from the current observation, without memory.
#[derive(Debug)]
pub struct SetObserver<E>(PhantomData<fn() -> E>);

impl<E> Clone for SetObserver<E> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<E: ChoiceSet> Observe for SetObserver<E> {
    type Observation = E::Observation;
    type Features = SetFeatures;

    fn observe(&mut self, _observation: &E::Observation) {}

    fn features(&self, observation: &E::Observation) -> SetFeatures {
        let width = E::SCHEMA.width();
        let mut rows = vec![0.0; E::ALTERNATIVES * width];
        for (alternative, row) in rows.chunks_exact_mut(width).enumerate() {
            let mut row = RowWriter::for_row(const { &E::SCHEMA }, row);
            E::features(observation, alternative, &mut row);
            let _ = row.finish();
        }
        let legal = (0..E::ALTERNATIVES).map(|row| E::can_choose(observation, row));
        SetFeatures {
            rows,
            legal: legal.collect(),
        }
    }
}

impl<E: ChoiceSet> Network for SetNet<E> {
    type Env = E;
    type Observer = SetObserver<E>;
    type Features = SetFeatures;

    const LOGITS: usize = E::ALTERNATIVES;
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "an action has one factor, so there is one segment"
    )]
    const FACTOR_COLUMNS: &'static [Range<usize>] = &[0..E::ALTERNATIVES];
    const FEATURE_SCHEMAS: &'static [FeatureSchema] = &[E::SCHEMA];

    fn observer(&self) -> SetObserver<E> {
        SetObserver(PhantomData)
    }

    fn scratch(&self) -> Scratch {
        SetLayers::scratch(E::ALTERNATIVES, self.hidden)
    }

    fn forward(w: &Weights<Self>, x: &SetFeatures, scratch: &mut Scratch, out: &mut Output) {
        let [shared, pooled, first] = scratch.buffers();
        shared.copy_from_slice(w.tensor(param_index::INPUT_BIAS));
        let rows = x.rows.chunks_exact(E::SCHEMA.width());
        let buffers = [shared, pooled, first];
        LAYERS.forward(w, rows, &x.legal, buffers, &mut out.logits);
    }

    fn action_mask(observation: &E::Observation, mask: &mut [bool]) {
        for (alternative, on) in mask.iter_mut().enumerate() {
            *on = E::can_choose(observation, alternative);
        }
    }

    fn encode_action(action: E::Action, observation: &E::Observation) -> Option<Choice> {
        let mut alternatives = (0..E::ALTERNATIVES).filter(|a| E::can_choose(observation, *a));
        let chosen = alternatives.find(|a| E::choose(observation, *a) == action);
        chosen.map(Choice::single)
    }

    fn decode_action(choice: &Choice, observation: &E::Observation) -> E::Action {
        E::choose(observation, choice.column(0))
    }
}
