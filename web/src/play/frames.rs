//! All frames of an episode: what stood before each action, and what the action led to.

use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, Episode, Session, Step};
use sentinel_policy::Player;
use sentinel_policy::replay::{EpisodeKey, Replay, ReplayEpisode};

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

/// Plays what a view asks for. `replay` is the file of a replay source, once it is there.
#[must_use]
pub fn play(
    view: &View,
    source: &Source,
    branch: Option<&Branch>,
    replay: Option<&Replay>,
) -> Frames {
    let setup = view.setup();
    let mut actor = Actor::new(view, source, replay);
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
    Scripted(Player),
    Recorded(ReplayEpisode),
    Nobody,
}

impl Actor {
    fn new(view: &View, source: &Source, replay: Option<&Replay>) -> Self {
        match (source, replay) {
            (Source::Policy(policy), _) => Self::Scripted(policy.player(view.seed, view.streams)),
            (Source::Replay(_), Some(replay)) => {
                Self::Recorded(ReplayEpisode::new(replay, &EpisodeKey::from(&view.setup())))
            }
            (Source::Replay(_), None) | (Source::You, _) => Self::Nobody,
        }
    }

    /// The next action, and whether it is a fallback.
    fn act(&mut self, episode: &Episode) -> (Option<Action>, bool) {
        use sentinel_policy::Policy as _;
        match self {
            Self::Scripted(player) => (player.choose_seen(episode), false),
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
            Self::Scripted(player) => player.watch(episode),
            Self::Recorded(recorded) => recorded.observe(episode.observation()),
            Self::Nobody => {}
        }
    }

    fn values(&self) -> Option<[f64; 12]> {
        match self {
            Self::Scripted(player) => player.action_values(),
            Self::Recorded(_) | Self::Nobody => None,
        }
    }

    fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        use sentinel_policy::Policy as _;
        match self {
            Self::Scripted(player) => player.belief(),
            Self::Recorded(recorded) => recorded.belief(),
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
        }
    }
}
