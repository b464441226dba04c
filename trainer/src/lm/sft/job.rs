//! A run of supervised fine-tuning: rows in a seeded order, window by window.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use sentinel_env::WorldName;
use sentinel_policy::text::PromptStyle;
use serde::{Deserialize, Serialize};

use super::{Prepared, RowOptions, SftRow, TooLong, pack, packed_gradient, prepare};
use crate::Cells;
use crate::args::{self, named, parse_number};
use crate::corpus::rollout::Terms;
use crate::corpus::{Example, Prompt, read_corpus};
use crate::lm::play::{Validation, ValidationWorld};
use crate::lm::train::{
    About, Event, Job, Outcome, RunDir, RunError, RunOptions, Start, State, Update, run,
};
use crate::rl::Metrics;

/// Heading of the options of evaluations in help.
const EVALUATION: &str = "Evaluation";

/// The options of `sentinel lm sft`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Fine-tuning")]
pub struct SftConfig {
    /// The corpus, JSON lines with prompt and completion, or messages
    #[arg(long, alias = "dataset-name", value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// The highest learning rate
    #[arg(long, value_name = "X", default_value_t = 2e-5, value_parser = parse_number::<f64>)]
    pub learning_rate: f64,
    /// Rows that are computed at a time
    #[arg(long, alias = "batch-size", value_name = "N", default_value_t = 8)]
    pub per_device_train_batch_size: usize,
    /// Batches that one optimizer step learns from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub gradient_accumulation_steps: usize,
    /// What becomes of rows longer than --max-length
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub too_long: TooLong,
    /// Put several examples into a row of up to --max-length tokens; none of them sees another.
    /// --per-device-train-batch-size then counts such rows
    #[arg(long)]
    pub packing: bool,
    /// Train prompts as well, not completions alone
    #[arg(long)]
    pub train_on_prompt: bool,
    /// Keep the order of the file
    #[arg(long)]
    pub no_shuffle: bool,
    /// The world of the evaluations that --eval-steps asks for
    #[arg(long, value_name = "WORLD", value_parser = args::world(), help_heading = EVALUATION)]
    #[serde(default)]
    pub eval_world: Option<WorldName>,
    /// Tasks of --eval-world with commas between, or all
    #[arg(long, alias = "eval-tasks", value_name = "TASKS", default_value = "all", help_heading = EVALUATION)]
    #[serde(default = "all_tasks")]
    pub eval_task: String,
    /// Rules of --eval-world: reference or hardened, with single changes as in reference+A
    #[arg(long, value_name = "RULES", default_value = "reference", help_heading = EVALUATION)]
    #[serde(default = "reference_rules")]
    pub eval_rules: String,
    /// How the evaluations put an observation into words
    #[arg(long, value_name = "STYLE", default_value_t, value_parser = named::<PromptStyle>(),
        help_heading = EVALUATION)]
    #[serde(default)]
    pub eval_prompt: PromptStyle,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}

fn all_tasks() -> String {
    "all".to_owned()
}

fn reference_rules() -> String {
    "reference".to_owned()
}

/// Longest completion of an evaluation, in tokens, and prompts that are completed side by side.
const EVAL_TOKENS: usize = 192;
const EVAL_BATCH: usize = 64;

impl SftConfig {
    /// Returns the evaluation that the options ask for.
    fn validation(&self, start: &Start) -> Result<Option<Validation>, RunError> {
        if self.run.eval_steps == 0 {
            return Ok(None);
        }
        let world = self.eval_world.ok_or(RunError::option(
            "eval-world",
            "given with eval-steps: evaluations are played in it",
        ))?;
        let world = ValidationWorld {
            world,
            rules: &self.eval_rules,
            tasks: Some(&self.eval_task),
            cells: &Cells::default(),
            terms: Terms {
                style: self.eval_prompt,
                ..Terms::default()
            },
        };
        let (tokenizer, generation) = (&start.tokenizer, &start.generation);
        let tokens = EVAL_TOKENS;
        Validation::new(&self.run, &world, tokenizer, generation, tokens, EVAL_BATCH)
    }

    fn check(&self) -> Result<(), RunError> {
        let window = self
            .per_device_train_batch_size
            .checked_mul(self.gradient_accumulation_steps);
        if window.is_none_or(|rows| rows == 0) {
            return Err(RunError::option(
                "per-device-train-batch-size and gradient-accumulation-steps",
                "at least 1, and their product below 2^64",
            ));
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return Err(RunError::option("learning-rate", "a number above 0"));
        }
        Ok(())
    }
}

/// Rows, and the order in which they are learned.
pub struct SftJob {
    config: SftConfig,
    prepared: Prepared,
    /// Which of the rows are read as one.
    packs: Vec<Vec<usize>>,
    pad: u32,
}

impl SftJob {
    /// A job of these rows.
    ///
    /// # Errors
    /// If an option cannot be, or there is no row.
    pub fn new(config: SftConfig, prepared: Prepared, pad: u32) -> Result<Self, RunError> {
        config.check()?;
        if prepared.rows.is_empty() {
            return Err(RunError::option(
                "data",
                "a corpus with a row that fits --max-length and has something to learn",
            ));
        }
        let lengths = prepared.rows.iter().map(|row| row.ids.len());
        let packs = if config.packing {
            pack(&lengths.collect::<Vec<_>>(), config.run.max_length)
        } else {
            (0..lengths.len()).map(|row| vec![row]).collect()
        };
        Ok(Self {
            config,
            prepared,
            packs,
            pad,
        })
    }

