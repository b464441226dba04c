//! Training on the cluster world.

use std::sync::Arc;

use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sentinel_env::PrivilegedState;
use sentinel_env::cluster::{ActionType, ClusterEnv, GPUS_MAX, JOBS_MAX};
use sentinel_env::slot::SLOTS;
use sentinel_options::SeedRange;
use sentinel_policy::analysis::CompareActions;
use sentinel_policy::cluster::learned::{
    ClusterNet, Features, GLOBAL, HEADS, PER_GPU, PER_JOB, PER_WORKER, param_index,
};
use sentinel_policy::nn::Model;
use sentinel_rl::credit_options::Continuation;
use sentinel_tensor::matrix;

use super::{Learn, NamedPolicy, belief_rollouts, scripted};
use crate::config::{Method, TrainConfig};
use crate::parameter_tensors::{Outputs, ParameterTensors};

/// The number of rows of each set: jobs, GPUs, workers.
const ROWS: [usize; 3] = [JOBS_MAX, GPUS_MAX, SLOTS];

/// A batch of observations on a device.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The features of jobs, GPUs and workers, each `[batch * rows, features]`.
    sets: [Tensor<2>; 3],
    /// Masks of the sets, each `[batch * rows, 1]`: 1 for a row that takes part, else 0.
    open: [Tensor<2>; 3],
    /// The global features, `[batch, features]`.
    global: Tensor<2>,
}

impl Learn for ClusterEnv {
    type Inputs = Inputs;

    const BASELINES: &'static [&'static str] =
        &["random", "blind", "trust", "oracle_lite", "planner"];

    fn net(config: &TrainConfig) -> ClusterNet {
        ClusterNet {
            hidden: config.hidden,
            ..ClusterNet::default()
        }
    }

    fn describe(net: &ClusterNet) -> String {
        format!(
            "a scheduler that puts jobs on failing GPUs while workers lie and an adversary forges \
             reports. It is a small network (two layers of {} hidden units over each job, GPU and \
             worker, exchanged through a pooled context; features of version {}) with a factored \
             action: word, job, GPU, worker; it plays the most probable value of each factor.",
            net.hidden, net.feature_version,
        )
    }

    /// Sets fewer groups than in the trust world, since episodes are longer and a network costs
    /// more. They start from more snapshots of each episode and continue greedily.
    fn preset(config: &mut TrainConfig, quick: bool) {
        config.teacher = "planner".to_owned();
        config.hidden = 64;
        config.validation_seeds = SeedRange::new(5_000, 5_400);
        config.test_seeds = SeedRange::new(1_000, 1_500);
        config.snapshots_per_episode = 4;
        config.num_generations = 8;
        config.continuation = Continuation::Greedy;
        match config.method {
            Method::Grpo => {
                (config.max_steps, config.episodes_per_update) = (1_000, 96);
                config.learning_rate = 0.001;
                config.entropy_coef = 0.01;
            }
            Method::Imitation => (config.max_steps, config.episodes_per_update) = (30, 48),
            Method::ExpertIteration => config.episodes_per_update = 48,
        }
        if quick {
            config.max_steps = match config.method {
                Method::Grpo => 50,
                _ => config.max_steps.div_ceil(6),
            };
            config.validation_seeds = SeedRange::new(5_000, 5_040);
            config.test_seeds = SeedRange::new(1_000, 1_100);
        }
    }

    fn policies() -> Vec<NamedPolicy<Self>> {
        scripted()
    }

    fn action_comparison(
        model: &Arc<Model<Self::Net>>,
        setup: &Self::Setup,
    ) -> Option<Box<dyn CompareActions<Self>>> {
        belief_rollouts(model, setup)
    }

    fn belief_targets(&self) -> Vec<u8> {
        let behaviors = self.hidden().assignment.0;
        behaviors.map(|behavior| behavior as u8).to_vec()
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
            matrix(values, [batch * ROWS[set - 1], widths[set - 1]], device)
        });
        let mut set = 0;
        let open = open.map(|values| {
            set += 1;
            matrix(values, [batch * ROWS[set - 1], 1], device)
        });
        Inputs {
            sets,
            open,
            global: matrix(global, [batch, GLOBAL], device),
        }
    }

    /// Computes the formula that `sentinel_policy::cluster::learned` documents at the plain pass.
    fn forward(net: &ParameterTensors<ClusterNet>, x: &Inputs) -> Outputs {
        let hidden = net.config().hidden;
        let [batch, _] = x.global.dims();
        let mut context = net.linear(
            x.global.clone(),
            param_index::CONTEXT_GLOBAL,
            param_index::CONTEXT_BIAS,
        );
        let mut first = Vec::with_capacity(ROWS.len());
        for (set, rows) in ROWS.into_iter().enumerate() {
            let start = param_index::SETS[set];
            let (weight, bias) = (
                start + param_index::GLOBAL_INPUT,
                start + param_index::INPUT_BIAS,
            );
            let shared = net.linear(x.global.clone(), weight, bias);
            let all = net.set_layer(x.sets[set].clone(), start + param_index::ROW_INPUT, shared);
            let all = all * x.open[set].clone().reshape([batch, rows, 1]);
            let pooled = all.clone().sum_dim(1).reshape([batch, hidden]) / rows as f32;
            context = context + net.product(pooled, param_index::CONTEXT_SETS[set]);
            first.push(all);
        }
        let context = relu(context);
        let second = first.into_iter().enumerate().map(|(set, all)| {
            let (start, rows) = (param_index::SETS[set], ROWS[set]);
            let shared = net.product(context.clone(), start + param_index::CONTEXT_HIDDEN);
            let all = net.set_layer(
                all.reshape([batch * rows, hidden]),
                start + param_index::ROW_HIDDEN,
                shared,
            );
            let logits = net.product(
                all.reshape([batch * rows, hidden]),
                start + param_index::HEAD,
            );
            logits.reshape([batch, rows, HEADS[set]])
        });
        let own = net.linear(
            context.clone(),
            param_index::CONTEXT_HEAD,
            param_index::CONTEXT_HEAD_BIAS,
        );
        columns(own, second.collect(), batch)
    }
}

/// Reorders the logits of the context and of the sets into the order of the columns.
fn columns(context: Tensor<2>, sets: Vec<Tensor<3>>, batch: usize) -> Outputs {
    let types = ActionType::ALL.len();
    let of = |set: usize, head: usize| -> Tensor<2> {
        let rows = ROWS[set];
        let one = sets[set].clone().slice([0..batch, 0..rows, head..head + 1]);
        one.reshape([batch, rows])
    };
    let own = |index: usize| {
        context
            .clone()
            .slice([0..batch, types + index..types + index + 1])
    };
    let beliefs = sets[2].clone().slice([0..batch, 0..SLOTS, 3..HEADS[2]]);
    Outputs {
        logits: Tensor::cat(
            vec![
                context.clone().slice([0..batch, 0..types]),
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
        beliefs: Some(beliefs.reshape([batch * SLOTS, SLOTS])),
    }
}
