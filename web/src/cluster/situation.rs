//! The moment at the cursor: how the cluster stands, what just happened, attacks, and the audit's scores.

use sentinel_env::Environment;
use std::fmt::Write;

use leptos::prelude::*;
use sentinel_env::cluster::{Attack, AttackType, Change, JobStatus, OPEN_STEPS, Step, text};

use super::{Cluster, marks};
use crate::play::{Frame, Frames};
use crate::text::three;
use crate::ui::{Scene, Which, tip};

/// Steps, health, memory, the counters, and the next action. Words and numbers of ours only, so nothing needs
/// escaping.
pub(super) fn situation(scene: Scene<Cluster>) -> impl IntoView {
    let moment = Memo::new(move |_| {
        scene.with_frame(|frame| {
            standing(frame) + &counters(frame) + &happened(frame, scene.truth())
        })
    });
    let next = Memo::new(move |_| next(scene));
    let markup = move || moment.get() + &next.get();
    view! { <section class="card situation" aria-label="Situation" inner_html=markup></section> }
}

fn meter(label: &str, explanation: &str, class: &str, share: f64) -> String {
    format!(
        "<div class=\"row\">{}<div class=\"meter{class}\"><span style=\"width:{:.0}%\"></span></div></div>",
        tip(label, explanation),
        share.clamp(0.0, 1.0) * 100.0
    )
}

fn standing(frame: &Frame<Cluster>) -> String {
    let o = frame.episode.observation();
    let (step, most) = (o.step_count, o.max_steps);
    let title = if o.done() {
        let score = three(frame.episode.tally().score());
        format!("The episode has ended, score {score}")
    } else {
        text::goal(o.task).to_owned()
    };
    let lost = if o.rules.has(Change::Health) {
        "down"
    } else {
        "idle or down"
    };
    let low = if o.health < 1.0 { " stakes high" } else { "" };
    format!(
        "<h3>{title}</h3>{}{}{}",
        meter(
            &format!("Step {step} / {most}"),
            "Every action takes one step. The episode ends with the last step, with the last job, or when the pool’s health is 0.",
            "",
            f64::from(step) / f64::from(most)
        ),
        meter(
            &format!("Health {:.1}", o.health),
            &format!(
                "1 when most GPUs work; one half when over 30 % are {lost}, or over 25 % overloaded; 0 when over 60 % are down. It multiplies the reward."
            ),
            low,
            o.health
        ),
        meter(
            &format!("In use {:.0} %", o.utilization * 100.0),
            "Share of the working GPUs’ memory that jobs hold",
            "",
            o.utilization
        )
    )
}

fn counters(frame: &Frame<Cluster>) -> String {
    let o = frame.episode.observation();
    let c = &o.counters;
    let jobs = &o.jobs;
    let all: [(&str, u16, &str); 9] = [
        (
            "Done",
            u16::from(jobs.count(JobStatus::Complete)),
            "Completed jobs",
        ),
        (
            "Too late",
            u16::from(jobs.count(JobStatus::TimedOut)),
            "Jobs that passed their deadline",
        ),
        ("Attacks", c.attempts, "Attacks of the adversary so far"),
        (
            "Detections",
            c.detections,
            "Verifications that caught something",
        ),
        (
            "Poisonings",
            c.poisonings,
            "Completions that were forged, and wrong ones that were believed",
        ),
        (
            "False alarms",
            c.false_positives,
            "Verifications that caught nothing where they should have",
        ),
        ("Checks", c.verifications, "Verifications"),
        (
            "Loops",
            c.loop_events,
            "Actions repeated without anything getting done",
        ),
        (
            "Drift",
            c.drift_events,
            "Actions that did not serve the goal",
        ),
    ];
    let mut out = "<dl class=\"counters\">".to_owned();
    for (name, count, meaning) in all {
        // A `String` takes all that is written to it, here and below.
        let _ = write!(
            out,
            "<div><dt>{}</dt><dd data-count=\"{name}\">{count}</dd></div>",
            tip(name, meaning)
        );
    }
    out + "</dl>"
}

