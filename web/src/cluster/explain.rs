//! A step's reward in the cluster world taken apart (spec cluster §8, §9).

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::cluster::{Episode, Grades, Task, Terminal};

use super::Cluster;
use crate::play::{Frame, Term};
use crate::ui::Parts;

/// The terms of a step's reward: the shares of the four roles, and the factors of their sum.
#[must_use]
pub fn explain(episode: &Episode, g: &Grades) -> Vec<Term> {
    let (c, r) = (&episode.observation().counters, &g.reliability);
    let [idle, _, overloaded, failed, recovering] = episode.hidden().pool.counts();
    let down = failed + recovering;
    vec![
        Term::share("orchestrator", 0.30, g.orchestrator, "").with_grounded_rationale(format!(
            ".40 × jobs done {:.3} + .30 × how well the action fits {:.3} + .30 × mean health {:.3}",
            g.completion, g.coherence, g.recovery_speed
        )),
        Term::share("resources", 0.30, g.resource_manager, "").with_grounded_rationale(format!(
            ".50 × memory in use {:.3} + .30 × deadlines kept {:.3} − .20 × waste {:.3} (idle, overloaded or lost GPUs: {idle}, {overloaded}, {down})",
            g.utilization, g.deadline_hit, g.waste
        )),
        Term::share("auditor", 0.20, g.auditor, "").with_grounded_rationale(format!(
            ".50 × detections per attack {:.3} − .30 × false alarms per check {:.3} + .20 × calibration of trust {:.3}",
            g.detection_rate, g.false_positive_rate, g.calibration
        )),
        Term::share("workers", 0.20, g.worker, "").with_grounded_rationale(format!(
            ".70 × jobs done {:.3} + .30 × honest reports {:.3}",
            g.completion, g.honesty
        )),
        Term::factor(
            "health",
            g.health,
            "1 when most GPUs work, one half when over 30 % are idle or down or over 25 % overloaded, 0 when over 60 % are down",
        ),
        Term::factor(
            "reliability",
            r.modifier,
            format!(
                ".30 × no loops {:.3} ({} so far) + .30 × no drift {:.3} ({} so far) + .25 × confidence that held {:.3} + .15 × how much of what can happen was met {:.3}",
                r.loop_avoidance,
                c.loop_events,
                r.context_memory,
                c.drift_events,
                r.hallucination_resistance,
                r.freshness
            ),
        ),
        Term::factor(
            "resistance",
            g.hack_resistance,
            format!(
                "1 without attacks, else 1 − .75 × poisonings per attack: {} of {}",
                c.poisonings, c.attempts
            ),
        ),
    ]
}

/// The terms of the terminal reward.
#[must_use]
pub fn explain_terminal(task: Task, end: &Terminal) -> Vec<Term> {
    let weights: &[f64] = match task {
        Task::Task1 => &[0.60, 0.40],
        Task::Task2 => &[0.40, 0.30, 0.30],
        Task::Task3 => &[0.30, 0.25, 0.20, 0.15, 0.10],
    };
    let both = end.components().iter().zip(weights);
    both.map(|((name, value), weight)| {
        let (name, meaning) = words(name);
        Term::share(name, *weight, *value, meaning)
    })
    .collect()
}

/// What a component of the terminal reward is called here, and what it measures.
fn words(component: &'static str) -> (&'static str, &'static str) {
    match component {
        "jobs_completed_rate" => ("jobs done", "Completed over all jobs"),
        "avg_gpu_utilization" => (
            "memory in use",
            "Share of the working GPUs’ memory in use at the end",
        ),
        "worker_trust_calibration" => (
            "calibration",
            "1 minus 4 times the mean squared distance between trust and true reliability",
        ),
        "deadline_recovery_rate" => ("deadlines", "Completed in time over completed jobs"),
        "adversarial_detection_rate" => ("detection", "Detections per attack, at most 1"),
        "reward_hack_detection_rate" => ("hack detection", "The same rate again"),
        "plan_coherence_score" => ("coherence", "Mean health of the pool over the steps"),
        "efficiency_score" => ("efficiency", "Share of the steps that is left"),
        other => (other, ""),
    }
}

/// The reward of the step that led to a frame.
pub(super) fn parts(frame: &Frame<Cluster>) -> Option<Parts> {
    let step = frame.step.as_ref()?;
    let task = frame.episode.observation().task;
    let end = step.terminal.map(|end| {
        let terms = explain_terminal(task, &end);
        ("Terminal reward", end.reward, terms, String::new())
    });
    let title = "What the four roles earn together, times three factors; at least .01:";
    Some(Parts {
        reward: step.grades.reward,
        step: vec![(title.to_owned(), explain(&frame.episode, &step.grades))],
        end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::{play, total};
    use crate::state::{Source, View};
    use crate::world::{Files, Named, World};
    use sentinel_env::num::clamp_reward;
    use sentinel_policy::cluster::PolicyName;

    /// The page's explanation and the environment's reward are the same number, up to the rounding of the
    /// parts that the environment shows.
    #[test]
    fn terms_come_to_the_reward() {
        for task in Task::ALL {
            for policy in PolicyName::all().iter().filter(|p| !Cluster::slow(**p)) {
                let view = View::<Cluster> {
                    task,
                    seed: 3,
                    ..View::default()
                };
                let run = play(&view, &Source::Policy(*policy), None, Files::default());
                for (index, frame, step) in run.steps() {
                    let sum = clamp_reward(total(&explain(&frame.episode, &step.grades)));
                    let reward = step.grades.reward;
                    assert!(
                        (sum - reward).abs() < 2e-4,
                        "{task} {index}: {sum} {reward}"
                    );
                    if let Some(end) = &step.terminal {
                        let sum = clamp_reward(total(&explain_terminal(task, end)));
                        assert!((sum - end.reward).abs() < 2e-4, "{task}: {sum}");
                    }
                }
                assert!(run.done());
            }
        }
    }
}
