//! The source of policy `trained`: a model, or a replay of one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, EvalPolicy, files};
use sentinel_policy::nn::Model;
use sentinel_policy::replay::{AnyReplay, Replay};

use super::plan::Plan;
use super::summary::Evaluated;
use crate::compact_model::{self, ModelKind};
use crate::error::PlayError;

/// The replay of policy `trained` unless another one or a model is named.
pub const DEFAULT_REPLAY: &str = "replays/trained.jsonl";

/// The source of the actions of policy `trained`.
#[derive(Clone, Debug)]
pub enum TrainedSource<W: Evaluated> {
    /// Recorded actions of a replay.
    Replay {
        /// The path of the replay.
        path: PathBuf,
        /// The rows of the replay.
        replay: Replay<W>,
        /// The digest of the file, and the fallbacks that acted in it.
        provenance: Provenance,
    },
    /// Actions that a model chooses anew.
    Model {
        /// The folder of the model.
        path: PathBuf,
        /// The weights and configuration of the model.
        model: Arc<Model<W::Net>>,
        /// The digests of the model's files, and its fallbacks.
        provenance: Provenance,
    },
}

impl<W: Evaluated> TrainedSource<W> {
    /// Returns the path and the rows if the source is a replay.
    #[must_use]
    pub fn replay(&self) -> Option<(&Path, &Replay<W>)> {
        match self {
            Self::Replay { path, replay, .. } => Some((path, replay)),
            Self::Model { .. } => None,
        }
    }

    /// Returns the provenance of the actions.
    #[must_use]
    pub const fn provenance(&self) -> &Provenance {
        match self {
            Self::Replay { provenance, .. } | Self::Model { provenance, .. } => provenance,
        }
    }
}

impl<W: Evaluated> Plan<'_, W> {
    /// Loads the source of policy `trained`; `None` if that policy does not take part.
    ///
    /// # Errors
    /// Returns an error if the source cannot be read, or is named although policy `trained` does
    /// not play.
    pub fn load_trained(&self) -> Result<Option<TrainedSource<W>>, Error> {
        let config = self.config;
        let named = config.model.as_ref().or(config.replay.as_ref());
        if !self.policies.contains(&EvalPolicy::Trained) {
            return match named {
                None => Ok(None),
                Some(path) => Err(PlayError::UnusedReplay(path.clone()).into()),
            };
        }
        if let Some(folder) = &config.model {
            if ModelKind::from_files(folder) == Some(ModelKind::Language) {
                let reason = format!(
                    "{} holds a language model: measure it with `sentinel lm eval`, or record it with `sentinel record` \
                     and name the file with --replay",
                    folder.display()
                );
                return Err(Error::argument("--model", reason));
            }
            let model = load_model::<W>(folder)?;
            let mut provenance = Provenance::new();
            provenance.add_model("model", folder)?;
            return Ok(Some(TrainedSource::Model {
                path: folder.clone(),
                model,
                provenance,
            }));
        }
        let path = config
            .replay
            .as_deref()
            .unwrap_or(Path::new(DEFAULT_REPLAY));
        if !path.exists() {
            return Err(PlayError::NoReplay(path.to_owned()).into());
        }
        let replay = files::read_replay_of::<W>(path)?;
        let mut provenance = Provenance::from_replays(std::iter::once(&replay as &dyn AnyReplay));
        provenance.add_file("replay", path)?;
        Ok(Some(TrainedSource::Replay {
            path: path.to_owned(),
            replay,
            provenance,
        }))
    }
}

/// Reads the model of a folder.
///
/// # Errors
/// Returns an error if it cannot be read, or was trained for another world.
pub fn load_model<W: Evaluated>(folder: &Path) -> Result<Arc<Model<W::Net>>, Error> {
    compact_model::load_model(folder).map(Arc::new)
}
