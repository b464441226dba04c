//! Who acts in the PolyGuard world.

use sentinel_env::polyguard::{Episode, PolyguardWorld};
use sentinel_policy::polyguard::learned::Trained;

use super::pick::Pick;
use super::{Mind, Polyguard, setup};
use crate::play::{Acting, Recording};
use crate::state::{Source, View};
use crate::world::{self, Files};

/// A player, or a recording.
pub struct Actor(Acting<PolyguardWorld>);

/// Who acts for a source; nobody when its file is not there.
pub(super) fn actor(
    view: &View<Polyguard>,
    source: &Source<Polyguard>,
    files: Files<'_, Polyguard>,
) -> Option<Actor> {
    let trained = files.model.map(|model| Trained::new(model.clone()));
    Acting::of(source, &setup(view), files.replay, trained).map(Actor)
}

impl world::Actor<Polyguard> for Actor {
    fn act(&mut self, episode: &Episode) -> (Option<Pick>, bool) {
        let (action, missed) = self.0.choose(episode);
        let pick = action.map(|action| Pick::of(episode.observation(), action));
        (pick, missed)
    }

    fn watch(&mut self, episode: &Episode) {
        self.0.see(episode);
    }

    fn mind(&self, episode: &Episode) -> Mind {
        Mind {
            probabilities: self.0.probabilities(episode),
            ..Mind::default()
        }
    }

    fn weigh(&self, mind: &mut Mind) {
        mind.values = self.0.values();
    }

    fn recording(&self, episode: &Episode) -> Option<Recording> {
        self.0.recording(episode)
    }
}
