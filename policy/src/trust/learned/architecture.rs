//! The shape of the trust world's network: its hyperparameters and named parameters.

use sentinel_env::World;
use sentinel_env::slot::SLOTS;
use sentinel_env::trust::TrustEnv;
use serde::{Deserialize, Serialize};

use super::features::{FeatureSet, GLOBAL, PER_SLOT};
use crate::nn::{Architecture, Init, Shape};

/// The exchange of information between slots, between the two layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// No exchange: each slot is evaluated on its own features and the global ones.
    None,
    /// Every slot receives the mean over the slots (Deep Sets, arXiv:1703.06114).
    #[default]
    Mean,
    /// Every slot receives the maximum over the slots.
    Max,
}

/// The hyperparameters of a network of the trust world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrustNet {
    /// Version of the features that the weights were trained on.
    pub feature_version: u32,
    /// Set of features that the network receives.
    pub features: FeatureSet,
    /// Units of each of the two hidden layers.
    pub hidden: usize,
    /// Pooling over the slots between the two layers.
    pub pooling: Pooling,
}

/// Version of the features that this build computes.
pub const FEATURE_VERSION: u32 = 1;

impl Default for TrustNet {
    fn default() -> Self {
        Self {
            feature_version: FEATURE_VERSION,
            features: FeatureSet::Full,
            hidden: 64,
            pooling: Pooling::Mean,
        }
    }
}

/// Number of action logits of each slot: delegate and verify.
pub const SLOT_ACTIONS: usize = 2;
/// Number of logits of actions without a slot: solve independently and skip.
pub const GLOBAL_ACTIONS: usize = 2;

/// Indices of the parameters in [`Architecture::shapes`].
pub mod param_index {
    /// Slot features to the first layer, `[PER_SLOT, hidden]`.
    pub const SLOT_INPUT: usize = 0;
    /// Global features to the first layer, `[GLOBAL, hidden]`, added for every slot.
    pub const GLOBAL_INPUT: usize = 1;
    /// Bias of the first layer, `[hidden]`.
    pub const INPUT_BIAS: usize = 2;
    /// First layer to the second, `[hidden, hidden]`.
    pub const SLOT_HIDDEN: usize = 3;
    /// Pooled first layer to the second, `[hidden, hidden]`, added for every slot; empty without
    /// pooling.
    pub const POOL_HIDDEN: usize = 4;
    /// Bias of the second layer, `[hidden]`.
    pub const HIDDEN_BIAS: usize = 5;
    /// Second layer to the logits of the slot's actions, `[hidden, 2]`.
    pub const SLOT_ACTIONS: usize = 6;
    /// Bias of the slot's action logits, `[2]`.
    pub const SLOT_ACTIONS_BIAS: usize = 7;
    /// Mean of the second layer to the logits of the other actions, `[hidden, 2]`.
    pub const GLOBAL_ACTIONS: usize = 8;
    /// Bias of the other action logits, `[2]`.
    pub const GLOBAL_ACTIONS_BIAS: usize = 9;
    /// Second layer to the logits of the slot's behavior, `[hidden, behaviors]`.
    pub const BELIEF: usize = 10;
    /// Bias of the behavior logits, `[behaviors]`.
    pub const BELIEF_BIAS: usize = 11;
}

impl Architecture for TrustNet {
    const WORLD: &'static str = TrustEnv::NAME;
    const FEATURE_VERSION: u32 = FEATURE_VERSION;

    fn shapes(&self) -> Vec<Shape> {
        let h = self.hidden;
        let pooled = match self.pooling {
            Pooling::None => 0,
            Pooling::Mean | Pooling::Max => h,
        };
        let first = Init::Hidden {
            inputs: PER_SLOT + GLOBAL,
        };
        let second = Init::Hidden { inputs: h + pooled };
        vec![
            Shape::new("encoder.slot.weight", PER_SLOT, h, first),
            Shape::new("encoder.global.weight", GLOBAL, h, first),
            Shape::new("encoder.bias", 1, h, Init::Zero),
            Shape::new("mixer.slot.weight", h, h, second),
            Shape::new("mixer.pool.weight", pooled, h, second),
            Shape::new("mixer.bias", 1, h, Init::Zero),
            Shape::new("policy.slot.weight", h, SLOT_ACTIONS, Init::Head),
            Shape::new("policy.slot.bias", 1, SLOT_ACTIONS, Init::Zero),
            Shape::new("policy.global.weight", h, GLOBAL_ACTIONS, Init::Head),
            Shape::new("policy.global.bias", 1, GLOBAL_ACTIONS, Init::Zero),
            Shape::new("belief.weight", h, SLOTS, Init::Head),
            Shape::new("belief.bias", 1, SLOTS, Init::Zero),
        ]
    }

    fn feature_version(&self) -> u32 {
        self.feature_version
    }

    fn hidden(&self) -> usize {
        self.hidden
    }
}
