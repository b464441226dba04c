//! Supervised fine-tuning of a language model, `sentinel lm sft`, with the loss of TRL's
//! `SFTTrainer`.
//!
//! * [`prepare_rows`]: encodes examples as rows; rows that are too long are counted, and truncated only
//!   on request.
//! * [`Sft`]: selects the rows of each optimizer step.
//! * [`packed_gradient`]: computes the loss of these rows in micro-batches; examples can share
//!   rows.
//! * [`train`]: runs a whole training.
//!
//! All labels between two optimizer steps have the same weight, whatever micro-batch they are in.

use std::sync::atomic::AtomicBool;

use sentinel_base::Error;
use sentinel_lm::parallel::{micro_batches_at_once, par_map_ordered};
use sentinel_lm::{
    Batch, CausalLm, ForwardOptions, Grads, HeadOptions, LmError, Segment, TokenGrads,
    TokenSelection, TokenValues,
};
use sentinel_play::corpus::{Example, Prompt, read_corpus};
use sentinel_rl::Metrics;
use sentinel_run::distributed::ProcessGroup;

use crate::training::{
    Event, LmAlgorithm, Outcome, PreparedModel, RunDir, RunError, RunMetadata, State, Update, run,
};

mod config;
mod rows;

pub use config::SftConfig;
pub use rows::{OverlongRows, PreparedRows, RowOptions, SftRow, pack_best_fit, prepare_rows};

/// The training rows with the order in which they are trained.
pub struct Sft {
    config: SftConfig,
    prepared: PreparedRows,
    /// Indices of the rows that are packed into one, for each packed row.
    packs: Vec<Vec<usize>>,
    pad: u32,
}

