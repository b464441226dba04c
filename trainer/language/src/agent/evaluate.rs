//! Evaluation of a language model on episodes: score and share of valid actions.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use sentinel_base::episode_args::with_default;
use sentinel_base::interval::ConfidenceInterval;
use sentinel_base::{EpisodeArgs, Error, Progress, SeedRange, files};
use sentinel_env::rng::Streams;
use sentinel_env::{EpisodeSpec, WorldName, in_world};
use sentinel_lm::ChatTemplateKwargs;
use sentinel_play::eval::{Diagnostics, DiagnosticsSums, EpisodeFacts, EvalOrigin};
use sentinel_play::rollout::{
    PromptArgs, RolloutArgs, RolloutConfig, RolloutError, RolloutReport, RolloutStats, RolloutSums,
    TextAgent, rollout_summaries,
};
use sentinel_policy::nn::NetworkWorld;
use sentinel_policy::text::{InvalidReward, PromptState, TextWorld};
use serde::Serialize;

use super::chat_endpoint::EndpointUsage;
use super::language_agent::LanguageAgent;
use super::loaded_model::{GenerationArgs, LoadedModel};
use super::text_model::{TextModel, with_agent};
use crate::agent::lm_agent::LmAgent;
use crate::training::RunError;

/// The seeds of an evaluation by default.
const SEEDS: SeedRange = SeedRange::new(1_000, 1_030);

/// The name of a language model in [`Diagnostics`].
const MODEL: &str = "model";

/// Options of `sentinel lm eval`: the model and the episodes.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |arg| with_default(arg, SEEDS)))]
pub struct EvalArgs {
    /// Model: a local folder, a name on the Hugging Face Hub, or the active model
    #[arg(long, aliases = ["model-name-or-path", "model-id"], value_name = "MODEL",
        default_value = "active")]
    pub model: String,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub prompts: PromptArgs,
    /// File to write the result to as well
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub generation: GenerationArgs,
}

/// Checks that a result can be written to `path`, where nothing except an earlier result is
/// overwritten.
///
/// # Errors
/// If it cannot be written, or another file is there.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    files::check_replaces(path, "a result of lm eval", &["score", "validity"])
}

/// The results of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvalResult {
    /// World of the episodes.
    pub world: WorldName,
    /// Score of each task with its confidence interval.
    pub tasks: Vec<(String, ConfidenceInterval)>,
    /// Mean score over tasks, weighted equally. Where the world has no action for an invalid
    /// completion, such a completion ends its episode, and the missing events count 0.
    pub score: ConfidenceInterval,
    /// Share of completions that are a valid action, in `[0, 1]`.
    pub validity: f64,
    /// Further statistics of the rollouts.
    pub signals: RolloutStats,
    /// Number of generated tokens.
    pub tokens: usize,
}

/// The results of an evaluation with their origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvalReport {
    /// Results of the evaluation.
    #[serde(flatten)]
    pub measured: EvalResult,
    /// `true` if completions were limited to legal actions, so that `validity` says nothing of the
    /// model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub constrained: bool,
    /// Number of examples before every prompt; left out for none.
    #[serde(skip_serializing_if = "files::is_zero")]
    pub examples: usize,
    /// Variables that the chat template was rendered with; left out for none.
    #[serde(skip_serializing_if = "ChatTemplateKwargs::is_empty")]
    pub chat_template_kwargs: ChatTemplateKwargs,
    /// Requests to an endpoint, and their tokens; left out for a model in this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<EndpointUsage>,
    /// Model, episodes and program version that produced the results.
    pub sentinel: EvalOrigin,
}

/// Settings of the episodes that a model is evaluated on.
#[derive(Clone, Debug)]
pub struct EvalEpisodes {
    /// World, tasks, seeds and rules of the episodes.
    pub episode: EpisodeArgs,
    /// Style of the prompts and parser of the completions.
    pub rollout_config: RolloutConfig,
}

impl EvalArgs {
    /// Returns the settings of the episodes that the options select.
    #[must_use]
    pub fn episodes(&self) -> EvalEpisodes {
        EvalEpisodes {
            episode: self.episode.clone(),
            rollout_config: self.prompts.rollout_config(InvalidReward::default()),
        }
    }
}

