//! The state of the page. Everything that is shown follows from it and from the engines' answers.

use sentinel_page_protocol::{Branch, EpisodeRef, PlayedEpisode, StepLine};

/// Light, dark, or as the system.
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

impl Theme {
    /// The word in the address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The theme after this one on the button.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Auto => Self::Dark,
            Self::Dark => Self::Light,
            Self::Light => Self::Auto,
        }
    }
}

/// The speed of playing.
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
    /// All speeds, in the order of the menu.
    pub const ALL: [Self; 4] = [Self::Half, Self::One, Self::Two, Self::Four];

    /// The word in the address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Half => "0.5",
            Self::One => "1",
            Self::Two => "2",
            Self::Four => "4",
        }
    }

    /// The time between two actions in milliseconds.
    #[must_use]
    pub const fn period_ms(self) -> u64 {
        match self {
            Self::Half => 1000,
            Self::One => 500,
            Self::Two => 250,
            Self::Four => 125,
        }
    }
}

/// A screen of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Screen {
    /// An episode, or two.
    #[default]
    Episode,
    /// The curves of the training run.
    Training,
}

/// The state that the address holds. The words of worlds are not checked here: an engine answers
/// with the words that it understood. An empty word means the world's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageState {
    /// The world.
    pub world: String,
    /// The screen.
    pub screen: Screen,
    /// The task.
    pub task: String,
    /// The seed.
    pub seed: u64,
    /// The stream mode.
    pub streams: String,
    /// The rules.
    pub rules: String,
    /// The player.
    pub player: String,
    /// `true` if an older address names no player: then another default applies.
    pub legacy: bool,
    /// The player of the episode beside it; empty for none.
    pub versus: String,
    /// The visitor's own actions.
    pub branch: Option<Branch>,
    /// Number of actions at the cursor; beyond the end counts as the end.
    pub cursor: u32,
    /// `true` to show hidden state.
    pub truth: bool,
    /// `true` to show what a world draws on demand only.
    pub hints: bool,
    /// `true` inside another page.
    pub embed: bool,
    /// The theme.
    pub theme: Theme,
    /// The speed of playing.
    pub speed: Speed,
}

/// The seed of an address without one.
pub const DEFAULT_SEED: u64 = 42;
/// The highest seed.
pub const SEED_MAX: u64 = i64::MAX as u64;

impl Default for PageState {
    fn default() -> Self {
        Self {
            world: String::new(),
            screen: Screen::Episode,
            task: String::new(),
            seed: DEFAULT_SEED,
            streams: String::new(),
            rules: String::new(),
            player: String::new(),
            legacy: false,
            versus: String::new(),
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

impl PageState {
    /// Goes back to the start of the player's own episode.
    pub fn restart(&mut self) {
        self.branch = None;
        self.cursor = 0;
    }

    /// Takes an action after `at` actions of `played`. All actions before it stay as they were:
    /// the player's, the visitor's, and those of the player who resumed.
    pub fn take_action(&mut self, played: &[StepLine], at: usize, code: &str) {
        let branch_at = self.branch.as_ref().map(|branch| branch.at as usize);
        let from = branch_at.unwrap_or(at).min(at);
        let before = played.get(from..at).unwrap_or_default();
        let codes = before.iter().map(|step| step.code.as_str());
        self.branch = Some(Branch {
            at: to_u32(from),
            actions: codes.chain([code]).collect(),
            resume: false,
        });
        self.cursor = to_u32(at + 1);
    }

    /// The episode in the words of a request.
    #[must_use]
    pub fn episode(&self) -> EpisodeRef {
        EpisodeRef {
            task: self.task.clone(),
            seed: self.seed,
            streams: self.streams.clone(),
            rules: self.rules.clone(),
        }
    }

    /// Takes over the words that an engine understood.
    pub fn apply_episode(&mut self, played: &PlayedEpisode) {
        self.task.clone_from(&played.task);
        self.seed = played.seed;
        self.streams.clone_from(&played.streams);
        self.rules.clone_from(&played.rules);
        self.player.clone_from(&played.player);
        self.legacy = false;
    }

    /// Changes to an episode, from its start.
    pub fn open_episode(&mut self, played: &PlayedEpisode) {
        self.apply_episode(played);
        self.screen = Screen::Episode;
        self.restart();
    }

    /// The view of another world: what makes sense in every world, without the rest.
    #[must_use]
    pub fn in_world(&self, world: &str) -> Self {
        Self {
            world: world.to_owned(),
            seed: self.seed,
            truth: self.truth,
            embed: self.embed,
            theme: self.theme,
            speed: self.speed,
            ..Self::default()
        }
    }

    /// What an entry of the browser's history is: a change of this makes a new one.
    #[must_use]
    pub fn history_entry(&self) -> Self {
        Self {
            cursor: 0,
            truth: false,
            hints: false,
            embed: false,
            theme: Theme::Auto,
            speed: Speed::One,
            versus: String::new(),
            ..self.clone()
        }
    }
}

/// Returns a position as the protocol counts it.
#[must_use]
pub fn to_u32(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(codes: &[&str]) -> Vec<StepLine> {
        let step = |code: &&str| StepLine {
            code: (*code).to_owned(),
            ..StepLine::default()
        };
        codes.iter().map(step).collect()
    }

    #[test]
    fn own_actions_keep_all_that_was_played_before_them() {
        let played = steps(&["d0", "d1", "v2", "s", "d3", "k"]);
        let mut state = PageState::default();
        state.take_action(&played[..2], 2, "k");
        let branch = state.branch.clone().expect("own actions");
        assert_eq!(
            (branch.at, branch.actions.as_str(), state.cursor),
            (2, "k", 3)
        );
        // The player resumed and played up to action 6; then the visitor acts again.
        if let Some(branch) = &mut state.branch {
            branch.resume = true;
        }
        let resumed = state.clone();
        state.take_action(&played, 6, "s");
        let branch = state.branch.clone().expect("own actions");
        assert_eq!((branch.at, branch.actions.as_str()), (2, "v2sd3ks"));
        assert_eq!((branch.resume, state.cursor), (false, 7));
        // Before the branch: a new one from there.
        let mut earlier = resumed;
        earlier.take_action(&played, 1, "k");
        let branch = earlier.branch.expect("own actions");
        assert_eq!((branch.at, branch.actions.as_str()), (1, "k"));
    }

    #[test]
    fn an_entry_of_the_history_is_an_episode_not_a_moment() {
        let state = PageState::default();
        let moved = PageState {
            cursor: 7,
            truth: true,
            ..state.clone()
        };
        assert_eq!(state.history_entry(), moved.history_entry());
        let other = PageState {
            seed: 7,
            ..state.clone()
        };
        assert_ne!(state.history_entry(), other.history_entry());
    }
}
