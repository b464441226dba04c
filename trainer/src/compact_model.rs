//! The file of a compact policy, and which kind of model a folder holds. Neither needs a tensor.

use std::path::Path;

use sentinel_policy::nn::{Architecture, Model};
use serde_json::Value;

use crate::{Error, files};

/// The file of a compact policy in its folder.
pub const MODEL: &str = "model.safetensors";

/// Reads the model of a folder, or of a file.
///
/// # Errors
/// If it cannot be read, or is no model that this build can run.
pub fn load_model<A: Architecture>(path: &Path) -> Result<Model<A>, Error> {
    let path = if path.is_dir() {
        path.join(MODEL)
    } else {
        path.to_owned()
    };
    let bytes = std::fs::read(&path).map_err(|source| Error::Read {
        path: path.clone(),
        source,
    })?;
    Model::from_bytes(&bytes).map_err(|error| Error::Model {
        path,
        reason: error.to_string(),
    })
}

/// Writes a model into a folder that exists, where [`load_model`] finds it.
///
/// # Errors
/// If it cannot be written.
pub fn save_model<A: Architecture>(model: &Model<A>, folder: &Path) -> Result<(), Error> {
    let path = folder.join(MODEL);
    let bytes = model.to_bytes().map_err(|error| Error::Model {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    files::write(&path, &bytes)
}

/// What `--model` can name where both kinds can play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// A policy of `sentinel train`: `model.safetensors`.
    Compact,
    /// A checkpoint as Hugging Face has it: `config.json` with `model_type`.
    Language,
}

impl ModelKind {
    /// Tells by what a folder or file holds.
    #[must_use]
    pub fn of_files(path: &Path) -> Option<Self> {
        if has_model_type(&path.join("config.json")) {
            return Some(Self::Language);
        }
        let compact = path.is_file() || path.join(MODEL).is_file();
        compact.then_some(Self::Compact)
    }
}

/// Hugging Face's configurations say what they are of; those of our runs have no such key.
fn has_model_type(config: &Path) -> bool {
    let text = std::fs::read(config).ok();
    let json = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    json.is_some_and(|json| json.get("model_type").is_some())
}
