//! Group-relative policy optimization (GRPO) of a language model that plays a world by text,
//! `sentinel lm grpo`.
//!
//! This page is the algorithm. One update, `Grpo::update`, takes five steps:
//!
//! 1. Collect: the model plays episodes, and completes the prompts of some of their states
//!    `num_generations` times. The completions of one state are a group. (With `--credit episode` or
//!    `reward_to_go` whole episodes from one start are played, and their completions of the same step
//!    are a group.)
//! 2. Rewards: the value of each completion to the episode, and whether it is an action without a repair.
//! 3. Advantages: the weighted sum of the rewards relative to its group, by default
//!    `A = (r − mean) / (deviation + 1e-4)`.
//! 4. Loss: with `ρ` the ratio of a token's probability to the one before the update, by default
//!    `−min(ρ A, clip(ρ, 1 − ε, 1 + ε_high) A)`, and optionally `β` times the divergence from the model
//!    before training. [`accumulate`] averages it over tokens, micro-batches and ranks; the formulas with
//!    their derivatives are [`sentinel_rl::loss`].
//! 5. Step: AdamW on the gradient. Steps 4 and 5 repeat `num_iterations` times on the same samples.
//!
//! With `--credit lookahead`, `compare_actions` takes the place of the first three: the legal actions of
//! a state that was played, or its candidates, are the group, and the advantage is a difference of
//! probabilities.
//!
//! Here `group` means completions; the processes that share a run are `ranks`.
//!
//! The options are [`GrpoConfig`]. [`train`] opens the model and runs this; [`memory_estimate`]
//! estimates the memory of a run.

use sentinel_lm::{
    CausalLm, ForwardOptions, GenerateOptions, GenerationDefaults, Generator, Tokenizer,
};
use sentinel_play::analyze::{Analyzed, PolicySource};
use sentinel_play::rollout::Trajectory;
use sentinel_policy::text::TextWorld;
use sentinel_rl::Metrics;
use sentinel_rl::advantage::{AdvantageOutput, Rewards, advantages};
use sentinel_rl::credit_options::Credit;
use sentinel_run::distributed::ProcessGroup;

use self::groups::{Groups, REWARDS, SampleBatch, ScoredCompletion, decode_completions};
use self::lookahead::{Scorer, lookahead_groups};
use self::loss::apply_sampling_correction;
use crate::agent::{Division, GenerationBackend, LmAgent, SharedBackend};
use crate::rollout_engine::{RolloutEngine, SyncReport};
use crate::training::{LmAlgorithm, LoggedCompletion, LoggedTokens, RunError, State, Update};

mod config;
mod groups;
mod lookahead;
mod loss;
pub mod memory_estimate;
mod micro_batch;
mod rollout;
mod sample;
mod train;

pub use config::{GrpoConfig, SamplerCorrectionArgs};
pub use loss::{Accumulated, Objective, accumulate, completion_logps};
pub use sample::{Correction, Sample};
pub use train::train;

/// Indices of the random streams of this algorithm, beside those of
/// [`RunOptions`](crate::training::RunOptions): sampled tokens and selected states.
const GENERATION_STREAM: u64 = 3;
const STATE_STREAM: u64 = 4;
/// Advantages smaller than this are set to 0. Where all rewards of a group are equal, rounding leaves
/// a tiny difference from their mean, which a standard deviation near 0 would blow up.
const ROUNDING: f64 = 1e-9;
/// Name of the metric by which samples of another engine are checked.
const LOGP_DIFFERENCE: &str = "sampling/sampling_logp_difference/mean";

/// The training of a language model on the episodes of a world.
struct Grpo<W: TextWorld + Analyzed> {
    config: GrpoConfig,
    setups: Vec<W::Setup>,
    /// Policy that plays on after a completion; `None` if the model itself does, or nothing does.
    continuation: Option<PolicySource<W>>,
    tokenizer: Tokenizer,
    generation: GenerationDefaults,
    pad: u32,
    /// Model before training; `None` if it is not needed, or is the model with its adapter
    /// disabled.
    reference: Option<CausalLm>,
    /// Servers that generate completions; `None` to generate with the model itself, and on ranks that
    /// get the completions from rank 0.
    rollout_engine: Option<RolloutEngine>,
    /// Processes that share the work.
    ranks: ProcessGroup,
}

