//! Tokens that `config.json` names and that are no part of a model's shape: where texts begin and end,
//! and what fills rows.

use std::path::Path;

use serde_json::{Map, Value};

use super::Fields;
use crate::lm::LmError;

const KEYS: [&str; 3] = ["bos_token_id", "eos_token_id", "pad_token_id"];

/// Those that a folder's `config.json` names, for the `config.json` of a model made from it: where
/// there is no `generation_config.json`, nothing else says where a text ends.
pub(crate) fn special_tokens(folder: &Path) -> Result<Map<String, Value>, LmError> {
    let fields = Fields::read(&folder.join("config.json"), "a model configuration")?;
    let named = |key: &str| Some((key.to_owned(), fields.get(key)?.clone()));
    Ok(KEYS.into_iter().filter_map(named).collect())
}
