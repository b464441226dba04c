//! Acting with a trained network: reusable buffers, the forward pass, and the greedy policy.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use sentinel_env::Environment;

use super::model_file::Model;
use super::network::{Choice, Network, ObservationOf, Observe, Output, Scratch};
use super::ops::{masked_argmax, masked_softmax};
use super::weights::Weights;
use crate::policy::Policy;

impl<N: Network> Weights<N> {
    /// Computes the forward pass on the features of one observation and writes it to `out`.
    #[inline]
    pub fn forward(&self, features: &N::Features, scratch: &mut Scratch, out: &mut Output) {
        let [rows, classes] = N::BELIEF_SHAPE.unwrap_or_default();
        out.reset(N::LOGITS, rows * classes);
        N::forward(self, features, scratch, out);
    }
}

/// Returns the probability of each column within its factor, at temperature 1.
#[must_use]
pub fn action_probabilities<N: Network>(logits: &[f32], mask: &[bool]) -> Vec<f64> {
    softmax_of_segments(N::FACTOR_COLUMNS, logits, mask)
}

fn softmax_of_segments(segments: &[Range<usize>], logits: &[f32], mask: &[bool]) -> Vec<f64> {
    let mut all = vec![0.0; logits.len()];
    for segment in segments {
        let part = || segment.clone();
        masked_softmax(&logits[part()], &mask[part()], &mut all[part()]);
    }
    all
}

/// A forward pass whose buffers are reused from step to step.
#[derive(Clone, Debug)]
pub struct Inference<N: Network> {
    scratch: Scratch,
    output: Output,
    mask: Vec<bool>,
    network: PhantomData<fn() -> N>,
}

impl<N: Network> Inference<N> {
    /// Creates buffers that fit the hyperparameters `net`.
    #[must_use]
    pub fn new(net: &N) -> Self {
        Self {
            scratch: net.scratch(),
            output: Output::default(),
            mask: vec![false; N::LOGITS],
            network: PhantomData,
        }
    }

    /// Computes the forward pass on one observation, and the mask of the columns that can be chosen
    /// there.
    pub fn run(
        &mut self,
        weights: &Weights<N>,
        features: &N::Features,
        observation: &ObservationOf<N>,
    ) {
        weights.forward(features, &mut self.scratch, &mut self.output);
        self.mask.fill(false);
        N::action_mask(observation, &mut self.mask);
    }

    /// Returns the output of the latest [`Inference::run`].
    #[must_use]
    pub const fn output(&self) -> &Output {
        &self.output
    }

    /// Returns the mask of the latest [`Inference::run`]: `true` for each column that could be
    /// chosen.
    #[must_use]
    pub fn mask(&self) -> &[bool] {
        &self.mask
    }

    /// Returns the most probable column of each factor, the first of equal ones.
    #[must_use]
    pub fn greedy(&self) -> Choice {
        N::build_choice(|range| {
            let (logits, mask) = (
                &self.output.logits[range.clone()],
                &self.mask[range.clone()],
            );
            range.start + masked_argmax(logits, mask).unwrap_or(0)
        })
    }

    /// Returns the probability of each column within its factor, at temperature 1.
    #[must_use]
    pub fn probabilities(&self) -> Vec<f64> {
        action_probabilities::<N>(&self.output.logits, &self.mask)
    }
}

/// The greedy policy of a trained model: it takes the most probable column of each factor.
#[derive(Clone, Debug)]
pub struct TrainedPolicy<N: Network> {
    model: Arc<Model<N>>,
    observer: N::Observer,
    inference: Inference<N>,
    observed: bool,
}

impl<N: Network> TrainedPolicy<N> {
    /// Creates the policy of a model for one episode.
    #[must_use]
    pub fn new(model: Arc<Model<N>>) -> Self {
        let net = &model.config.net;
        Self {
            observer: net.observer(),
            inference: Inference::new(net),
            observed: false,
            model,
        }
    }

    /// Returns the forward pass on the latest observation; `None` before the first one.
    #[must_use]
    pub fn inference(&self) -> Option<&Inference<N>> {
        self.observed.then_some(&self.inference)
    }
}

impl<N: Network> Policy<N::Env> for TrainedPolicy<N> {
    fn observe(&mut self, observation: &ObservationOf<N>) {
        self.observer.observe(observation);
        let features = self.observer.features(observation);
        self.inference
            .run(&self.model.weights, &features, observation);
        self.observed = true;
    }

    fn choose(&mut self, observation: &ObservationOf<N>) -> <N::Env as Environment>::Action {
        if !self.observed {
            self.observe(observation);
        }
        N::decode_action(&self.inference.greedy(), observation)
    }

    fn belief(&self) -> Option<Vec<Vec<f64>>> {
        self.inference()?.output.belief::<N>()
    }

    /// Returns the probabilities of the columns of the first factor.
    fn probabilities(&self) -> Option<Vec<f64>> {
        let first = N::FACTOR_COLUMNS.first()?.clone();
        Some(self.inference()?.probabilities()[first].to_vec())
    }
}
