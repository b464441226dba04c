//! Group-relative policy optimization (GRPO) of a language model that plays a world by text,
//! `sentinel lm grpo`.
//!
//! * [`GrpoConfig`]: the options.
//! * `rollout`: turns episodes into groups of completions with rewards and advantages.
//! * `lookahead`: the same for all legal actions, valued by a policy that plays on.
//! * [`accumulate`]: computes loss, gradients and metrics of the samples of one optimizer step for
//!   an [`Objective`], which holds the loss of [`crate::rl`] and the temperature of the policy.
//! * [`train`]: runs a whole training.
//! * [`memory_estimate`]: estimates the memory that a run needs.

use std::sync::atomic::AtomicBool;

use sentinel_env::in_world;
use sentinel_policy::text::{PromptState, TextWorld};

use self::lookahead::{Scorer, lookahead_groups};
use self::loss::apply_sampling_correction;
use self::rollout::{Collected, ScoredCompletion, completion_groups, continuation, play, setups};
use crate::analyze::{Analyzed, PolicySource};
use crate::distributed::ProcessGroup;
use crate::finetune::{
    Event, LoggedCompletion, LoggedTokens, Outcome, PreparedModel, RunDir, RunError, RunMetadata,
    State, TrainingJob, Update, run,
};
use crate::lm::{
    CausalLm, ForwardOptions, GenerateOptions, GenerationDefaults, Generator, Lora, Tokenizer,
    TrainedPart,
};
use crate::lm_agent::{
    Division, GenerationBackend, LmAgent, SharedBackend, Validation, ValidationWorld,
};
use crate::provenance::Provenance;
use crate::rl::Metrics;
use crate::rl::credit_options::Credit;
use crate::rollout_engine::{RolloutEngine, SyncReport};

mod config;
mod lookahead;
mod loss;
pub mod memory_estimate;
mod micro_batch;
mod rollout;

pub use config::{GrpoConfig, SamplerCorrectionArgs};
pub use loss::{Accumulated, Correction, Objective, Sample, accumulate, completion_logps};

/// Indices of the random streams of this algorithm, beside those of
/// [`RunOptions`](crate::finetune::RunOptions): sampled tokens and selected states.
const GENERATION_STREAM: u64 = 3;
const STATE_STREAM: u64 = 4;
/// Name of the metric by which samples of another engine are checked.
const LOGP_DIFFERENCE: &str = "sampling/sampling_logp_difference/mean";
/// Number of episodes whose first prompts train the tokenizer of a fallback model.
const TOKENIZER_EPISODES: usize = 64;

/// The training of a language model on the episodes of a world.
struct GrpoJob<W: TextWorld + Analyzed> {
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
    group: ProcessGroup,
}

impl<W: TextWorld + Analyzed> GrpoJob<W> {
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