impl<W: TextWorld + Analyzed> LmAlgorithm for Grpo<W> {
    fn update(&mut self, state: &mut State) -> Result<Update, RunError> {
        let update = state.done / self.config.num_iterations;
        let synced = self.sync_rollout_engine(&state.model, update)?;
        // 1 to 3: samples with their advantages.
        let mut batch = match self.config.credit {
            Credit::Lookahead => self.compare_actions(&state.model, update)?,
            _ => {
                let groups = self.collect(&state.model, update)?;
                let rewards = groups.rewards();
                let advantages = self.advantages(&rewards)?;
                groups.into_samples(&self.config, advantages)
            }
        };
        // 4 and 5: the log-probabilities that the loss compares with, then loss and step.
        self.add_reference_logps(&state.model, &mut batch)?;
        self.check_rollout_engine(update, synced, &mut batch)?;
        if let Some(engine) = &mut self.rollout_engine {
            engine.sleep().map_err(sentinel_lm::LmError::from)?;
        }
        let steps = self.learn(state, &mut batch)?;
        Ok(Update {
            steps,
            completions: self.log_completions(state, &batch.completions)?,
            warnings: batch.warnings,
        })
    }

    fn method(&self) -> &'static str {
        "grpo"
    }

    fn batch_size(&self) -> usize {
        match self.config.credit {
            // Its groups have as many members as actions are compared.
            Credit::Lookahead => self.config.groups_per_update,
            _ => self.config.groups_per_update * self.config.num_generations,
        }
    }

    fn steps_per_epoch(&self) -> usize {
        self.updates_per_epoch() * self.config.num_iterations
    }

    fn data_counts(&self) -> Metrics {
        [("episodes".to_owned(), self.setups.len() as f64)].into()
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    fn process_group(&self) -> ProcessGroup {
        self.ranks.clone()
    }

    /// Allows a larger `max_length`, so that a run stopped by a prompt that was too long can be
    /// resumed, and other servers.
    fn resumable_overrides(&self) -> &'static [&'static str] {
        &[
            "max_length",
            "rollouts",
            "rollout_dir",
            "rollout_timeout",
            "rollout_sleep",
            "rollout_max_logp_difference",
        ]
    }
}

/// The steps of an update.
impl<W: TextWorld + Analyzed> Grpo<W> {
    /// Plays the episodes of an update with the model, and returns groups of completions with their
    /// rewards: of sampled states, or of the same steps of several episodes from one start.
    fn collect(&self, model: &CausalLm, update: usize) -> Result<Groups, RunError> {
        let config = &self.config;
        let (mut agent, played, seed) = self.play(model, update)?;
        let groups = if rollout::compares_episodes(config) {
            let generations = std::mem::take(&mut agent.generations);
            rollout::episode_groups(config, &played, generations, seed)
        } else {
            let continuation = self.continuation.as_ref();
            rollout::state_groups(config, continuation, &played, &mut agent, seed)?
        };
        Ok(Groups {
            groups,
            metrics: rollout::rollout_metrics(&played),
        })
    }

    /// Returns the advantage of each completion relative to its group. `rewards` is
    /// `[completions, REWARDS]`, group by group.
    fn advantages(&self, rewards: &[Option<f64>]) -> Result<AdvantageOutput, RunError> {
        let rewards = Rewards {
            names: &REWARDS,
            values: rewards,
        };
        let mut found = advantages(&self.config.advantages(), rewards)?;
        for advantage in &mut found.advantages {
            if advantage.abs() < ROUNDING {
                *advantage = 0.0;
            }
        }
        Ok(found)
    }

    /// Plays the episodes of an update, and compares the legal actions of sampled states by
    /// look-ahead.
    fn compare_actions(&self, model: &CausalLm, update: usize) -> Result<SampleBatch, RunError> {
        let config = &self.config;
        let missing = || RunError::option("continuation-policy", "given for look-ahead");
        let continuation = self.continuation.as_ref().ok_or_else(missing)?;
        let (mut agent, played, seed) = self.play(model, update)?;
        let logps = |rows: &[&Sample]| self.logps(model, rows, ForwardOptions::EVALUATION);
        let scorer = Scorer {
            tokenizer: &self.tokenizer,
            stop: self.end_of_turn()?,
            step: update * config.num_iterations,
            logps: &logps,
        };
        let generations = std::mem::take(&mut agent.generations);
        lookahead_groups(config, continuation, &played, generations, &scorer, seed)
    }

