//! The state of the page.

use sentinel_env::TaskName as _;
use sentinel_env::rng::Streams;

use super::Source;
use crate::world::{RulesOf, World};

/// Light, dark, or what the system says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Theme {
    /// As the system.
    #[default]
    Auto,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

/// How fast time runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Speed {
    /// One action a second.
    Half,
    /// Two actions a second.
    #[default]
    One,
    /// Four.
    Two,
    /// Eight.
    Four,
}

impl Speed {
    /// All speeds, in the order of the button.
    pub const ALL: [Self; 4] = [Self::Half, Self::One, Self::Two, Self::Four];

    /// The word in the address.
    #[must_use]
    pub const fn id(self) -> &'static str {
        ["0.5", "1", "2", "4"][self as usize]
    }

    /// Time between two actions.
    #[must_use]
    pub const fn period_ms(self) -> u64 {
        [1000, 500, 250, 125][self as usize]
    }
}

/// Which page of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Screen {
    /// An episode, or two.
    #[default]
    Episode,
    /// How the trained policy came to be.
    Training,
}

/// Actions of the person at the page from some step on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch<W: World> {
    /// Number of actions that the source took before.
    pub at: usize,
    /// What the person did then.
    pub actions: Vec<W::Action>,
    /// Whether the source plays on after them.
    pub resume: bool,
}

/// All that the page shows follows from this value and the replay files.
#[derive(Clone, Debug, PartialEq)]
pub struct View<W: World> {
    /// Where in the page.
    pub screen: Screen,
    /// The task.
    pub task: W::Task,
    /// The seed.
    pub seed: u64,
    /// How the streams are seeded.
    pub streams: Streams,
    /// What differs from the reference's rules.
    pub rules: RulesOf<W>,
    /// Who plays.
    pub source: Source<W>,
    /// Who plays beside it.
    pub versus: Option<Source<W>>,
    /// The person's own actions.
    pub branch: Option<Branch<W>>,
    /// Actions taken at the cursor; beyond the end counts as the end.
    pub cursor: usize,
    /// Whether hidden state is shown.
    pub truth: bool,
    /// Whether what a world draws on demand only is drawn.
    pub hints: bool,
    /// Whether the page stands inside another one.
    pub embed: bool,
    /// Colors.
    pub theme: Theme,
    /// How fast time runs when it does.
    pub speed: Speed,
}

impl<W: World> Default for View<W> {
    fn default() -> Self {
        let (tasks, streams) = (W::Task::ALL, W::STREAMS);
        let usual = streams.contains(&Streams::Independent);
        Self {
            screen: Screen::Episode,
            // Else the hardest; every world has a task.
            task: W::TASK.unwrap_or(tasks[tasks.len() - 1]),
            seed: 42,
            streams: if usual {
                Streams::Independent
            } else {
                streams[0]
            },
            rules: RulesOf::<W>::REFERENCE,
            source: Source::Policy(W::PLAYER),
            versus: None,
            branch: None,
            cursor: 0,
            truth: false,
            hints: false,
            embed: false,
            theme: Theme::Auto,
            speed: Speed::One,
        }
    }
}

impl<W: World> View<W> {
    /// The same view of another episode: from the start, without own actions.
    #[must_use]
    pub fn restarted(mut self) -> Self {
        self.branch = None;
        self.cursor = 0;
        self
    }

    /// The view after the person takes `action` where `played` are the actions that led there: by
    /// the source, by the person, or by the source that had resumed. All of them stay as they were.
    #[must_use]
    pub fn with_action(mut self, played: &[W::Action], action: W::Action) -> Self {
        let at = played.len();
        let from = self.branch.as_ref().map_or(at, |branch| branch.at.min(at));
        let mut actions = played[from..].to_vec();
        actions.push(action);
        let branch = Branch {
            at: from,
            actions,
            resume: false,
        };
        self.branch = Some(branch);
        self.cursor = at + 1;
        self
    }
}