impl Sft {
    /// Creates the algorithm that trains on these rows.
    ///
    /// # Errors
    /// If an option is invalid, or there are no rows.
    pub fn new(config: SftConfig, prepared: PreparedRows, pad: u32) -> Result<Self, RunError> {
        config.check()?;
        if prepared.rows.is_empty() {
            return Err(RunError::option(
                "data",
                "a corpus with a row that fits --max-length and has something to learn",
            ));
        }
        let lengths = prepared.rows.iter().map(|row| row.ids.len());
        let packs = if config.packing {
            pack_best_fit(&lengths.collect::<Vec<_>>(), config.run.max_length)
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

    /// Returns the number of rows per optimizer step. [`SftConfig::check`] ensures that it does not
    /// overflow.
    fn window(&self) -> usize {
        self.config.per_device_train_batch_size * self.config.gradient_accumulation_steps
    }

    /// Returns the rows of an optimizer step. Their order within an epoch follows from the seed and
    /// the epoch's number.
    fn rows(&self, step: usize) -> Vec<Vec<&SftRow>> {
        let all = &self.packs;
        let per_epoch = self.steps_per_epoch();
        let order = if self.config.no_shuffle {
            (0..all.len()).collect()
        } else {
            self.config.run.epoch_order(all.len(), step / per_epoch)
        };
        let places = order.iter().skip(step % per_epoch * self.window());
        let row = |row: &usize| &self.prepared.rows[*row];
        let packs = places.take(self.window()).map(|at| &all[*at]);
        packs.map(|pack| pack.iter().map(row).collect()).collect()
    }
}

impl LmAlgorithm for Sft {
    fn method(&self) -> &'static str {
        "sft"
    }

    fn batch_size(&self) -> usize {
        self.window()
    }

    fn steps_per_epoch(&self) -> usize {
        self.packs.len().div_ceil(self.window())
    }

    fn data_counts(&self) -> Metrics {
        let rows = &self.prepared.rows;
        let tokens: usize = rows.iter().map(|row| row.ids.len()).sum();
        let labels: usize = rows.iter().map(SftRow::label_count).sum();
        let counts = [
            ("rows", rows.len()),
            ("tokens", tokens),
            ("labels", labels),
            ("longest", self.prepared.longest),
            ("dropped", self.prepared.dropped.len()),
            ("cut", self.prepared.cut.len()),
            ("unlabeled", self.prepared.unlabeled.len()),
        ];
        // Without packing this count would equal `rows`.
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
                &self.prepared.unlabeled,
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn update(&mut self, state: &mut State) -> Result<Update, RunError> {
        let mut rows = self.rows(state.done);
        // Sorting by length reduces padding; the loss does not depend on the order.
        rows.sort_by_key(|row| row.iter().map(|example| example.ids.len()).sum::<usize>());
        let pass = self.config.run.training_pass(state.done);
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

/// Trains a model on a corpus, with the run in a folder.
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
    let start = PreparedModel::open(&config.run, dir, &ProcessGroup::default(), &|| {
        texts(&examples)
    })?;
    let options = RowOptions {
        max_length: config.run.max_length,
        too_long: config.too_long,
        completion_only: !config.train_on_prompt,
        last_answer_only: config.last_answer_only,
    };
    let prepared = prepare_rows(&start.tokenizer, &examples, options);
    let prepared = prepared.map_err(|error| match error {
        LmError::Row { line, source } => LmError::File(Error::Line {
            file: data.display().to_string(),
            line,
            reason: source.to_string(),
        }),
        other => other,
    })?;
    let positions = start.model.config().max_position_embeddings;
    if prepared.longest > positions {
        return Err(RunError::Positions {
            longest: prepared.longest,
            positions,
            asked: config.run.max_length,
        });
    }
    let validation = config.validation(&start)?;
    let mut algorithm = Sft::new(config.clone(), prepared, start.pad())?;
    let total = config.run.total_steps(algorithm.steps_per_epoch());
    let schedule = config.run.schedule(config.learning_rate, total);
    let mut metadata = RunMetadata::new(config, &config.run, start.folder, start.fallback)?;
    metadata.warnings.extend(start.warnings);
    metadata.stop_tokens = start.stop_tokens;
    metadata.record_input("the corpus", data)?;
    let marked = examples.iter().filter(|example| example.fallback).count();
    (metadata.provenance).add_corpus_fallbacks(data, examples.len(), marked)?;
    let state = PreparedModel::state(start.model, &config.run, schedule)?;
    let validation = validation.as_ref();
    run(
        &mut algorithm,
        state,
        &metadata,
        validation,
        dir,
        stop,
        listen,
    )
}

/// Returns all texts of a corpus, on which the tokenizer of a fallback model is trained.
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

/// The results of the rows between two optimizer steps.
#[derive(Debug)]
pub struct WindowLoss {
    /// Mean of `-log p` over all labels.
    pub loss: f64,
    /// Gradients of the loss.
    pub grads: Grads,
    /// Share of labels that were the most likely token; mean over micro-batches, as TRL logs it.
    pub accuracy: f64,
    /// Mean entropy of the labels' distributions, in nats; mean over micro-batches.
    pub entropy: f64,
    /// Number of tokens that were read, without padding.
    pub tokens: usize,
    /// Number of tokens that were trained.
    pub labels: usize,
}

/// Computes the loss of the rows between two optimizer steps and its gradients, `micro` rows at a
/// time.
///
/// As in TRL, the loss is the sum of `-log p` divided by the number of labels in all micro-batches,
/// not a mean of means. A row can hold several examples without attention between them: loss and
/// gradients are those of the examples in rows of their own.
///
/// # Errors
/// If there is no label, in all or in one micro-batch, nothing is trained, or the device cannot be
/// read.
pub fn packed_gradient(
    model: &CausalLm,
    rows: &[Vec<&SftRow>],
    micro: usize,
    pad: u32,
    pass: ForwardOptions,
) -> Result<WindowLoss, LmError> {
    let labels: usize = rows.iter().flatten().map(|row| row.label_count()).sum();
    if labels == 0 {
        return Err(no_labels("the labels of a window"));
    }
    let mut window = WindowLoss {
        loss: 0.0,
        grads: Grads::default(),
        accuracy: 0.0,
        entropy: 0.0,
        tokens: 0,
        labels,
    };
    let parts: Vec<(u64, &[Vec<&SftRow>])> = (0..).zip(rows.chunks(micro.max(1))).collect();
    let share = 1.0 / parts.len() as f64;
    let work = |(index, part): (u64, _)| {
        micro_batch(model, part, labels, pad, pass.for_micro_batch(index))
    };
    let length = |row: &Vec<&SftRow>| row.iter().map(|example| example.ids.len()).sum::<usize>();
    let size = |part: &[Vec<&SftRow>]| [part.len(), part.iter().map(length).max().unwrap_or(0)];
    let at_once = micro_batches_at_once(parts.iter().map(|(_, part)| size(part)));
    par_map_ordered(model.device(), at_once, parts, work, |found: WindowLoss| {
        window.loss += found.loss;
        window.grads.add(found.grads);
        window.accuracy += share * found.accuracy;
        window.entropy += share * found.entropy;
        window.tokens += found.tokens;
    })?;
    Ok(window)
}

fn micro_batch(
    model: &CausalLm,
    rows: &[Vec<&SftRow>],
    labels: usize,
    pad: u32,
    pass: ForwardOptions,
) -> Result<WindowLoss, LmError> {
    let (batch, selection) = read(model, rows, pad)?;
    if selection.is_empty() {
        return Err(no_labels("the labels of a micro-batch"));
    }
    let trained = selection.len();
    let mut found = TokenValues::default();
    let loss = |values: &TokenValues| {
        found = values.clone();
        Ok(TokenGrads {
            logps: vec![(-1.0 / labels as f64) as f32; trained],
            entropies: None,
        })
    };
    let grads = model.token_gradients(&batch, &selection, HeadOptions::default(), pass, loss)?;
    let TokenValues {
        logps,
        entropies,
        max_logps,
    } = found;
    let total: f64 = logps.iter().map(|logp| f64::from(*logp)).sum();
    let hit = |(logp, best): &(&f32, &f32)| logp >= best;
    let hits = logps.iter().zip(&max_logps).filter(hit).count();
    let sum: f64 = entropies.iter().map(|entropy| f64::from(*entropy)).sum();
    Ok(WindowLoss {
        loss: -total / labels as f64,
        grads,
        accuracy: hits as f64 / trained.max(1) as f64,
        entropy: sum / trained.max(1) as f64,
        tokens: rows.iter().flatten().map(|row| row.ids.len()).sum(),
        labels: trained,
    })
}

/// Creates the error for a batch without labels, because tensors cannot be empty.
const fn no_labels(what: &'static str) -> LmError {
    LmError::Length {
        what,
        found: 0,
        expected: 1,
    }
}

/// Packs rows into a batch, and selects the tokens that are trained.
fn read(
    model: &CausalLm,
    rows: &[Vec<&SftRow>],
    pad: u32,
) -> Result<(Batch, TokenSelection), LmError> {
    let mut packed = Vec::with_capacity(rows.len());
    for row in rows {
        let segments = row.iter().map(|example| {
            let ids = example.ids.as_slice();
            let is_label = |at: usize| example.is_label(at);
            (Segment { ids, prefix: None }, is_label)
        });
        packed.push(segments.collect());
    }
    TokenSelection::packed(model.config(), &packed, pad)
}
