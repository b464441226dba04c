//! The trainer: the state between updates, and the update itself.

use sentinel_options::rng::Rng;
use sentinel_policy::nn::Weights;
use sentinel_rl::Metrics;
use sentinel_tensor::adamw::Moments;
use serde::{Deserialize, Serialize};

use super::Error;
use super::batch::Batch;
use super::config::{Method, TrainConfig};
use super::learn::Learn;
use super::optimizer::Optimizer;
use super::parameter_tensors::{DefaultTensor, ParameterTensors};
use super::played::PlayedEpisodes;
use super::step::{StepOptions, step};
use super::tensor::Tensor;
use super::workers::Workers;
use crate::grpo::Collected;
use crate::{expert_iteration, grpo, imitation};

/// The seed of the order of mini-batches; no update has this number.
const ORDER: u64 = u64::MAX - 1;

/// The state that changes from update to update, with the tensors `T` that compute the gradients.
pub struct Trainer<W: Learn, T: Tensor = DefaultTensor> {
    pub(super) config: TrainConfig,
    pub(super) net: ParameterTensors<W::Net, T>,
    pub(super) optimizer: Optimizer<T>,
    /// The parameters as plain numbers, for playing.
    pub(super) weights: Weights<W::Net>,
    /// The policy that training started from, if the divergence from it is penalized.
    pub(super) reference: Option<Weights<W::Net>>,
    /// The number of updates done.
    pub(super) done: usize,
    /// The number of environment steps taken so far.
    pub(super) env_steps: u64,
    /// The policy with the best score on the validation seeds so far.
    pub(super) best: Option<Best<W::Net>>,
}

/// The state of a [`Trainer`] as plain numbers, from which it continues with the same results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainerState {
    /// Number of updates done.
    pub(super) done: u64,
    /// Number of environment steps taken.
    pub(super) env_steps: u64,
    /// Number of optimizer steps taken.
    pub(super) time: u64,
    /// Values of each parameter.
    pub(super) weights: Vec<Vec<f32>>,
    /// Adam moments of each parameter, the first and the second; empty before the first step.
    pub(super) moments: Vec<(Vec<f32>, Vec<f32>)>,
    /// Values of the policy that training started from, if the divergence from it is penalized.
    pub(super) reference: Option<Vec<Vec<f32>>>,
}

/// The best policy so far, a copy from an earlier update.
#[derive(Clone, Debug, PartialEq)]
pub struct Best<A> {
    /// The number of updates done by then.
    pub step: usize,
    /// The mean score on the validation seeds.
    pub score: f64,
    /// The parameters of the policy.
    pub weights: Weights<A>,
}

#[cfg(feature = "burn")]
impl<W: Learn> Trainer<W> {
    /// Creates a trainer before its first update, on the device of the configuration.
    ///
    /// # Errors
    /// Returns an error if an option is invalid, or the device is not available.
    pub fn new(config: TrainConfig, start: Weights<W::Net>) -> Result<Self, Error> {
        config.check::<W>()?;
        let device = config.device.open()?;
        Self::on_device(config, start, &device)
    }
}

impl<W: Learn, T: Tensor> Trainer<W, T> {
    /// Creates a trainer before its first update, with tensors on `device`; the configuration's
    /// device does not matter.
    ///
    /// # Errors
    /// Returns an error if an option is invalid.
    pub fn on_device(
        config: TrainConfig,
        start: Weights<W::Net>,
        device: &T::Device,
    ) -> Result<Self, Error> {
        config.check::<W>()?;
        let net = ParameterTensors::new(&start, device);
        let reference = (config.beta > 0.0).then(|| start.clone());
        Ok(Self {
            optimizer: Optimizer::new(&config.adam(), net.tensors.len()),
            weights: start,
            config,
            net,
            reference,
            done: 0,
            env_steps: 0,
            best: None,
        })
    }

