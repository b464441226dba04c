//! Which kind of model a name on the command line stands for.

use std::path::Path;

use crate::Error;
pub use crate::compact_model::ModelKind;
use crate::lm::{HubOptions, find_model};

impl ModelKind {
    /// Tells by what the folder holds; where there is none, by whether a language model of that name is
    /// found elsewhere. Whether the files can be read is seen when they are.
    ///
    /// # Errors
    /// If it is neither kind, with what each is made of.
    pub fn detect(asked: &Path) -> Result<Self, Error> {
        let name = asked.display();
        let neither = |reason: String| Error::argument("--model", reason);
        if let Some(kind) = Self::of_files(asked) {
            return Ok(kind);
        }
        if !asked.is_dir() {
            let found = find_model(&asked.to_string_lossy(), &HubOptions::from_environment());
            return match found {
                Ok(_) => Ok(Self::Language),
                Err(error) => Err(neither(format!(
                    "{name} is no folder of a compact model, and no language model: {error}"
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
}
