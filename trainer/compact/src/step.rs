//! One optimizer step: the loss of a mini-batch, its gradient, and the update of the parameters.

use std::marker::PhantomData;

use sentinel_policy::nn::Network;
use sentinel_rl::Metrics;

use super::Error;
use super::batch::{Batch, Token};
use super::learn::Learn;
use super::optimizer::Optimizer;
use super::parameter_tensors::ParameterTensors;
use super::tensor::Tensor;

/// The number added to the logits of columns that cannot be chosen.
const MASKED: f32 = -1e9;

/// The options of an optimizer step.
#[derive(Clone, Debug)]
pub struct StepOptions {
    /// The weight of the belief's cross-entropy.
    pub belief_coef: f64,
    /// The learning rate of the step.
    pub learning_rate: f64,
}

/// A loss, and its gradient with respect to the log-probabilities `[samples, columns]` and
/// entropies `[samples, factors]`.
#[derive(Clone, Debug)]
pub struct LossGrad {
    /// The loss of the mini-batch.
    pub loss: f64,
    /// The gradient with respect to the log-probabilities.
    pub by_logp: Vec<f32>,
    /// The gradient with respect to the entropies, if the loss depends on them.
    pub by_entropy: Option<Vec<f32>>,
    /// The logged metrics of the mini-batch.
    pub metrics: Metrics,
}

/// Log-probabilities and entropies of a batch, on the device.
struct PolicyOutputs<T> {
    logps: T,
    entropies: T,
    beliefs: Option<T>,
}

/// Takes one optimizer step on the sequences `rows` of a batch; returns its metrics.
///
/// `policy_loss` computes the policy's part of the loss from log-probabilities `[samples, columns]`
/// and entropies `[samples, factors]`.
///
/// # Errors
/// Returns an error if the loss or the gradient is not finite; the parameters then stay as they
/// were.
pub fn step<W: Learn, T: Tensor>(
    net: &mut ParameterTensors<W::Net, T>,
    optimizer: &mut Optimizer<T>,
    options: &StepOptions,
    batch: &Batch<W>,
    rows: &[usize],
    policy_loss: impl FnOnce(&TokenTable<W>, &[f32], &[f32]) -> Result<LossGrad, Error>,
) -> Result<Metrics, Error> {
    let chosen = TokenTable::new(batch, rows);
    let outputs = policy_outputs(net, batch, &chosen.samples);
    let (logps, entropies) = (outputs.logps.values()?, outputs.entropies.values()?);
    let LossGrad {
        loss,
        by_logp,
        by_entropy,
        mut metrics,
    } = policy_loss(&chosen, &logps, &entropies)?;

    // Propagate the gradient of the pure function through the network.
    let mut terms = vec![(outputs.logps, by_logp)];
    if let Some(by_entropy) = by_entropy {
        terms.push((outputs.entropies, by_entropy));
    }
    let mut total = loss;
    if let Some(beliefs) = outputs.beliefs {
        let belief_loss = beliefs.cross_entropy(&belief_targets(batch, &chosen.samples));
        let value = (belief_loss.values()?.first()).map_or(0.0, |value| f64::from(*value));
        terms.push((belief_loss, vec![options.belief_coef as f32]));
        total += options.belief_coef * value;
        metrics.insert("belief_loss".into(), value);
    }
    if !total.is_finite() {
        return Err(Error::NotFinite("loss"));
    }
    let gradients = T::gradients(terms, &net.tensors);
    let norm = optimizer.step(net, gradients, options.learning_rate)?;
    if !norm.is_finite() {
        return Err(Error::NotFinite("gradient"));
    }
    metrics.insert("loss".into(), total);
    metrics.insert("grad_norm".into(), norm);
    Ok(metrics)
}

/// Runs the network on samples; masked columns get probability 0.
fn policy_outputs<W: Learn, T: Tensor>(
    net: &ParameterTensors<W::Net, T>,
    batch: &Batch<W>,
    samples: &[u32],
) -> PolicyOutputs<T> {
    let of = |index: &u32| &batch.samples[*index as usize];
    let features: Vec<_> = samples.iter().map(|index| &of(index).features).collect();
    let outputs = W::forward(net, &features);
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
        let size = [samples.len(), <W::Net as Network>::LOGITS];
        logits = logits.plus(T::constant(mask, size, net.device()));
    }
    let (mut logps, mut entropies) = (Vec::new(), Vec::new());
    for range in <W::Net as Network>::FACTOR_COLUMNS {
        let factor = logits.clone().columns(range.clone()).log_softmax_rows();
        entropies.push(factor.clone().entropy_rows());
        logps.push(factor);
    }
    PolicyOutputs {
        logps: T::beside(logps),
        entropies: T::beside(entropies),
        beliefs: outputs.beliefs,
    }
}

/// Returns the true class of each row of the belief.
fn belief_targets<W: Learn>(batch: &Batch<W>, samples: &[u32]) -> Vec<u8> {
    let of = |index: &u32| &batch.samples[*index as usize].belief_targets;
    samples.iter().flat_map(of).copied().collect()
}

/// Some sequences of a batch as a table of tokens, with the samples that they refer to.
pub struct TokenTable<'a, W: Learn> {
    environment: PhantomData<W>,
    /// The tokens of each sequence.
    pub rows: Vec<&'a [Token]>,
    /// The length of the longest sequence.
    pub width: usize,
    /// Indices into the batch's samples, without duplicates.
    pub samples: Vec<u32>,
    /// For each cell of the table, the position of its sample in `samples`.
    places: Vec<u32>,
    /// The factor that each column belongs to.
    factor_of_column: Vec<u8>,
}

impl<'a, W: Learn> TokenTable<'a, W> {
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
        let columns = |(factor, range): (u8, &std::ops::Range<usize>)| {
            std::iter::repeat_n(factor, range.len())
        };
        Self {
            environment: PhantomData,
            rows,
            width,
            samples,
            places,
            factor_of_column: (0..)
                .zip(<W::Net as Network>::FACTOR_COLUMNS)
                .flat_map(columns)
                .collect(),
        }
    }

    /// Returns a table of one value per token, `[sequences, width]`, with `empty` in cells without
    /// a token. `value` gets the position of the token's sample in `samples`, and the token.
    pub fn table<T: Copy>(&self, empty: T, value: impl Fn(usize, &Token) -> T) -> Vec<T> {
        let mut table = vec![empty; self.places.len()];
        for (cell, place, token) in self.cells() {
            table[cell] = value(place, token);
        }
        table
    }

    /// Iterates over the tokens: index of the cell, position of the sample in `samples`, token.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize, &'a Token)> {
        (self.rows.iter().enumerate()).flat_map(move |(row, tokens)| {
            tokens.iter().enumerate().map(move |(column, token)| {
                let cell = row * self.width + column;
                (cell, self.places[cell] as usize, token)
            })
        })
    }

    /// Returns the index of a token's log-probability in `[samples, columns]`.
    pub fn logp_index(&self, place: usize, token: &Token) -> usize {
        place * <W::Net as Network>::LOGITS + usize::from(token.column)
    }

    /// Returns the index of the entropy of a token's factor in `[samples, factors]`.
    pub fn entropy_index(&self, place: usize, token: &Token) -> usize {
        let factors = <W::Net as Network>::FACTOR_COLUMNS.len();
        place * factors + usize::from(self.factor_of_column[usize::from(token.column)])
    }
}
