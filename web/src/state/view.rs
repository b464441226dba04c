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
}

impl Default for View {
    fn default() -> Self {
        Self {
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

    /// The view after the person takes `action` at the cursor of an episode that the source (or an
    /// earlier branch) played.
    #[must_use]
    pub fn with_action(mut self, action: Action) -> Self {
        let at = self.cursor;
        let branch = match self.branch.take() {
            Some(mut branch) if at >= branch.at && at - branch.at <= branch.actions.len() => {
                branch.actions.truncate(at - branch.at);
                branch.actions.push(action);
                Branch {
                    resume: false,
                    ..branch
                }
            }
            // Before the branch, or where the source had resumed: a new branch from here.
            _ => Branch {
                at,
                actions: vec![action],
                resume: false,
            },
        };
        self.branch = Some(branch);
        self.cursor = at + 1;
        self
    }
}
