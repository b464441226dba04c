//! The shape of the cluster world's network: its hyperparameters and named parameters.

use sentinel_env::World;
use sentinel_env::cluster::{ActionType, ClusterEnv};
use sentinel_env::slot::SLOTS;
use serde::{Deserialize, Serialize};

use super::features::{GLOBAL, PER_GPU, PER_JOB, PER_WORKER};
use crate::nn::{Architecture, Init, Shape};

/// The hyperparameters of a network of the cluster world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterNet {
    /// Version of the features that the weights were trained on.
    pub feature_version: u32,
    /// Units of each hidden layer.
    pub hidden: usize,
}

impl Default for ClusterNet {
    fn default() -> Self {
        Self {
            feature_version: <Self as Architecture>::FEATURE_VERSION,
            hidden: 48,
        }
    }
}

/// Number of logits of each job (allocate, preempt, ask about, verify), each GPU (allocate) and
/// each worker (allocate, ask, verify, and the belief about its behavior).
pub const HEADS: [usize; 3] = [4, 1, 3 + SLOTS];

/// Number of logits of the context: action types, and "the worker of the job" for requests and for
/// verifications.
pub(super) const CONTEXT: usize = ActionType::ALL.len() + 2;

/// Indices of the parameters in [`Architecture::shapes`]. Jobs, GPUs and workers have the same six
/// parameters each.
pub mod param_index {
    /// First parameter of jobs, GPUs and workers.
    pub const SETS: [usize; 3] = [0, 6, 12];
    /// Offset from [`SETS`]: features of the set to its first layer, `[features, hidden]`.
    pub const ROW_INPUT: usize = 0;
    /// Offset from [`SETS`]: global features to the first layer, `[GLOBAL, hidden]`, added for
    /// every row.
    pub const GLOBAL_INPUT: usize = 1;
    /// Offset from [`SETS`]: bias of the first layer, `[hidden]`.
    pub const INPUT_BIAS: usize = 2;
    /// Offset from [`SETS`]: first layer to the second, `[hidden, hidden]`.
    pub const ROW_HIDDEN: usize = 3;
    /// Offset from [`SETS`]: context to the second layer, `[hidden, hidden]`, added for every row.
    pub const CONTEXT_HIDDEN: usize = 4;
    /// Offset from [`SETS`]: second layer to the logits of the set, `[hidden, logits]`.
    pub const HEAD: usize = 5;
    /// Global features to the context, `[GLOBAL, hidden]`.
    pub const CONTEXT_GLOBAL: usize = 18;
    /// Pooled jobs, GPUs and workers to the context, each `[hidden, hidden]`.
    pub const CONTEXT_SETS: [usize; 3] = [19, 20, 21];
    /// Bias of the context, `[hidden]`.
    pub const CONTEXT_BIAS: usize = 22;
    /// Context to its logits, `[hidden, logits]`.
    pub const CONTEXT_HEAD: usize = 23;
    /// Bias of the logits of the context, `[logits]`.
    pub const CONTEXT_HEAD_BIAS: usize = 24;
}

impl Architecture for ClusterNet {
    const WORLD: &'static str = ClusterEnv::NAME;
    const FEATURE_VERSION: u32 = 2;

    fn shapes(&self) -> Vec<Shape> {
        let h = self.hidden;
        let mut all = Vec::new();
        let mut add = |name, rows, columns, init| all.push(Shape::new(name, rows, columns, init));
        let second = Init::Hidden { inputs: 2 * h };
        for (names, inputs, logits) in [
            (JOBS, PER_JOB, HEADS[0]),
            (GPUS, PER_GPU, HEADS[1]),
            (WORKERS, PER_WORKER, HEADS[2]),
        ] {
            let first = Init::Hidden {
                inputs: inputs + GLOBAL,
            };
            add(names[0], inputs, h, first);
            add(names[1], GLOBAL, h, first);
            add(names[2], 1, h, Init::Zero);
            add(names[3], h, h, second);
            add(names[4], h, h, second);
            add(names[5], h, logits, Init::Head);
        }
        let context = Init::Hidden {
            inputs: GLOBAL + 3 * h,
        };
        add("context.global.weight", GLOBAL, h, context);
        add("context.jobs.weight", h, h, context);
        add("context.gpus.weight", h, h, context);
        add("context.workers.weight", h, h, context);
        add("context.bias", 1, h, Init::Zero);
        add("policy.situation.weight", h, CONTEXT, Init::Head);
        add("policy.situation.bias", 1, CONTEXT, Init::Zero);
        all
    }

    fn feature_version(&self) -> u32 {
        self.feature_version
    }

    fn hidden(&self) -> usize {
        self.hidden
    }
}

const JOBS: [&str; 6] = [
    "jobs.encoder.weight",
    "jobs.encoder.global.weight",
    "jobs.encoder.bias",
    "jobs.mixer.weight",
    "jobs.mixer.context.weight",
    "jobs.head.weight",
];
const GPUS: [&str; 6] = [
    "gpus.encoder.weight",
    "gpus.encoder.global.weight",
    "gpus.encoder.bias",
    "gpus.mixer.weight",
    "gpus.mixer.context.weight",
    "gpus.head.weight",
];
const WORKERS: [&str; 6] = [
    "workers.encoder.weight",
    "workers.encoder.global.weight",
    "workers.encoder.bias",
    "workers.mixer.weight",
    "workers.mixer.context.weight",
    "workers.head.weight",
];
