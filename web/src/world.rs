//! What the page has to know of a world in order to play it. All that is shared (address, transport, panes,
//! branching, standings) is written against [`World`]; what is drawn of a world is its [`Stage`](crate::ui::Stage).

use std::fmt::Debug;
use std::sync::Arc;

use sentinel_env::TaskName;
use sentinel_env::rng::Streams;
use sentinel_env::rules::{RuleChange, Rules};

use crate::play::{Mark, Recording, Said};
use crate::state::{Source, View};

/// A closed list of things with names, such as policies.
pub trait Named: Copy + Debug + Eq + Send + Sync + 'static {
    /// All of them, in the order of menus.
    fn all() -> &'static [Self];

    /// The word in the address.
    fn name(self) -> &'static str;

    /// The one with this word.
    #[must_use]
    fn named(name: &str) -> Option<Self> {
        Self::all().iter().copied().find(|item| item.name() == name)
    }
}

/// Where the files of a policy that was trained for a world lie.
#[derive(Clone, Copy, Debug)]
pub struct Learned {
    /// Its weights.
    pub weights: &'static str,
    /// What its trainer wrote down; without it the world has no page about training.
    pub curves: Option<&'static str>,
}

/// Whether a world has a page about training. Where it has none, none of that page's code is loaded.
#[must_use]
pub const fn has_training<W: World>() -> bool {
    matches!(
        W::LEARNED,
        Some(Learned {
            curves: Some(_),
            ..
        })
    )
}

/// Everything that the page plays: the world's rules, who acts in it, and the words for both.
pub trait World: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// The word in the address.
    const NAME: &'static str;
    /// The most actions that an episode can have.
    const ACTIONS_MAX: usize;
    /// The ways of seeding that it knows; never empty.
    const STREAMS: &'static [Streams];
    /// Who plays when the address does not say.
    const PLAYER: Self::Policy;
    /// The policy that was trained for this world, where there is one.
    const LEARNED: Option<Learned> = None;
    /// Whether replay files of this world can be read.
    const REPLAYS: bool = false;
    /// What is played when the address does not say; the last of all tasks where nothing stands here.
    const TASK: Option<Self::Task> = None;
    /// Whose rules stand behind the word `reference`.
    const ORIGIN: &'static str = "the Python original";
    /// Who acts where a recording has no row.
    const FALLBACK: &'static str = "the .70 heuristic acts";
    /// Whether there is something that is drawn only when it is asked for.
    const HINTS: bool = false;

    /// Its tasks.
    type Task: TaskName;
    /// What its rules may differ in.
    type Change: RuleChange;
    /// Its scripted policies.
    type Policy: Named;
    /// What can be done in a step.
    type Action: Copy + Debug + Eq + Send + Sync;
    /// What a step did.
    type Step: Clone + Debug + Send + Sync;
    /// An episode between two steps, hidden state and all; the components decide what to show.
    type Episode: Clone + Debug + Send + Sync;
    /// An episode with the digest of its trajectory.
    type Session;
    /// What the page shows of a player's thoughts.
    type Mind: Clone + Debug + Default + Send + Sync;
    /// Who acts.
    type Actor: Actor<Self>;
    /// The weights of a trained policy.
    type Model: Clone + Debug + Send + Sync;
    /// A replay file.
    type Replay: Clone + Debug + Send + Sync;

    /// What a person calls a policy.
    fn label(policy: Self::Policy) -> &'static str;
    /// One sentence about a policy.
    fn describe(policy: Self::Policy) -> &'static str;
    /// Whether a policy reads hidden state.
    fn cheats(policy: Self::Policy) -> bool;
    /// Whether a policy takes too long for the standings.
    fn slow(_policy: Self::Policy) -> bool {
        false
    }
    /// What a task is like.
    fn task_title(task: Self::Task) -> String;

    /// What a person calls a task.
    fn task_label(task: Self::Task) -> String {
        let position = Self::Task::ALL.iter().position(|other| *other == task);
        format!("task {}", position.unwrap_or(0) + 1)
    }

    /// Starts the episode of a view.
    fn start(view: &View<Self>) -> Self::Session;
    /// Takes an action.
    ///
    /// # Errors
    /// A sentence when the action is refused; then nothing changes.
    fn act(session: &mut Self::Session, action: Self::Action) -> Result<Self::Step, String>;
    /// The episode as it stands.
    fn episode(session: &Self::Session) -> &Self::Episode;
    /// Size and hash of the trajectory so far.
    fn digest(session: &Self::Session) -> String;
    /// Whether the episode has ended.
    fn done(episode: &Self::Episode) -> bool;
    /// The mean reward so far.
    fn score(episode: &Self::Episode) -> f64;
    /// How the episode stands, in words.
    fn standing(episode: &Self::Episode) -> String;

    /// What was done in a step.
    fn action(step: &Self::Step) -> Self::Action;
    /// What the step itself brought.
    fn reward(step: &Self::Step) -> f64;
    /// How a step turned out, as far as the viewer may know.
    fn mark(step: &Self::Step, truth: bool) -> Mark;
    /// A step as the list of actions has it.
    fn line(step: &Self::Step) -> String;

    /// Writes an action for an address.
    fn write(action: Self::Action, out: &mut String);
    /// Reads the next action from what is left of an address's text, and leaves the rest.
    fn read(text: &mut &str) -> Option<Self::Action>;

    /// Who acts for a source. `None` when nobody does, or when its file is not there.
    fn actor(
        view: &View<Self>,
        source: &Source<Self>,
        files: Files<'_, Self>,
    ) -> Option<Self::Actor>;

    /// Reads the weights of a trained policy.
    ///
    /// # Errors
    /// A sentence that says what is wrong with them.
    fn read_model(_bytes: Result<Vec<u8>, String>) -> Result<Arc<Self::Model>, String> {
        Err("No policy was trained for this world yet.".to_owned())
    }
    /// What weights say of themselves.
    fn model_words(_model: &Self::Model) -> String {
        String::new()
    }
    /// Reads a replay file.
    fn read_replay(text: &str) -> Opened<Self>;
    /// What a replay says that a language model was shown and said at a moment of the view's episode.
    fn said(_replay: &Self::Replay, _view: &View<Self>, _before: &Self::Episode) -> Option<Said> {
        None
    }
    /// Whether a replay has the view's episode.
    fn holds(_replay: &Self::Replay, _view: &View<Self>) -> bool {
        false
    }
}

