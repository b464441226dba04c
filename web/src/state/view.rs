//! The state of the page.

use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, Setup, Task};
use sentinel_policy::PolicyName;

use super::Source;

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
pub struct Branch {
    /// Number of actions that the source took before.
    pub at: usize,
    /// What the person did then.
    pub actions: Vec<Action>,
    /// Whether the source plays on after them.
    pub resume: bool,
}

/// All that the page shows follows from this value and the replay files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Where in the page.
    pub screen: Screen,
    /// The task.
    pub task: Task,
    /// The seed.
    pub seed: u64,
    /// How the streams are seeded.
    pub streams: Streams,
    /// Who plays.
    pub source: Source,
    /// Who plays beside it.
    pub versus: Option<Source>,
    /// The person's own actions.
    pub branch: Option<Branch>,
    /// Actions taken at the cursor; beyond the end counts as the end.
    pub cursor: usize,
    /// Whether hidden state is shown.
    pub truth: bool,
    /// Whether the page stands inside another one.
    pub embed: bool,
    /// Colours.
    pub theme: Theme,
    /// How fast time runs when it does.
    pub speed: Speed,
}

impl Default for View {
    fn default() -> Self {
        Self {
            screen: Screen::Episode,
            task: Task::Task3,
            seed: 42,
            streams: Streams::Independent,
            source: Source::Policy(PolicyName::Bayes),
            versus: None,
            branch: None,
            cursor: 0,
            truth: false,
            embed: false,
            theme: Theme::Auto,
            speed: Speed::One,
        }
    }
}

impl View {
    /// What to play.
    #[must_use]
    pub fn setup(&self) -> Setup {
        Setup::new(self.task, self.seed, self.streams)
    }

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
    pub fn with_action(mut self, played: &[Action], action: Action) -> Self {
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
