//! Detection of the kind of model that a name on the command line refers to.

use std::path::Path;

use sentinel_base::Error;
use sentinel_lm::{HubOptions, find_model};
pub use sentinel_play::compact_model::ModelKind;

/// Detects the kind of a model from the files in the folder or, without such a folder, by searching for a
/// language model with that name. Whether the files are valid is checked when they are read.
///
/// # Errors
/// If it is neither kind; the error lists the files that each kind consists of.
pub fn detect_model_kind(asked: &Path) -> Result<ModelKind, Error> {
    let name = asked.display();
    let neither = |reason: String| Error::argument("--model", reason);
    if let Some(kind) = ModelKind::from_files(asked) {
        return Ok(kind);
    }
    if !asked.is_dir() {
        let found = find_model(&asked.to_string_lossy(), &HubOptions::from_environment());
        return match found {
            Ok(_) => Ok(ModelKind::Language),
            Err(error) => Err(neither(format!(
                "{name} is neither the folder of a compact model nor a language model: {error}"
            ))),
        };
    }
    if asked.join("adapter_config.json").is_file() {
        return Err(neither(format!(
            "{name} holds a LoRA adapter: name its base model with --model, and this folder with --adapter"
        )));
    }
    Err(neither(format!(
        "{name} holds neither a compact model (model.safetensors of `sentinel train`) nor a language model \
         (config.json with model_type, *.safetensors and tokenizer.json, as of `sentinel lm init`, `lm sft` or `lm grpo`)"
    )))
}
