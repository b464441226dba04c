//! The network's parameters by name and shape.

use serde::{Deserialize, Serialize};

use super::candidate::PER_CANDIDATE;
use super::situation::GLOBAL;
use crate::WorldName;
use crate::learned::Architecture;
use crate::learned::layout::{Init, Shape};

/// The shape of a network of the polyguard world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolyguardNet {
    /// Version of the features: weights of another one mean something else.
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

/// Indices into the shapes.
pub mod at {
    /// A candidate's features to the first layer.
    pub const CANDIDATE_IN: usize = 0;
    /// The situation to the first layer, the same for every candidate.
    pub const GLOBAL_IN: usize = 1;
    /// Bias of the first layer.
    pub const BIAS_IN: usize = 2;
    /// First layer to second.
    pub const CANDIDATE_MID: usize = 3;
    /// Mean of the first layer over the shown candidates to the second.
    pub const POOL_MID: usize = 4;
    /// Bias of the second layer.
    pub const BIAS_MID: usize = 5;
    /// Second layer to the candidate's logit.
    pub const HEAD: usize = 6;
    /// How many parameters there are.
    pub const COUNT: usize = 7;
}

impl Architecture for PolyguardNet {
    const WORLD: WorldName = WorldName::Polyguard;
    const FEATURE_VERSION: u32 = 1;

    fn shapes(&self) -> Vec<Shape> {
        let h = self.hidden;
        let first = Init::Hidden {
            inputs: PER_CANDIDATE + GLOBAL,
        };
        let second = Init::Hidden { inputs: 2 * h };
        let shape = |name, rows, columns, init| Shape {
            name,
            rows,
            columns,
            init,
        };
        vec![
            shape("encoder.candidate.weight", PER_CANDIDATE, h, first),
            shape("encoder.global.weight", GLOBAL, h, first),
            shape("encoder.bias", 1, h, Init::Zero),
            shape("mixer.candidate.weight", h, h, second),
            shape("mixer.pool.weight", h, h, second),
            shape("mixer.bias", 1, h, Init::Zero),
            shape("policy.weight", h, 1, Init::Head),
        ]
    }

    fn feature_version(&self) -> u32 {
        self.feature_version
    }

    fn hidden(&self) -> usize {
        self.hidden
    }
}