    fn collect(&self, model: &CausalLm, update: usize) -> Result<Collected, RunError> {
        let config = &self.config;
        let seed = config.run.rng(GENERATION_STREAM, update).next();
        let mut options =
            GenerateOptions::new(config.max_completion_length, &self.generation, seed);
        options.sampling.temperature = config.temperature;
        options.max_prompt_tokens = Some(config.run.max_length - config.max_completion_length);
        let batch = config.generation_batch_size;
        let own: Option<Box<dyn GenerationBackend>> = match &self.rollout_engine {
            Some(engine) => Some(Box::new(engine.backend(model.config().vocab_size)?)),
            None if config.rollout_engine.is_enabled() => None,
            None => Some(Box::new(Generator::new(model))),
        };
        let division = if config.rollout_engine.is_enabled() {
            Division::Main
        } else {
            Division::Blocks
        };
        let backend = SharedBackend::new(own, division, &self.group);
        let mut agent = LmAgent::with_backend(Box::new(backend), &self.tokenizer, options, batch)
            .with_recorded_generations();
        let seed = config.run.rng(STATE_STREAM, update).next();
        let played = play::<W>(config, &self.episodes(update), &mut agent)?;
        match (config.credit, &self.continuation) {
            (Credit::Lookahead, Some(continuation)) => {
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
            (_, continuation) => {
                completion_groups(config, continuation.as_ref(), &played, &mut agent, seed)
            }
        }
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
        let found = completion_logps(model, rows, micro, &objective, pass, &self.group);
        Ok(found?)
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

    /// Returns the objective of samples whose loss is normalized by `num_items` tokens.
    fn objective(&self, num_items: f64) -> Objective {
        Objective {
            loss: self.config.loss(),
            temperature: self.config.temperature,
            num_items,
            pad: self.pad,
        }
    }

    /// Decodes completions for the log.
    fn logged(&self, completions: &[ScoredCompletion]) -> Result<Vec<LoggedCompletion>, RunError> {
        let text = |ids: &[u32]| self.tokenizer.decode(ids, false);
        let row = |scored: &ScoredCompletion| {
            Ok(LoggedCompletion {
                group: scored.group,
                prompt: text(&scored.prompt)?,
                completion: text(&scored.completion)?,
                rewards: scored.rewards.clone(),
                advantage: scored.advantage,
                tokens: None,
            })
        };
        completions.iter().map(row).collect()
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

    /// Sets the log-probabilities of the samples under the policy before training.
    fn compute_ref_logps(&self, model: &CausalLm, samples: &mut [Sample]) -> Result<(), RunError> {
        let (model, pass) = match &self.reference {
            Some(reference) => (reference, ForwardOptions::EVALUATION),
            None => (model, ForwardOptions::REFERENCE),
        };
        let rows: Vec<&Sample> = samples.iter().collect();
        let found = self.logps(model, &rows, pass)?;
        for (sample, logps) in samples.iter_mut().zip(found) {
            sample.reference = Some(logps);
        }
        Ok(())
    }
}

impl<W: TextWorld + Analyzed> TrainingJob for GrpoJob<W> {
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
        self.group.clone()
    }

    /// Allows a larger `max_length`, so that a run stopped by a prompt that was too long can be
    /// resumed, and other servers.
    fn resumable_overrides(&self) -> &'static [&'static str] {
        &[
            "max_length",
            "rollouts",
            "rollout_dir",
            "rollout_timeout",
            "rollout_max_logp_difference",
        ]
    }

    fn update(&mut self, state: &mut State) -> Result<Update, RunError> {
        let update = state.done / self.config.num_iterations;
        let synced = match &mut self.rollout_engine {
            Some(engine) => engine.sync(&state.model, update)?,
            None => SyncReport::default(),
        };
        let Collected {
            mut samples,
            num_items,
            metrics: mut common,
            mut warnings,
            completions,
        } = self.collect(&state.model, update)?;
        let objective = self.objective(num_items);
        if self.config.beta != 0.0 {
            self.compute_ref_logps(&state.model, &mut samples)?;
        }
        if let Some(sampling) = self.config.sampling() {
            let rows: Vec<&Sample> = samples.iter().collect();
            let old = self.logps(&state.model, &rows, ForwardOptions::EVALUATION)?;
            let found = apply_sampling_correction(sampling, &mut samples, old)?;
            common.extend(found);
        }
        if let Some(engine) = &self.rollout_engine {
            let apart = common.get(LOGP_DIFFERENCE).copied().unwrap_or(f64::NAN);
            engine.check_logps(update, synced.staleness, apart)?;
            common.extend(engine.take_metrics(&synced));
            warnings.extend(synced.warnings);
        }
        let read: usize = (samples.iter())
            .map(|sample| sample.prompt.len() + sample.completion.len())
            .sum();
        let mut steps = Vec::new();
        for iteration in 0..self.config.num_iterations {
            let pass = self.config.run.training_pass(state.done);
            let rows: Vec<&Sample> = samples.iter().collect();
            let micro = self.config.per_device_train_batch_size;
            let found = accumulate(&state.model, &rows, micro, &objective, pass, &self.group)?;
            state.tokens += read as u64;
            let mut metrics = common.clone();
            metrics.extend(found.metrics);
            state.step(found.loss, found.grads, &mut metrics)?;
            steps.push(metrics);
            if iteration == 0 {
                for (sample, logps) in samples.iter_mut().zip(found.logps) {
                    sample.old.get_or_insert(logps);
                }
            }
            if state.is_finished() {
                break;
            }
        }
        let mut logged = self.logged(&completions)?;
        if state.is_finished() {
            self.log_tokens(&state.model, &completions, &mut logged)?;
        }
        Ok(Update {
            steps,
            warnings,
            completions: logged,
        })
    }
}

/// Trains a model by playing episodes, with the run in a folder. The ranks of `group` share the work;
/// rank 0 alone writes the run, calls `listen` and obeys `stop`.
///
/// # Errors
/// If an option is invalid, the model cannot be read, or the run stops; on every rank, if it does on
/// one.
pub fn train(
    config: &GrpoConfig,
    dir: &RunDir,
    group: &ProcessGroup,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, RunError> {
    let done =
        in_world!(config.episode.world, W => train_in::<W>(config, dir, group, stop, listen));
    group.close(done)
}

fn train_in<W: TextWorld + Analyzed>(
    config: &GrpoConfig,
    dir: &RunDir,
    group: &ProcessGroup,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, RunError> {
    config.check()?;
    let setups = setups::<W>(config)?;
    let mut provenance = Provenance::new();
    let continuation = continuation::<W>(config, &mut provenance)?;
    // Texts that train the tokenizer of a fallback model.
    let words = || {
        let starts = setups
            .iter()
            .take(TOKENIZER_EPISODES)
            .map(PromptState::<W>::new);
        starts
            .map(|start| start.prompt(config.prompts.prompt))
            .collect()
    };
    let start = PreparedModel::open(&config.run, dir, group, &words)?;
    let switched = !config.run.full && config.run.adapter.is_none();
    let mut reference = None;
    if config.beta != 0.0 && !switched {
        let mut before = Lora::merged(&start.model);
        before.set_trained_part(TrainedPart::Nothing);
        before.lower_precision(config.run.precision)?;
        reference = Some(before);
    }
    let world = ValidationWorld {
        world: config.episode.world,
        rules: &config.episode.rules,
        tasks: config.episode.task.as_deref(),
        cells: &config.episode.cells,
        rollout_config: config.rollout_config()?,
    };
    let (length, batch) = (config.max_completion_length, config.generation_batch_size);
    let (tokenizer, generation) = (&start.tokenizer, &start.generation);
    let validation = Validation::new(&config.run, &world, tokenizer, generation, length, batch)?;
    let pad = start.pad();
    let engine = &config.rollout_engine;
    let rollout_engine = if engine.is_enabled() && group.is_main() {
        Some(RolloutEngine::connect(
            engine,
            &dir.path,
            config.run.max_length,
        )?)
    } else {
        None
    };
    let mut job = GrpoJob::<W> {
        config: config.clone(),
        setups,
        continuation,
        tokenizer: start.tokenizer,
        generation: start.generation,
        pad,
        reference,
        rollout_engine,
        group: group.clone(),
    };
    let total = config.run.total_steps(job.steps_per_epoch());
    let schedule = config.run.schedule(config.learning_rate, total);
    let mut metadata = RunMetadata::new(config, &config.run, start.folder, start.fallback)?;
    metadata.warnings.extend(start.warnings);
    metadata.stop_tokens = start.stop_tokens;
    metadata.record_inputs(provenance);
    let state = PreparedModel::state(start.model, &config.run, schedule)?;
    let validation = validation.as_ref();
    let outcome = run(&mut job, state, &metadata, validation, dir, stop, listen);
    if let Some(engine) = &mut job.rollout_engine {
        engine.close();
    }
    outcome
}
