//! Who acts in the trust world.

use std::sync::Arc;

use sentinel_env::trust::{Action, Episode};
use sentinel_policy::replay::{EpisodeKey, ReplayEpisode};
use sentinel_policy::{Player, Policy as _, Trained};

use super::{Mind, Trust, setup};
use crate::play::Recording;
use crate::state::{Source, View};
use crate::world::{self, Files};

/// A player, or a recording.
pub enum Actor {
    /// A scripted or a trained player.
    Playing(Player),
    /// The actions of a file.
    Recorded(Box<ReplayEpisode>),
}

impl Actor {
    /// Who acts for a source; nobody when its file is not there.
    pub(super) fn new(
        view: &View<Trust>,
        source: &Source<Trust>,
        files: Files<'_, Trust>,
    ) -> Option<Self> {
        Some(match source {
            Source::Policy(policy) => Self::Playing(policy.player(view.seed, view.streams)),
            Source::Trained => {
                let policy = Trained::new(Arc::clone(files.model?));
                Self::Playing(Player::Public(Box::new(policy)))
            }
            Source::Replay(_) => {
                let key = EpisodeKey::from(&setup(view));
                Self::Recorded(Box::new(ReplayEpisode::new(files.replay?, &key)))
            }
            Source::You => return None,
        })
    }
}

impl world::Actor<Trust> for Actor {
    fn act(&mut self, episode: &Episode) -> (Option<Action>, bool) {
        match self {
            Self::Playing(player) => (player.choose_seen(episode), false),
            Self::Recorded(recorded) => {
                let observation = episode.observation();
                let action = recorded.choose(observation);
                let missed = recorded.misses().contains(&observation.step_count);
                (Some(action), missed)
            }
        }
    }

    fn watch(&mut self, episode: &Episode) {
        match self {
            Self::Playing(player) => player.watch(episode),
            Self::Recorded(recorded) => recorded.observe(episode.observation()),
        }
    }

    fn mind(&self, episode: &Episode) -> Mind {
        let (belief, probabilities) = match self {
            Self::Playing(player) => (player.belief(), player.probabilities()),
            Self::Recorded(recorded) => (recorded.belief(), recorded.probabilities()),
        };
        Mind {
            belief,
            values: None,
            probabilities: probabilities.filter(|_| !episode.observation().done()),
        }
    }

    fn weigh(&self, mind: &mut Mind) {
        if let Self::Playing(player) = self {
            mind.values = player.action_values();
        }
    }

    fn recording(&self, episode: &Episode) -> Option<Recording> {
        let Self::Recorded(recorded) = self else {
            return None;
        };
        let others = recorded.mismatches(episode.scenario().id());
        Some(Recording {
            hits: recorded.hits().len(),
            unused: recorded.unused().count(),
            misfits: others.map(|row| row.line).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::play;
    use crate::state::Branch;
    use sentinel_policy::Model;
    use sentinel_policy::learned::{ModelConfig, NetConfig, Weights};

    fn model() -> Arc<Model> {
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
