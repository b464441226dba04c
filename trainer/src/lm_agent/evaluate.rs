//! Episodes of a language model, to measure it: how often it names an action, and what it scores.

use std::path::{Path, PathBuf};

use sentinel_env::Origin;
use sentinel_env::rng::Streams;
use sentinel_env::{WorldName, in_world};
use sentinel_policy::text::{PromptState, PromptStyle, Reader, TextWorld};
use serde::Serialize;

use super::agent::LmAgent;
use super::loaded_model::{GenerationArgs, LoadedModel};
use crate::args::named;
use crate::corpus::rollout::{DryRun, RolloutArgs, RolloutConfig, Signals, Trajectory, rollout};
use crate::episode::with_default;
use crate::eval::EvalOrigin;
use crate::finetune::RunError;
use crate::interval::Interval;
use crate::trainable::Trainable;
use crate::{EpisodeArgs, Error, Progress, SeedRange, files};

/// The seeds that are played by default.
const SEEDS: SeedRange = SeedRange::new(1_000, 1_030);

/// Whom to measure, and in what.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |arg| with_default(arg, SEEDS)))]
pub struct PlayConfig {
    /// The model: a local folder, or a name on the Hugging Face Hub
    #[arg(long, aliases = ["model-name-or-path", "model-id"], value_name = "MODEL")]
    pub model: String,
    /// How an observation is put into words
    #[arg(long, value_name = "STYLE", default_value_t, value_parser = named::<PromptStyle>())]
    pub prompt: PromptStyle,
    /// How a completion is read: repair leaves out what is around the action
    #[arg(long, value_name = "READER", default_value_t, value_parser = named::<Reader>())]
    pub reader: Reader,
    /// Write the result to this file, too
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub generation: GenerationArgs,
}

/// Makes sure that a result can be written, and that this destroys nothing but an earlier one.
///
/// # Errors
/// If it cannot, or something else is there.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    files::check_replaces(path, "result of lm eval", &["score", "validity"])
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The world.
    pub world: WorldName,
    /// Score of each task's episodes.
    pub tasks: Vec<(String, Interval)>,
    /// Score, the tasks counting alike. A completion that is no action ends its episode, and earns
    /// nothing from there on, where the world has no action for it.
    pub score: Interval,
    /// Share of the completions that are an action.
    pub validity: f64,
    /// Everything else that is watched.
    pub signals: Signals,
    /// Tokens that were written.
    pub tokens: usize,
}

/// The same with what was played, by which program, and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Played {
    /// What was measured.
    #[serde(flatten)]
    pub measured: Measured,
    /// Where it comes from.
    pub sentinel: EvalOrigin,
}

/// Episodes to measure a model on.
#[derive(Clone, Debug)]
pub struct EvalEpisodes {
    /// The episodes.
    pub episode: EpisodeArgs,
    /// How prompts are made and completions read.
    pub rollout_config: RolloutConfig,
}

impl PlayConfig {
    /// Returns the episodes that the options choose.
    #[must_use]
    pub fn episodes(&self) -> EvalEpisodes {
        EvalEpisodes {
            episode: self.episode.clone(),
            rollout_config: RolloutConfig {
                style: self.prompt,
                reader: self.reader,
                ..RolloutConfig::default()
            },
        }
    }
}

/// Plays the episodes.
///
/// # Errors
/// If an option cannot be, or the model cannot be found, read or run.
pub fn play(config: &PlayConfig, progress: Progress<'_>) -> Result<Played, RunError> {
    let loaded = LoadedModel::load(&config.model, &config.generation)?;
    let mut agent = loaded.agent();
    let episodes = config.episodes();
    let measured = measure(&episodes, &mut agent, progress)?;
    let (rules, streams) = in_world!(config.episode.world, W => {
        let rules = config.episode.rules::<W>()?.to_string();
        (rules, config.episode.streams_or::<W>(Streams::Independent)?)
    });
    Ok(Played {
        measured,
        sentinel: EvalOrigin {
            world: config.episode.world.name(),
            model: Some(config.model.clone()),
            adapter: config.generation.adapter.clone(),
            replay: None,
            seeds: episodes.episode.seeds_or(SEEDS),
            streams,
            rules,
            provenance: loaded.provenance.clone(),
        },
    })
}

/// Measures a model on episodes.
///
/// # Errors
/// If an option of the episodes cannot be, or the model cannot be run.
pub fn measure(
    episodes: &EvalEpisodes,
    agent: &mut LmAgent<'_>,
    progress: Progress<'_>,
) -> Result<Measured, RunError> {
    in_world!(episodes.episode.world, W => measure_in::<W>(episodes, agent, progress))
}

fn measure_in<W: TextWorld + Trainable>(
    episodes: &EvalEpisodes,
    agent: &mut LmAgent<'_>,
    progress: Progress<'_>,
) -> Result<Measured, RunError> {
    use sentinel_env::TaskName;

    let rules = episodes.episode.rules::<W>()?;
    let streams = episodes.episode.streams_or::<W>(Streams::Independent)?;
    let tasks = episodes.episode.tasks_or::<W>(None)?;
    let mut all: Vec<Trajectory<W>> = Vec::new();
    let mut scores: Vec<Vec<f64>> = Vec::new();
    for task in &tasks {
        let setup = |seed| {
            PromptState::new(
                &Origin::<W> {
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
        let played =
            agent.run(|agent| rollout(starts, episodes.rollout_config, agent, progress))?;
        scores.push(played.iter().map(|t| t.score).collect());
        all.extend(played);
    }
    let signals = Signals::from_trajectories(&all);
    let of_task = |(task, scores): (&W::Task, &Vec<f64>)| {
        let interval = Interval::of_cells(std::slice::from_ref(scores));
        (task.name().to_owned(), interval)
    };
    Ok(Measured {
        world: episodes.episode.world,
        score: Interval::of_cells(&scores),
        tasks: tasks.iter().zip(&scores).map(of_task).collect(),
        validity: 1.0 - signals.invalid_rate,
        signals,
        tokens: agent
            .generations
            .iter()
            .map(|said| said.completion.ids.len())
            .sum(),
    })
}

/// `sentinel lm rollout --model`: the bookkeeping of a rollout with the model itself.
///
/// # Errors
/// As [`play`].
pub fn play_rollout(
    config: &RolloutArgs,
    model: &str,
    generation: &GenerationArgs,
    progress: Progress<'_>,
) -> Result<DryRun, RunError> {
    let loaded = LoadedModel::load(model, generation)?;
    in_world!(config.episode.world, W => {
        let setups = config.setups::<W>()?;
        let starts = setups.iter().map(PromptState::<W>::new).collect();
        let mut agent = loaded.agent();
        let rollout_config = config.rollout_config();
        let played = agent.run(|agent| rollout(starts, rollout_config, agent, progress))?;
        Ok(config.found(&loaded.name, &played))
    })
}
