//! One optimizer step: the loss of a mini-batch, its gradient, and the parameters moved.

use std::marker::PhantomData;

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};
use sentinel_policy::nn::Network;

use super::TrainError;
use super::batch::{Batch, Token};
use super::learn::Learn;
use super::net::{Net, numbers, tensor};
use super::optimizer::Optimizer;
use crate::rl::Metrics;
use crate::rl::config::LossConfig;
use crate::rl::loss::{Advantages, LossInput, grpo_loss};

/// Added to the logits of columns that cannot be chosen.
const MASKED: f32 = -1e9;

/// The objective of the policy's part of a step.
#[derive(Clone, Debug)]
pub enum Goal {
    /// The GRPO loss on advantages.
    Grpo(LossConfig),
    /// Cross-entropy against a teacher; a token's advantage is the teacher's probability of it.
    Imitate,
}

/// Weights of the parts of a step.
#[derive(Clone, Debug)]
pub struct StepOptions {
    /// The policy's loss.
    pub goal: Goal,
    /// Weight of the belief's cross-entropy.
    pub belief_coef: f64,
    /// Step size.
    pub learning_rate: f64,
}

/// A loss, and its gradient with respect to the log-probabilities `[samples, columns]` and entropies
/// `[samples, factors]`.
struct LossGrad {
    loss: f64,
    by_logp: Vec<f32>,
    by_entropy: Option<Vec<f32>>,
    metrics: Metrics,
}

/// Log-probabilities and entropies of a batch, on the device.
struct PolicyOutputs {
    logps: Tensor<2>,
    entropies: Tensor<2>,
    beliefs: Option<Tensor<2>>,
}

/// Takes one optimizer step on the sequences `rows` of a batch; returns its metrics.
///
/// # Errors
/// If the loss or the gradient is not finite; the parameters are as they were then.
pub fn step<W: Learn>(
    net: &mut Net<W::Net>,
    optimizer: &mut Optimizer,
    options: &StepOptions,
    batch: &Batch<W>,
    rows: &[usize],
) -> Result<Metrics, TrainError> {
    let chosen = Chosen::new(batch, rows);
    let outputs = policy_outputs::<W>(net, batch, &chosen.samples);
    let logps = numbers(outputs.logps.clone())?;
    let entropies = numbers(outputs.entropies.clone())?;
    let LossGrad {
        loss,
        by_logp,
        by_entropy,
        mut metrics,
    } = match &options.goal {
        Goal::Grpo(config) => chosen.grpo(config, &logps, &entropies)?,
        Goal::Imitate => chosen.imitation(&logps),
    };

    let size = [chosen.samples.len(), <W::Net as Network>::LOGITS];
    let device = net.device().clone();
    // The gradient of the pure function, carried through the network.
    let mut objective = (outputs.logps * tensor(by_logp, size, &device)).sum();
    if let Some(by_entropy) = by_entropy {
        let by_entropy = tensor(
            by_entropy,
            [size[0], <W::Net as Network>::SEGMENTS.len()],
            &device,
        );
        objective = objective + (outputs.entropies * by_entropy).sum();
    }
    let mut total = loss;
    if let Some(beliefs) = outputs.beliefs {
        let belief_loss = belief_loss(beliefs, batch, &chosen.samples);
        let value = numbers(belief_loss.clone())?
            .first()
            .map_or(0.0, |v| f64::from(*v));
        objective = objective + belief_loss.mul_scalar(options.belief_coef);
        total += options.belief_coef * value;
        metrics.insert("belief_loss".into(), value);
    }
    if !total.is_finite() {
        return Err(TrainError::NotFinite("loss"));
    }
    let gradients = net.gradients(&objective.backward());
    let norm = optimizer.step(net, gradients, options.learning_rate)?;
    if !norm.is_finite() {
        return Err(TrainError::NotFinite("gradient"));
    }
    metrics.insert("loss".into(), total);
    metrics.insert("grad_norm".into(), norm);
    Ok(metrics)
}

