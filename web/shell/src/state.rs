//! The state of the page. The address mirrors it, and everything on the page follows from it and
//! from the engines' answers.

use sentinel_page_protocol::{Branch, EpisodeRef, PlayedEpisode, StepLine};

use crate::training_form::TrainingForm;

/// Color theme of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Theme {
    /// Follows the setting of the system.
    #[default]
    Auto,
    /// Light, whatever the system says.
    Light,
    /// Dark, whatever the system says.
    Dark,
}

impl Theme {
    /// Returns the value in the address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Returns the theme that a press of the theme button leads to.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Auto => Self::Dark,
            Self::Dark => Self::Light,
            Self::Light => Self::Auto,
        }
    }
}

/// Playback speed, relative to two actions a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Speed {
    /// Plays one action a second.
    Half,
    /// Plays two actions a second.
    #[default]
    One,
    /// Plays four actions a second.
    Two,
    /// Plays eight actions a second.
    Four,
}

impl Speed {
    /// All speeds, in the order in which the button cycles.
    pub const ALL: [Self; 4] = [Self::Half, Self::One, Self::Two, Self::Four];

    /// Returns the value in the address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Half => "0.5",
            Self::One => "1",
            Self::Two => "2",
            Self::Four => "4",
        }
    }

    /// Returns the time between two actions in milliseconds.
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
    /// Asks the visitor the world's question about an episode.
    Spot,
    /// Shows one episode, or two side by side.
    #[default]
    Episode,
    /// Shows the curves of training runs, and checkpoints on one episode.
    Training,
    /// Shows the tables and charts of recorded results.
    Results,
}

impl Screen {
    /// Returns `true` for the screens of recorded runs and results.
    #[must_use]
    pub const fn is_of_records(self) -> bool {
        matches!(self, Self::Training | Self::Results)
    }

    /// Returns the value in the address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spot => "spot",
            Self::Episode => "episode",
            Self::Training => "training",
            Self::Results => "results",
        }
    }
}

/// The state that the address holds.
///
/// Names of a world, such as tasks and players, are not checked here: an engine answers with the
/// words that it understood. An empty word means the world's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageState {
    /// Name of the world.
    pub world: String,
    /// Screen that is shown.
    pub screen: Screen,
    /// Names of the training runs that are compared, separated by colons; empty for the run of the
    /// world's trained policy.
    pub runs: String,
    /// Settings of training in the page, on the Training screen only.
    pub training: TrainingForm,
    /// Name of the task.
    pub task: String,
    /// Seed of the episode, at most [`SEED_MAX`].
    pub seed: u64,
    /// `true` if the address named the seed of a question, and no task: the rest of the episode is then
    /// that of the world's question.
    pub keeps_seed: bool,
    /// Name of the stream mode.
    pub streams: String,
    /// Value of the `rules` parameter; empty for the default, which has no loopholes.
    pub rules: String,
    /// Player of the main episode.
    pub player: String,
    /// `true` for an older address without a player, for which another default applies.
    pub legacy: bool,
    /// Player of the episode to compare with; empty for none.
    pub versus: String,
    /// The visitor's own actions, if any.
    pub branch: Option<Branch>,
    /// Number of actions at the cursor; a value beyond the end means the end.
    pub cursor: u32,
    /// `true` to show hidden state.
    pub truth: bool,
    /// `true` if the page is embedded in another one.
    pub embed: bool,
    /// Color theme of the page.
    pub theme: Theme,
    /// Speed of the playback.
    pub speed: Speed,
}

/// Name of the visitor as a player.
pub const VISITOR: &str = "you";
/// Prefix of a replay's name as a player.
pub const REPLAY: &str = "replay:";
/// Name of the reference rules, which every world has.
pub const REFERENCE_RULES: &str = "reference";
/// Seed of an address that names none.
pub const DEFAULT_SEED: u64 = 42;
/// Highest seed that the page accepts, 2^63 − 1.
pub const SEED_MAX: u64 = i64::MAX as u64;

