//! The files that a model's folder can hold beside configuration and weights. The folder of an adapter can have a
//! tokenizer of its own, which then takes the place of the model's.

use std::path::{Path, PathBuf};

use sentinel_base::files;

use super::LmError;
use super::vocabulary_files::VOCABULARY_FILES;

/// Suggested options of generation, with the stop tokens.
pub const GENERATION_CONFIG: &str = "generation_config.json";

const TOKENIZER: &str = "tokenizer.json";

/// Names of the files of a tokenizer with its chat template.
pub const TOKENIZER_FILES: [&str; 7] = [
    TOKENIZER,
    "tokenizer_config.json",
    "chat_template.jinja",
    "special_tokens_map.json",
    "added_tokens.json",
    VOCABULARY_FILES[0],
    VOCABULARY_FILES[1],
];

/// Returns the folder of the tokenizer and chat template of a model with an adapter: that of the adapter if it has
/// a tokenizer, as other trainers write it there, and any of its files differs from that of the model.
///
/// # Errors
/// If the adapter has such files, but no tokenizer, or a file cannot be read.
pub fn tokenizer_folder<'a>(
    model: &'a Path,
    adapter: Option<&'a Path>,
) -> Result<&'a Path, LmError> {
    let Some(adapter) = adapter else {
        return Ok(model);
    };
    let mut other = None;
    for name in TOKENIZER_FILES {
        if adapter.join(name).is_file() && !is_same(&adapter.join(name), &model.join(name))? {
            other = other.or(Some(name));
        }
    }
    let Some(name) = other else {
        return Ok(model);
    };
    let has = |name: &str| adapter.join(name).is_file();
    if has(TOKENIZER) || VOCABULARY_FILES.into_iter().all(has) {
        return Ok(adapter);
    }
    Err(LmError::Format {
        path: adapter.to_owned(),
        kind: "the folder of a tokenizer",
        reason: format!(
            "its {name} is not that of the model, but it has no {TOKENIZER}: copy the model's into it to use both, or \
             remove {name}"
        ),
    })
}

fn is_same(own: &Path, of_model: &Path) -> Result<bool, LmError> {
    let read = |path: &Path| std::fs::read(path).map_err(|error| LmError::read(path, error));
    Ok(of_model.is_file() && read(own)? == read(of_model)?)
}

/// Returns the names and paths of the files beside those of a model, whose tokenizer is in folder `tokenizer`.
pub fn companions<'a>(
    model: &'a Path,
    tokenizer: &'a Path,
) -> impl Iterator<Item = (&'static str, PathBuf)> + 'a {
    let of_tokenizer = TOKENIZER_FILES.map(|name| (name, tokenizer.join(name)));
    std::iter::once((GENERATION_CONFIG, model.join(GENERATION_CONFIG))).chain(of_tokenizer)
}

/// Copies the files beside those of a model, whose tokenizer is in folder `tokenizer`. Each is written atomically.
///
/// # Errors
/// If a file cannot be read or written.
pub fn copy_companions(model: &Path, tokenizer: &Path, target: &Path) -> Result<(), LmError> {
    for (name, from) in companions(model, tokenizer).filter(|(_, from)| from.is_file()) {
        let bytes = std::fs::read(&from).map_err(|error| LmError::read(&from, error))?;
        files::write_atomic(&target.join(name), &bytes)?;
    }
    Ok(())
}