/// The sentence about the action that led here. Which kind an attack was is hidden, and so is what is true of a
/// report.
fn happened(frame: &Frame<Cluster>, truth: bool) -> String {
    let Some(step) = &frame.step else {
        return String::new();
    };
    let mut sentence = format!(
        "{}: {}.",
        marks::action(step.action),
        marks::mark(step).word
    );
    if let Some(report) = &step.report {
        let _ = write!(
            sentence,
            " {} reports {} at {:.0} %.",
            report.worker,
            report.job,
            report.reported * 100.0
        );
        if truth {
            let honest = if report.honest { "honest" } else { "a lie" };
            let _ = write!(
                sentence,
                " In truth {:.0} %: {honest}.",
                report.actual * 100.0
            );
        }
    }
    if let Some(attack) = &step.attack {
        let told = if truth {
            let (kind, target) = (attack.kind.name().replace('_', " "), target(attack));
            format!(" Attack of level {}: {kind}{target}.", attack.level)
        } else if step.caught {
            " The adversary attacked in this step.".to_owned()
        } else {
            String::new()
        };
        sentence.push_str(&told);
    }
    if step.looped {
        sentence.push_str(" The same action again and again.");
    }
    if step.drifted {
        sentence.push_str(" It did not serve the goal.");
    }
    format!("<p class=\"happened\">{sentence}</p>")
}

/// What the player does next.
fn next(scene: Scene<Cluster>) -> String {
    let cursor = scene.page.cursor();
    let who = match scene.which {
        Which::Main => "Next",
        Which::Versus => "Its next",
    };
    scene.run.with(|run| {
        let next = run.frames.get(cursor + 1);
        let next = next.and_then(|frame| Some((frame.step.as_ref()?.action, frame.own)));
        next.map_or_else(String::new, |(action, own)| {
            let yours = if own { " (yours)" } else { "" };
            format!(
                "<p>{who}: <strong>{}</strong>{yours}</p>",
                marks::action(action)
            )
        })
    })
}

/// What an attack says something of.
fn target(attack: &Attack) -> String {
    match attack.kind {
        AttackType::FalseCompletion => format!(" of {}", attack.job),
        AttackType::FalseMemoryReport => format!(" of {}", attack.gpu),
        AttackType::CascadePanic => " of the whole cluster".to_owned(),
        AttackType::FabricateJob => format!(", FAB-{}", attack.forged),
        AttackType::CoordinatedMultiReport => format!(" on {} and {}", attack.gpu, attack.job),
    }
}

/// The attacks up to the cursor: when, whether a report was caught then, and, with the truth, level, kind and
/// target.
pub(super) fn attacks(scene: Scene<Cluster>) -> impl IntoView {
    let rows = Memo::new(move |_| {
        let (truth, cursor) = (scene.truth(), scene.page.cursor());
        scene.run.with(|run| {
            let steps = run.steps().take_while(|(index, ..)| *index <= cursor);
            let rows = steps.filter_map(|(index, _, step)| {
                let made = step.attack.as_ref()?;
                let fate = fate(run, index, cursor, step);
                Some(attack(index, fate, made, truth))
            });
            // The latest first: the list is short and scrolls.
            let rows: Vec<String> = rows.collect();
            rows.into_iter().rev().collect::<String>()
        })
    });
    let body = move || {
        rows.with(|rows| {
            if rows.is_empty() {
                "<p class=\"quiet\">None so far.</p>".to_owned()
            } else {
                format!("<ol class=\"attack-list\">{rows}</ol>")
            }
        })
    };
    view! {
        <section class="card attacks" aria-label="Attacks">
            <h3>"Attacks"</h3>
            <div inner_html=body></div>
        </section>
    }
}

