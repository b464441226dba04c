//! Token ids in `config.json` that are not part of a model's shape: begin, end and padding.

use std::path::Path;

use serde_json::{Map, Value};

use super::Fields;
use crate::LmError;

const KEYS: [&str; 3] = ["bos_token_id", "eos_token_id", "pad_token_id"];

/// Returns the token ids named in a folder's `config.json`, for the `config.json` of a model
/// derived from it. Without a `generation_config.json` these keys are the only record of the stop
/// token.
pub fn special_tokens(folder: &Path) -> Result<Map<String, Value>, LmError> {
    let fields = Fields::load(&folder.join("config.json"), "a model configuration")?;
    let named = |key: &str| Some((key.to_owned(), fields.get(key)?.clone()));
    Ok(KEYS.into_iter().filter_map(named).collect())
}
