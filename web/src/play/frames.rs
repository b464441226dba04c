//! All frames of an episode: what stood before each action, and what the action led to.

use crate::state::{Branch, Source, View};
use crate::world::{Actor, Files, World};

/// The episode after a number of actions.
#[derive(Clone, Debug)]
pub struct Frame<W: World> {
    /// The episode itself, hidden state and all; the components decide what to show.
    pub episode: W::Episode,
    /// The action that led here; none in the first frame.
    pub step: Option<W::Step>,
    /// Whether that action was a replay's fallback, because the file has no row for it.
    pub missed: bool,
    /// Whether the person at the page took it.
    pub own: bool,
    /// What the player made of the moment.
    pub mind: W::Mind,
}

/// How a recording fits what was played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Who acted in it, as its first row says; a stand-in has a mark behind its name.
    pub source: String,
    /// Recorded actions that could be played.
    pub hits: usize,
    /// Those of them that the fallback took when they were recorded, where a model named no action.
    pub fallbacks: usize,
    /// Rows for this episode that were never reached; 0 while it has not ended.
    pub unused: usize,
    /// Lines that were played although they were recorded in another scenario.
    pub misfits: Vec<usize>,
}

/// An episode from its start to its end, or to where the person has to act.
#[derive(Clone, Debug)]
pub struct Frames<W: World> {
    /// At least one.
    pub frames: Vec<Frame<W>>,
    /// Size and hash of the whole trajectory.
    pub digest: String,
    /// How the replay fits; `None` when no replay plays.
    pub recording: Option<Recording>,
    /// Whether nothing more is to come.
    pub whole: bool,
    /// Why the action after the last frame was refused.
    pub refused: Option<String>,
}

impl<W: World> Frames<W> {
    /// The frame after `cursor` actions, or the last one.
    #[must_use]
    pub fn at(&self, cursor: usize) -> &Frame<W> {
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
        W::done(&self.at(usize::MAX).episode)
    }

    /// The actions that led to the frame after `cursor` actions, or to the last one.
    #[must_use]
    pub fn actions(&self, cursor: usize) -> Vec<W::Action> {
        let played = &self.frames[..=cursor.min(self.last())];
        let steps = played.iter().filter_map(|frame| frame.step.as_ref());
        steps.map(W::action).collect()
    }

    /// Every step with the number of its action.
    pub fn steps(&self) -> impl Iterator<Item = (usize, &Frame<W>, &W::Step)> {
        let frames = self.frames.iter().enumerate();
        frames.filter_map(|(index, frame)| Some((index, frame, frame.step.as_ref()?)))
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
        let action = |frames: &Self, i: usize| frames.frames.get(i)?.step.as_ref().map(W::action);
        (1..=self.last().max(other.last())).find(|i| action(self, *i) != action(other, *i))
    }
}

/// An episode that is being played, a few actions at a time.
pub struct Playing<W: World> {
    session: W::Session,
    actor: Option<W::Actor>,
    branch: Option<Branch<W>>,
    frames: Vec<Frame<W>>,
    whole: bool,
    refused: Option<String>,
    shown: f64,
}

impl<W: World> Playing<W> {
    /// Starts what a view asks for. Nobody acts for a source whose file is not there.
    #[must_use]
    pub fn new(
        view: &View<W>,
        source: &Source<W>,
        branch: Option<&Branch<W>>,
        files: Files<'_, W>,
    ) -> Self {
        let mut playing = Self {
            session: W::start(view),
            actor: W::actor(view, source, files),
            branch: branch.cloned(),
            frames: Vec::new(),
            whole: false,
            refused: None,
            shown: 0.0,
        };
        playing.push(None, false, false);
        playing
    }

    fn push(&mut self, step: Option<W::Step>, missed: bool, own: bool) {
        let episode = W::episode(&self.session);
        let mut mind = W::Mind::default();
        if let Some(actor) = &mut self.actor {
            actor.watch(episode);
            mind = actor.mind(episode);
        }
        self.frames.push(Frame {
            episode: episode.clone(),
            step,
            missed,
            own,
            mind,
        });
        self.whole = W::done(episode);
    }

    /// Plays one more action; `false` when there is none.
    pub fn advance(&mut self) -> bool {
        if self.whole {
            return false;
        }
        let taken = self.frames.len() - 1;
        let branch = self.branch.as_ref();
        let own = branch.and_then(|b| taken.checked_sub(b.at).map(|i| (b, i)));
        let (action, missed, own) = match own {
            Some((branch, i)) if i < branch.actions.len() => (Some(branch.actions[i]), false, true),
            Some((branch, _)) if !branch.resume => (None, false, false),
            _ => {
                let episode = W::episode(&self.session);
                let chosen = self.actor.as_mut().map(|actor| actor.act(episode));
                let (action, missed) = chosen.unwrap_or((None, false));
                (action, missed, false)
            }
        };
        if let (Some(frame), Some(actor)) = (self.frames.last_mut(), &self.actor) {
            actor.weigh(&mut frame.mind);
        }
        match action.map(|action| W::act(&mut self.session, action)) {
            Some(Ok(step)) => self.push(Some(step), missed, own),
            // An action of the address may not fit; what was played up to it stands.
            Some(Err(reason)) => {
                self.refused = Some(reason);
                self.whole = true;
            }
            None => self.whole = true,
        }
        !self.whole
    }

    /// Whether it is `pause` milliseconds since this was so last; `now` is any clock's time.
    pub fn due(&mut self, pause: f64, now: f64) -> bool {
        let due = now - self.shown >= pause;
        if due {
            self.shown = now;
        }
        due
    }

    /// How many actions were taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.frames.len() - 1
    }

    /// What was played so far.
    #[must_use]
    pub fn frames(&self) -> Frames<W> {
        let episode = W::episode(&self.session);
        let mut recording = self.actor.as_ref().and_then(|a| a.recording(episode));
        // Rows that a person's own actions cut off are no fault of the file.
        if let (Some(recording), Some(_)) = (&mut recording, &self.branch) {
            recording.unused = 0;
        }
        Frames {
            frames: self.frames.clone(),
            digest: W::digest(&self.session),
            recording,
            whole: self.whole,
            refused: self.refused.clone(),
        }
    }
}

/// Plays what a view asks for to its end.
#[must_use]
pub fn play<W: World>(
    view: &View<W>,
    source: &Source<W>,
    branch: Option<&Branch<W>>,
    files: Files<'_, W>,
) -> Frames<W> {
    let mut playing = Playing::new(view, source, branch, files);
    while playing.advance() {}
    playing.frames()
}