    /// Adds the log-probabilities that the loss compares with: of the model before training, for the
    /// divergence from it, and, where the sampler is another program, of the model before the update, with
    /// the correction of the difference.
    fn add_reference_logps(
        &self,
        model: &CausalLm,
        batch: &mut SampleBatch,
    ) -> Result<(), RunError> {
        if self.config.beta != 0.0 {
            let (before, pass) = match &self.reference {
                Some(reference) => (reference, ForwardOptions::EVALUATION),
                None => (model, ForwardOptions::REFERENCE),
            };
            let found = self.logps(before, &batch.rows(), pass)?;
            for (sample, logps) in batch.samples.iter_mut().zip(found) {
                sample.reference = Some(logps);
            }
        }
        if let Some(sampling) = self.config.sampling() {
            let old = self.logps(model, &batch.rows(), ForwardOptions::EVALUATION)?;
            let found = apply_sampling_correction(sampling, &mut batch.samples, old)?;
            batch.metrics.extend(found);
        }
        Ok(())
    }

    /// Takes the optimizer steps of an update, and returns the metrics of each. Ratios refer to the
    /// log-probabilities of the first step, unless the sampler was corrected, which computes them before.
    fn learn(&self, state: &mut State, batch: &mut SampleBatch) -> Result<Vec<Metrics>, RunError> {
        let (micro, ranks) = (self.config.per_device_train_batch_size, &self.ranks);
        let objective = self.objective(batch.num_items);
        let read: usize = (batch.samples.iter())
            .map(|sample| sample.prompt.len() + sample.completion.len())
            .sum();
        let mut steps = Vec::new();
        for iteration in 0..self.config.num_iterations {
            let pass = self.config.run.training_pass(state.done);
            let found = accumulate(&state.model, &batch.rows(), micro, &objective, pass, ranks)?;
            state.tokens += read as u64;
            let mut metrics = batch.metrics.clone();
            metrics.extend(found.metrics);
            state.step(found.loss, found.grads, &mut metrics)?;
            steps.push(metrics);
            if iteration == 0 {
                for (sample, logps) in batch.samples.iter_mut().zip(found.logps) {
                    sample.old.get_or_insert(logps);
                }
            }
            if state.is_finished() {
                break;
            }
        }
        Ok(steps)
    }
}

/// The parts of these steps.
impl<W: TextWorld + Analyzed> Grpo<W> {
    fn updates_per_epoch(&self) -> usize {
        self.setups.len().div_ceil(self.config.episodes_per_update)
    }

    /// Returns the episodes of an update. Their order within an epoch follows from the seed and the
    /// epoch's number.
    fn episodes(&self, update: usize) -> Vec<&W::Setup> {
        let per_epoch = self.updates_per_epoch();
        let order = (self.config.run).epoch_order(self.setups.len(), update / per_epoch);
        let size = self.config.episodes_per_update;
        let places = order.iter().skip(update % per_epoch * size).take(size);
        places.map(|at| &self.setups[*at]).collect()
    }