/// What came of the attack of a step by the cursor, as far as the counters tell.
fn fate(run: &Frames<Cluster>, index: usize, cursor: usize, step: &Step) -> (&'static str, String) {
    let counters = |index: usize| run.at(index).episode.observation().counters;
    if !run
        .at(index)
        .episode
        .observation()
        .rules
        .has(Change::Detections)
    {
        return if step.caught {
            (" met", "a report was caught".to_owned())
        } else {
            ("", "not met".to_owned())
        };
    }
    let found = counters(index.saturating_sub(1)).detections;
    // The attack before this one may be missed in the step in which this one comes.
    let missed = counters(index).missed;
    let last = cursor.min(index + usize::from(OPEN_STEPS)).min(run.last());
    for at in index..=last {
        if counters(at).detections > found {
            return (" met", format!("found in step {at}"));
        }
        if counters(at).missed > missed {
            return ("", "missed".to_owned());
        }
    }
    let over = last == index + usize::from(OPEN_STEPS);
    (
        "",
        if over { "passed with its job" } else { "open" }.to_owned(),
    )
}

fn attack(index: usize, fate: (&str, String), attack: &Attack, truth: bool) -> String {
    let (class, met) = fate;
    let what = if truth {
        format!(
            "level {}: {}{}",
            attack.level,
            attack.kind.name().replace('_', " "),
            target(attack)
        )
    } else {
        "kind and target are hidden".to_owned()
    };
    format!(
        "<li class=\"attack-row{class}\"><span class=\"index\">{index}</span><span class=\"what\">{what}</span><span class=\"quiet\">{met}</span></li>"
    )
}

/// How odd each agent's claims look to the audit.
pub(super) fn audit(scene: Scene<Cluster>) -> impl IntoView {
    let rows = Memo::new(move |_| {
        scene.with_frame(|frame| {
            let scores = &frame.episode.observation().anomalies;
            let row = |(agent, score): (sentinel_env::cluster::Agent, f64)| {
                let high = if score >= 0.60 { " stakes high" } else { "" };
                format!(
                    "<div class=\"row\"><span>{}</span><div class=\"meter{high}\" role=\"img\" aria-label=\"{score:.3}\"><span style=\"width:{:.1}%\"></span></div><span class=\"num\">{score:.3}</span></div>",
                    agent.name().replace('_', " "),
                    score * 100.0
                )
            };
            scores.iter().map(row).collect::<String>()
        })
    });
    let body = move || {
        rows.with(|rows| match rows.is_empty() {
            true => "<p class=\"quiet\">Nobody has claimed anything yet.</p>".to_owned(),
            false => rows.clone(),
        })
    };
    let head = tip(
        "Audit",
        "How odd each agent’s claims look, 0 to 1: claims of .90 or more without approval, a high mean, spread, and denied claims. From .60 on a verification serves the goal.",
    );
    view! {
        <section class="card audit" aria-label="Audit">
            <h3 inner_html=head></h3>
            <div class="audit-rows" inner_html=body></div>
        </section>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::play;
    use crate::state::{Source, View};
    use crate::world::Files;
    use sentinel_env::Environment;
    use sentinel_env::cluster::{Rules, Task};
    use sentinel_policy::cluster::PolicyName;

    /// What is said of the attacks adds up to what was counted.
    #[test]
    fn every_attack_has_the_fate_that_was_counted() {
        for (policy, seed) in [(PolicyName::Planner, 3), (PolicyName::Blind, 4)] {
            let view = View::<Cluster> {
                task: Task::Task3,
                seed,
                rules: Rules::HARDENED,
                ..View::default()
            };
            let run = play(&view, &Source::Policy(policy), None, Files::default());
            let attacks = run.steps().filter(|(.., step)| step.attack.is_some());
            let fates: Vec<String> = attacks
                .map(|(index, _, step)| fate(&run, index, run.last(), step).1)
                .collect();
            let count = |word: &str| fates.iter().filter(|fate| fate.starts_with(word)).count();
            let c = run.at(usize::MAX).episode.observation().counters;
            assert_eq!(count("found"), usize::from(c.detections), "{fates:?}");
            assert_eq!(count("missed"), usize::from(c.missed), "{fates:?}");
            assert_eq!(fates.len(), usize::from(c.attempts));
            assert!(count("not met") == 0 && fates.len() > 3);
        }
    }
}