/// Loads the model and evaluates it, until the end or until `stop` is set.
///
/// # Errors
/// If an option is invalid, the model cannot be found, read or run, or `stop` was set before the end.
pub fn play(
    config: &EvalArgs,
    stop: &AtomicBool,
    progress: Progress<'_>,
) -> Result<EvalReport, RunError> {
    RolloutError::check_stop(stop)?;
    let loaded = TextModel::load(&config.model, &config.generation)?;
    let episodes = config.episodes();
    let (measured, diagnostics) = in_world!(episodes.episode.world, W => {
        with_agent!(&loaded, agent => {
            measure_in::<W, _>(&episodes, &mut agent.with_stop(stop), progress)?
        })
    });
    let (rules, streams) = in_world!(config.episode.world, W => {
        let rules = config.episode.rules::<W>()?.to_string();
        (rules, config.episode.streams_or::<W>(Streams::Independent)?)
    });
    Ok(EvalReport {
        measured,
        constrained: config.generation.constrained,
        examples: loaded.example_count(),
        chat_template_kwargs: loaded.chat_template_kwargs(),
        usage: loaded.endpoint().map(|(_, usage)| usage),
        sentinel: EvalOrigin {
            world: config.episode.world.name(),
            model: Some(config.model.clone()),
            adapter: config.generation.adapter.clone(),
            replay: None,
            seeds: episodes.episode.seeds_or(SEEDS),
            streams,
            rules,
            diagnostics,
            endpoint: loaded.endpoint().map(|(address, _)| address.to_owned()),
            warnings: loaded.warnings(),
            provenance: loaded.provenance().clone(),
        },
    })
}

/// Evaluates a model on episodes.
///
/// # Errors
/// If an option of the episodes is invalid, or the model cannot be run.
pub fn evaluate_agent(
    episodes: &EvalEpisodes,
    agent: &mut LmAgent<'_>,
    progress: Progress<'_>,
) -> Result<EvalResult, RunError> {
    in_world!(episodes.episode.world, W => {
        Ok(measure_in::<W, _>(episodes, agent, progress)?.0)
    })
}

/// Plays the tasks one after the other. Of an episode that was played only its score and sums are kept,
/// no text and no token.
fn measure_in<W: TextWorld + NetworkWorld, A: LanguageAgent + TextAgent<W>>(
    episodes: &EvalEpisodes,
    agent: &mut A,
    progress: Progress<'_>,
) -> Result<(EvalResult, Vec<Diagnostics>), RunError> {
    use sentinel_env::TaskName;

    let rules = episodes.episode.rules::<W>()?;
    let streams = episodes.episode.streams_or::<W>(Streams::Independent)?;
    let tasks = episodes.episode.tasks_or::<W>(None)?;
    let tokens_before = agent.generated_tokens();
    let mut signals = RolloutSums::default();
    let mut diagnostics = DiagnosticsSums::new(MODEL, W::EXPLOITS);
    let mut scores: Vec<Vec<f64>> = Vec::new();
    for task in &tasks {
        let setup = |seed| {
            PromptState::<W>::new(
                &EpisodeSpec::<W> {
                    task: *task,
                    seed,
                    streams,
                    rules,
                }
                .setup(),
            )
        };
        let starts = episodes
            .episode
            .seeds_or(SEEDS)
            .range()
            .map(setup)
            .collect();
        let played = agent
            .run(|agent| rollout_summaries(starts, episodes.rollout_config, agent, progress))?;
        scores.push(played.iter().map(|episode| episode.score).collect());
        for episode in &played {
            signals.add(episode);
            let (task, details) = episode.details();
            let facts = EpisodeFacts::new::<W>(task, episode.score, &details);
            facts.iter().for_each(|facts| diagnostics.add(facts));
        }
    }
    let signals = signals.stats();
    let of_task = |(task, scores): (&W::Task, &Vec<f64>)| {
        let interval = ConfidenceInterval::from_cells(std::slice::from_ref(scores));
        (task.name().to_owned(), interval)
    };
    let measured = EvalResult {
        world: episodes.episode.world,
        score: ConfidenceInterval::from_cells(&scores),
        tasks: tasks.iter().zip(&scores).map(of_task).collect(),
        validity: 1.0 - signals.invalid_rate,
        signals,
        tokens: agent.generated_tokens() - tokens_before,
    };
    Ok((measured, diagnostics.diagnostics()))
}

/// Plays the episodes of `sentinel lm rollout --model` and returns the same summary as a dry run.
///
/// # Errors
/// If an option is invalid, or the model cannot be found, read or run.
pub fn play_rollout(
    config: &RolloutArgs,
    model: &str,
    generation: &GenerationArgs,
    progress: Progress<'_>,
) -> Result<RolloutReport, RunError> {
    let loaded = LoadedModel::load(model, generation)?;
    in_world!(config.episode.world, W => {
        let setups = config.setups::<W>()?;
        let starts = setups.iter().map(PromptState::<W>::new).collect();
        let mut agent = loaded.agent();
        let rollout_config = config.rollout_config();
        let played = agent.run(|agent| {
            rollout_summaries(starts, rollout_config, agent, progress)
        })?;
        Ok(config.summarize(&loaded.name, RolloutStats::from_summaries(&played)))
    })
}