    /// Plays the episodes of an update. Returns the agent with what it generated, the episodes, and the seed by
    /// which states of them are selected.
    fn play<'a>(
        &'a self,
        model: &'a CausalLm,
        update: usize,
    ) -> Result<(LmAgent<'a>, Vec<Trajectory<W>>, u64), RunError> {
        let mut agent = self.agent(model, update)?;
        let played = rollout::play::<W>(&self.config, &self.episodes(update), &mut agent)?;
        let seed = self.config.run.rng(STATE_STREAM, update).next();
        Ok((agent, played, seed))
    }

    /// Returns the model as a player that samples, and records what it generates. The ranks share its
    /// prompts, unless servers complete them for rank 0.
    fn agent<'a>(&'a self, model: &'a CausalLm, update: usize) -> Result<LmAgent<'a>, RunError> {
        let config = &self.config;
        let seed = config.run.rng(GENERATION_STREAM, update).next();
        let mut options =
            GenerateOptions::new(config.max_completion_length, &self.generation, seed);
        options.sampling.temperature = config.temperature;
        options.max_prompt_tokens = Some(config.run.max_length - config.max_completion_length);
        let own: Option<Box<dyn GenerationBackend + 'a>> = match &self.rollout_engine {
            Some(engine) => Some(Box::new(engine.backend(model.config().vocab_size)?)),
            None if config.rollout_engine.is_enabled() => None,
            None => Some(Box::new(Generator::new(model))),
        };
        let division = if config.rollout_engine.is_enabled() {
            Division::Main
        } else {
            Division::Blocks
        };
        let backend = Box::new(SharedBackend::new(own, division, &self.ranks));
        let batch = config.generation_batch_size;
        let agent = LmAgent::with_backend(backend, &self.tokenizer, options, batch);
        Ok(agent.with_recorded_generations())
    }

    /// Gives the servers that generate, if there are any, the adapter of this update.
    fn sync_rollout_engine(
        &mut self,
        model: &CausalLm,
        update: usize,
    ) -> Result<SyncReport, RunError> {
        match &mut self.rollout_engine {
            Some(engine) => Ok(engine.sync(model, update)?),
            None => Ok(SyncReport::default()),
        }
    }

    /// Checks that the servers sampled with the same weights, by the log-probabilities that they
    /// reported.
    fn check_rollout_engine(
        &self,
        update: usize,
        synced: SyncReport,
        batch: &mut SampleBatch,
    ) -> Result<(), RunError> {
        if let Some(engine) = &self.rollout_engine {
            let apart = batch.metrics.get(LOGP_DIFFERENCE).copied();
            engine.check_logps(update, synced.staleness, apart.unwrap_or(f64::NAN))?;
            batch.metrics.extend(engine.take_metrics(&synced));
            batch.warnings.extend(synced.warnings);
        }
        Ok(())
    }

    /// Computes the log-probabilities of the completions' tokens.
    fn logps(
        &self,
        model: &CausalLm,
        rows: &[&Sample],
        pass: ForwardOptions,
    ) -> Result<Vec<Vec<f64>>, RunError> {
        let micro = self.config.per_device_train_batch_size;
        // Log-probabilities do not depend on the normalization of the loss.
        let objective = self.objective(1.0);
        let found = completion_logps(model, rows, micro, &objective, pass, &self.ranks);
        Ok(found?)
    }

    /// Returns the objective of samples whose loss is normalized by `num_items` tokens.
    fn objective(&self, num_items: f64) -> Objective {
        Objective {
            loss: self.config.loss(),
            temperature: self.config.temperature,
            num_items,
            pad: self.pad,
        }
    }

    /// Returns the stop token that the chat template writes after a message, which the model learns to end
    /// a completion with. A checkpoint may list several stop tokens, not the one of its template first.
    fn end_of_turn(&self) -> Result<u32, RunError> {
        let stops = &self.generation.eos_token_ids;
        let end = self.tokenizer.message_end()?;
        let end = end.into_iter().find(|id| stops.contains(id));
        end.ok_or_else(|| {
            RunError::option(
                "credit",
                "other than lookahead for a model whose chat template ends a message with no stop token: name that \
                 token with --eos-token",
            )
        })
    }

    /// Decodes completions for the log; those of the last update with the log-probabilities of their
    /// tokens.
    fn log_completions(
        &self,
        state: &State,
        completions: &[ScoredCompletion],
    ) -> Result<Vec<LoggedCompletion>, RunError> {
        let mut logged = decode_completions(&self.tokenizer, completions)?;
        if state.is_finished() {
            self.log_tokens(&state.model, completions, &mut logged)?;
        }
        Ok(logged)
    }

    /// Adds the tokens of logged completions with their log-probabilities under `model`, the one
    /// that the run ends with.
    fn log_tokens(
        &self,
        model: &CausalLm,
        completions: &[ScoredCompletion],
        logged: &mut [LoggedCompletion],
    ) -> Result<(), RunError> {
        let samples: Vec<Sample> = (completions.iter())
            .map(|scored| Sample {
                prompt: scored.prompt.clone(),
                completion: scored.completion.clone(),
                ..Sample::default()
            })
            .collect();
        let rows: Vec<&Sample> = samples.iter().collect();
        let found = self.logps(model, &rows, ForwardOptions::EVALUATION)?;
        for ((row, sample), logps) in logged.iter_mut().zip(&samples).zip(found) {
            row.tokens = Some(LoggedTokens {
                prompt_ids: sample.prompt.clone(),
                completion_ids: sample.completion.clone(),
                logps,
            });
        }
        Ok(())
    }
}
