//! All frames of an episode: what stood before each action, and what the action led to.

use std::sync::Arc;

use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, Episode, Session, Step};
use sentinel_policy::replay::{EpisodeKey, Replay, ReplayEpisode};
use sentinel_policy::{Model, Player, Trained};

use crate::state::{Branch, Source, View};

/// The episode after a number of actions.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The episode itself, hidden state and all; the components decide what to show.
    pub episode: Episode,
    /// The action that led here; none in the first frame.
    pub step: Option<Step>,
    /// Whether that action was a replay's fallback, because the file has no row for it.
    pub missed: bool,
    /// Whether the person at the page took it.
    pub own: bool,
    /// What the player believes now, `[slot][behaviour]`.
    pub belief: Option<[[f64; SLOTS]; SLOTS]>,
    /// What the player made of each of [`Action::ALL`] before it chose the next.
    pub values: Option<[f64; 12]>,
    /// Probability that the player gives each of [`Action::ALL`] now; none after the end.
    pub probabilities: Option<[f64; 12]>,
}

/// What a source may need from files, as far as it is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// The file of a replay source.
    pub replay: Option<&'a Replay>,
    /// The weights of the trained policy.
    pub model: Option<&'a Arc<Model>>,
}

/// An episode from its start to its end, or to where the person has to act.
#[derive(Clone, Debug)]
pub struct Frames {
    /// At least one.
    pub frames: Vec<Frame>,
    /// Size and hash of the whole trajectory.
    pub digest: String,
    /// Recorded actions that could be played; `None` when no replay plays.
    pub hits: Option<usize>,
    /// Rows of the replay for this episode that were never reached; 0 while it has not ended.
    pub unused: usize,
    /// Lines that were played although they were recorded in another scenario.
    pub misfits: Vec<usize>,
}

impl Frames {
    /// The frame after `cursor` actions, or the last one.
    #[must_use]
    pub fn at(&self, cursor: usize) -> &Frame {
        &self.frames[cursor.min(self.last())]
    }

    /// Index of the last frame: the number of actions.
    #[must_use]
    pub fn last(&self) -> usize {
        self.frames.len() - 1
    }

    /// Whether the episode has ended.
    #[must_use]
    pub fn done(&self) -> bool {
        self.at(usize::MAX).episode.observation().done()
    }

    /// The actions that led to the frame after `cursor` actions, or to the last one.
    #[must_use]
    pub fn actions(&self, cursor: usize) -> Vec<Action> {
        let played = &self.frames[..=cursor.min(self.last())];
        played
            .iter()
            .filter_map(|frame| frame.step.map(|step| step.action))
            .collect()
    }

    /// Actions that the person took.
    #[must_use]
    pub fn own(&self) -> usize {
        self.frames.iter().filter(|frame| frame.own).count()
    }

    /// Fallback actions.
    #[must_use]
    pub fn misses(&self) -> usize {
        self.frames.iter().filter(|frame| frame.missed).count()
    }

    /// The first action at which two episodes differ, 1-based.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<usize> {
        let action = |frames: &Self, i: usize| frames.frames.get(i)?.step.map(|step| step.action);
        (1..=self.last().max(other.last())).find(|i| action(self, *i) != action(other, *i))
    }
}

/// Plays what a view asks for. Nobody acts for a source whose file is not there.
#[must_use]
pub fn play(view: &View, source: &Source, branch: Option<&Branch>, files: Files<'_>) -> Frames {
    let setup = view.setup();
    let mut actor = Actor::new(view, source, files);
    let mut session = Session::new(&setup);
    actor.watch(session.episode());
    let mut frames = vec![actor.frame(&session, false, false)];
    while !session.episode().observation().done() {
        let taken = frames.len() - 1;
        let own = branch.and_then(|b| taken.checked_sub(b.at).map(|i| (b, i)));
        let (action, missed, own) = match own {
            Some((branch, i)) if i < branch.actions.len() => (Some(branch.actions[i]), false, true),
            Some((branch, _)) if !branch.resume => (None, false, false),
            _ => {
                let (action, missed) = actor.act(session.episode());
                (action, missed, false)
            }
        };
        if let Some(frame) = frames.last_mut() {
            frame.values = actor.values();
        }
        // The loop's condition keeps steps from coming after the end.
        let Some(Ok(_)) = action.map(|action| session.act(action)) else {
            break;
        };
        actor.watch(session.episode());
        frames.push(actor.frame(&session, missed, own));
    }
    let mut run = Frames {
        hits: None,
        unused: 0,
        misfits: Vec::new(),
        frames,
        digest: session.fingerprints().digest().to_string(),
    };
    if let Actor::Recorded(recorded) = &actor {
        run.hits = Some(recorded.hits().len());
        // Rows that a person's own actions cut off are no fault of the file.
        if branch.is_none() {
            run.unused = recorded.unused().count();
        }
        let others = recorded.mismatches(session.episode().scenario().id());
        run.misfits = others.map(|row| row.line).collect();
    }
    run
}

