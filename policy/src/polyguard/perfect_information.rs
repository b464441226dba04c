//! The highest score that an episode allows: a bound on what any policy can score in it.
//!
//! The search knows the hidden state and every future draw, and tries all sequences of answers. No
//! policy can do better in that episode, so the mean over episodes bounds the expected score of
//! every policy, also of one that sees hidden state.

use sentinel_env::num::round_to;
use sentinel_env::polyguard::{Action, CandidateId, Change, Component, Episode, Violation};
use sentinel_env::{Environment, PrivilegedState};

/// Upper limit of a published component, and of the amount that a step that is not taken counts (spec
/// polyguard §1, §7.3).
const HIGHEST: f64 = 0.999;
/// Largest value of the abstention component (spec polyguard §8.2).
const HIGHEST_ABSTENTION: f64 = 0.9;
/// Factor of the score of an episode that ends with a justified review; all ends except a safe
/// resolution have at most this one (spec polyguard §7.3).
const OTHER_END: f64 = 0.7;
/// Number added before rounding, above the error of sums of rewards.
const ROUNDING: f64 = 1e-9;
/// Upper limit of the score of an episode that ends as an exploit, by a veto or after refusals (spec
/// polyguard §7.3), which the search leaves out.
const BAD_END: f64 = 0.1;

/// An upper bound on the score of an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodeBound {
    /// The bound, 0..=1: no sequence of answers has a higher score.
    pub score: f64,
    /// `true` if some sequence of answers has this score.
    pub is_reached: bool,
}

impl EpisodeBound {
    /// Searches the answers to `episode`, which has not ended, in some `steps` steps of copies of it. If
    /// these do not suffice, what is left is bounded by its rewards so far, and by the largest
    /// ones for the rest.
    #[must_use]
    pub fn new(episode: &Episode, steps: u64) -> Self {
        let mut search = Search {
            best: BAD_END,
            skipped: 0.0,
            steps,
        };
        search.visit(episode);
        Self {
            score: search.best.max(search.skipped),
            is_reached: search.skipped <= search.best && search.best > BAD_END,
        }
    }
}

/// A depth-first search with pruning by an upper bound.
struct Search {
    /// The highest score so far.
    best: f64,
    /// The highest bound of the states that were not searched for want of steps.
    skipped: f64,
    /// The number of steps that are left.
    steps: u64,
}

/// A state that one more answer leads to.
struct Successor {
    episode: Episode,
    bound: f64,
    /// The score if the steps ran out; states with a higher one are searched first.
    score: f64,
}

impl Search {
    /// Searches the answers in the state of `episode`.
    fn visit(&mut self, episode: &Episode) {
        let mut successors = Vec::new();
        for action in answers(episode) {
            self.steps = self.steps.saturating_sub(1);
            let mut next = episode.clone();
            // The episode is running, and no answer is an error then.
            let Ok(transition) = next.step(action) else {
                continue;
            };
            match transition.info.score {
                Some(score) => self.best = self.best.max(score),
                None => successors.push(Successor {
                    bound: bound(&next),
                    score: next.score(),
                    episode: next,
                }),
            }
        }
        successors.sort_by(|a, b| b.score.total_cmp(&a.score));
        for next in successors {
            if next.bound <= self.best {
                continue;
            }
            if self.steps == 0 {
                self.skipped = self.skipped.max(next.bound);
            } else {
                self.visit(&next.episode);
            }
        }
    }
}

/// Returns the answers that can be best: each shown candidate, with the rationale and confidence that
/// get full marks, and answers that are refused. A refused choice is rewarded for its confidence,
/// unless the rules give all refused answers the same.
///
/// Other answers name the same candidates with lower marks, or end the episode as an exploit or by a
/// veto, with at most a tenth of the score.
fn answers(episode: &Episode) -> impl Iterator<Item = Action> {
    let o = episode.observation();
    let choose = move |id| Action::with_grounded_rationale(o, id);
    let shown = o.candidates.iter().map(|shown| shown.id);
    let is_refused = |id: &CandidateId| o.candidates.get(*id).is_none();
    let same = episode.setup().rules.has(Change::Gated);
    let refused = CandidateId::all().filter(move |id| !same && is_refused(id));
    let choices = shown.chain(refused).map(choose);
    choices.chain([Action::Invalid(Violation::Empty)])
}

/// Returns an upper bound on the score of every way to play on from a running episode.
fn bound(episode: &Episode) -> f64 {
    let (o, counted) = (episode.observation(), episode.hidden().tally().counted);
    let (budget, taken) = (f64::from(o.budget), f64::from(o.step_count));
    // A step counts less than a missing one, so that the earliest end is the best.
    let resolved = counted + highest_reward(episode) + (budget - taken - 1.0) * HIGHEST;
    let other = OTHER_END * (counted + (budget - taken) * HIGHEST);
    let score = resolved.max(other) / budget;
    round_to((score + ROUNDING).min(HIGHEST), 3)
}

