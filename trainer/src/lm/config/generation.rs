//! `generation_config.json`: how a model wants to be sampled, and where it ends.

use std::path::Path;

use super::Fields;
use crate::lm::LmError;

/// What a checkpoint suggests for generation. Nothing of it applies unless a caller takes it up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerationDefaults {
    /// Tokens that end a text: one or several in the file.
    pub eos_token_ids: Vec<u32>,
    /// What fills the rows of a batch.
    pub pad_token_id: Option<u32>,
    /// Whether to sample instead of taking the best token.
    pub do_sample: bool,
    /// Divides the logits.
    pub temperature: Option<f64>,
    /// Keeps the most likely tokens up to this mass.
    pub top_p: Option<f64>,
    /// Keeps so many tokens.
    pub top_k: Option<usize>,
    /// Weakens tokens that are in the text.
    pub repetition_penalty: Option<f64>,
}

impl GenerationDefaults {
    /// Reads a folder's `generation_config.json`. Where a text ends and what fills rows is in its
    /// `config.json` if the former is not there or has no such key; a key that is null says that there
    /// is none.
    ///
    /// # Errors
    /// If a file cannot be read or a key makes no sense.
    pub fn read(folder: &Path) -> Result<Self, LmError> {
        let read = |path: &Path| Fields::read(path, "a generation configuration");
        let own = folder.join("generation_config.json");
        let model = folder.join("config.json");
        let (fields, model) = if own.is_file() {
            let model = model.is_file().then(|| read(&model)).transpose()?;
            (read(&own)?, model)
        } else {
            (read(&model)?, None)
        };
        let tokens = |key: &str| match &model {
            Some(model) if !fields.values().contains_key(key) => model.tokens(key),
            _ => fields.tokens(key),
        };
        let top_k = match fields.number("top_k")? {
            Some(0.0) | None => None,
            Some(_) => fields.optional_count("top_k")?,
        };
        Ok(Self {
            eos_token_ids: tokens("eos_token_id")?,
            pad_token_id: tokens("pad_token_id")?.first().copied(),
            do_sample: fields.flag("do_sample")?,
            temperature: fields.number("temperature")?,
            top_p: fields.number("top_p")?,
            top_k,
            repetition_penalty: fields.number("repetition_penalty")?,
        })
    }
}