/// Who acts, with what the page wants to know of it.
enum Actor {
    Playing(Player),
    Recorded(ReplayEpisode),
    Nobody,
}

impl Actor {
    fn new(view: &View, source: &Source, files: Files<'_>) -> Self {
        let recorded =
            |replay| Self::Recorded(ReplayEpisode::new(replay, &EpisodeKey::from(&view.setup())));
        let trained = |model| {
            let policy = Trained::new(Arc::clone(model));
            Self::Playing(Player::Public(Box::new(policy)))
        };
        match source {
            Source::Policy(policy) => Self::Playing(policy.player(view.seed, view.streams)),
            Source::Trained => files.model.map_or(Self::Nobody, trained),
            Source::Replay(_) => files.replay.map_or(Self::Nobody, recorded),
            Source::You => Self::Nobody,
        }
    }

    /// The next action, and whether it is a fallback.
    fn act(&mut self, episode: &Episode) -> (Option<Action>, bool) {
        use sentinel_policy::Policy as _;
        match self {
            Self::Playing(player) => (player.choose_seen(episode), false),
            Self::Recorded(recorded) => {
                let observation = episode.observation();
                let action = recorded.choose(observation);
                (
                    Some(action),
                    recorded.misses().contains(&observation.step_count),
                )
            }
            Self::Nobody => (None, false),
        }
    }

    /// Takes in what an action led to.
    fn watch(&mut self, episode: &Episode) {
        use sentinel_policy::Policy as _;
        match self {
            Self::Playing(player) => player.watch(episode),
            Self::Recorded(recorded) => recorded.observe(episode.observation()),
            Self::Nobody => {}
        }
    }

    fn values(&self) -> Option<[f64; 12]> {
        match self {
            Self::Playing(player) => player.action_values(),
            Self::Recorded(_) | Self::Nobody => None,
        }
    }

    fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        use sentinel_policy::Policy as _;
        match self {
            Self::Playing(player) => player.belief(),
            Self::Recorded(recorded) => recorded.belief(),
            Self::Nobody => None,
        }
    }

    fn probabilities(&self) -> Option<[f64; 12]> {
        use sentinel_policy::Policy as _;
        match self {
            Self::Playing(player) => player.probabilities(),
            Self::Recorded(recorded) => recorded.probabilities(),
            Self::Nobody => None,
        }
    }

    fn frame(&self, session: &Session, missed: bool, own: bool) -> Frame {
        Frame {
            episode: *session.episode(),
            step: session.last_step().copied(),
            missed,
            own,
            belief: self.belief(),
            values: None,
            probabilities: (!session.episode().observation().done())
                .then(|| self.probabilities())
                .flatten(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let (view, model) = (View::default(), model());
        let files = Files {
            model: Some(&model),
            replay: None,
        };
        let run = play(&view, &Source::Trained, None, files);
        assert!(run.done());
        for (frame, next) in run.frames.iter().zip(&run.frames[1..]) {
            let all = frame.probabilities.expect("before the end");
            assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let chosen = next.step.expect("a step").action;
            let at = Action::ALL.iter().position(|action| *action == chosen);
            let most = all.iter().fold(0.0, |most: f64, p| most.max(*p));
            assert_eq!(at.map(|at| all[at]), Some(most));
            assert!(frame.belief.is_some());
        }
        assert_eq!(run.at(usize::MAX).probabilities, None);
    }

    #[test]
    fn nobody_stands_in_for_weights_that_are_missing() {
        let branch = Branch {
            at: 0,
            actions: vec![Action::Skip],
            resume: true,
        };
        for (branch, actions) in [(None, 0), (Some(branch), 1)] {
            let run = play(
                &View::default(),
                &Source::Trained,
                branch.as_ref(),
                Files::default(),
            );
            assert_eq!((run.last(), run.done()), (actions, false));
        }
    }
}
