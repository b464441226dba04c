//! Training on the cluster world.

use std::sync::Arc;

use sentinel_env::cluster::{Action, ActionType, ClusterEnv, GPUS_MAX, JOBS_MAX, JobStatus, Step};
use sentinel_env::slot::SLOTS;
use sentinel_env::{Environment, PrivilegedState};
use sentinel_options::SeedRange;
use sentinel_policy::analysis::CompareActions;
use sentinel_policy::cluster::learned::{ClusterNet, Features, HEADS, param_index};
use sentinel_policy::nn::Model;
use sentinel_rl::credit_options::Continuation;

use super::{ActionKind, Learn, NamedPolicy, Rate, RateCount, StepKind, belief_rollouts, scripted};
use crate::config::{Method, TrainConfig};
use crate::parameter_tensors::{Outputs, ParameterTensors};
use crate::tensor::Tensor;

/// The number of rows of each set: jobs, GPUs, workers.
const ROWS: [usize; 3] = [JOBS_MAX, GPUS_MAX, SLOTS];

/// A batch of observations on a device.
struct Inputs<T> {
    /// The features of jobs, GPUs and workers, each `[batch * rows, features]`.
    sets: [T; 3],
    /// Masks of the sets, each `[batch * rows, 1]`: 1 for a row that takes part, else 0.
    open: [T; 3],
    /// The global features, `[batch, features]`.
    global: T,
}

impl Learn for ClusterEnv {
    const NEEDS_START: bool = true;
    const BASELINES: &'static [&'static str] =
        &["random", "blind", "trust", "oracle_lite", "planner"];
    const RATES: &'static [Rate] = &[
        Rate {
            name: "Fell for a lie",
            unit: "encounters",
            help: "Poisonings (false claims that a job is done which were believed, and attacks that were \
                   not found in time), of these and the detections together.",
        },
        Rate {
            name: "Done in time",
            unit: "jobs",
            help: "Jobs that were complete at the end; a job past its deadline cannot be completed.",
        },
        Rate {
            name: "Reports checked",
            unit: "reports",
            help: "Reports of workers that a verification asked for, of all reports.",
        },
        Rate {
            name: "GPU memory in use",
            unit: "units of memory",
            help: "Used part of the memory of GPUs that work, as a mean over all steps.",
        },
    ];
    const ACTION_KINDS: &'static [ActionKind] = &[
        ActionKind::new("Allocate", "allocation", "allocations"),
        ActionKind::new("Preempt", "preemption", "preemptions"),
        ActionKind::new("Ask", "question", "questions"),
        ActionKind::new("Verify", "verification", "verifications"),
        ActionKind::new("Wait", "wait", "waits"),
    ];
    const HARM: &'static str = "fell for a lie";

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

    fn rate_counts(episode: &Self, steps: &[Step]) -> Vec<RateCount> {
        let o = episode.observation();
        let (poisonings, detections) = (o.counters.poisonings, o.counters.detections);
        let reports = steps.iter().filter(|step| step.report.is_some());
        vec![
            RateCount {
                count: f64::from(poisonings),
                of: f64::from(poisonings + detections),
            },
            RateCount::from_items(o.jobs.rows().iter(), |job| {
                job.status == JobStatus::Complete
            }),
            RateCount::from_items(reports, |step| matches!(step.action, Action::Verify { .. })),
            RateCount {
                count: episode.tally().utilization_sum(),
                of: f64::from(o.step_count),
            },
        ]
    }

    fn step_kind(before: &Self, step: &Step, after: &Self) -> StepKind {
        let poisonings = |episode: &Self| episode.observation().counters.poisonings;
        let reporting = step.report.map(|report| report.worker);
        let worker = step.action.worker().or(reporting);
        StepKind {
            kind: step.action.action_type() as usize,
            label: worker.map_or_else(String::new, |slot| slot.to_string()),
            is_harmful: poisonings(after) > poisonings(before),
        }
    }

    /// Computes the formula that `sentinel_policy::cluster::learned` documents at the plain pass.
    fn forward<T: Tensor>(
        net: &ParameterTensors<ClusterNet, T>,
        features: &[&Features],
    ) -> Outputs<T> {
        let Inputs { sets, open, global } = inputs::<T>(features, net.device());
        let mut context = net.linear(
            global.clone(),
            param_index::CONTEXT_GLOBAL,
            param_index::CONTEXT_BIAS,
        );
        let mut first = Vec::with_capacity(ROWS.len());
        for (set, (features, open)) in sets.into_iter().zip(open).enumerate() {
            let start = param_index::SETS[set];
            let (weight, bias) = (
                start + param_index::GLOBAL_INPUT,
                start + param_index::INPUT_BIAS,
            );
            let shared = net.linear(global.clone(), weight, bias);
            let all = net.set_layer(features, start + param_index::ROW_INPUT, shared);
            let all = all.scale_rows(open);
            let pooled = all.clone().sum_sets(ROWS[set]).divide(ROWS[set] as f32);
            context = context.plus(net.product(pooled, param_index::CONTEXT_SETS[set]));
            first.push(all);
        }
        let context = context.rectify();
        let second = first.into_iter().enumerate().map(|(set, all)| {
            let start = param_index::SETS[set];
            let shared = net.product(context.clone(), start + param_index::CONTEXT_HIDDEN);
            let all = net.set_layer(all, start + param_index::ROW_HIDDEN, shared);
            net.product(all, start + param_index::HEAD)
        });
        let second = second.collect();
        let own = net.linear(
            context,
            param_index::CONTEXT_HEAD,
            param_index::CONTEXT_HEAD_BIAS,
        );
        columns(own, second)
    }
}

