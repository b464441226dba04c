//! The forward pass as plain loops over `f32`: what rollouts and the page run.
//!
//! For jobs, GPUs and workers alike: `h = relu(features W + situation G + b)`, summed over the set
//! and divided by the most there can be; the context is `c = relu(situation + pooled sets + b)`;
//! `z = relu(h V + c P)` and a head per set; the words come from the context. Rows of a set share
//! all weights, so exchanging two exchanges their numbers.

use sentinel_env::cluster::{ActionType, GPUS_MAX, JOBS_MAX};
use sentinel_env::slot::SLOTS;

use super::choice::{COLUMNS, Factor};
use super::features::Features;
use super::layout::{ClusterNet, HEADS, SITUATION, at};
use crate::learned::{Weights, add_product, relu};

/// What a network says to one observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Output {
    /// Logits of all factors, see [`super::SEGMENTS`].
    pub actions: [f32; COLUMNS],
    /// Logits of each behaviour behind each slot, `[slot][behaviour]`.
    pub beliefs: [[f32; SLOTS]; SLOTS],
}

/// Room for the hidden layers, so that a pass allocates nothing.
#[derive(Clone, Debug)]
pub struct Scratch {
    shared: Vec<f32>,
    context: Vec<f32>,
    row: Vec<f32>,
    pooled: [Vec<f32>; 3],
    first: [Vec<f32>; 3],
}

/// The most that each set can have.
const MOST: [usize; 3] = [JOBS_MAX, GPUS_MAX, SLOTS];

impl Scratch {
    /// Room for the hidden layers of these weights.
    #[must_use]
    pub fn new(weights: &Weights<ClusterNet>) -> Self {
        let hidden = weights.config().hidden;
        Self {
            shared: vec![0.0; hidden],
            context: vec![0.0; hidden],
            row: vec![0.0; hidden],
            pooled: std::array::from_fn(|_| vec![0.0; hidden]),
            first: MOST.map(|most| vec![0.0; most * hidden]),
        }
    }
}

/// Runs the network on one observation.
#[must_use]
pub(super) fn run(w: &Weights<ClusterNet>, x: &Features, scratch: &mut Scratch) -> Output {
    let job_rows = (x.jobs.iter().zip(x.open)).map(|(row, on)| on.then_some(&row[..]));
    encode(w, 0, x, job_rows, scratch);
    let gpu_rows = x.gpus.iter().take(usize::from(x.gpu_count));
    encode(w, 1, x, gpu_rows.map(|row| Some(&row[..])), scratch);
    encode(w, 2, x, x.workers.iter().map(|row| Some(&row[..])), scratch);
    let Scratch {
        context, pooled, ..
    } = scratch;
    context.copy_from_slice(w.tensor(at::CONTEXT_BIAS));
    add_product(&x.global, w.tensor(at::CONTEXT_GLOBAL), context);
    for (pooled, index) in pooled.iter().zip(at::CONTEXT_SETS) {
        add_product(pooled, w.tensor(index), context);
    }
    relu(context);
    let mut output = Output {
        actions: [0.0; COLUMNS],
        beliefs: [[0.0; SLOTS]; SLOTS],
    };
    situation(w, context, &mut output);
    heads(w, x, scratch, &mut output);
    output
}

/// The first layer of a set, and its pool.
fn encode<'a>(
    w: &Weights<ClusterNet>,
    set: usize,
    x: &Features,
    rows: impl Iterator<Item = Option<&'a [f32]>>,
    scratch: &mut Scratch,
) {
    let start = at::SETS[set];
    let Scratch {
        shared,
        pooled,
        first,
        ..
    } = scratch;
    shared.copy_from_slice(w.tensor(start + at::BIAS_IN));
    add_product(&x.global, w.tensor(start + at::GLOBAL_IN), shared);
    let (pooled, share) = (&mut pooled[set], 1.0 / MOST[set] as f32);
    pooled.fill(0.0);
    for (row, out) in rows.zip(first[set].chunks_exact_mut(shared.len())) {
        let Some(row) = row else {
            continue;
        };
        out.copy_from_slice(shared);
        add_product(row, w.tensor(start + at::IN), out);
        relu(out);
        add_product(&[share], out, pooled);
    }
}

fn situation(w: &Weights<ClusterNet>, context: &[f32], output: &mut Output) {
    let mut logits = [0.0; SITUATION];
    logits.copy_from_slice(w.tensor(at::SITUATION_BIAS));
    add_product(context, w.tensor(at::SITUATION), &mut logits);
    let words = ActionType::ALL.len();
    output.actions[..words].copy_from_slice(&logits[..words]);
    for (factor, logit) in [Factor::AskWorker, Factor::VerifyWorker]
        .into_iter()
        .zip(&logits[words..])
    {
        output.actions[factor.columns().end - 1] = *logit;
    }
}

/// The second layer of each set and its logits.
fn heads(w: &Weights<ClusterNet>, x: &Features, scratch: &mut Scratch, output: &mut Output) {
    let Scratch {
        shared,
        context,
        row,
        first,
        ..
    } = scratch;
    let gpus = usize::from(x.gpu_count);
    for (set, first) in first.iter().enumerate() {
        let start = at::SETS[set];
        shared.fill(0.0);
        add_product(context, w.tensor(start + at::CONTEXT_MID), shared);
        for (index, h) in first.chunks_exact(row.len()).enumerate() {
            let takes_part = match set {
                0 => x.open[index],
                1 => index < gpus,
                _ => true,
            };
            if !takes_part {
                continue;
            }
            row.copy_from_slice(shared);
            add_product(h, w.tensor(start + at::MID), row);
            relu(row);
            let mut logits = [0.0; HEADS[2]];
            let logits = &mut logits[..HEADS[set]];
            add_product(row, w.tensor(start + at::HEAD), logits);
            place(set, index, logits, output);
        }
    }
}

/// Which factors the logits of each set belong to, in the order of its head.
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

fn place(set: usize, index: usize, logits: &[f32], output: &mut Output) {
    let factors = match set {
        0 => &JOB_FACTORS[..],
        1 => &[Factor::AllocateGpu],
        _ => &WORKER_FACTORS,
    };
    for (factor, logit) in factors.iter().zip(logits) {
        output.actions[factor.columns().start + index] = *logit;
    }
    if set == 2 {
        output.beliefs[index].copy_from_slice(&logits[WORKER_FACTORS.len()..]);
    }
}