    /// [`SftConfig::check`] has seen that there is such a number.
    fn window(&self) -> usize {
        self.config.per_device_train_batch_size * self.config.gradient_accumulation_steps
    }

    /// The rows of an optimizer step. The order of an epoch follows from the seed and its number.
    fn rows(&self, step: usize) -> Vec<Vec<&SftRow>> {
        let all = &self.packs;
        let per_epoch = self.steps_per_epoch();
        let order = if self.config.no_shuffle {
            (0..all.len()).collect()
        } else {
            self.config.run.order(all.len(), step / per_epoch)
        };
        let places = order.iter().skip(step % per_epoch * self.window());
        let row = |row: &usize| &self.prepared.rows[*row];
        let packs = places.take(self.window()).map(|at| &all[*at]);
        packs.map(|pack| pack.iter().map(row).collect()).collect()
    }
}

impl Job for SftJob {
    fn method(&self) -> &'static str {
        "sft"
    }

    fn batch_size(&self) -> usize {
        self.window()
    }

    fn steps_per_epoch(&self) -> usize {
        self.packs.len().div_ceil(self.window())
    }

    fn data(&self) -> Metrics {
        let rows = &self.prepared.rows;
        let tokens: usize = rows.iter().map(|row| row.ids.len()).sum();
        let labels: usize = rows.iter().map(SftRow::labels).sum();
        let counts = [
            ("rows", rows.len()),
            ("tokens", tokens),
            ("labels", labels),
            ("longest", self.prepared.longest),
            ("dropped", self.prepared.dropped.len()),
            ("cut", self.prepared.cut.len()),
            ("unlabelled", self.prepared.unlabelled.len()),
        ];
        // Where each row is one of its own, that is no further count.
        let packed = (self.config.packing).then_some(("packed_rows", self.packs.len()));
        let counts = counts.into_iter().chain(packed);
        let counts = counts.map(|(name, count)| (name.to_owned(), count as f64));
        counts.collect()
    }

    fn warnings(&self) -> Vec<String> {
        let limit = self.config.run.max_length;
        let said = |which: &str, what: &str, lines: &[usize]| {
            let first = lines.first()?;
            let count = lines.len();
            Some(format!(
                "{count} rows {which} were {what} (the first is line {first})"
            ))
        };
        let long = format!("longer than {limit} tokens");
        [
            said(&long, "left out", &self.prepared.dropped),
            said(&long, "cut off", &self.prepared.cut),
            said(
                "without a token to train",
                "left out",
                &self.prepared.unlabelled,
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn update(&mut self, state: &mut State) -> Result<Update, RunError> {
        let mut rows = self.rows(state.done);
        // Neighbours of like length need little padding; the loss of a window has no order.
        rows.sort_by_key(|row| row.iter().map(|example| example.ids.len()).sum::<usize>());
        let pass = self.config.run.pass(state.done);
        let found = packed_gradient(
            &state.model,
            &rows,
            self.config.per_device_train_batch_size,
            self.pad,
            pass,
        )?;
        state.tokens += found.tokens as u64;
        let mut metrics = Metrics::new();
        metrics.insert("entropy".into(), found.entropy);
        metrics.insert("mean_token_accuracy".into(), found.accuracy);
        state.step(found.loss, found.grads, &mut metrics)?;
        Ok(Update {
            steps: vec![metrics],
            ..Update::default()
        })
    }
}

/// Trains a model on a corpus in a folder.
///
/// # Errors
/// If the model or the corpus cannot be read, rows do not fit, or the run stops.
pub fn train(
    config: &SftConfig,
    dir: &RunDir,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(&Event),
) -> Result<Outcome, RunError> {
    config.check()?;
    let data = config.data.as_ref();
    let data = data.ok_or(RunError::option("data", "a corpus in JSON lines"))?;
    let examples = read_corpus(data)?;
    let start = Start::open(&config.run, dir, &|| texts(&examples))?;
    let options = RowOptions {
        max_length: config.run.max_length,
        too_long: config.too_long,
        completion_only: !config.train_on_prompt,
    };
    let prepared = prepare(&start.tokenizer, &examples, options)?;
    let positions = start.model.config().max_position_embeddings;
    if prepared.longest > positions {
        return Err(RunError::Positions {
            longest: prepared.longest,
            positions,
            asked: config.run.max_length,
        });
    }
    let validation = config.validation(&start)?;
    let mut job = SftJob::new(config.clone(), prepared, start.pad())?;
    let total = config.run.total(job.steps_per_epoch());
    let schedule = config.run.schedule(config.learning_rate, total);
    let mut about = About::of(config, &config.run, start.folder, start.fallback)?;
    about.reads("the corpus", data)?;
    let marked = examples.iter().filter(|example| example.fallback).count();
    (about.provenance).inherit_corpus(data, examples.len(), marked)?;
    let state = Start::state(start.model, &config.run, schedule)?;
    let validation = validation.as_ref();
    run(&mut job, state, &about, validation, dir, stop, listen)
}

/// All that is said in a corpus, which a new tokenizer learns its words from.
fn texts(examples: &[Example]) -> Vec<String> {
    let of_example = |example: &Example| {
        let mut all = match &example.prompt {
            Prompt::Text(text) => vec![text.clone()],
            Prompt::Chat(turns) => turns.iter().map(|turn| turn.content.clone()).collect(),
        };
        all.push(example.completion.clone());
        all
    };
    examples.iter().flat_map(of_example).collect()
}