    /// Creates a trainer that continues from a state; the best policy so far is forgotten.
    ///
    /// # Errors
    /// Returns an error if an option is invalid, or the state belongs to another network.
    pub fn from_state(
        config: TrainConfig,
        state: TrainerState,
        device: &T::Device,
    ) -> Result<Self, Error> {
        let weights = |values| Weights::from_tensors(W::net(&config), values);
        let other = || Error::State;
        let start = weights(state.weights).ok_or_else(other)?;
        let reference = match state.reference {
            Some(values) => Some(weights(values).ok_or_else(other)?),
            None => None,
        };
        let has_moments = !state.moments.is_empty();
        if has_moments {
            let counts = state
                .moments
                .iter()
                .map(|(first, second)| (first.len(), second.len()));
            let lengths = start.iter().map(|(_, values)| values.len());
            // A parameter without a gradient so far has no moments.
            let fits = |(length, counts)| counts == (length, length) || counts == (0, 0);
            if state.moments.len() != start.iter().count() || !lengths.zip(counts).all(fits) {
                return Err(other());
            }
        }
        let mut trainer = Self::on_device(config, start, device)?;
        if has_moments {
            let moments = state.moments.into_iter().map(|(first, second)| {
                let time = state.time as usize;
                let moments = Moments {
                    time,
                    first,
                    second,
                };
                (!moments.first.is_empty()).then_some(moments)
            });
            trainer.optimizer.restore(moments.collect(), &trainer.net);
        }
        if trainer.reference.is_some() {
            trainer.reference = Some(reference.ok_or_else(other)?);
        }
        (trainer.done, trainer.env_steps) = (state.done as usize, state.env_steps);
        Ok(trainer)
    }

    /// Returns the state for [`Trainer::from_state`].
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn state(&self) -> Result<TrainerState, Error> {
        let moments = self.optimizer.moments()?;
        let values = |weights: &Weights<W::Net>| {
            let values = weights.iter().map(|(_, values)| values.to_vec());
            values.collect::<Vec<_>>()
        };
        let time = moments.iter().flatten().map(|moments| moments.time).max();
        let pair = |moments: Option<Moments>| {
            let moments = moments.unwrap_or_default();
            (moments.first, moments.second)
        };
        Ok(TrainerState {
            done: self.done as u64,
            env_steps: self.env_steps,
            time: time.unwrap_or(0) as u64,
            weights: values(&self.weights),
            moments: match time {
                Some(_) => moments.into_iter().map(pair).collect(),
                None => Vec::new(),
            },
            reference: self.reference.as_ref().map(values),
        })
    }

    /// Returns the current policy.
    #[must_use]
    pub const fn weights(&self) -> &Weights<W::Net> {
        &self.weights
    }

    /// Stores the current policy as the best one so far.
    pub fn keep_best(&mut self, score: f64) {
        self.best = Some(Best {
            step: self.done,
            score,
            weights: self.weights.clone(),
        });
    }

    /// Returns the best policy so far; `None` before the first evaluation.
    #[must_use]
    pub const fn best(&self) -> Option<&Best<W::Net>> {
        self.best.as_ref()
    }

    /// Stores a policy as the best one so far if its score is above that of the former one.
    pub fn offer_best(&mut self, found: Best<W::Net>) {
        if self
            .best
            .as_ref()
            .is_none_or(|best| found.score > best.score)
        {
            self.best = Some(found);
        }
    }

    /// Returns the policy with the best score on the validation seeds; the current one before the
    /// first evaluation.
    #[must_use]
    pub fn best_weights(&self) -> &Weights<W::Net> {
        self.best
            .as_ref()
            .map_or(&self.weights, |best| &best.weights)
    }

    /// Returns the configuration of the run.
    #[must_use]
    pub const fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// Returns the number of updates done.
    #[must_use]
    pub const fn updates_done(&self) -> usize {
        self.done
    }

    /// Returns the number of environment steps taken so far.
    #[must_use]
    pub const fn env_steps(&self) -> u64 {
        self.env_steps
    }

