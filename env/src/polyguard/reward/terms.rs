//! The terms of the reward that training can leave out, and their contribution to a step.

use super::components::published_value;
use super::terminal_reward::{combine, score_terms};
use crate::environment::RewardTermInfo;
use crate::polyguard::model::history::EndReason;
use crate::polyguard::model::state::State;
use crate::polyguard::model::step::{Component, Step};

/// The terms, in the order of [`Term`].
pub(in crate::polyguard) const TERMS: [RewardTermInfo; 4] = [
    RewardTermInfo {
        name: "ending",
        label: "Ending",
        meaning: "The factor by which a good or a bad end multiplies the score, and the points for steps saved",
    },
    RewardTermInfo {
        name: "safety",
        label: "Safety",
        meaning: "Points for lowering the true risk",
    },
    RewardTermInfo {
        name: "process",
        label: "Process",
        meaning: "Points for gathering information before acting, and for acting or abstaining as uncertainty demands",
    },
    RewardTermInfo {
        name: "exploits",
        label: "Exploits",
        meaning: "What refused steps and exploits cost: their points, and the score of the episode that they end",
    },
];

/// A term of [`TERMS`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    Ending,
    Safety,
    Process,
    Exploits,
}

const ALL: [Term; TERMS.len()] = [Term::Ending, Term::Safety, Term::Process, Term::Exploits];

/// The components that the cost of exploits consists of.
const HONESTY: [Component; 3] = [
    Component::CandidateAlignment,
    Component::Legality,
    Component::AntiCheat,
];

impl Step {
    /// Returns the amount that a term added to the reward of this step: the difference from the weighted
    /// mean without the term's components, or for `exploits` with their full value. A step that was
    /// refused or an exploit earns the lowest reward under gated rules, with the other terms or without.
    pub(in crate::polyguard) fn term_reward(&self, term: usize) -> f64 {
        let is_gated = self.total < self.reward.additive;
        let Some(term) = ALL.get(term).copied() else {
            return 0.0;
        };
        if term == Term::Ending || is_gated && term != Term::Exploits {
            return 0.0;
        }
        let value = |component: Component| match (term, component) {
            (Term::Safety, Component::SafetyDelta)
            | (Term::Process, Component::ProcessFidelity | Component::AbstentionQuality) => 0.0,
            (Term::Exploits, component) if HONESTY.contains(&component) => published_value(1.0),
            (_, component) => self.reward.component(component),
        };
        let mut sum = 0.0;
        for component in Component::ALL {
            sum += component.weight() * value(component);
        }
        self.total - published_value(sum)
    }
}

/// Returns the score of the episode without a term; `term_total` is the sum of [`Step::term_reward`].
/// Without `ending` it is the sum of the steps over the budget, without `exploits` an exploit ends the
/// episode as the last step of the budget does. A step without progress counts at most 0.8 with the
/// term.
pub(in crate::polyguard) fn score_without_term(state: &State, term: usize, term_total: f64) -> f64 {
    let end = state.observation.end;
    let end = end.unwrap_or(EndReason::StepBudgetExhausted);
    let terms = match (ALL.get(term), end) {
        (Some(Term::Ending), _) => (1.0, 0.0),
        (Some(Term::Exploits), EndReason::ExploitDetection | EndReason::RepeatedInvalid) => {
            score_terms(state, EndReason::StepBudgetExhausted)
        }
        _ => score_terms(state, end),
    };
    combine(state, terms, state.hidden.tally.counted - term_total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polyguard::{Action, Choice, Episode, Rules, Setup, TaskSpec};
    use crate::{Environment as _, World as _};

    /// Plays the candidate that is shown in place `n` again and again; returns the episode, its steps, and
    /// the total of every term.
    fn play(task: TaskSpec, n: usize) -> (Episode, Vec<Step>, [f64; TERMS.len()]) {
        let mut episode = Episode::reset(&Setup::new(task, 3).with_rules(Rules::HARDENED));
        let (mut steps, mut totals) = (Vec::new(), [0.0; TERMS.len()]);
        while !episode.observation().done() {
            let o = episode.observation();
            let shown: Vec<_> = o.candidates.iter().map(|one| one.id).collect();
            let choice = Choice::with_grounded_rationale(o, shown[n % shown.len()]);
            let step = episode.step(Action::Choose(choice)).expect("running").info;
            for (term, total) in totals.iter_mut().enumerate() {
                *total += episode.term_reward(term, &step);
            }
            steps.push(step);
        }
        (episode, steps, totals)
    }

    #[test]
    fn terms_are_components_and_the_end() {
        let mut exploits = 0;
        for task in TaskSpec::ALL {
            for n in 0..4 {
                let (episode, steps, totals) = play(task, n);
                let [ending, safety, process, cheating] =
                    std::array::from_fn(|term| episode.score_without_term(term, totals[term]));
                let honest = || steps.iter().filter(|step| step.exploit.is_none());
                let gained = |component: Component| -> f64 {
                    let parts = honest().map(|step| step.reward.component(component));
                    component.weight() * parts.sum::<f64>()
                };
                let near = |a: f64, b: f64| assert!((a - b).abs() < 0.001 * 16.0, "{a} {b}");
                near(
                    totals[Term::Safety as usize],
                    gained(Component::SafetyDelta),
                );
                near(
                    totals[Term::Process as usize],
                    gained(Component::ProcessFidelity) + gained(Component::AbstentionQuality),
                );
                assert_eq!(totals[Term::Ending as usize], 0.0);
                let counted: f64 = steps.iter().map(|step| step.counted).sum();
                let budget = f64::from(episode.observation().budget);
                assert!((ending - counted / budget).abs() < 0.0011);
                assert!(safety <= episode.score() && process <= episode.score());
                match steps.last().and_then(|step| step.exploit) {
                    Some(_) => {
                        assert!(cheating > episode.score(), "{task}: {cheating}");
                        exploits += 1;
                    }
                    None => assert!((cheating - episode.score()).abs() < 0.0011),
                }
            }
        }
        assert!(exploits > 5, "{exploits}");
    }
}
