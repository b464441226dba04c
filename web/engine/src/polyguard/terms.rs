//! The rewards and the final score of the PolyGuard world as sums of terms (spec polyguard §7, §8).

use sentinel_env::polyguard::{EndReason, Observation, PolyguardEnv, Step};
use sentinel_env::{Environment as _, PrivilegedState as _};
use sentinel_page_protocol::RewardTerm;

use super::display_text;
use super::reward_reasons::ComponentReason;

/// Group of the terms of the score.
const SCORE: &str = "Score";

fn term(group: &str, name: &str, weight: Option<f64>, value: f64, help: String) -> RewardTerm {
    RewardTerm {
        group: group.to_owned(),
        name: name.to_owned(),
        help,
        weight,
        value,
    }
}

/// Returns the terms of a step's reward: thirteen components, and a factor where nothing of their
/// sum is paid.
pub(super) fn step_terms(step: &Step, judged: &[ComponentReason]) -> Vec<RewardTerm> {
    let component = |judged: &ComponentReason| {
        let (name, formula) = display_text::component(judged.component);
        let channel = display_text::channel(judged.component.channel());
        let help = format!("Here: {}. {formula}. Channel: {channel}.", judged.reason);
        let weight = Some(judged.component.weight());
        term("", name, weight, judged.value, help)
    };
    let mut terms: Vec<RewardTerm> = judged.iter().map(component).collect();
    if step.total < step.reward.additive {
        let help = "The step was refused or cheating: under these rules it earns .001 only";
        terms.push(term("", "gated", None, 0.0, help.to_owned()));
    }
    terms
}

/// Returns the terms of the score of an episode that has ended.
pub(super) fn score_terms(episode: &PolyguardEnv, end: EndReason) -> Vec<RewardTerm> {
    let o: &Observation = episode.observation();
    let (factor, pad) = episode.score_terms(end);
    let budget = f64::from(o.budget);
    let taken = f64::from(o.step_count);
    let mean = episode.hidden().tally().counted / taken.max(1.0);
    let (name, meaning) = display_text::end(end);
    vec![
        term(
            SCORE,
            "steps taken",
            Some(taken / budget),
            mean,
            "Weight: share of the step budget that was used. Value: mean reward of these steps, where a step without progress counts at most .8".to_owned(),
        ),
        term(
            SCORE,
            "steps saved",
            Some((budget - taken) / budget),
            pad,
            "Weight: share of the step budget that was not needed. Value: what each of these steps counts after this end".to_owned(),
        ),
        term(
            SCORE,
            "the end",
            None,
            factor,
            format!("The end was: {name}. {meaning}"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::reward_reasons::reward_reasons;
    use super::*;
    use sentinel_env::polyguard::{
        Action, COMPONENT_COUNT, Episode, Rules, Setup, TaskSpec, Violation,
    };
    use sentinel_env::rng::Streams;
    use sentinel_policy::polyguard::PolicyName;

    /// Returns the sum of the terms with a weight, times the factors, within the published range.
    fn total(terms: &[RewardTerm]) -> f64 {
        let (mut sum, mut factor) = (0.0, 1.0);
        for term in terms {
            match term.weight {
                Some(weight) => sum += weight * term.value,
                None => factor *= term.value,
            }
        }
        (sum * factor).clamp(0.001, 0.999)
    }

    #[test]
    fn terms_add_up_to_the_reward_and_to_the_score() {
        for (number, case) in TaskSpec::ALL.into_iter().enumerate() {
            for policy in [
                PolicyName::Random,
                PolicyName::RulesOnly,
                PolicyName::KeepRegimen,
            ] {
                for rules in [Rules::REFERENCE, Rules::HARDENED] {
                    let setup = Setup::new(case, 8).with_rules(rules);
                    let mut episode = Episode::reset(&setup);
                    let mut player = policy.player(8, Streams::Independent);
                    let mut steps = 0;
                    while let Some(mut action) = player.act(&episode) {
                        // Some answers are refused.
                        if (number + steps).is_multiple_of(5) {
                            action = Action::Invalid(Violation::Empty);
                        }
                        steps += 1;
                        let before = episode.observation().clone();
                        let step = episode.step(action).expect("not over").info;
                        let judged = reward_reasons(&step, &before, episode.observation());
                        let terms = step_terms(&step, &judged);
                        assert!(terms.len() >= COMPONENT_COUNT);
                        let sum = total(&terms);
                        let at = format!("{case} {policy:?} {rules} step {steps}");
                        assert!((sum - step.total).abs() < 6e-4, "{at}: {sum}");
                        if let Some(end) = step.end {
                            let sum = total(&score_terms(&episode, end));
                            assert!((sum - episode.score()).abs() < 6e-4, "{at}: {sum}");
                        }
                    }
                }
            }
        }
    }
}
