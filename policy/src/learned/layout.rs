//! The network's parameters by name and shape: one list that the plain forward pass, the trainer
//! and the file share.

use sentinel_env::slot::SLOTS;

use super::config::{NetConfig, Pooling};
use super::features::{GLOBAL, PER_SLOT};

/// A parameter. Matrices are stored row by row, `[inputs, outputs]`; a bias has one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its name in files.
    pub name: &'static str,
    /// Inputs.
    pub rows: usize,
    /// Outputs.
    pub columns: usize,
    /// How it is drawn before training.
    pub init: Init,
}

/// How a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// All zero.
    Zero,
    /// Uniform within `sqrt(6 / inputs)`, `inputs` being all that reach a unit (He et al. 2015).
    Hidden {
        /// All inputs of a unit, over every matrix that feeds it.
        inputs: usize,
    },
    /// The same, a hundredth of it: a policy that starts undecided.
    Head,
}

/// Logits of each slot that belong to actions: delegate, verify.
pub const SLOT_ACTIONS: usize = 2;
/// Logits of actions without a slot: solve independently, skip.
pub const GLOBAL_ACTIONS: usize = 2;

/// Indices into [`shapes`].
pub mod at {
    /// Slot features to the first layer.
    pub const SLOT_IN: usize = 0;
    /// Situation to the first layer, the same for every slot.
    pub const GLOBAL_IN: usize = 1;
    /// Bias of the first layer.
    pub const BIAS_IN: usize = 2;
    /// First layer to second.
    pub const SLOT_MID: usize = 3;
    /// Pooled first layer to second, the same for every slot.
    pub const POOL_MID: usize = 4;
    /// Bias of the second layer.
    pub const BIAS_MID: usize = 5;
    /// Second layer to the slot's actions.
    pub const SLOT_ACTIONS: usize = 6;
    /// Bias of these.
    pub const SLOT_ACTIONS_BIAS: usize = 7;
    /// Mean of the second layer to the other actions.
    pub const GLOBAL_ACTIONS: usize = 8;
    /// Bias of these.
    pub const GLOBAL_ACTIONS_BIAS: usize = 9;
    /// Second layer to the slot's behaviour.
    pub const BELIEF: usize = 10;
    /// Bias of these.
    pub const BELIEF_BIAS: usize = 11;
    /// How many parameters there are.
    pub const COUNT: usize = 12;
}

/// Every parameter of a network, in the order of [`at`].
#[must_use]
pub fn shapes(config: &NetConfig) -> [Shape; at::COUNT] {
    let h = config.hidden;
    let pooled = if config.pooling == Pooling::None {
        0
    } else {
        h
    };
    let first = Init::Hidden {
        inputs: PER_SLOT + GLOBAL,
    };
    let second = Init::Hidden { inputs: h + pooled };
    let shape = |name, rows, columns, init| Shape {
        name,
        rows,
        columns,
        init,
    };
    [
        shape("encoder.slot.weight", PER_SLOT, h, first),
        shape("encoder.global.weight", GLOBAL, h, first),
        shape("encoder.bias", 1, h, Init::Zero),
        shape("mixer.slot.weight", h, h, second),
        shape("mixer.pool.weight", pooled, h, second),
        shape("mixer.bias", 1, h, Init::Zero),
        shape("policy.slot.weight", h, SLOT_ACTIONS, Init::Head),
        shape("policy.slot.bias", 1, SLOT_ACTIONS, Init::Zero),
        shape("policy.global.weight", h, GLOBAL_ACTIONS, Init::Head),
        shape("policy.global.bias", 1, GLOBAL_ACTIONS, Init::Zero),
        shape("belief.weight", h, SLOTS, Init::Head),
        shape("belief.bias", 1, SLOTS, Init::Zero),
    ]
}
