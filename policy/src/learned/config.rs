//! What a learned policy is built from, as its file says.

use serde::{Deserialize, Serialize};

use super::architecture::Architecture;
use super::layout::{Shape, shapes};
use crate::WorldName;

/// How the slots exchange what is known of them, between the two layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Not at all: each slot is judged by itself.
    None,
    /// The mean over the slots (Deep Sets, 1703.06114).
    #[default]
    Mean,
    /// The maximum over the slots.
    Max,
}

/// Which features the network is given; the rest is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureSet {
    /// All of them.
    #[default]
    Full,
    /// The situation without anything that earlier steps showed: an ablation, which cannot tell
    /// one specialist from another.
    NoHistory,
}

/// The shape of a network; with its weights, all that acting needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetConfig {
    /// Version of the features: weights of another one mean something else.
    pub feature_version: u32,
    /// Which features are given.
    pub features: FeatureSet,
    /// Units of each of the two hidden layers.
    pub hidden: usize,
    /// What happens between them.
    pub pooling: Pooling,
}

/// The features that this build computes.
pub const FEATURE_VERSION: u32 = 1;

/// Most hidden units: a file that asks for more is no policy of ours.
pub(super) const HIDDEN_MAX: usize = 1024;

impl Default for NetConfig {
    fn default() -> Self {
        Self {
            feature_version: FEATURE_VERSION,
            features: FeatureSet::Full,
            hidden: 64,
            pooling: Pooling::Mean,
        }
    }
}

/// What a model's file says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound = "A: Architecture")]
pub struct ModelConfig<A = NetConfig> {
    /// The world that it acts in.
    pub world: String,
    /// The rules that it was trained under, where they are not the reference's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rules: String,
    /// What it is called.
    pub name: String,
    /// The network.
    pub net: A,
}

impl<A: Architecture> ModelConfig<A> {
    /// A model of the network's world, under the reference's rules.
    #[must_use]
    pub fn new(name: &str, net: A) -> Self {
        Self {
            world: A::WORLD.name().to_owned(),
            rules: String::new(),
            name: name.to_owned(),
            net,
        }
    }
}

impl Architecture for NetConfig {
    const WORLD: WorldName = WorldName::Trust;
    const FEATURE_VERSION: u32 = FEATURE_VERSION;

    fn shapes(&self) -> Vec<Shape> {
        shapes(self).to_vec()
    }

    fn feature_version(&self) -> u32 {
        self.feature_version
    }

    fn hidden(&self) -> usize {
        self.hidden
    }
}
