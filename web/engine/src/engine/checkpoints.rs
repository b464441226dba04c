//! Checkpoints of the trained policy: model files that ship with the page.

use std::sync::Arc;

use sentinel_page_protocol::Reply;
use sentinel_policy::nn::Model;

use super::Engine;
use super::address_names::Source;
use crate::files::Fetched;
use crate::world::{PageWorld, checkpoint_path};

/// The models of a world that are players: the trained policy and its checkpoints.
pub(super) struct Models<W: PageWorld> {
    /// The trained policy.
    pub(super) trained: Fetched<Arc<Model<W::Net>>>,
    /// The checkpoints in the order of [`PageWorld::CHECKPOINTS`]; shorter if none was needed.
    checkpoints: Vec<Fetched<Arc<Model<W::Net>>>>,
}

impl<W: PageWorld> Default for Models<W> {
    fn default() -> Self {
        let checkpoints = W::CHECKPOINTS.iter().map(|_| Fetched::NotRequested);
        Self {
            trained: Fetched::NotRequested,
            checkpoints: checkpoints.collect(),
        }
    }
}

impl<W: PageWorld> Models<W> {
    /// Returns the model that plays as `source`; `None` for players without a model.
    pub(super) fn of(
        &self,
        source: &Source<W::PolicyName>,
    ) -> Option<&Fetched<Arc<Model<W::Net>>>> {
        match source {
            Source::Trained => Some(&self.trained),
            Source::Checkpoint(index) => self.checkpoints.get(*index),
            Source::Policy(_) | Source::Replay(_) | Source::Model(_) | Source::Visitor => None,
        }
    }
}

/// Returns the index of the checkpoint whose file has this path.
pub(super) fn index_of_path<W: PageWorld>(path: &str) -> Option<usize> {
    let mut all = W::CHECKPOINTS.iter();
    all.position(|checkpoint| checkpoint_path::<W>(checkpoint) == path)
}

impl<W: PageWorld> Engine<W> {
    /// Requests the file of a checkpoint unless it is here or on its way.
    pub(super) fn need_checkpoint(&mut self, index: usize) {
        let Some(model) = self.models.checkpoints.get_mut(index) else {
            return;
        };
        if model.is_missing() {
            *model = Fetched::Loading;
            let path = checkpoint_path::<W>(&W::CHECKPOINTS[index]);
            self.replies.push_back(Reply::Need(path));
        }
    }

    /// Takes the file of a checkpoint, or the reason why it is missing.
    pub(super) fn handle_checkpoint(
        &mut self,
        index: usize,
        path: &str,
        content: Result<Vec<u8>, String>,
    ) {
        let read = content.and_then(|bytes| {
            let model = Model::from_bytes(&bytes);
            model.map_err(|e| format!("{path} does not contain a policy: {e}"))
        });
        let model = match read {
            Ok(model) => Fetched::Ready(Arc::new(model)),
            Err(reason) => {
                let reason = format!("{reason}. No other policy replaces it.");
                self.problem(reason.clone());
                Fetched::Failed(reason)
            }
        };
        if let Some(place) = self.models.checkpoints.get_mut(index) {
            *place = model;
        }
        self.restart(|source| *source == Source::Checkpoint(index));
    }
}