/// Runs the network on samples; masked columns have no probability.
fn policy_outputs<W: Learn>(net: &Net<W::Net>, batch: &Batch<W>, samples: &[u32]) -> PolicyOutputs {
    let of = |index: &u32| &batch.samples[*index as usize];
    let inputs = W::inputs(samples.iter().map(|i| &of(i).features), net.device());
    let outputs = W::forward(net, &inputs);
    let mask: Vec<f32> = (samples.iter())
        .flat_map(|index| {
            of(index)
                .action_mask
                .iter()
                .map(|on| if *on { 0.0 } else { MASKED })
        })
        .collect();
    let mut logits = outputs.logits;
    if mask.iter().any(|value| *value != 0.0) {
        logits = logits
            + tensor(
                mask,
                [samples.len(), <W::Net as Network>::LOGITS],
                net.device(),
            );
    }
    let (mut logps, mut entropies) = (Vec::new(), Vec::new());
    for range in <W::Net as Network>::SEGMENTS {
        let part = logits.clone().slice([0..samples.len(), range.clone()]);
        let factor = log_softmax(part, 1);
        entropies.push(-(factor.clone().exp() * factor.clone()).sum_dim(1));
        logps.push(factor);
    }
    PolicyOutputs {
        logps: Tensor::cat(logps, 1),
        entropies: Tensor::cat(entropies, 1),
        beliefs: outputs.beliefs,
    }
}

/// Computes the cross-entropy of the belief against the hidden state, mean over its rows.
fn belief_loss<W: Learn>(logits: Tensor<2>, batch: &Batch<W>, samples: &[u32]) -> Tensor<1> {
    let truth: Vec<i32> = (samples.iter())
        .flat_map(|index| &batch.samples[*index as usize].belief_targets)
        .map(|target| i32::from(*target))
        .collect();
    let device = logits.device().inner();
    let rows = truth.len();
    let truth = TensorData::new(truth, [rows, 1]);
    let truth = Tensor::<2, Int>::from_data(truth, &device);
    -log_softmax(logits, 1).gather(1, truth).mean()
}

/// The factor that each column belongs to.
struct Factors {
    of_column: Vec<u8>,
    count: usize,
}

impl Factors {
    fn new<W: Learn>() -> Self {
        let columns = |(factor, range): (u8, &std::ops::Range<usize>)| {
            std::iter::repeat_n(factor, range.len())
        };
        Self {
            of_column: (0..)
                .zip(<W::Net as Network>::SEGMENTS)
                .flat_map(columns)
                .collect(),
            count: <W::Net as Network>::SEGMENTS.len(),
        }
    }

    /// Returns the index of the entropy of a token's factor.
    fn place(&self, place: usize, token: &Token) -> usize {
        place * self.count + usize::from(self.of_column[usize::from(token.column)])
    }
}

/// Some sequences of a batch as a table of tokens, and the samples that they need.
struct Chosen<'a, W: Learn> {
    environment: PhantomData<W>,
    rows: Vec<&'a [Token]>,
    width: usize,
    /// Indices into the batch's samples, none twice.
    samples: Vec<u32>,
    /// For each position of the table, where its sample stands in `samples`.
    places: Vec<u32>,
}

impl<'a, W: Learn> Chosen<'a, W> {
    fn new(batch: &'a Batch<W>, rows: &[usize]) -> Self {
        let rows: Vec<&[Token]> = rows.iter().map(|row| &batch.sequences[*row][..]).collect();
        let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let mut samples: Vec<u32> = rows
            .iter()
            .flat_map(|r| r.iter().map(|t| t.sample))
            .collect();
        samples.sort_unstable();
        samples.dedup();
        let mut places = vec![0; rows.len() * width];
        for (row, tokens) in rows.iter().enumerate() {
            for (column, token) in tokens.iter().enumerate() {
                let place = samples.partition_point(|sample| *sample < token.sample);
                places[row * width + column] = place as u32;
            }
        }
        Self {
            environment: PhantomData,
            rows,
            width,
            samples,
            places,
        }
    }

