//! The state of an episode that is played in text.

use sentinel_env::Transition;

use super::{PromptStyle, TextWorld};
use crate::Scripted;
use crate::policy::Player;

/// An episode with the memory of its prompts and its past actions. A clone continues exactly like
/// the original, with the same random outcomes.
///
/// ```
/// use sentinel_env::{rng::Streams, trust::{Setup, Task, TrustEnv}};
/// use sentinel_policy::text::{PromptState, PromptStyle, ParserStrictness, TextWorld};
///
/// let setup = Setup::new(Task::Task1, 7, Streams::Independent);
/// let mut state = PromptState::<TrustEnv>::new(&setup);
/// let prompt = state.prompt(PromptStyle::Reference);
/// assert!(prompt.contains("Return exactly one JSON object"));
/// let completion = r#"{"action_type": "verify", "specialist_id": "S2"}"#;
/// let parsed = TrustEnv::parse_action(ParserStrictness::Strict, completion, state.observation())?;
/// state.step(parsed.action)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PromptState<W: TextWorld> {
    episode: W,
    memory: W::Memory,
    actions: Vec<W::Action>,
}

impl<W: TextWorld> PromptState<W> {
    /// Creates the state at the beginning of an episode.
    #[must_use]
    pub fn new(setup: &W::Setup) -> Self {
        let episode = W::reset(setup);
        let mut memory = W::Memory::default();
        W::update_memory(&mut memory, W::observation(&episode));
        Self {
            episode,
            memory,
            actions: Vec::new(),
        }
    }

    /// Returns the episode in its current state.
    #[must_use]
    pub const fn episode(&self) -> &W {
        &self.episode
    }

    /// Returns the current observation of the episode.
    #[must_use]
    pub fn observation(&self) -> &W::Observation {
        W::observation(&self.episode)
    }

    /// Returns `true` if the episode has ended.
    #[must_use]
    pub fn done(&self) -> bool {
        W::is_done(self.observation())
    }

    /// Returns the actions taken so far.
    #[must_use]
    pub fn actions(&self) -> &[W::Action] {
        &self.actions
    }

    /// Returns the prompt for the current observation.
    #[must_use]
    pub fn prompt(&self, style: PromptStyle) -> String {
        W::prompt(style, &self.memory, &self.episode)
    }

    /// Returns the memory from which prompts are built.
    pub(crate) const fn memory(&self) -> &W::Memory {
        &self.memory
    }

    /// Takes one action and updates the memory with the new observation.
    ///
    /// # Errors
    /// If the episode refuses the action. Nothing changes in that case.
    pub fn step(&mut self, action: W::Action) -> Result<Transition<W::Info>, W::StepError> {
        let transition = self.episode.step(action)?;
        W::update_memory(&mut self.memory, W::observation(&self.episode));
        self.actions.push(action);
        Ok(transition)
    }

    /// Creates a scripted player that has observed every state before the current one. Its next
    /// [`Player::act`] observes the current state.
    #[must_use]
    pub fn player(&self, policy: W::PolicyName) -> Player<W> {
        let mut player = policy.start(self.episode.setup());
        self.replay_to(&mut player);
        player
    }

    /// Lets a new player observe every state before the current one.
    pub fn replay_to(&self, player: &mut Player<W>) {
        let mut past = W::reset(self.episode.setup());
        for action in &self.actions {
            player.observe(&past);
            // Does not happen: the same episode accepted these actions before.
            if W::step(&mut past, *action).is_err() {
                break;
            }
        }
    }
}
