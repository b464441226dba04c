//! A language model as a policy, split into a prompt and an answer, so that the prompts of many
//! episodes can be generated in one batch.

use sentinel_env::polyguard::{
    Action, CandidateId, Episode, PolyguardEnv, Setup, Step, StepError, Violation,
};

use super::bandit::{Bandit, ExplorationRule};
use crate::text::{PromptState, PromptStyle};

/// Number of candidates that the bandit selects for the model.
const SHORTLIST: usize = 3;

/// An episode that a model plays: on its own, or choosing among three candidates selected by a
/// bandit.
#[derive(Clone, Debug)]
pub struct LmEpisode {
    prompt_state: PromptState<PolyguardEnv>,
    bandit: Option<Bandit>,
    /// Candidates that the latest prompt offered; `None` means all that are shown.
    offered: Option<Vec<CandidateId>>,
}

impl LmEpisode {
    /// Creates an episode in which the model chooses among all shown candidates.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        Self {
            prompt_state: PromptState::new(setup),
            bandit: None,
            offered: None,
        }
    }

    /// Creates an episode in which the model chooses among the best candidates of LinUCB.
    #[must_use]
    pub fn with_bandit(setup: &Setup) -> Self {
        Self {
            bandit: Some(Bandit::new(ExplorationRule::LinUcb, setup.seed)),
            ..Self::new(setup)
        }
    }

    /// Returns the state of the episode with the memory of its prompts.
    #[must_use]
    pub const fn prompt_state(&self) -> &PromptState<PolyguardEnv> {
        &self.prompt_state
    }

    /// Returns the episode in its current state.
    #[must_use]
    pub const fn episode(&self) -> &Episode {
        self.prompt_state.episode()
    }

    /// Returns the next prompt for the model.
    pub fn prompt(&mut self, style: PromptStyle) -> String {
        let o = self.prompt_state.observation();
        self.offered = (self.bandit.as_mut()).map(|bandit| bandit.top_k(o, SHORTLIST));
        match &self.offered {
            None => self.prompt_state.prompt(style),
            Some(offered) => self.prompt_state.prompt_among(style, offered),
        }
    }

    /// Takes the action that the answer names. An answer that names no offered candidate
    /// is an invalid step, never another action.
    ///
    /// # Errors
    /// If the episode has ended.
    pub fn step_with_completion(&mut self, text: &str) -> Result<Step, StepError> {
        let said = Action::parse(text, self.prompt_state.observation().formulary());
        let is_offered = |id| {
            self.offered
                .as_ref()
                .is_none_or(|offered| offered.contains(&id))
        };
        let action = match said.id() {
            Some(id) if !is_offered(id) => Action::Invalid(Violation::NoCandidate),
            _ => said,
        };
        self.prompt_state.step(action).map(|taken| taken.info)
    }
}

#[cfg(test)]
mod tests {
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{EndReason, TaskSpec};

    use super::*;
    use crate::text::TextWorld;

    const STYLES: [PromptStyle; PromptStyle::COUNT] = PromptStyle::ALL;

    fn setup() -> Setup {
        Setup::new(TaskSpec::ALL[8], 3)
    }

    /// Returns an answer that names a candidate, in the format of the prompt style.
    fn naming(episode: &LmEpisode, id: CandidateId, style: PromptStyle) -> String {
        let o = episode.prompt_state().observation();
        PolyguardEnv::format_action(style, o, Action::with_grounded_rationale(o, id))
    }

    #[test]
    fn episode_without_bandit_uses_standard_prompt() {
        for style in STYLES {
            let mut episode = LmEpisode::new(&setup());
            let asked = episode.prompt(style);
            assert_eq!(
                asked,
                PromptState::<PolyguardEnv>::new(&setup()).prompt(style)
            );
            let last = episode
                .episode()
                .observation()
                .candidates
                .iter()
                .next_back();
            let last = last.map(|candidate| candidate.id);
            let text = naming(&episode, last.expect("there is one"), style);
            let step = episode
                .step_with_completion(&text)
                .expect("the episode goes on");
            assert_eq!(step.action.id(), last);
        }
    }

    #[test]
    fn bandit_shortlist_limits_prompt_and_actions() {
        for style in STYLES {
            let mut episode = LmEpisode::with_bandit(&setup());
            let o = episode.episode().observation().clone();
            let left = Bandit::new(ExplorationRule::LinUcb, 3).top_k(&o, SHORTLIST);
            let asked = episode.prompt(style);
            let place = asked.rfind("Candidates:").unwrap_or(0);
            for candidate in o.candidates.iter() {
                // The id begins a line, or ends it.
                let mut words = asked[place..].split([' ', '\n', '.', ':']);
                let shown = words.any(|word| word == candidate.id.to_string());
                assert_eq!(shown, left.contains(&candidate.id), "{asked}");
            }
            let other = o.candidates.iter().find(|c| !left.contains(&c.id));
            let other = naming(&episode, other.expect("there are more").id, style);
            let step = episode
                .step_with_completion(&other)
                .expect("the episode goes on");
            assert_eq!(step.action, Action::Invalid(Violation::NoCandidate));
            episode.prompt(style);
            let text = naming(&episode, episode.offered.as_ref().expect("three")[0], style);
            assert!(
                episode
                    .step_with_completion(&text)
                    .expect("it goes on")
                    .action
                    .id()
                    .is_some()
            );
        }
    }

    #[test]
    fn invalid_completion_uses_step_and_exploit_ends_episode() {
        let mut episode = LmEpisode::new(&setup());
        episode.prompt(PromptStyle::Compact);
        let step = episode
            .step_with_completion("I would rather not")
            .expect("it goes on");
        assert!(matches!(step.action, Action::Invalid(_)));
        episode
            .step_with_completion(&"x".repeat(3000))
            .expect("it goes on");
        assert_eq!(
            episode.episode().observation().end,
            Some(EndReason::ExploitDetection)
        );
        assert!(episode.step_with_completion("cand_01").is_err());
    }
}
