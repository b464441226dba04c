//! The models that ship with the page: those of the trained policy, and its checkpoints.

use std::sync::Arc;

use sentinel_env::rules::Rules;
use sentinel_page_protocol::Reply;
use sentinel_policy::nn::Model;

use super::Engine;
use super::address_names::Source;
use super::displayed_runs::trained;
use crate::actor::Actor;
use crate::files::Fetched;
use crate::world::{PageWorld, checkpoint_folder, weights_path};

/// The models of a world that are players. Each has an index: those of
/// [`Published::MODELS`](sentinel_policy::nn::Published::MODELS) come first, then those of
/// [`PageWorld::CHECKPOINTS`].
pub(super) struct Models<W: PageWorld> {
    all: Vec<Fetched<Arc<Model<W::Net>>>>,
    /// `true` while the shell waits for the scores of the checkpoints.
    pub(super) wants_scores: bool,
}

impl<W: PageWorld> Default for Models<W> {
    fn default() -> Self {
        let count = W::MODELS.len() + W::CHECKPOINTS.len();
        Self {
            all: (0..count).map(|_| Fetched::NotRequested).collect(),
            wants_scores: false,
        }
    }
}

impl<W: PageWorld> Models<W> {
    /// Returns the model that plays as `source` in an episode under `rules`; `None` for players without a
    /// model.
    pub(super) fn of(
        &self,
        source: &Source<W::PolicyName>,
        rules: Rules<W::Change>,
    ) -> Option<&Fetched<Arc<Model<W::Net>>>> {
        self.all.get(model_index::<W>(source, rules)?)
    }

    /// Returns the trained policy as a watcher of a run under `rules`; `None` if the run is not watched,
    /// and while the model is not here.
    pub(super) fn watcher(
        &self,
        watched: bool,
        rules: Rules<W::Change>,
    ) -> Option<Box<dyn Actor<W>>> {
        let model = self.of(&Source::Trained, rules).filter(|_| watched)?;
        model.ready().map(trained::<W>)
    }

    /// Returns `true` while a checkpoint is on its way.
    pub(super) fn is_checkpoint_loading(&self) -> bool {
        let mut checkpoints = self.all.iter().skip(W::MODELS.len());
        checkpoints.any(|model| matches!(model, Fetched::Loading))
    }
}

/// Returns the index of the model that plays as `source` in an episode under `rules`; `None` for
/// players without a model.
pub(super) fn model_index<W: PageWorld>(
    source: &Source<W::PolicyName>,
    rules: Rules<W::Change>,
) -> Option<usize> {
    match source {
        Source::Trained => {
            let folder = W::published_model(rules);
            // A model that plays under all rules is loaded once.
            W::MODELS.iter().position(|known| *known == folder)
        }
        Source::Checkpoint(index) => Some(W::MODELS.len() + index),
        Source::Policy(_) | Source::Replay(_) | Source::Model(_) | Source::Visitor => None,
    }
}

/// Returns the path of a model's weights, relative to the page.
pub(super) fn model_path<W: PageWorld>(index: usize) -> String {
    match W::MODELS.get(index) {
        Some(folder) => weights_path(folder),
        None => weights_path(&checkpoint_folder::<W>(
            &W::CHECKPOINTS[index - W::MODELS.len()],
        )),
    }
}

impl<W: PageWorld> Engine<W> {
    /// Requests the file of a model unless it is here or on its way.
    pub(super) fn need_model(&mut self, index: usize) {
        if let Some(model) = self.models.all.get_mut(index)
            && model.is_missing()
        {
            *model = Fetched::Loading;
            self.replies.push_back(Reply::Need(model_path::<W>(index)));
        }
    }

    /// Takes the file of a model, or the reason why it is missing. Returns `false` if `path` is not the
    /// path of a model.
    pub(super) fn handle_model(&mut self, path: &str, content: &Result<Vec<u8>, String>) -> bool {
        let mut indices = 0..self.models.all.len();
        let Some(index) = indices.find(|index| model_path::<W>(*index) == path) else {
            return false;
        };
        let read = match content {
            Ok(bytes) => Model::from_bytes(bytes).map_err(|e| {
                format!("{path} does not contain a policy: {e}. No other policy replaces it.")
            }),
            Err(reason) => Err(format!(
                "{reason} Without its weights the trained policy cannot play, and no other policy replaces it."
            )),
        };
        self.models.all[index] = match read {
            Ok(model) => Fetched::Ready(Arc::new(model)),
            Err(reason) => {
                self.problem(reason.clone());
                Fetched::Failed(reason)
            }
        };
        self.restart(|shown| shown.needs_model(index));
        self.send_scores();
        true
    }
}
