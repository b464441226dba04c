//! What a world brings along to be learned: features, a network and the columns of its actions.
//!
//! An action is a few columns of the network's output, one for each of its factors; each factor is
//! a softmax over a segment of the columns. The trust world has one factor, the cluster world nine.

mod cluster;
mod polyguard;
mod trust;

use std::ops::Range;

use burn::tensor::Device;
use sentinel_env::slot::SLOTS;
use sentinel_policy::Playable;
use sentinel_policy::learned::{Architecture, Weights};

use super::config::TrainConfig;
use super::net::{Net, Outputs};

/// A world that can be learned.
pub trait Learn: Playable {
    /// The shape of its network.
    type Net: Architecture;
    /// What is remembered of earlier observations.
    type Observer: Clone + Send + Sync;
    /// What the network is given.
    type Features: Clone + std::fmt::Debug + Send + Sync;
    /// Room for the plain forward pass.
    type Scratch: Send;
    /// An action as columns.
    type Choice: Copy + Send + Sync;
    /// A batch of features on a device.
    type Inputs;

    /// Logits of one observation.
    const LOGITS: usize;
    /// Where each factor's columns begin and end.
    const SEGMENTS: &'static [Range<usize>];
    /// Whom the model card compares with.
    const BASELINES: &'static [Self::PolicyName];

    /// The network that a configuration asks for.
    fn net(config: &TrainConfig) -> Self::Net;
    /// Two sentences for the model card.
    fn about(net: &Self::Net) -> String;

    /// Has seen nothing.
    fn observer(net: &Self::Net) -> Self::Observer;
    /// Takes in an observation: each one of an episode once, in order.
    fn observe(observer: &mut Self::Observer, observation: &Self::Observation);
    /// The features of the observation taken in last.
    fn features(observer: &Self::Observer, observation: &Self::Observation) -> Self::Features;
    /// Which columns may be chosen.
    fn legal(observation: &Self::Observation) -> Vec<bool>;
    /// Behaviour behind each slot: what the belief is trained on, and nothing else sees.
    fn behaviours(hidden: &Self::Hidden) -> [u8; SLOTS];
    /// Sum of the reward events so far.
    fn total_reward(episode: &Self::Episode) -> f64;
    /// Number of reward events so far.
    fn reward_events(episode: &Self::Episode) -> f64;

    /// Room for a network's hidden layers.
    fn scratch(weights: &Weights<Self::Net>) -> Self::Scratch;
    /// The plain forward pass: the logits of all columns.
    fn logits(
        weights: &Weights<Self::Net>,
        features: &Self::Features,
        scratch: &mut Self::Scratch,
        out: &mut Vec<f32>,
    );

    /// Chooses factor by factor; `pick` gives a column of the range that it is asked for.
    fn choose(pick: &mut dyn FnMut(Range<usize>) -> usize) -> Self::Choice;
    /// The columns of a choice.
    fn columns(choice: Self::Choice) -> impl Iterator<Item = usize>;
    /// The action that was chosen at an observation.
    fn action(choice: Self::Choice, observation: &Self::Observation) -> Self::Action;
    /// The choice that leads to an action, if one does.
    fn choice(action: Self::Action) -> Option<Self::Choice>;
    /// All choices that a policy holds for as good as its best, where it weighs them.
    fn as_good(_values: Option<Self::PerAction>) -> Option<Vec<Self::Choice>> {
        None
    }

    /// Brings features to a device.
    fn inputs<'a>(
        features: impl Iterator<Item = &'a Self::Features>,
        device: &Device,
    ) -> Self::Inputs;
    /// The same pass as [`Learn::logits`], on tensors with gradients.
    fn forward(net: &Net<Self::Net>, inputs: &Self::Inputs) -> Outputs;
}

/// The configuration of a world's model.
#[must_use]
pub fn model<W: Learn>(config: &TrainConfig) -> sentinel_policy::learned::ModelConfig<W::Net> {
    let rules = if config.rules == "reference" {
        String::new()
    } else {
        config.rules.clone()
    };
    sentinel_policy::learned::ModelConfig {
        rules,
        ..sentinel_policy::learned::ModelConfig::new(&config.name, W::net(config))
    }
}