/// Returns an upper bound on the reward of the next step.
fn highest_reward(episode: &Episode) -> f64 {
    let (o, hidden) = (episode.observation(), episode.hidden());
    let highest = |component| match component {
        Component::AbstentionQuality => HIGHEST_ABSTENTION,
        Component::Efficiency => 1.0 - f64::from(o.step_count + 1) / f64::from(o.budget + 1),
        // Half of the way to the target, which is at most 1.
        Component::DiseaseStability => f64::midpoint(hidden.stability, 1.0),
        _ => HIGHEST,
    };
    let total: f64 = (Component::ALL.into_iter())
        .map(|component| component.weight() * highest(component).min(HIGHEST))
        .sum();
    // Components and the total are rounded to three decimals.
    total + 0.001
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scripted as _;
    use crate::polyguard::PolicyName;
    use crate::rollout::run_episode;
    use sentinel_env::polyguard::{Choice, Confidence, Setup, Step, TaskSpec};
    use sentinel_env::rules::Rules;

    /// Two episodes of every task, under both sets of rules.
    fn setups() -> impl Iterator<Item = Setup> {
        let rules = |(at, task): (usize, &TaskSpec)| {
            let seed = 20_000 + at as u64;
            [Rules::REFERENCE, Rules::HARDENED]
                .map(|rules| Setup::new(*task, seed).with_rules(rules))
        };
        TaskSpec::ALL.iter().enumerate().flat_map(rules)
    }

    /// Returns the highest score of all answers, without pruning; of choices in several forms.
    fn exhaustive(episode: &Episode) -> f64 {
        let o = episode.observation();
        if o.done() {
            return episode.score();
        }
        let mut tries: Vec<Action> = vec![Action::Invalid(Violation::Empty), Action::Exploit];
        for id in CandidateId::all() {
            tries.push(Action::with_grounded_rationale(o, id));
            let plain = Choice::new(id);
            tries.push(Action::Choose(plain));
        }
        let after = |action| {
            let mut next = episode.clone();
            next.step(action).expect("a running episode");
            exhaustive(&next)
        };
        tries.into_iter().map(after).fold(0.0, f64::max)
    }

    /// Plays until `left` steps are left; `None` if every answer would end the episode before.
    fn almost_over(setup: &Setup, left: u8) -> Option<Episode> {
        let mut episode = Episode::reset(setup);
        while episode.observation().budget - episode.observation().step_count > left {
            let o = episode.observation();
            let mut after = o.candidates.iter().map(|shown| {
                let mut next = episode.clone();
                let action = Action::with_grounded_rationale(o, shown.id);
                next.step(action).expect("a running episode");
                next
            });
            let running = after.rfind(|next| !next.observation().done());
            drop(after);
            episode = running?;
        }
        Some(episode)
    }

    #[test]
    fn bound_is_the_optimum_of_exhaustive_search() {
        let mut compared = 0;
        for setup in setups() {
            let left = if setup.seed.is_multiple_of(8) { 3 } else { 2 };
            let Some(episode) = almost_over(&setup, left) else {
                continue;
            };
            let found = EpisodeBound::new(&episode, u64::MAX);
            assert!(found.is_reached, "{setup:?}");
            assert!(
                (found.score - exhaustive(&episode)).abs() < 1e-12,
                "{setup:?}"
            );
            let early = EpisodeBound::new(&episode, 1);
            assert!(early.score >= found.score, "{setup:?}");
            compared += 1;
        }
        assert!(compared > 40, "{compared}");
    }

    #[test]
    fn no_policy_is_above_the_bound() {
        for setup in setups() {
            let found = EpisodeBound::new(&Episode::reset(&setup), 2_000);
            for name in PolicyName::ALL {
                let score = run_episode(&setup, &mut name.start(&setup))
                    .episode()
                    .score();
                assert!(score <= found.score, "{name:?} {setup:?} {score} {found:?}");
            }
        }
    }

    #[test]
    fn no_refused_answer_earns_more_than_those_that_are_tried() {
        for setup in setups() {
            let episode = Episode::reset(&setup);
            let o = episode.observation();
            let highest = |answers: &mut dyn Iterator<Item = Action>| {
                let steps =
                    answers.map(|action| episode.clone().step(action).expect("a step").info);
                let refused = steps.filter(|step| step.violation.is_some());
                refused.map(|step| step.total).fold(0.0, f64::max)
            };
            let confident = |tenths: u32| Confidence::new(f64::from(tenths) / 10.0);
            let mut all = CandidateId::all().flat_map(|id| {
                let choice = Choice::with_grounded_rationale(o, id);
                let others = (0..=10).map(move |tenths| Choice {
                    confidence: confident(tenths),
                    ..choice
                });
                others.map(Action::Choose)
            });
            assert!(
                highest(&mut answers(&episode)) >= highest(&mut all),
                "{setup:?}"
            );
        }
    }

    #[test]
    fn grounded_answers_get_full_marks() {
        for setup in setups() {
            let mut episode = Episode::reset(&setup);
            for turn in 0.. {
                let o = episode.observation();
                if o.done() {
                    break;
                }
                let step = |action: Action| -> Step {
                    episode
                        .clone()
                        .step(action)
                        .expect("a running episode")
                        .info
                };
                for candidate in o.candidates.iter() {
                    let info = step(Action::with_grounded_rationale(o, candidate.id));
                    for component in [
                        Component::ExplanationGrounding,
                        Component::UncertaintyCalibration,
                    ] {
                        let value = info.reward.component(component);
                        let is_full = value >= HIGHEST || info.exploit.is_some();
                        assert!(is_full, "{component:?} {value} {:?}", candidate.act);
                    }
                    assert!(info.total <= highest_reward(&episode) + 1e-12, "{info:?}");
                }
                let shown: Vec<CandidateId> = o.candidates.iter().map(|c| c.id).collect();
                let id = shown[(turn + setup.seed as usize) % shown.len()];
                let action = Action::with_grounded_rationale(o, id);
                episode.step(action).expect("a running episode");
            }
        }
    }
}