/// What a replay file holds.
#[derive(Debug)]
pub struct Opened<W: World> {
    /// Its rows.
    pub replay: W::Replay,
    /// The first episode; none when no row can be played.
    pub first: Option<Aim<W>>,
    /// What does not fit, each with its line.
    pub problems: Vec<String>,
    /// How many do not fit, those included that are not in `problems`.
    pub problem_count: usize,
}

/// An episode of a replay.
#[derive(Clone, Copy, Debug)]
pub struct Aim<W: World> {
    /// The task.
    pub task: W::Task,
    /// The seed.
    pub seed: u64,
    /// How the streams are seeded.
    pub streams: Streams,
    /// The rules.
    pub rules: RulesOf<W>,
}

/// What a source may need from files, as far as it is there.
#[derive(Debug)]
pub struct Files<'a, W: World> {
    /// The file of a replay source.
    pub replay: Option<&'a W::Replay>,
    /// The weights of the trained policy.
    pub model: Option<&'a Arc<W::Model>>,
}

impl<W: World> Default for Files<'_, W> {
    fn default() -> Self {
        Self {
            replay: None,
            model: None,
        }
    }
}

/// Who acts, with what the page wants to know of it.
pub trait Actor<W: World> {
    /// The next action, and whether it is a replay's fallback.
    fn act(&mut self, episode: &W::Episode) -> (Option<W::Action>, bool);

    /// Takes in what an action led to.
    fn watch(&mut self, _episode: &W::Episode) {}

    /// What it makes of the moment that it watched last.
    fn mind(&self, _episode: &W::Episode) -> W::Mind {
        W::Mind::default()
    }

    /// Adds what it weighed for its last choice.
    fn weigh(&self, _mind: &mut W::Mind) {}

    /// How a recording fits what was played; `None` when it is no recording.
    fn recording(&self, _episode: &W::Episode) -> Option<Recording> {
        None
    }
}

/// A way of seeding that the world knows, by its word in the address.
#[must_use]
pub fn streams_of<W: World>(word: &str) -> Option<Streams> {
    Streams::parse(word).filter(|streams| W::STREAMS.contains(streams))
}

/// The rules of a world.
pub type RulesOf<W> = Rules<<W as World>::Change>;

/// The worlds that the page has, by the word in the address: a module each, see `index.html`.
pub const WORLDS: [(&str, &str); 3] = [
    ("trust", "Trust"),
    ("cluster", "GPU cluster"),
    ("polyguard", "PolyGuard"),
];

/// Whether the tasks of a world are called `task1`, `task2`, … and its streams are seeded in the two usual ways, so
/// that both make sense in another such world.
#[must_use]
pub fn is_numbered(world: &str) -> bool {
    world != WORLDS[2].0
}
