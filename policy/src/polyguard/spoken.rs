//! A language model as a policy, split into a prompt and an answer, so that the prompts of many
//! episodes can be generated in one batch.

use sentinel_env::polyguard::{
    Action, CandidateId, Episode, PolyguardEnv, Setup, Step, StepError, Violation,
};

use super::bandit::{Bandit, Rule};
use crate::text::{PromptStyle, Situation};

/// Number of candidates that the bandit selects for the model.
const SHORTLIST: usize = 3;

/// An episode that a model plays: on its own, or choosing among three candidates selected by a
/// bandit.
#[derive(Clone, Debug)]
pub struct Spoken {
    situation: Situation<PolyguardEnv>,
    bandit: Option<Bandit>,
    /// Candidates that the latest prompt left to the model; `None` means all that are shown.
    left: Option<Vec<CandidateId>>,
}

impl Spoken {
    /// Creates an episode in which the model chooses among all shown candidates.
    #[must_use]
    pub fn alone(setup: &Setup) -> Self {
        Self {
            situation: Situation::new(setup),
            bandit: None,
            left: None,
        }
    }

    /// Creates an episode in which the model chooses among the best candidates of LinUCB.
    #[must_use]
    pub fn with_bandit(setup: &Setup) -> Self {
        Self {
            bandit: Some(Bandit::new(Rule::LinUcb, setup.seed)),
            ..Self::alone(setup)
        }
    }

    /// Returns the state of the episode with the memory of its prompts.
    #[must_use]
    pub const fn situation(&self) -> &Situation<PolyguardEnv> {
        &self.situation
    }

    /// Returns the episode in its current state.
    #[must_use]
    pub const fn episode(&self) -> &Episode {
        self.situation.episode()
    }

    /// Returns the next prompt for the model.
    pub fn ask(&mut self, style: PromptStyle) -> String {
        let o = self.situation.observation();
        self.left = (self.bandit.as_mut()).map(|bandit| bandit.top_k(o, SHORTLIST));
        match &self.left {
            None => self.situation.prompt(style),
            Some(left) => self.situation.prompt_among(style, left),
        }
    }

    /// Takes the action that the answer names. An answer that names no candidate left to the model
    /// is an invalid step, never another action.
    ///
    /// # Errors
    /// If the episode has ended.
    pub fn answer(&mut self, text: &str) -> Result<Step, StepError> {
        let said = Action::parse(text, self.situation.observation().formulary());
        let left = |id| self.left.as_ref().is_none_or(|left| left.contains(&id));
        let action = match said.id() {
            Some(id) if !left(id) => Action::Invalid(Violation::NoCandidate),
            _ => said,
        };
        self.situation.step(action).map(|taken| taken.info)
    }
}

#[cfg(test)]
mod tests {
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Case, End};

    use super::*;
    use crate::text::TextWorld;

    const STYLES: [PromptStyle; 2] = PromptStyle::ALL;

    fn setup() -> Setup {
        Setup::new(Case::ALL[8], 3)
    }

    /// Returns an answer that names a candidate, in the format of the prompt style.
    fn naming(spoken: &Spoken, id: CandidateId, style: PromptStyle) -> String {
        let o = spoken.situation().observation();
        PolyguardEnv::say(style, o, Action::explained(o, id))
    }

    #[test]
    fn a_model_alone_is_asked_what_everybody_is_asked() {
        for style in STYLES {
            let mut spoken = Spoken::alone(&setup());
            let asked = spoken.ask(style);
            assert_eq!(
                asked,
                Situation::<PolyguardEnv>::new(&setup()).prompt(style)
            );
            let last = spoken.episode().observation().candidates.iter().next_back();
            let last = last.map(|candidate| candidate.id);
            let text = naming(&spoken, last.expect("there is one"), style);
            let step = spoken.answer(&text).expect("the episode goes on");
            assert_eq!(step.action.id(), last);
        }
    }

    #[test]
    fn behind_a_bandit_it_is_left_three_and_no_other() {
        for style in STYLES {
            let mut spoken = Spoken::with_bandit(&setup());
            let o = spoken.episode().observation().clone();
            let left = Bandit::new(Rule::LinUcb, 3).top_k(&o, SHORTLIST);
            let asked = spoken.ask(style);
            let place = asked.rfind("Candidates:").unwrap_or(0);
            for candidate in o.candidates.iter() {
                let shown = asked[place..].contains(&format!("{} ", candidate.id));
                assert_eq!(shown, left.contains(&candidate.id), "{asked}");
            }
            let other = o.candidates.iter().find(|c| !left.contains(&c.id));
            let other = naming(&spoken, other.expect("there are more").id, style);
            let step = spoken.answer(&other).expect("the episode goes on");
            assert_eq!(step.action, Action::Invalid(Violation::NoCandidate));
            spoken.ask(style);
            let text = naming(&spoken, spoken.left.as_ref().expect("three")[0], style);
            assert!(
                spoken
                    .answer(&text)
                    .expect("it goes on")
                    .action
                    .id()
                    .is_some()
            );
        }
    }

    #[test]
    fn what_is_no_action_wastes_the_step_or_ends_the_episode() {
        let mut spoken = Spoken::alone(&setup());
        spoken.ask(PromptStyle::Compact);
        let step = spoken.answer("I would rather not").expect("it goes on");
        assert!(matches!(step.action, Action::Invalid(_)));
        spoken.answer(&"x".repeat(3000)).expect("it goes on");
        assert_eq!(
            spoken.episode().observation().end,
            Some(End::ExploitDetection)
        );
        assert!(spoken.answer("cand_01").is_err());
    }
}