impl Default for PageState {
    fn default() -> Self {
        Self {
            world: String::new(),
            screen: Screen::Episode,
            runs: String::new(),
            training: TrainingForm::default(),
            task: String::new(),
            seed: DEFAULT_SEED,
            keeps_seed: false,
            streams: String::new(),
            rules: String::new(),
            player: String::new(),
            legacy: false,
            versus: String::new(),
            branch: None,
            cursor: 0,
            truth: false,
            embed: false,
            theme: Theme::Auto,
            speed: Speed::One,
        }
    }
}

impl PageState {
    /// Returns to the start of the episode and discards the visitor's own actions.
    pub fn restart(&mut self) {
        self.branch = None;
        self.cursor = 0;
    }

    /// Adds an action of the visitor after the first `at` actions of `played`. The actions before
    /// it stay as they were, whether the player or the visitor took them.
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
        self.screen = Screen::Episode;
    }

    /// Returns `true` if the world's own episode of its question is to be shown.
    #[must_use]
    pub fn awaits_spot_episode(&self) -> bool {
        self.screen == Screen::Spot && self.task.is_empty()
    }

    /// Shows the episode of the world's question, with the seed of the address if it named one.
    pub fn apply_spot_episode(&mut self, own: &PlayedEpisode) {
        let seed = if self.keeps_seed { self.seed } else { own.seed };
        self.apply_episode(own);
        self.seed = seed;
    }

    /// Returns `true` if a replay is to be shown whose file determines the episode.
    #[must_use]
    pub fn takes_episode_from_file(&self) -> bool {
        self.task.is_empty() && self.player.starts_with(REPLAY)
    }

    /// Removes what has no place beside a question: hidden state, actions of the visitor, another episode.
    pub fn clear_for_question(&mut self) {
        self.truth = false;
        self.branch = None;
        self.versus.clear();
        if self.player == VISITOR {
            self.player.clear();
        }
    }

    /// Returns the episode in the words of a request.
    #[must_use]
    pub fn episode(&self) -> EpisodeRef {
        EpisodeRef {
            task: self.task.clone(),
            seed: self.seed,
            streams: self.streams.clone(),
            rules: self.rules.clone(),
        }
    }

    /// Replaces the words of the address by those that an engine understood.
    pub fn apply_episode(&mut self, played: &PlayedEpisode) {
        self.task.clone_from(&played.task);
        self.seed = played.seed;
        self.streams.clone_from(&played.streams);
        self.rules.clone_from(&played.rules);
        self.player.clone_from(&played.player);
        (self.legacy, self.keeps_seed) = (false, false);
    }

    /// Shows an episode from its start; without a task only the player changes.
    pub fn open_episode(&mut self, played: &PlayedEpisode) {
        if played.task.is_empty() {
            self.player.clone_from(&played.player);
            self.legacy = false;
        } else {
            self.apply_episode(played);
        }
        self.screen = Screen::Episode;
        self.restart();
    }

    /// Returns the state for another world: keeps what makes sense in every world, and resets the
    /// rest. The settings of training are those of a world.
    #[must_use]
    pub fn in_world(&self, world: &str) -> Self {
        let training = match world == self.world {
            true => self.training.clone(),
            false => TrainingForm::default(),
        };
        Self {
            training,
            world: world.to_owned(),
            screen: self.screen,
            seed: self.seed,
            embed: self.embed,
            theme: self.theme,
            speed: self.speed,
            ..Self::default()
        }
    }

    /// Returns the part of the state that identifies an entry of the browser's history; a change of
    /// it adds an entry.
    #[must_use]
    pub fn history_entry(&self) -> Self {
        Self {
            cursor: 0,
            truth: false,
            embed: false,
            theme: Theme::Auto,
            speed: Speed::One,
            versus: String::new(),
            training: TrainingForm::default(),
            ..self.clone()
        }
    }
}

/// Converts a position to the integer type of the protocol, saturating.
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

    /// Another world keeps the screen, and an action of the visitor leads to the episode.
    #[test]
    fn another_world_keeps_the_screen() {
        for screen in [Screen::Spot, Screen::Training, Screen::Results] {
            let state = PageState {
                screen,
                ..PageState::default()
            };
            assert_eq!(state.in_world("cluster").screen, screen);
        }
        let mut state = PageState {
            screen: Screen::Spot,
            ..PageState::default()
        };
        assert!(state.in_world("cluster").awaits_spot_episode());
        state.take_action(&[], 0, "s");
        assert_eq!(state.screen, Screen::Episode);
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
