//! The trust world: one factor of twelve actions, over five slots.

use std::ops::Range;

use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, Episode, Hidden, Observation, TrustWorld};
use sentinel_policy::PolicyName;
use sentinel_policy::learned::layout::{GLOBAL_ACTIONS, SLOT_ACTIONS, at};
use sentinel_policy::learned::{
    Features, GLOBAL, NetConfig, Observer, PER_SLOT, Pooling, Scratch, Weights, legal,
};

use super::Learn;
use crate::compact::config::TrainConfig;
use crate::compact::fields::said;
use crate::compact::net::{Net, Outputs, tensor};

/// Values of a teacher this close to its best are as good.
const TIE: f64 = 1e-9;

/// Observations on a device.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// `[batch * slots, features]`.
    slots: Tensor<2>,
    /// `[batch, features]`.
    global: Tensor<2>,
}

impl Learn for TrustWorld {
    type Net = NetConfig;
    type Observer = Observer;
    type Features = Features;
    type Scratch = Scratch;
    type Choice = usize;
    type Inputs = Inputs;

    const LOGITS: usize = Action::ALL.len();
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "one choice, so one segment"
    )]
    const SEGMENTS: &'static [Range<usize>] = &[0..Action::ALL.len()];
    const BASELINES: &'static [PolicyName] = &[
        PolicyName::Random,
        PolicyName::Heuristic,
        PolicyName::SelfSolve,
        PolicyName::OracleLite,
        PolicyName::Bayes,
    ];

    fn net(config: &TrainConfig) -> NetConfig {
        NetConfig {
            features: config.features,
            hidden: config.hidden,
            pooling: config.pooling,
            ..NetConfig::default()
        }
    }

    fn about(net: &NetConfig) -> String {
        format!(
            "an orchestrator that hands out work and finds out, from public observations alone, \
             which of five specialists to believe. It is a small network (two layers of {} hidden \
             units over each slot, pooling between them: {}, features: {}, version {}); it plays \
             the most probable action.",
            net.hidden,
            said(&net.pooling),
            said(&net.features),
            net.feature_version,
        )
    }

    fn observer(net: &NetConfig) -> Observer {
        Observer::new(net.features)
    }

    fn observe(observer: &mut Observer, observation: &Observation) {
        observer.observe(observation);
    }

    fn features(observer: &Observer, observation: &Observation) -> Features {
        observer.features(observation)
    }

    fn legal(observation: &Observation) -> Vec<bool> {
        legal(observation).to_vec()
    }

    fn behaviours(hidden: &Hidden) -> [u8; SLOTS] {
        hidden.assignment.0.map(|behaviour| behaviour as u8)
    }

    fn total_reward(episode: &Episode) -> f64 {
        episode.tally().total_reward
    }

    fn reward_events(episode: &Episode) -> f64 {
        f64::from(episode.tally().reward_events)
    }

    fn scratch(weights: &Weights) -> Scratch {
        Scratch::new(weights)
    }

    fn logits(weights: &Weights, x: &Features, scratch: &mut Scratch, out: &mut Vec<f32>) {
        out.clear();
        out.extend(weights.forward(x, scratch).actions);
    }

    fn choose(pick: &mut dyn FnMut(Range<usize>) -> usize) -> usize {
        pick(0..Self::LOGITS)
    }

    fn columns(choice: usize) -> impl Iterator<Item = usize> {
        std::iter::once(choice)
    }

    fn action(choice: usize, _observation: &Observation) -> Action {
        Action::ALL[choice]
    }

    fn choice(action: Action) -> Option<usize> {
        Action::ALL.iter().position(|a| *a == action)
    }

    fn as_good(values: Option<[f64; 12]>) -> Option<Vec<usize>> {
        let values = values?;
        let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let good = (0..values.len()).filter(|index| values[*index] >= best - TIE);
        Some(good.collect())
    }

    fn inputs<'a>(features: impl Iterator<Item = &'a Features>, device: &Device) -> Inputs {
        let (mut slots, mut global, mut batch) = (Vec::new(), Vec::new(), 0);
        for one in features {
            slots.extend(one.slots.iter().flatten());
            global.extend_from_slice(&one.global);
            batch += 1;
        }
        Inputs {
            slots: tensor(slots, [batch * SLOTS, PER_SLOT], device),
            global: tensor(global, [batch, GLOBAL], device),
        }
    }

    /// See the plain pass in `sentinel_policy::learned` for the formula.
    fn forward(net: &Net, inputs: &Inputs) -> Outputs {
        let config = net.config();
        let hidden = config.hidden;
        let [batch, _] = inputs.global.dims();
        let rows = [batch * SLOTS, hidden];
        let per_slot = [batch, SLOTS, hidden];

        let shared = net.product(inputs.global.clone(), at::GLOBAL_IN) + net.get(at::BIAS_IN);
        let own = net.product(inputs.slots.clone(), at::SLOT_IN);
        let first = relu(own.reshape(per_slot) + shared.reshape([batch, 1, hidden]));

        let pooled = match config.pooling {
            Pooling::None => None,
            Pooling::Mean => Some(first.clone().mean_dim(1)),
            Pooling::Max => Some(first.clone().max_dim(1)),
        };
        let shared = match pooled {
            Some(pooled) => {
                net.product(pooled.reshape([batch, hidden]), at::POOL_MID) + net.get(at::BIAS_MID)
            }
            None => net.get(at::BIAS_MID).expand([batch, hidden]),
        };
        let own = net.product(first.reshape(rows), at::SLOT_MID);
        let second = relu(own.reshape(per_slot) + shared.reshape([batch, 1, hidden]));
        heads(net, second, batch)
    }
}

fn heads(net: &Net, second: Tensor<3>, batch: usize) -> Outputs {
    let hidden = net.config().hidden;
    let mean = second.clone().mean_dim(1).reshape([batch, hidden]);
    let rows = second.reshape([batch * SLOTS, hidden]);
    let slots = net.product(rows.clone(), at::SLOT_ACTIONS) + net.get(at::SLOT_ACTIONS_BIAS);
    let by_action = slots.reshape([batch, SLOTS, SLOT_ACTIONS]).swap_dims(1, 2);
    let others = net.product(mean, at::GLOBAL_ACTIONS) + net.get(at::GLOBAL_ACTIONS_BIAS);
    debug_assert_eq!(others.dims(), [batch, GLOBAL_ACTIONS]);
    let by_action = by_action.reshape([batch, SLOTS * SLOT_ACTIONS]);
    Outputs {
        actions: Tensor::cat(vec![by_action, others], 1),
        beliefs: net.product(rows, at::BELIEF) + net.get(at::BELIEF_BIAS),
    }
}
