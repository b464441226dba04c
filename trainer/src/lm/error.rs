//! What can go wrong with a language model's files, its text and its device.

use std::path::PathBuf;

use crate::Error;

/// Why a language model cannot be read, run or written.
#[derive(Debug, thiserror::Error)]
pub enum LmError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// A file is not what its name says.
    #[error("{} is not {kind}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What it should be.
        kind: &'static str,
        /// Why it is not.
        reason: String,
    },
    /// A key of a JSON file.
    #[error("{}: key {key:?} {problem}; {remedy}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What is wrong.
        problem: String,
        /// The way out.
        remedy: String,
    },
    /// Tensors that a checkpoint should hold and does not, or holds and should not.
    #[error("{}: {problem}: {}; {remedy}", path.display(), listed(names))]
    Tensors {
        /// The file, or the folder of a sharded checkpoint.
        path: PathBuf,
        /// What is wrong with them.
        problem: &'static str,
        /// Their names.
        names: Vec<String>,
        /// The way out.
        remedy: &'static str,
    },
    /// A tensor of another shape than the configuration asks for.
    #[error("{}: tensor {name} has shape {found:?}, but {asked_by} asks for {expected:?}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// What it should be.
        expected: Vec<usize>,
        /// Who says so.
        asked_by: &'static str,
    },
    /// A tokenizer with more tokens than the model has rows for.
    #[error(
        "{}: the tokenizer has {tokens} tokens (largest id {largest}), but the model's vocabulary holds {vocabulary}: \
         take the tokenizer.json that belongs to the model", path.display()
    )]
    Vocabulary {
        /// The tokenizer's file.
        path: PathBuf,
        /// Its tokens.
        tokens: usize,
        /// The largest id among them.
        largest: u32,
        /// The model's `vocab_size`.
        vocabulary: usize,
    },
    /// A token id that the model does not have.
    #[error("row {row} holds token {token}, but the model's vocabulary ends at {vocabulary}")]
    Token {
        /// The row of the batch.
        row: usize,
        /// The id.
        token: u32,
        /// The model's `vocab_size`.
        vocabulary: usize,
    },
    /// Prompts that do not fit. None was cut.
    #[error(
        "{count} of {prompts} prompts are longer than {limit} tokens (the longest has {longest}, in row {row}): \
         shorten them or raise the limit (in training --max-length, less --max-completion-length)"
    )]
    PromptTooLong {
        /// How many.
        count: usize,
        /// Of how many.
        prompts: usize,
        /// The length of the longest.
        longest: usize,
        /// Its row.
        row: usize,
        /// What is allowed.
        limit: usize,
    },
    /// Rows of a corpus that do not fit.
    #[error(
        "{count} of {rows} rows are longer than {limit} tokens (the longest has {longest}, line {line}): raise \
         --max-length, or leave them out with --too-long drop"
    )]
    RowsTooLong {
        /// How many.
        count: usize,
        /// Of how many.
        rows: usize,
        /// The length of the longest.
        longest: usize,
        /// Its line.
        line: usize,
        /// What is allowed.
        limit: usize,
    },
    /// Sequences that do not fit.
    #[error("{what} has length {found}, expected {expected}")]
    Length {
        /// Of what.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it should be.
        expected: usize,
    },
    /// An option's value.
    #[error("option {option} is {value}: it must be {allowed}")]
    Option {
        /// The option.
        option: &'static str,
        /// What it was set to.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// A chat template that does not parse, or that refuses the messages.
    #[error("chat template of {}: {reason}", path.display())]
    Template {
        /// Where the template is from.
        path: PathBuf,
        /// What it says.
        reason: String,
    },
    /// Text that the tokenizer cannot take or give.
    #[error("tokenizer {}: {reason}", path.display())]
    Tokenizer {
        /// The tokenizer's file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// An adapter that does not belong to the model.
    #[error("adapter {} does not fit the model: {reason}; load it with the base model that it was trained on", path.display())]
    AdapterMismatch {
        /// The adapter's folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A merge whose result is not what base and adapter say.
    #[error(
        "the merged model's logits differ by {difference:e} from base and adapter, more than {tolerance:e}: nothing was written"
    )]
    Merge {
        /// The largest difference.
        difference: f32,
        /// What is allowed.
        tolerance: f32,
    },
    /// A model that is nowhere.
    #[error(
        "no model {asked:?}: looked in {}; {reason}. Give the path of a local folder with config.json and *.safetensors, \
         or download it where there is a network and set HF_HOME",
        listed(looked)
    )]
    NotFound {
        /// What was asked for.
        asked: String,
        /// Where it was looked for.
        looked: Vec<String>,
        /// Why it could not be fetched.
        reason: String,
    },
    /// An error of the closure that computes a loss.
    #[error(transparent)]
    Loss(Box<dyn std::error::Error + Send + Sync>),
    /// The device gave something back that is no number.
    #[error("the device failed: {0}")]
    Device(String),
}

/// The first few names of a list, and how many there are more.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}

impl LmError {
    /// Wraps an error of the closure that computes a loss.
    pub fn loss(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Loss(Box::new(error))
    }

    pub(crate) fn read(path: &std::path::Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::File(Error::Read { path, source })
    }

    pub(crate) fn write(path: &std::path::Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::File(Error::Write { path, source })
    }
}
