//! The cluster world: nine factors, over jobs, GPUs and workers.

use std::ops::Range;

use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sentinel_env::cluster::{
    Action, ActionType, ClusterWorld, Episode, GPUS_MAX, Hidden, JOBS_MAX, Observation,
};
use sentinel_env::slot::SLOTS;
use sentinel_policy::cluster::PolicyName;
use sentinel_policy::cluster::learned::{
    COLUMNS, Choice, ClusterNet, Features, GLOBAL, HEADS, Observer, PER_GPU, PER_JOB, PER_WORKER,
    SEGMENTS, Scratch, at, legal,
};
use sentinel_policy::learned::Weights;

use super::Learn;
use crate::compact::config::TrainConfig;
use crate::compact::net::{Net, Outputs, tensor};

/// Rows of each set.
const ROWS: [usize; 3] = [JOBS_MAX, GPUS_MAX, SLOTS];

/// Observations on a device.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// `[batch * rows, features]` for jobs, GPUs and workers.
    sets: [Tensor<2>; 3],
    /// `[batch * rows, 1]`: 1 where a row takes part, else 0.
    open: [Tensor<2>; 3],
    /// `[batch, features]`.
    global: Tensor<2>,
}

impl Learn for ClusterWorld {
    type Net = ClusterNet;
    type Observer = Observer;
    type Features = Features;
    type Scratch = Scratch;
    type Choice = Choice;
    type Inputs = Inputs;

    const LOGITS: usize = COLUMNS;
    const SEGMENTS: &'static [Range<usize>] = &SEGMENTS;
    const BASELINES: &'static [PolicyName] = &[
        PolicyName::Random,
        PolicyName::Blind,
        PolicyName::Trust,
        PolicyName::OracleLite,
        PolicyName::Planner,
    ];

    fn net(config: &TrainConfig) -> ClusterNet {
        ClusterNet {
            hidden: config.hidden,
            ..ClusterNet::default()
        }
    }

    fn about(net: &ClusterNet) -> String {
        format!(
            "a scheduler that puts jobs on failing GPUs while workers lie and an adversary forges \
             reports. It is a small network (two layers of {} hidden units over each job, GPU and \
             worker, exchanged through a pooled context; features of version {}) with a factored \
             action: word, job, GPU, worker; it plays the most probable value of each factor.",
            net.hidden, net.feature_version,
        )
    }

    fn observer(_net: &ClusterNet) -> Observer {
        Observer::new()
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

    fn scratch(weights: &Weights<ClusterNet>) -> Scratch {
        Scratch::new(weights)
    }

    fn logits(
        weights: &Weights<ClusterNet>,
        x: &Features,
        scratch: &mut Scratch,
        out: &mut Vec<f32>,
    ) {
        out.clear();
        out.extend(weights.forward(x, scratch).actions);
    }

    fn choose(pick: &mut dyn FnMut(Range<usize>) -> usize) -> Choice {
        Choice::make(pick)
    }

    fn columns(choice: Choice) -> impl Iterator<Item = usize> {
        choice.into_columns()
    }

    fn action(choice: Choice, _observation: &Observation) -> Action {
        choice.action()
    }

    fn choice(action: Action) -> Option<Choice> {
        Choice::of(action)
    }

    fn inputs<'a>(features: impl Iterator<Item = &'a Features>, device: &Device) -> Inputs {
        let mut sets: [Vec<f32>; 3] = Default::default();
        let mut open: [Vec<f32>; 3] = Default::default();
        let (mut global, mut batch) = (Vec::new(), 0);
        let part = |on: bool| if on { 1.0 } else { 0.0 };
        for one in features {
            sets[0].extend(one.jobs.iter().flatten());
            sets[1].extend(one.gpus.iter().flatten());
            sets[2].extend(one.workers.iter().flatten());
            open[0].extend(one.open.map(part));
            open[1].extend((0..GPUS_MAX).map(|gpu| part(gpu < usize::from(one.gpu_count))));
            open[2].extend([1.0; SLOTS]);
            global.extend_from_slice(&one.global);
            batch += 1;
        }
        let widths = [PER_JOB, PER_GPU, PER_WORKER];
        let mut set = 0;
        let sets = sets.map(|values| {
            set += 1;
            tensor(values, [batch * ROWS[set - 1], widths[set - 1]], device)
        });
        let mut set = 0;
        let open = open.map(|values| {
            set += 1;
            tensor(values, [batch * ROWS[set - 1], 1], device)
        });
        Inputs {
            sets,
            open,
            global: tensor(global, [batch, GLOBAL], device),
        }
    }

    /// See the plain pass in `sentinel_policy::cluster::learned` for the formula.
    fn forward(net: &Net<ClusterNet>, x: &Inputs) -> Outputs {
        let hidden = net.config().hidden;
        let [batch, _] = x.global.dims();
        let mut context =
            net.product(x.global.clone(), at::CONTEXT_GLOBAL) + net.get(at::CONTEXT_BIAS);
        let mut first = Vec::with_capacity(ROWS.len());
        for (set, rows) in ROWS.into_iter().enumerate() {
            let start = at::SETS[set];
            let shared =
                net.product(x.global.clone(), start + at::GLOBAL_IN) + net.get(start + at::BIAS_IN);
            let own = net.product(x.sets[set].clone(), start + at::IN);
            let all = own.reshape([batch, rows, hidden]) + shared.reshape([batch, 1, hidden]);
            let all = relu(all) * x.open[set].clone().reshape([batch, rows, 1]);
            let pooled = all.clone().sum_dim(1).reshape([batch, hidden]) / rows as f32;
            context = context + net.product(pooled, at::CONTEXT_SETS[set]);
            first.push(all);
        }
        let context = relu(context);
        let second = first.into_iter().enumerate().map(|(set, all)| {
            let (start, rows) = (at::SETS[set], ROWS[set]);
            let shared = net.product(context.clone(), start + at::CONTEXT_MID);
            let own = net.product(all.reshape([batch * rows, hidden]), start + at::MID);
            let all = own.reshape([batch, rows, hidden]) + shared.reshape([batch, 1, hidden]);
            let logits = net.product(relu(all).reshape([batch * rows, hidden]), start + at::HEAD);
            logits.reshape([batch, rows, HEADS[set]])
        });
        let situation = net.product(context.clone(), at::SITUATION) + net.get(at::SITUATION_BIAS);
        columns(situation, second.collect(), batch)
    }
}

/// The logits in the order of the columns.
fn columns(situation: Tensor<2>, sets: Vec<Tensor<3>>, batch: usize) -> Outputs {
    let words = ActionType::ALL.len();
    let of = |set: usize, head: usize| -> Tensor<2> {
        let rows = ROWS[set];
        let one = sets[set].clone().slice([0..batch, 0..rows, head..head + 1]);
        one.reshape([batch, rows])
    };
    let own = |index: usize| {
        situation
            .clone()
            .slice([0..batch, words + index..words + index + 1])
    };
    let beliefs = sets[2].clone().slice([0..batch, 0..SLOTS, 3..HEADS[2]]);
    Outputs {
        actions: Tensor::cat(
            vec![
                situation.clone().slice([0..batch, 0..words]),
                of(0, 0),
                of(1, 0),
                of(2, 0),
                of(0, 1),
                of(0, 2),
                of(2, 1),
                own(0),
                of(0, 3),
                of(2, 2),
                own(1),
            ],
            1,
        ),
        beliefs: beliefs.reshape([batch * SLOTS, SLOTS]),
    }
}
