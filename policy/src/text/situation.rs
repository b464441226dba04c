//! An episode as a text player meets it.

use sentinel_env::Transition;

use super::{PromptStyle, TextWorld};
use crate::Scripted;
use crate::policy::Player;

/// An episode, what its prompts remember, and how it came about. A copy goes on like the original,
/// under the same luck.
#[derive(Clone, Debug)]
pub struct Situation<W: TextWorld> {
    episode: W,
    memory: W::Memory,
    actions: Vec<W::Action>,
}

impl<W: TextWorld> Situation<W> {
    /// The beginning of an episode.
    #[must_use]
    pub fn new(setup: &W::Setup) -> Self {
        let episode = W::reset(setup);
        let mut memory = W::Memory::default();
        W::remember(&mut memory, W::observation(&episode));
        Self {
            episode,
            memory,
            actions: Vec::new(),
        }
    }

    /// The episode as it stands.
    #[must_use]
    pub const fn episode(&self) -> &W {
        &self.episode
    }

    /// The observation.
    #[must_use]
    pub fn observation(&self) -> &W::Observation {
        W::observation(&self.episode)
    }

    /// Whether the episode has ended.
    #[must_use]
    pub fn done(&self) -> bool {
        W::is_done(self.observation())
    }

    /// What was done so far.
    #[must_use]
    pub fn actions(&self) -> &[W::Action] {
        &self.actions
    }

    /// What is asked now.
    #[must_use]
    pub fn prompt(&self, style: PromptStyle) -> String {
        W::prompt(style, &self.memory, &self.episode)
    }

    /// What its prompts remember.
    pub(crate) const fn memory(&self) -> &W::Memory {
        &self.memory
    }

    /// Takes an action.
    ///
    /// # Errors
    /// If the episode does not take it; nothing changes then.
    pub fn step(&mut self, action: W::Action) -> Result<Transition<W::Info>, W::StepError> {
        let transition = self.episode.step(action)?;
        W::remember(&mut self.memory, W::observation(&self.episode));
        self.actions.push(action);
        Ok(transition)
    }

    /// A scripted player that has seen all that came before this situation, but not itself: its
    /// next [`Player::act`] takes that in.
    #[must_use]
    pub fn player(&self, policy: W::PolicyName) -> Player<W> {
        let setup = self.episode.setup();
        let mut player = policy.start(setup);
        let mut past = W::reset(setup);
        for action in &self.actions {
            player.observe(&past);
            // The episode took these actions before.
            if W::step(&mut past, *action).is_err() {
                break;
            }
        }
        player
    }
}