    /// Returns a table of one value per token; `empty` where a row has none.
    fn table<T: Copy>(&self, empty: T, value: impl Fn(usize, &Token) -> T) -> Vec<T> {
        let mut table = vec![empty; self.places.len()];
        for (row, tokens) in self.rows.iter().enumerate() {
            for (column, token) in tokens.iter().enumerate() {
                let at = row * self.width + column;
                table[at] = value(self.places[at] as usize, token);
            }
        }
        table
    }

    /// Computes a loss of the GRPO family.
    fn grpo(
        &self,
        config: &LossConfig,
        logps: &[f32],
        entropies: &[f32],
    ) -> Result<LossGrad, TrainError> {
        let at = |place: usize, token: &Token| {
            place * <W::Net as Network>::LOGITS + usize::from(token.column)
        };
        let factors = Factors::new::<W>();
        let entropy_at = |place: usize, token: &Token| factors.place(place, token);
        let mask = self.table(false, |_, _| true);
        let input = LossInput {
            tokens: self.width,
            logps: &self.table(0.0, |place, token| f64::from(logps[at(place, token)])),
            old_logps: Some(&self.table(0.0, |_, token| token.old_logp)),
            ref_logps: Some(&self.table(0.0, |_, token| token.ref_logp)),
            entropies: Some(&self.table(0.0, |place, token| {
                f64::from(entropies[entropy_at(place, token)])
            })),
            completion_mask: &mask,
            advantages: Advantages::PerToken(&self.table(0.0, |_, token| token.advantage)),
            num_items_in_batch: Some(mask.iter().filter(|on| **on).count() as f64),
            importance_sampling_ratio: None,
            sampling_logps: None,
        };
        let output = grpo_loss(config, &input)?;
        let mut by_logp = vec![0.0; logps.len()];
        let mut by_entropy = output
            .grad_entropies
            .as_ref()
            .map(|_| vec![0.0; entropies.len()]);
        for (row, tokens) in self.rows.iter().enumerate() {
            for (column, token) in tokens.iter().enumerate() {
                let cell = row * self.width + column;
                let place = self.places[cell] as usize;
                by_logp[at(place, token)] += output.grad_logps[cell] as f32;
                if let (Some(sums), Some(all)) = (&mut by_entropy, &output.grad_entropies) {
                    sums[entropy_at(place, token)] += all[cell] as f32;
                }
            }
        }
        let mut metrics = output.metrics;
        let by_token = self.table(0.0, |place, token| {
            f64::from(entropies[entropy_at(place, token)])
        });
        let tokens = mask.iter().filter(|on| **on).count().max(1);
        let mean = by_token.iter().sum::<f64>() / tokens as f64;
        metrics.insert("entropy".into(), mean);
        Ok(LossGrad {
            loss: output.loss,
            by_logp,
            by_entropy,
            metrics,
        })
    }

    /// Computes the cross-entropy against the teacher, mean over samples.
    fn imitation(&self, logps: &[f32]) -> LossGrad {
        let mut by_logp = vec![0.0; logps.len()];
        let (mut loss, each) = (0.0, 1.0 / self.samples.len() as f64);
        for (row, tokens) in self.rows.iter().enumerate() {
            for (column, token) in tokens.iter().enumerate() {
                let place = self.places[row * self.width + column] as usize;
                let at = place * <W::Net as Network>::LOGITS + usize::from(token.column);
                loss -= each * token.advantage * f64::from(logps[at]);
                by_logp[at] -= (each * token.advantage) as f32;
            }
        }
        LossGrad {
            loss,
            by_logp,
            by_entropy: None,
            metrics: Metrics::new(),
        }
    }
}
