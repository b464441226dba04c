//! The polyguard world: one choice among up to ten candidates.

use std::ops::Range;

use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sentinel_env::polyguard::{
    Action, CANDIDATES, CandidateId, Episode, Hidden, Observation, PolyguardWorld,
};
use sentinel_env::slot::SLOTS;
use sentinel_policy::learned::Weights;
use sentinel_policy::polyguard::PolicyName;
use sentinel_policy::polyguard::learned::{
    Features, GLOBAL, Observer, PER_CANDIDATE, PolyguardNet, Scratch, at, legal,
};

use super::Learn;
use crate::compact::config::TrainConfig;
use crate::compact::net::{Net, Outputs, tensor};

/// Observations on a device.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// `[batch * candidates, features]`.
    candidates: Tensor<2>,
    /// `[batch * candidates, 1]`: 1 where a candidate is shown, else 0.
    shown: Tensor<2>,
    /// `[batch, 1]`: one over how many are shown.
    share: Tensor<2>,
    /// `[batch, features]`.
    global: Tensor<2>,
}

impl Learn for PolyguardWorld {
    type Net = PolyguardNet;
    type Observer = Observer;
    type Features = Features;
    type Scratch = Scratch;
    type Choice = usize;
    type Inputs = Inputs;

    const LOGITS: usize = CANDIDATES;
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "one choice, so one segment"
    )]
    const SEGMENTS: &'static [Range<usize>] = &[0..CANDIDATES];
    const BASELINES: &'static [PolicyName] = &[
        PolicyName::Random,
        PolicyName::GreedyRegimen,
        PolicyName::RulesOnly,
    ];

    fn net(config: &TrainConfig) -> PolyguardNet {
        PolyguardNet {
            hidden: config.hidden,
            ..PolyguardNet::default()
        }
    }

    fn about(net: &PolyguardNet) -> String {
        format!(
            "an agent that makes a simulated medication regimen safer under missing data; for \
             research only, never for the care of a patient. It is a small network (two layers of \
             {} hidden units over each candidate, exchanged through their mean; features of \
             version {}, which know archetypes by their traits alone); it plays the most probable \
             candidate and names what that is about as its rationale.",
            net.hidden, net.feature_version,
        )
    }

    fn observer(_net: &PolyguardNet) -> Observer {
        Observer::default()
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

    /// Nobody hides behind a slot here: there is no belief to learn.
    fn behaviours(_hidden: &Hidden) -> [u8; SLOTS] {
        [0; SLOTS]
    }

    fn total_reward(episode: &Episode) -> f64 {
        episode.hidden().tally().returned
    }

    fn reward_events(episode: &Episode) -> f64 {
        f64::from(episode.observation().step_count)
    }

    fn scratch(weights: &Weights<PolyguardNet>) -> Scratch {
        Scratch::new(weights)
    }

    fn logits(
        weights: &Weights<PolyguardNet>,
        x: &Features,
        scratch: &mut Scratch,
        out: &mut Vec<f32>,
    ) {
        out.clear();
        out.extend(weights.forward(x, scratch));
    }

    fn choose(pick: &mut dyn FnMut(Range<usize>) -> usize) -> usize {
        pick(0..CANDIDATES)
    }

    fn columns(choice: usize) -> impl Iterator<Item = usize> {
        std::iter::once(choice)
    }

    fn action(choice: usize, observation: &Observation) -> Action {
        let id = CandidateId::new(choice as u8 + 1).unwrap_or(CandidateId::FIRST);
        Action::explained(observation, id)
    }

    fn choice(action: Action) -> Option<usize> {
        action.id().map(CandidateId::index)
    }

    fn inputs<'a>(features: impl Iterator<Item = &'a Features>, device: &Device) -> Inputs {
        let (mut candidates, mut shown) = (Vec::new(), Vec::new());
        let (mut share, mut global, mut batch) = (Vec::new(), Vec::new(), 0);
        for one in features {
            candidates.extend(one.candidates.iter().flatten());
            shown.extend(one.shown.map(|on| if on { 1.0 } else { 0.0 }));
            let count = one.shown.iter().filter(|on| **on).count();
            share.push(1.0 / count.max(1) as f32);
            global.extend_from_slice(&one.global);
            batch += 1;
        }
        Inputs {
            candidates: tensor(candidates, [batch * CANDIDATES, PER_CANDIDATE], device),
            shown: tensor(shown, [batch * CANDIDATES, 1], device),
            share: tensor(share, [batch, 1], device),
            global: tensor(global, [batch, GLOBAL], device),
        }
    }

    /// See the plain pass in `sentinel_policy::polyguard::learned` for the formula.
    fn forward(net: &Net<PolyguardNet>, x: &Inputs) -> Outputs {
        let hidden = net.config().hidden;
        let [batch, _] = x.global.dims();
        let rows = batch * CANDIDATES;
        let set = |own: Tensor<2>, shared: Tensor<2>| -> Tensor<3> {
            let shared = shared.reshape([batch, 1, hidden]);
            relu(own.reshape([batch, CANDIDATES, hidden]) + shared)
        };
        let shared = net.product(x.global.clone(), at::GLOBAL_IN) + net.get(at::BIAS_IN);
        let own = net.product(x.candidates.clone(), at::CANDIDATE_IN);
        let first = set(own, shared) * x.shown.clone().reshape([batch, CANDIDATES, 1]);
        let pooled = first.clone().sum_dim(1).reshape([batch, hidden]) * x.share.clone();
        let shared = net.product(pooled, at::POOL_MID) + net.get(at::BIAS_MID);
        let own = net.product(first.reshape([rows, hidden]), at::CANDIDATE_MID);
        let second = set(own, shared).reshape([rows, hidden]);
        Outputs {
            actions: net.product(second, at::HEAD).reshape([batch, CANDIDATES]),
            beliefs: Tensor::zeros([batch * SLOTS, SLOTS], net.device()),
        }
    }
}
