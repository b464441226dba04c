//! Errors of language models: files, text, options and devices.

use std::path::PathBuf;

use sentinel_base::Error;
use sentinel_tensor::DeviceReadError;

/// An error that occurs when a language model is read, run or written.
#[derive(Debug, thiserror::Error)]
pub enum LmError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// A file does not have the expected format.
    #[error("{} is not {kind}: {reason}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Expected content with its article, such as "a tokenizer".
        kind: &'static str,
        /// Reason why the content is rejected.
        reason: String,
    },
    /// A key of a JSON file is missing or has an invalid value.
    #[error("{}: key {key:?} {problem}; {remedy}", path.display())]
    Key {
        /// Path of the JSON file.
        path: PathBuf,
        /// Name of the offending key.
        key: String,
        /// Description of the problem.
        problem: String,
        /// Suggestion how to fix it.
        remedy: String,
    },
    /// A checkpoint lacks expected tensors or holds unexpected ones.
    #[error("{}: {problem}: {}; {remedy}", path.display(), listed(names))]
    Tensors {
        /// Path of the file, or of the folder of a sharded checkpoint.
        path: PathBuf,
        /// Description of the problem.
        problem: &'static str,
        /// Names of the affected tensors.
        names: Vec<String>,
        /// Suggestion how to fix it.
        remedy: &'static str,
    },
    /// A tensor has a different shape than the configuration requires.
    #[error("{}: tensor {name} has shape {found:?}, but {asked_by} asks for {expected:?}", path.display())]
    Shape {
        /// Path of the file.
        path: PathBuf,
        /// Name of the tensor.
        name: String,
        /// Shape found in the file.
        found: Vec<usize>,
        /// Shape required by `asked_by`.
        expected: Vec<usize>,
        /// Source of the expected shape, such as `config.json`.
        asked_by: &'static str,
    },
    /// The tokenizer has a token id that is outside the model's vocabulary.
    #[error(
        "{}: the tokenizer has {tokens} tokens (largest id {largest}), but the model's vocabulary holds {vocabulary}: \
         take the tokenizer.json that belongs to the model", path.display()
    )]
    Vocabulary {
        /// Path of the tokenizer file.
        path: PathBuf,
        /// Number of tokens in the tokenizer.
        tokens: usize,
        /// Largest token id in the tokenizer.
        largest: u32,
        /// Size of the model's vocabulary.
        vocabulary: usize,
    },
    /// A batch holds a token id that is outside the model's vocabulary.
    #[error("row {row} holds token {token}, but the model's vocabulary ends at {vocabulary}")]
    Token {
        /// Row index in the batch.
        row: usize,
        /// The invalid token id.
        token: u32,
        /// Size of the model's vocabulary.
        vocabulary: usize,
    },
    /// Prompts are longer than allowed; none was truncated.
    #[error(
        "{count} of {prompts} prompts are longer than {limit} tokens (the longest has {longest}, in row {row}): \
         shorten them or raise the limit (in training --max-length, less --max-completion-length)"
    )]
    PromptTooLong {
        /// Number of prompts that are too long.
        count: usize,
        /// Total number of prompts.
        prompts: usize,
        /// Length of the longest prompt, in tokens.
        longest: usize,
        /// Row index of the longest prompt.
        row: usize,
        /// Largest allowed length, in tokens.
        limit: usize,
    },
    /// Rows of a corpus are longer than allowed.
    #[error(
        "{count} of {rows} rows are longer than {limit} tokens (the longest has {longest}, line {line}): raise \
         --max-length, or leave them out with --too-long drop"
    )]
    RowsTooLong {
        /// Number of rows that are too long.
        count: usize,
        /// Total number of rows.
        rows: usize,
        /// Length of the longest row, in tokens.
        longest: usize,
        /// Line number of the longest row.
        line: usize,
        /// Largest allowed length, in tokens.
        limit: usize,
    },
    /// A row of a corpus cannot be encoded.
    #[error("line {line} of the corpus: {source}")]
    Row {
        /// The 1-based line of the corpus.
        line: usize,
        /// The reason why it cannot be encoded.
        source: Box<Self>,
    },
    /// A sequence has the wrong length.
    #[error("{what} has length {found}, expected {expected}")]
    Length {
        /// Name of the sequence.
        what: &'static str,
        /// Length that was found.
        found: usize,
        /// Length that is required.
        expected: usize,
    },
    /// An option has an invalid value.
    #[error("option {option} is {value}: it must be {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Value that was given.
        value: String,
        /// Description of the allowed values.
        allowed: &'static str,
    },
    /// A chat template does not parse, or rejects the messages.
    #[error("chat template of {}: {reason}", path.display())]
    Template {
        /// Path of the file that holds the template.
        path: PathBuf,
        /// Error message of the template engine.
        reason: String,
    },
    /// The tokenizer cannot encode or decode a text.
    #[error("tokenizer {}: {reason}", path.display())]
    Tokenizer {
        /// Path of the tokenizer file.
        path: PathBuf,
        /// Error message of the tokenizer.
        reason: String,
    },
    /// An adapter does not belong to the model.
    #[error("adapter {} does not fit the model: {reason}; load it with the base model that it was trained on", path.display())]
    AdapterMismatch {
        /// Path of the adapter's folder.
        path: PathBuf,
        /// Reason of the mismatch.
        reason: String,
    },
    /// The merged model's output differs from that of base and adapter.
    #[error(
        "the merged model's logits differ by {difference:e} from base and adapter, more than {tolerance:e}: nothing was written"
    )]
    Merge {
        /// Largest absolute difference of a logit.
        difference: f32,
        /// Largest difference that is accepted.
        tolerance: f32,
    },
    /// A model was not found in any of the searched places.
    #[error(
        "no model {asked:?}: looked in {}; {reason}. Give the path of a local folder with config.json and *.safetensors, \
         or download it where there is a network and set HF_HOME",
        listed(looked)
    )]
    NotFound {
        /// Path or name that was requested.
        asked: String,
        /// Places that were searched.
        looked: Vec<String>,
        /// Reason why it could not be downloaded.
        reason: String,
    },
    /// The closure that computes a loss returned an error.
    #[error(transparent)]
    Loss(Box<dyn std::error::Error + Send + Sync>),
    /// An engine outside of this process failed to generate completions.
    #[error(transparent)]
    Backend(Box<dyn std::error::Error + Send + Sync>),
    /// The device returned no numbers for a tensor.
    #[error(transparent)]
    Device(#[from] DeviceReadError),
}

/// Joins the first names of a list, and adds the number of names left out.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}

impl LmError {
    /// Wraps an error of a closure that computes a loss.
    pub fn loss(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Loss(Box::new(error))
    }

    /// Wraps an error of an engine that generates completions.
    pub fn backend(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Backend(Box::new(error))
    }

    /// Returns the error of a file that cannot be read.
    pub fn read(path: &std::path::Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::File(Error::Read { path, source })
    }

    /// Returns the error of a file that cannot be written.
    pub fn write(path: &std::path::Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::File(Error::Write { path, source })
    }
}