/// Copies features to a device.
fn inputs<T: Tensor>(features: &[&Features], device: &T::Device) -> Inputs<T> {
    let mut sets: [Vec<f32>; 3] = Default::default();
    let mut open: [Vec<f32>; 3] = Default::default();
    let mut global = Vec::new();
    let part = |on: bool| if on { 1.0 } else { 0.0 };
    for one in features {
        sets[0].extend(one.jobs.iter().flatten());
        sets[1].extend(one.gpus.iter().flatten());
        sets[2].extend(one.workers.iter().flatten());
        open[0].extend(one.open.map(part));
        open[1].extend((0..GPUS_MAX).map(|gpu| part(gpu < usize::from(one.gpu_count))));
        open[2].extend([1.0; SLOTS]);
        global.extend_from_slice(&one.global);
    }
    let batch = features.len();
    let matrix = |values: Vec<f32>, rows: usize| {
        let columns = values.len() / rows.max(1);
        T::constant(values, [rows, columns], device)
    };
    let [jobs, gpus, workers] = sets;
    let [open_jobs, open_gpus, open_workers] = open;
    let [job_rows, gpu_rows, worker_rows] = ROWS.map(|rows| batch * rows);
    Inputs {
        sets: [
            matrix(jobs, job_rows),
            matrix(gpus, gpu_rows),
            matrix(workers, worker_rows),
        ],
        open: [
            matrix(open_jobs, job_rows),
            matrix(open_gpus, gpu_rows),
            matrix(open_workers, worker_rows),
        ],
        global: matrix(global, batch),
    }
}

/// Reorders the logits of the context and of the sets, `[batch * rows, heads]`, into the order of
/// the columns.
fn columns<T: Tensor>(context: T, sets: Vec<T>) -> Outputs<T> {
    let types = ActionType::ALL.len();
    let of = |set: usize, head: usize| {
        let one: T = sets[set].clone().columns(head..head + 1);
        one.flatten_sets(ROWS[set])
    };
    let own = |index: usize| context.clone().columns(types + index..types + index + 1);
    Outputs {
        logits: T::beside(vec![
            context.clone().columns(0..types),
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
        ]),
        beliefs: Some(sets[2].clone().columns(3..HEADS[2])),
    }
}
