//! A step's reward taken apart: four channels, thirteen components, and what the episode's end makes of them
//! (spec polyguard §7, §8).

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::polyguard::{Channel, End, Episode, Step};

use super::judge::{Judged, judge};
use super::turn::Turn;
use super::{Polyguard, words};
use crate::play::{Frame, Term};
use crate::ui::{Parts, tip};

/// The components of a channel, with their weights in the reward.
fn terms(channel: Channel, judged: &[Judged]) -> Vec<Term> {
    let of = judged.iter().filter(|j| j.component.channel() == channel);
    of.map(|j| {
        let (name, formula) = words::component(j.component);
        let meaning = format!("Here {}. {formula}", j.reason);
        Term::share(name, j.component.weight(), j.value, "").with_grounded_rationale(meaning)
    })
    .collect()
}

/// What the score is made of at the end.
fn ending(episode: &Episode, end: End) -> Vec<Term> {
    let o = episode.observation();
    let (factor, pad) = episode.score_terms(end);
    let budget = f64::from(o.budget);
    let taken = f64::from(o.step_count);
    let mean = episode.hidden().tally().counted / taken.max(1.0);
    vec![
        Term::share(
            "steps taken",
            taken / budget,
            mean,
            "Share of the steps that there are, and what those taken counted on average: their rewards, at most .8 where nothing new came of one",
        ),
        Term::share(
            "steps saved",
            (budget - taken) / budget,
            pad,
            "Share of the steps that was not needed, and what each of them counts after this end",
        ),
        Term::factor(
            "the end",
            factor,
            format!("It was: {}. {}", words::end(end).0, words::end(end).1),
        ),
    ]
}

/// What stands above the first channel.
fn head(step: &Step, truth: bool) -> String {
    let mut text = "The mean of thirteen components by published weights. They grade what is true: an agent is told their sum only.".to_owned();
    if step.total < step.reward.additive {
        text += " Refused or cheating, so under these rules nothing of it is paid.";
    }
    if !step.progress {
        text += " Nothing new came of the step: it counts at most .8 towards the score.";
    }
    if truth {
        let row = |name: &str, [was, now]: [f64; 2]| format!("{name} {was:.3} → {now:.3}");
        text += &format!(
            "<span class=\"truth\"> In truth: {}, {}, {}.</span>",
            row("risk", step.risk),
            row("burden", step.burden),
            row("control", step.stability)
        );
    }
    text
}

/// The reward of the step that led to a frame.
pub(super) fn parts(frame: &Frame<Polyguard>, truth: bool) -> Option<Parts> {
    let turn: &Turn = frame.step.as_ref()?;
    let judged = judge(turn, frame.episode.observation());
    let channels = Channel::ALL.iter().map(|channel| {
        let terms = terms(*channel, &judged);
        let value = turn.step.reward.channels[*channel as usize];
        let name = words::channel(*channel);
        let meaning = format!(
            "A channel: the plain mean of its {} components",
            terms.len()
        );
        let title = format!(
            "<strong data-channel=\"{}\">{} {value:.3}</strong>",
            channel.name(),
            tip(name, &meaning)
        );
        (title, terms)
    });
    let mut step = vec![(head(&turn.step, truth), Vec::new())];
    step.extend(channels);
    let end = turn.step.end.map(|end| {
        let score = frame.episode.score();
        ("Score", score, ending(&frame.episode, end), String::new())
    });
    Some(Parts {
        reward: turn.step.total,
        step,
        end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::{play, total};
    use crate::state::{Source, View};
    use crate::world::Files;
    use sentinel_env::polyguard::{COMPONENTS, TaskSpec};
    use sentinel_policy::polyguard::PolicyName;

    /// The page's explanation and the environment's reward are the same number.
    #[test]
    fn terms_come_to_the_reward_and_to_the_score() {
        for case in TaskSpec::ALL {
            for policy in [
                PolicyName::Random,
                PolicyName::RulesOnly,
                PolicyName::NoChange,
            ] {
                let view = View::<Polyguard> {
                    task: case,
                    seed: 8,
                    ..View::default()
                };
                let run = play(&view, &Source::Policy(policy), None, Files::default());
                for (index, frame, turn) in run.steps() {
                    let parts = parts(frame, false).expect("a step");
                    let all = parts.step.iter().flat_map(|(_, terms)| terms);
                    assert_eq!(all.clone().count(), COMPONENTS);
                    let sum = all.fold(0.0, |sum, term| sum + term.product());
                    let reward = turn.step.reward.additive;
                    assert!(
                        (sum - reward).abs() < 6e-4,
                        "{case} {index}: {sum} {reward}"
                    );
                    if let Some((_, score, terms, _)) = parts.end {
                        let sum = total(&terms);
                        assert!(
                            (sum - score).abs() < 6e-4,
                            "{case} {policy:?}: {sum} {score}"
                        );
                    }
                }
                assert!(run.done(), "{case}");
            }
        }
    }
}
