//! `generation_config.json`: suggested sampling parameters and stop tokens.

use std::path::Path;

use super::Fields;
use crate::LmError;

/// The generation parameters that a checkpoint suggests. They apply only if a caller uses them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerationDefaults {
    /// Ids of the tokens that end a text; the file holds one or several.
    pub eos_token_ids: Vec<u32>,
    /// Id of the token that pads the rows of a batch.
    pub pad_token_id: Option<u32>,
    /// `true` for sampling, `false` for greedy decoding.
    pub do_sample: bool,
    /// Divisor of the logits when sampling.
    pub temperature: Option<f64>,
    /// Probability mass for nucleus sampling: the most likely tokens up to this mass are kept.
    pub top_p: Option<f64>,
    /// Number of most likely tokens that are kept; `None` keeps all.
    pub top_k: Option<usize>,
    /// Penalty for tokens that already occur in the text.
    pub repetition_penalty: Option<f64>,
}

impl GenerationDefaults {
    /// Reads `generation_config.json` of a folder.
    ///
    /// Stop and padding tokens come from `config.json` if `generation_config.json` does not exist
    /// or lacks the key; a key that is null means that there is no such token.
    ///
    /// # Errors
    /// If a file cannot be read or a value is invalid.
    pub fn load(folder: &Path) -> Result<Self, LmError> {
        let read = |path: &Path| Fields::load(path, "a generation configuration");
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
