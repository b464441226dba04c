//! Who acts in the cluster world, and what its trained policy says of itself.

use std::sync::Arc;

use sentinel_env::cluster::{Action, ClusterEnv, Episode};
use sentinel_policy::cluster::learned::{ClusterNet, Trained};
use sentinel_policy::nn::Model;

use super::{Cluster, Mind, setup};
use crate::play::{Acting, Recording};
use crate::state::{Source, View};
use crate::text::grouped;
use crate::world::{self, Files};

/// Where the weights lie.
pub(super) const WEIGHTS: &str = "replays/cluster-grpo/model.safetensors";

/// A player, or a recording.
pub type Actor = Acting<ClusterEnv>;

/// Who acts for a source; nobody when its file is not there.
pub(super) fn actor(
    view: &View<Cluster>,
    source: &Source<Cluster>,
    files: Files<'_, Cluster>,
) -> Option<Actor> {
    let trained = files.model.map(|model| Trained::new(Arc::clone(model)));
    Acting::of(source, &setup(view), files.replay, trained)
}

impl world::Actor<Cluster> for Actor {
    fn act(&mut self, episode: &Episode) -> (Option<Action>, bool) {
        self.choose(episode)
    }

    fn watch(&mut self, episode: &Episode) {
        self.see(episode);
    }

    fn mind(&self, episode: &Episode) -> Mind {
        Mind {
            belief: self.belief(),
            words: self.probabilities(episode),
        }
    }

    fn recording(&self, episode: &Episode) -> Option<Recording> {
        Self::recording(self, episode)
    }
}

/// What a model says of itself: name, rules, and size.
pub(super) fn words(model: &Model<ClusterNet>) -> String {
    let rules = match model.config.rules.as_str() {
        "" => "reference",
        named => named,
    };
    format!(
        "Model “{}”, trained under {rules} rules: 2 layers of {} hidden units over jobs, GPUs and workers, {} parameters",
        model.config.name,
        model.config.net.hidden,
        grouped(model.weights.count())
    )
}
