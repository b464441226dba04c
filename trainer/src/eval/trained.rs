//! What stands behind policy `trained`: a model, or what one did once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sentinel_policy::nn::Model;
use sentinel_policy::replay::{AnyReplay, Replay};

use super::{Evaluated, Plan};
use crate::compact_model::{self, ModelKind};
use crate::provenance::Provenance;
use crate::{Contestant, Error, files};

/// The replay of policy `trained` unless another one or a model is named.
pub const DEFAULT_REPLAY: &str = "replays/trained.jsonl";

/// Where the actions of policy `trained` come from.
#[derive(Clone, Debug)]
pub enum Source<W: Evaluated> {
    /// Recorded.
    Replay {
        /// The file.
        path: PathBuf,
        /// Its rows.
        replay: Replay<W>,
        /// Its digest, and who acted in it that was a fallback.
        provenance: Provenance,
    },
    /// Chosen anew, by a model.
    Model {
        /// Its folder.
        path: PathBuf,
        /// The model.
        model: Arc<Model<W::Net>>,
        /// The digests of its files, and its fallbacks.
        provenance: Provenance,
    },
}

impl<W: Evaluated> Source<W> {
    /// The replay, if it is one.
    #[must_use]
    pub fn replay(&self) -> Option<(&Path, &Replay<W>)> {
        match self {
            Self::Replay { path, replay, .. } => Some((path, replay)),
            Self::Model { .. } => None,
        }
    }

    /// Where its actions come from.
    #[must_use]
    pub const fn provenance(&self) -> &Provenance {
        match self {
            Self::Replay { provenance, .. } | Self::Model { provenance, .. } => provenance,
        }
    }
}

impl<W: Evaluated> Plan<'_, W> {
    /// What policy `trained` plays; `None` when that policy does not take part.
    ///
    /// # Errors
    /// If it cannot be read, or is named although nobody plays it.
    pub fn load_trained(&self) -> Result<Option<Source<W>>, Error> {
        let config = self.config;
        let named = config.model.as_ref().or(config.replay.as_ref());
        if !self.policies.contains(&Contestant::Trained) {
            return match named {
                None => Ok(None),
                Some(path) => Err(Error::UnusedReplay(path.clone())),
            };
        }
        if let Some(folder) = &config.model {
            if ModelKind::of_files(folder) == Some(ModelKind::Language) {
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
            return Ok(Some(Source::Model {
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
            return Err(Error::NoReplay(path.to_owned()));
        }
        let replay = files::read_replay_of::<W>(path)?;
        let mut provenance = Provenance::of_replays(std::iter::once(&replay as &dyn AnyReplay));
        provenance.add_file("replay", path)?;
        Ok(Some(Source::Replay {
            path: path.to_owned(),
            replay,
            provenance,
        }))
    }
}

/// Reads the model of a folder.
///
/// # Errors
/// If it cannot be read, or was trained for another world.
pub fn load_model<W: Evaluated>(folder: &Path) -> Result<Arc<Model<W::Net>>, Error> {
    compact_model::load_model(folder).map(Arc::new)
}
