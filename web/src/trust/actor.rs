//! Who acts in the trust world.

use std::sync::Arc;

use sentinel_env::trust::{Action, Episode, TrustEnv};
use sentinel_policy::trust::Trained;

use super::{Mind, Trust, setup};
use crate::play::{Acting, Recording};
use crate::state::{Source, View};
use crate::world::{self, Files};

/// A player, or a recording.
pub type Actor = Acting<TrustEnv>;

/// Who acts for a source; nobody when its file is not there.
pub(super) fn actor(
    view: &View<Trust>,
    source: &Source<Trust>,
    files: Files<'_, Trust>,
) -> Option<Actor> {
    let trained = files.model.map(|model| Trained::new(Arc::clone(model)));
    Acting::of(source, &setup(view), files.replay, trained)
}

impl world::Actor<Trust> for Actor {
    fn act(&mut self, episode: &Episode) -> (Option<Action>, bool) {
        self.choose(episode)
    }

    fn watch(&mut self, episode: &Episode) {
        self.see(episode);
    }

    fn mind(&self, episode: &Episode) -> Mind {
        Mind {
            belief: self.belief(),
            values: None,
            probabilities: self.probabilities(episode),
        }
    }

    fn weigh(&self, mind: &mut Mind) {
        mind.values = self.values();
    }

    fn recording(&self, episode: &Episode) -> Option<Recording> {
        Self::recording(self, episode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::play;
    use crate::state::Branch;
    use sentinel_policy::nn::Model;
    use sentinel_policy::nn::{ModelConfig, Weights};
    use sentinel_policy::trust::learned::NetConfig;

    fn model() -> Arc<Model<NetConfig>> {
        let net = NetConfig::default();
        Arc::new(Model {
            config: ModelConfig::new("test", net),
            weights: Weights::init(net, 7),
        })
    }

    #[test]
    fn the_trained_policy_says_how_likely_each_action_is() {
        let (view, model) = (View::<Trust>::default(), model());
        let files = Files {
            model: Some(&model),
            replay: None,
        };
        let run = play(&view, &Source::Trained, None, files);
        assert!(run.done() && run.whole);
        for (frame, next) in run.frames.iter().zip(&run.frames[1..]) {
            let all = frame.mind.probabilities.expect("before the end");
            assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let chosen = next.step.expect("a step").action;
            let at = Action::ALL.iter().position(|action| *action == chosen);
            let most = all.iter().fold(0.0, |most: f64, p| most.max(*p));
            assert_eq!(at.map(|at| all[at]), Some(most));
            assert!(frame.mind.belief.is_some());
        }
        assert_eq!(run.at(usize::MAX).mind.probabilities, None);
    }

    #[test]
    fn nobody_stands_in_for_weights_that_are_missing() {
        let branch = Branch {
            at: 0,
            actions: vec![Action::Skip],
            resume: true,
        };
        for (branch, actions) in [(None, 0), (Some(branch), 1)] {
            let view = View::<Trust>::default();
            let run = play(&view, &Source::Trained, branch.as_ref(), Files::default());
            assert_eq!((run.last(), run.done()), (actions, false));
        }
    }
}
