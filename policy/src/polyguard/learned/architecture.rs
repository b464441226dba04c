//! The shape of the polyguard world's network: its hyperparameters and named parameters.

use sentinel_env::World;
use sentinel_env::polyguard::PolyguardEnv;
use serde::{Deserialize, Serialize};

use super::candidate::PER_CANDIDATE;
use super::global::GLOBAL;
use crate::nn::{Architecture, Init, SetLayers, Shape};

/// The hyperparameters of a network of the polyguard world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolyguardNet {
    /// Version of the features that the weights were trained on.
    pub feature_version: u32,
    /// Units of each hidden layer.
    pub hidden: usize,
}

impl Default for PolyguardNet {
    fn default() -> Self {
        Self {
            feature_version: <Self as Architecture>::FEATURE_VERSION,
            hidden: 64,
        }
    }
}

/// Indices of the parameters in [`Architecture::shapes`].
pub mod param_index {
    /// Candidate features to the first layer, `[PER_CANDIDATE, hidden]`.
    pub const CANDIDATE_INPUT: usize = 0;
    /// Global features to the first layer, `[GLOBAL, hidden]`, added for every candidate.
    pub const GLOBAL_INPUT: usize = 1;
    /// Bias of the first layer, `[hidden]`.
    pub const INPUT_BIAS: usize = 2;
    /// First layer to the second, `[hidden, hidden]`.
    pub const CANDIDATE_HIDDEN: usize = 3;
    /// Mean of the first layer over the shown candidates to the second, `[hidden, hidden]`.
    pub const POOL_HIDDEN: usize = 4;
    /// Bias of the second layer, `[hidden]`.
    pub const HIDDEN_BIAS: usize = 5;
    /// Second layer to the logit of the candidate, `[hidden, 1]`.
    pub const HEAD: usize = 6;
}

/// The parameters of the layers over the candidates, by role.
pub const LAYERS: SetLayers = SetLayers {
    row_input: param_index::CANDIDATE_INPUT,
    row_hidden: param_index::CANDIDATE_HIDDEN,
    pool_hidden: param_index::POOL_HIDDEN,
    hidden_bias: param_index::HIDDEN_BIAS,
    head: param_index::HEAD,
};

impl Architecture for PolyguardNet {
    const WORLD: &'static str = PolyguardEnv::NAME;
    const FEATURE_VERSION: u32 = 2;

    fn shapes(&self) -> Vec<Shape> {
        let h = self.hidden;
        let first = Init::Hidden {
            inputs: PER_CANDIDATE + GLOBAL,
        };
        let second = Init::Hidden { inputs: 2 * h };
        vec![
            Shape::new("encoder.candidate.weight", PER_CANDIDATE, h, first),
            Shape::new("encoder.global.weight", GLOBAL, h, first),
            Shape::new("encoder.bias", 1, h, Init::Zero),
            Shape::new("mixer.candidate.weight", h, h, second),
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
