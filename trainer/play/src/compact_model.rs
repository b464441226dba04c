//! The file of a compact policy, and the detection of a folder's kind of model. Neither needs a
//! tensor library.

use std::path::Path;

use sentinel_base::{Error, files};
use sentinel_policy::nn::{Architecture, Model};
use serde_json::Value;

pub use sentinel_policy::nn::MODEL_FILE;

/// Reads the model of a folder, or of a file.
///
/// ```
/// use std::sync::Arc;
///
/// use sentinel_env::{Environment, rng::Streams, trust::{Setup, Task}};
/// use sentinel_policy::nn::TrainedPolicy;
/// use sentinel_policy::{Player, rollout::run_episode, trust::learned::TrustNet};
/// use sentinel_play::compact_model::load_model;
///
/// # let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../replays/grpo"));
/// let model = Arc::new(load_model::<TrustNet>(folder)?);
/// let mut player = Player::Public(Box::new(TrainedPolicy::new(model)));
/// let run = run_episode(&Setup::new(Task::Task3, 42, Streams::Independent), &mut player);
/// println!("score {:.3}", run.episode().score());
/// # assert!(run.episode().score() > 0.5);
/// # Ok::<(), sentinel_base::Error>(())
/// ```
///
/// # Errors
/// Returns an error if it cannot be read, or is not a model that this build can run.
pub fn load_model<A: Architecture>(path: &Path) -> Result<Model<A>, Error> {
    let path = if path.is_dir() {
        path.join(MODEL_FILE)
    } else {
        path.to_owned()
    };
    let bytes = std::fs::read(&path).map_err(|source| Error::Read {
        path: path.clone(),
        source,
    })?;
    Model::from_bytes(&bytes).map_err(|error| Error::invalid(&path, error.to_string()))
}

/// Writes a model into an existing folder, where [`load_model`] finds it.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn save_model<A: Architecture>(model: &Model<A>, folder: &Path) -> Result<(), Error> {
    let path = folder.join(MODEL_FILE);
    let bytes = model
        .to_bytes()
        .map_err(|error| Error::invalid(&path, error.to_string()))?;
    files::write_atomic(&path, &bytes)
}

/// A kind of model that `--model` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// A policy of `sentinel train`: `model.safetensors`.
    Compact,
    /// A checkpoint in Hugging Face's format: `config.json` with `model_type`.
    Language,
}

impl ModelKind {
    /// Returns the kind of model that a folder or file holds; `None` if it holds none.
    #[must_use]
    pub fn from_files(path: &Path) -> Option<Self> {
        if has_model_type(&path.join("config.json")) {
            return Some(Self::Language);
        }
        let compact = path.is_file() || path.join(MODEL_FILE).is_file();
        compact.then_some(Self::Compact)
    }
}

/// Returns `true` if a configuration has the key `model_type`, which only Hugging Face's have.
fn has_model_type(config: &Path) -> bool {
    let text = std::fs::read(config).ok();
    let json = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    json.is_some_and(|json| json.get("model_type").is_some())
}
