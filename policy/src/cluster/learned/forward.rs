//! The network of the cluster world: its forward pass as plain loops over `f32`.
//!
//! For each row of the three sets (jobs, GPUs, workers), `h = relu(features W + global G + b)`. The
//! rows of a set are summed and divided by the largest possible size of the set. The context is `c
//! = relu(global C + pooled sets Q + b)`. For each row, `z = relu(h V + c P)`, with one head per
//! set on `z`. The action types have a head on the context. The rows of a set share all weights, so
//! exchanging two rows exchanges their outputs.

use std::ops::Range;

use sentinel_env::cluster::{Action, ActionType, ClusterEnv, GPUS_MAX, JOBS_MAX, Observation};
use sentinel_env::slot::SLOTS;

use super::actions::{self, COLUMNS, FACTOR_COLUMNS, Factor};
use super::architecture::{CONTEXT, ClusterNet, HEADS, param_index};
use super::features::{Features, GLOBAL_SCHEMA, GPU_SCHEMA, JOB_SCHEMA, Observer, WORKER_SCHEMA};
use crate::nn::{
    Choice, FeatureSchema, Network, Output, Scratch, Weights, add_product, linear, relu, set_layer,
};
use crate::replay::Recordable;

/// Largest number of rows of each set: jobs, GPUs and workers.
const ROWS: [usize; 3] = [JOBS_MAX, GPUS_MAX, SLOTS];

const _: () = assert!(
    <ClusterNet as Network>::FACTOR_COLUMNS[0].end == <ClusterEnv as Recordable>::ACTION_DIM,
    "replays hold the probabilities of the first factor"
);

impl Network for ClusterNet {
    type Env = ClusterEnv;
    type Observer = Observer;
    type Features = Features;

    const LOGITS: usize = COLUMNS;
    const FACTOR_COLUMNS: &'static [Range<usize>] = &FACTOR_COLUMNS;
    const BELIEF_SHAPE: Option<[usize; 2]> = Some([SLOTS, SLOTS]);
    const FEATURE_SCHEMAS: &'static [FeatureSchema] =
        &[JOB_SCHEMA, GPU_SCHEMA, WORKER_SCHEMA, GLOBAL_SCHEMA];

    fn observer(&self) -> Observer {
        Observer::default()
    }

    fn scratch(&self) -> Scratch {
        let h = self.hidden;
        let [jobs, gpus, workers] = ROWS.map(|rows| rows * h);
        Scratch::new(&[h, h, h, jobs, gpus, workers])
    }

    fn forward(w: &Weights<Self>, x: &Features, scratch: &mut Scratch, out: &mut Output) {
        let [shared, pooled, context, jobs, gpus, workers] = scratch.buffers();
        let mut first = [jobs, gpus, workers];
        linear(
            &x.global,
            w.tensor(param_index::CONTEXT_GLOBAL),
            w.tensor(param_index::CONTEXT_BIAS),
            context,
        );
        for (set, hidden) in first.iter_mut().enumerate() {
            encode(w, set, x, shared, hidden, pooled);
            add_product(pooled, w.tensor(param_index::CONTEXT_SETS[set]), context);
        }
        relu(context);
        context_head(w, context, out);
        for (set, hidden) in first.iter().enumerate() {
            // `pooled` is no longer needed, so its buffer holds one row of the second layer from
            // here on.
            set_head(w, set, x, [context, hidden], [shared, pooled], out);
        }
    }

    fn action_mask(observation: &Observation, mask: &mut [bool]) {
        actions::action_mask(observation, mask);
    }

    fn next_factor(chosen: &Choice) -> Option<usize> {
        actions::next_factor(chosen)
    }

    fn decode_action(choice: &Choice, _observation: &Observation) -> Action {
        actions::decode_action(choice)
    }

    fn encode_action(action: Action, _observation: &Observation) -> Option<Choice> {
        actions::encode_action(action)
    }
}