    /// Returns `true` if all updates are done.
    #[must_use]
    pub const fn finished(&self) -> bool {
        self.done >= self.config.max_steps
    }

    /// Plays the episodes of an update by `workers`, and trains on them.
    ///
    /// # Errors
    /// Returns an error if a number is not finite; it names the update and its seeds.
    pub fn update(&mut self, workers: &impl Workers) -> Result<Metrics, Error> {
        let indices = 0..self.config.episodes_per_update as u64;
        let update = self.done as u64;
        let played = PlayedEpisodes::play(workers, &self.config, &self.weights, update, indices)?;
        self.update_from(played)
    }

    /// Trains on all episodes of the next update, in order, which were played with
    /// [`Trainer::weights`].
    ///
    /// # Errors
    /// Returns an error if a number is not finite; it names the update and its seeds.
    pub fn update_from(&mut self, played: PlayedEpisodes<W>) -> Result<Metrics, Error> {
        let update = self.done as u64;
        let collected = match played {
            PlayedEpisodes::Labeled(all) => imitation::collect(&self.config, update, all)?,
            PlayedEpisodes::Compared(all) => expert_iteration::collect(&self.config, update, all)?,
            PlayedEpisodes::Groups(all) => {
                grpo::collect(&self.config, self.reference.as_ref(), update, all)?
            }
        };
        let Collected {
            batch,
            mut metrics,
            steps,
            seeds,
        } = collected;
        let learned = self.learn(&batch).map_err(|source| Error::Diverged {
            update: self.done + 1,
            source: Box::new(source),
            seeds,
        })?;
        metrics.extend(learned);
        self.weights = self.net.weights()?;
        self.done += 1;
        self.env_steps += steps;
        metrics.insert("num_env_steps".into(), self.env_steps as f64);
        // JSON has no infinities or nan; the deviation of an empty set is nan.
        metrics.retain(|_, value| value.is_finite());
        Ok(metrics)
    }

    /// Takes the optimizer steps of a batch; returns the means of their metrics.
    fn learn(&mut self, batch: &Batch<W>) -> Result<Metrics, Error> {
        let left = self.config.schedule(self.done);
        let options = StepOptions {
            belief_coef: self.config.belief_coef,
            learning_rate: self.config.learning_rate * left,
        };
        let (method, loss) = (self.config.method, self.config.loss(self.done));
        // Sequences that share an observation stay together, so that the network runs on it once.
        let size = match method {
            Method::Imitation | Method::ExpertIteration => 1,
            Method::Grpo => self.config.num_generations,
        };
        let mut groups: Vec<usize> = (0..batch.sequences.len() / size).collect();
        let mut sums = Metrics::new();
        let mut steps = 0.0;
        for iteration in 0..self.config.num_iterations {
            let path = [ORDER, self.done as u64, iteration as u64];
            Rng::new(self.config.seed, &path).shuffle(&mut groups);
            for part in groups.chunks(groups.len().div_ceil(self.config.mini_batches).max(1)) {
                let rows: Vec<usize> = part.iter().flat_map(|g| g * size..(g + 1) * size).collect();
                let (net, optimizer) = (&mut self.net, &mut self.optimizer);
                let metrics = step(
                    net,
                    optimizer,
                    &options,
                    batch,
                    &rows,
                    |tokens, logps, entropies| match method {
                        Method::Imitation | Method::ExpertIteration => {
                            Ok(imitation::loss(tokens, logps))
                        }
                        Method::Grpo => grpo::loss(&loss, tokens, logps, entropies),
                    },
                )?;
                for (name, value) in metrics {
                    *sums.entry(name).or_insert(0.0) += value;
                }
                steps += 1.0;
            }
        }
        let mut means: Metrics = sums
            .into_iter()
            .map(|(name, sum)| (name, sum / steps))
            .collect();
        means.insert("learning_rate".into(), options.learning_rate);
        Ok(means)
    }
}
