//! The start of a run: opens the model, its reference, the servers and the validation.

use std::sync::atomic::AtomicBool;

use sentinel_base::provenance::Provenance;
use sentinel_env::in_world;
use sentinel_lm::{Lora, TrainedPart};
use sentinel_play::analyze::Analyzed;
use sentinel_policy::text::{PromptState, TextWorld};
use sentinel_run::distributed::ProcessGroup;

use super::Grpo;
use super::config::GrpoConfig;
use super::rollout::{continuation, setups};
use crate::agent::{Validation, ValidationWorld};
use crate::rollout_engine::RolloutEngine;
use crate::training::{
    Event, LmAlgorithm as _, Outcome, PreparedModel, RunDir, RunError, RunMetadata, run,
};

/// Number of episodes whose first prompts train the tokenizer of a fallback model.
const TOKENIZER_EPISODES: usize = 64;

/// Trains a model by playing episodes, with the run in a folder. The processes of `ranks` share the work;
/// rank 0 alone writes the run, calls `listen` and obeys `stop`.
///
/// # Errors
/// If an option is invalid, the model cannot be read, or the run stops; on every rank, if it does on
/// one.
pub fn train(
    config: &GrpoConfig,
    dir: &RunDir,
    ranks: &ProcessGroup,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, RunError> {
    let done =
        in_world!(config.episode.world, W => train_in::<W>(config, dir, ranks, stop, listen));
    ranks.close(done)
}

fn train_in<W: TextWorld + Analyzed>(
    config: &GrpoConfig,
    dir: &RunDir,
    ranks: &ProcessGroup,
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
    let start = PreparedModel::open(&config.run, dir, ranks, &words)?;
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
    let rollout_engine = if engine.is_enabled() && ranks.is_main() {
        Some(RolloutEngine::connect(
            engine,
            &dir.path,
            config.run.max_length,
        )?)
    } else {
        None
    };
    let mut algorithm = Grpo::<W> {
        config: config.clone(),
        setups,
        continuation,
        tokenizer: start.tokenizer,
        generation: start.generation,
        pad,
        reference,
        rollout_engine,
        ranks: ranks.clone(),
    };
    let total = config.run.total_steps(algorithm.steps_per_epoch());
    let schedule = config.run.schedule(config.learning_rate, total);
    let mut metadata = RunMetadata::new(config, &config.run, start.folder, start.fallback)?;
    metadata.warnings.extend(start.warnings);
    metadata.stop_tokens = start.stop_tokens;
    metadata.record_inputs(provenance);
    let state = PreparedModel::state(start.model, &config.run, schedule)?;
    let validation = validation.as_ref();
    let outcome = run(
        &mut algorithm,
        state,
        &metadata,
        validation,
        dir,
        stop,
        listen,
    );
    if let Some(engine) = &mut algorithm.rollout_engine {
        engine.close();
    }
    outcome
}