/// Returns `true` if a row of a set is not masked out.
fn takes_part(x: &Features, set: usize, row: usize) -> bool {
    match set {
        0 => x.open[row],
        1 => row < usize::from(x.gpu_count),
        _ => true,
    }
}

/// Computes the first layer of a set, and its sum divided by the largest size of the set.
fn encode(
    w: &Weights<ClusterNet>,
    set: usize,
    x: &Features,
    shared: &mut [f32],
    hidden: &mut [f32],
    pooled: &mut [f32],
) {
    let start = param_index::SETS[set];
    let bias = w.tensor(start + param_index::INPUT_BIAS);
    linear(
        &x.global,
        w.tensor(start + param_index::GLOBAL_INPUT),
        bias,
        shared,
    );
    let weight = w.tensor(start + param_index::ROW_INPUT);
    let share = 1.0 / ROWS[set] as f32;
    let row = |index: usize| match set {
        0 => &x.jobs[index][..],
        1 => &x.gpus[index][..],
        _ => &x.workers[index][..],
    };
    let rows = (0..ROWS[set]).map(|index| takes_part(x, set, index).then(|| row(index)));
    set_layer(rows, weight, shared, hidden, share, pooled);
}

/// Computes the logits of the action types, and those of "the worker of the job".
fn context_head(w: &Weights<ClusterNet>, context: &[f32], out: &mut Output) {
    let mut logits = [0.0; CONTEXT];
    let bias = w.tensor(param_index::CONTEXT_HEAD_BIAS);
    linear(
        context,
        w.tensor(param_index::CONTEXT_HEAD),
        bias,
        &mut logits,
    );
    let (types, own) = logits.split_at(ActionType::ALL.len());
    out.logits[Factor::Kind.columns()].copy_from_slice(types);
    for (factor, logit) in [Factor::AskWorker, Factor::VerifyWorker].iter().zip(own) {
        out.logits[factor.columns().end - 1] = *logit;
    }
}

/// Computes the second layer of a set and its logits, from the context and the first layer.
fn set_head(
    w: &Weights<ClusterNet>,
    set: usize,
    x: &Features,
    [context, first]: [&[f32]; 2],
    [shared, row]: [&mut [f32]; 2],
    out: &mut Output,
) {
    let start = param_index::SETS[set];
    shared.fill(0.0);
    add_product(
        context,
        w.tensor(start + param_index::CONTEXT_HIDDEN),
        shared,
    );
    for (index, h) in first.chunks_exact(row.len()).enumerate() {
        if !takes_part(x, set, index) {
            continue;
        }
        linear(h, w.tensor(start + param_index::ROW_HIDDEN), shared, row);
        relu(row);
        let mut logits = [0.0; HEADS[2]];
        let logits = &mut logits[..HEADS[set]];
        add_product(row, w.tensor(start + param_index::HEAD), logits);
        place(set, index, logits, out);
    }
}

/// Factors of the logits of each job, in the order of the head.
const JOB_FACTORS: [Factor; HEADS[0]] = [
    Factor::AllocateJob,
    Factor::PreemptJob,
    Factor::AskJob,
    Factor::VerifyJob,
];
const WORKER_FACTORS: [Factor; 3] = [
    Factor::AllocateWorker,
    Factor::AskWorker,
    Factor::VerifyWorker,
];

/// Writes the logits of one row of a set to their columns.
fn place(set: usize, index: usize, logits: &[f32], out: &mut Output) {
    let factors = match set {
        0 => &JOB_FACTORS[..],
        1 => &[Factor::AllocateGpu],
        _ => &WORKER_FACTORS,
    };
    for (factor, logit) in factors.iter().zip(logits) {
        out.logits[factor.columns().start + index] = *logit;
    }
    if set == 2 {
        let belief = &mut out.beliefs[index * SLOTS..][..SLOTS];
        belief.copy_from_slice(&logits[WORKER_FACTORS.len()..]);
    }
}
