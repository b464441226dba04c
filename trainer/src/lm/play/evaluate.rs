//! Episodes of a language model, to measure it: how often it names an action, and what it scores.

use std::path::{Path, PathBuf};

use sentinel_env::Origin;
use sentinel_env::rng::Streams;
use sentinel_env::{WorldName, in_world};
use sentinel_policy::text::{PromptStyle, Reader, Situation, TextWorld};
use serde::Serialize;

use super::speech::{Speech, SpeechOptions};
use super::voice::Voice;
use crate::args::{WorldParser, parse_streams};
use crate::corpus::rollout::{DryRun, RolloutConfig, Signals, Terms, Trajectory, rollout};
use crate::corpus::{parse_reader, parse_style};
use crate::eval::EvalOrigin;
use crate::interval::Interval;
use crate::lm::train::RunError;
use crate::trainable::Trainable;
use crate::{Cells, Error, Progress, SeedRange, args, chosen, files, selected};

/// Whom to measure, and in what.
#[derive(Clone, Debug, clap::Args)]
pub struct PlayConfig {
    /// The model: a local folder, or a name on the Hugging Face Hub
    #[arg(long, value_name = "MODEL")]
    pub model: String,
    /// The world to play
    #[arg(long, default_value_t, value_parser = WorldParser)]
    pub world: WorldName,
    /// The rules: reference or hardened, with single changes as in reference+A or hardened-A-B
    #[arg(long, value_name = "RULES", default_value = "reference")]
    pub rules: String,
    /// Tasks of the world with commas between, or all
    #[arg(long, alias = "tasks", value_name = "TASK", default_value = "all")]
    pub task: String,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cells: Cells,
    /// Seeds of each task: A..B without B, or A..=B with B
    #[arg(
        long,
        value_name = "A..B",
        default_value = "1000..1030",
        allow_hyphen_values = true
    )]
    pub seeds: SeedRange,
    /// How random streams are seeded: reference or independent [default: independent, where the
    /// world has it]
    #[arg(long, value_name = "MODE", value_parser = parse_streams)]
    pub streams: Option<Streams>,
    /// How an observation is put into words: compact or reference
    #[arg(long, value_name = "STYLE", default_value = "compact", value_parser = parse_style)]
    pub prompt: PromptStyle,
    /// How a completion is read: strict, or repair to leave out what is around the action
    #[arg(long, value_name = "READER", default_value = "strict", value_parser = parse_reader)]
    pub reader: Reader,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub speech: SpeechOptions,
    /// Write the result to this file, too
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Makes sure that a result can be written, and that this destroys nothing but an earlier one.
///
/// # Errors
/// If it cannot, or something else is there.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    files::check_replaces(path, "result of eval-lm", &["score", "validity"])
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
    /// The world.
    pub world: WorldName,
    /// Its rules.
    pub rules: String,
    /// Names of tasks with commas between; `None` for all that `cells` choose.
    pub tasks: Option<String>,
    /// Tasks by row and column.
    pub cells: Cells,
    /// Seeds of each task.
    pub seeds: SeedRange,
    /// How random streams are seeded, where the world's default is not meant.
    pub streams: Option<Streams>,
    /// How prompts are made and completions read.
    pub terms: Terms,
}

impl PlayConfig {
    /// Returns the episodes that the options choose.
    #[must_use]
    pub fn episodes(&self) -> EvalEpisodes {
        EvalEpisodes {
            world: self.world,
            rules: self.rules.clone(),
            tasks: Some(self.task.clone()).filter(|task| task != "all"),
            cells: self.cells.clone(),
            seeds: self.seeds,
            streams: self.streams,
            terms: Terms {
                style: self.prompt,
                reader: self.reader,
                ..Terms::default()
            },
        }
    }
}

/// Plays the episodes.
///
/// # Errors
/// If an option cannot be, or the model cannot be found, read or run.
pub fn play(config: &PlayConfig, progress: Progress<'_>) -> Result<Played, RunError> {
    let speech = Speech::load(&config.model, &config.speech)?;
    let mut voice = speech.voice();
    let measured = measure(&config.episodes(), &mut voice, progress)?;
    let (rules, streams) = in_world!(config.world, W => {
        let rules = args::rules::<W>(&config.rules)?.to_string();
        (rules, chosen::streams::<W>(config.streams, Streams::Independent)?)
    });
    Ok(Played {
        measured,
        sentinel: EvalOrigin {
            world: config.world.name(),
            model: Some(config.model.clone()),
            adapter: config.speech.adapter.clone(),
            replay: None,
            seeds: config.seeds,
            streams,
            rules,
            provenance: speech.provenance.clone(),
        },
    })
}

/// Measures a model on episodes.
///
/// # Errors
/// If an option of the episodes cannot be, or the model cannot be run.
pub fn measure(
    episodes: &EvalEpisodes,
    voice: &mut Voice<'_>,
    progress: Progress<'_>,
) -> Result<Measured, RunError> {
    in_world!(episodes.world, W => measure_in::<W>(episodes, voice, progress))
}

fn measure_in<W: TextWorld + Trainable>(
    episodes: &EvalEpisodes,
    voice: &mut Voice<'_>,
    progress: Progress<'_>,
) -> Result<Measured, RunError> {
    use sentinel_env::TaskName;

    let rules = args::rules::<W>(&episodes.rules)?;
    let streams = chosen::streams::<W>(episodes.streams, Streams::Independent)?;
    let tasks = selected::<W>(episodes.tasks.as_deref(), &episodes.cells)?;
    let mut all: Vec<Trajectory<W>> = Vec::new();
    let mut scores: Vec<Vec<f64>> = Vec::new();
    for task in &tasks {
        let setup = |seed| {
            Situation::new(
                &Origin::<W> {
                    task: *task,
                    seed,
                    streams,
                    rules,
                }
                .setup(),
            )
        };
        let starts = episodes.seeds.range().map(setup).collect();
        let played = voice.through(|voice| rollout(starts, episodes.terms, voice, progress))?;
        scores.push(played.iter().map(|t| t.score).collect());
        all.extend(played);
    }
    let signals = Signals::of(&all);
    let of_task = |(task, scores): (&W::Task, &Vec<f64>)| {
        let interval = Interval::of_cells(std::slice::from_ref(scores));
        (task.name().to_owned(), interval)
    };
    Ok(Measured {
        world: episodes.world,
        score: Interval::of_cells(&scores),
        tasks: tasks.iter().zip(&scores).map(of_task).collect(),
        validity: 1.0 - signals.invalid_rate,
        signals,
        tokens: voice
            .said
            .iter()
            .map(|said| said.completion.ids.len())
            .sum(),
    })
}

/// `sentinel rollout --model`: the bookkeeping of a rollout with the model itself.
///
/// # Errors
/// As [`play`].
pub fn play_rollout(
    config: &RolloutConfig,
    model: &str,
    speech: &SpeechOptions,
    progress: Progress<'_>,
) -> Result<DryRun, RunError> {
    let speech = Speech::load(model, speech)?;
    in_world!(config.world, W => {
        let setups = config.setups::<W>()?;
        let starts = setups.iter().map(Situation::<W>::new).collect();
        let mut voice = speech.voice();
        let terms = config.terms();
        let played = voice.through(|voice| rollout(starts, terms, voice, progress))?;
        Ok(config.found(&speech.name, &played))
    })
}
