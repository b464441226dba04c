//! The moment at the cursor: what is to be done, what it takes, and what the player makes of it.

use leptos::prelude::*;
use sentinel_env::Environment;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::trust::{Action, Layout, text};

use super::Trust;
use crate::play::Frame;
use crate::text::three;
use crate::ui::{Scene, Which, percent, ranked, tip};

/// The current subtask, the budget, and the counters. Words and numbers of ours only, so nothing needs
/// escaping.
pub(super) fn situation(scene: Scene<Trust>) -> impl IntoView {
    let markup = Memo::new(move |_| {
        let moment = scene.with_frame(|frame| {
            let truth = scene.truth();
            subtask(frame) + &counters(frame, truth) + &happened(frame, truth)
        });
        moment + &thoughts(scene)
    });
    view! { <section class="card situation" aria-label="Situation" inner_html=markup></section> }
}

fn row(head: &str, class: &str, share: f64) -> String {
    let width = share * 100.0;
    format!(
        "<div class=\"row\">{head}<div class=\"meter{class}\"><span style=\"width:{width:.0}%\"></span></div></div>"
    )
}

fn subtask(frame: &Frame<Trust>) -> String {
    let o = frame.episode.observation();
    let total = Layout::for_task(o.task).len();
    let Some(domain) = o.domain else {
        let score = three(frame.episode.tally().score());
        let done = o.progress.completed();
        return format!(
            "<h3>The episode has ended</h3><p>{done} of {total} subtasks completed, score {score}</p>"
        );
    };
    let number = o.progress.position() + 1;
    let again = if o.progress.failed_attempts() > 0 {
        ", second attempt"
    } else {
        ""
    };
    let stakes = o.stakes;
    let class = if stakes >= HIGH_STAKES {
        " stakes high"
    } else {
        " stakes"
    };
    let head = tip(
        &format!("Stakes {stakes:.2}"),
        "What is at risk, 0 to 1. From .70 on, answers count as high-stakes evidence, and by default the adversary poisons; believed poison at .85 or more ends the episode.",
    );
    let domain = domain.name().to_ascii_lowercase();
    format!("<h3>Subtask {number} of {total}: {domain}{again}</h3>") + &row(&head, class, stakes)
}

fn counters(frame: &Frame<Trust>, truth: bool) -> String {
    let (o, tally) = (frame.episode.observation(), frame.episode.tally());
    let used = o.step_count.min(o.max_steps);
    let over = match o.step_count - used {
        0 => String::new(),
        over => format!(" (+{over})"),
    };
    let poison = if truth {
        format!("{} caught, {} let in", tally.detections, tally.poisonings)
    } else {
        "not told to the agent".to_owned()
    };
    let head = tip(
        &format!("Budget {used} / {}{over}", o.max_steps),
        "Steps used: 1 to delegate (2 to the slow specialist), 1 more to verify, 2 to solve alone, 1 to skip. The last action may overshoot.",
    );
    let share = f64::from(used) / f64::from(o.max_steps);
    format!(
        "{}<dl class=\"counters\"><div><dt>Completed</dt><dd>{}</dd></div><div><dt>Actions</dt><dd>{}</dd></div>\
        <div><dt>Poison</dt><dd>{poison}</dd></div></dl>",
        row(&head, "", share),
        o.progress.completed(),
        tally.actions
    )
}

/// The sentence about the action that led here.
fn happened(frame: &Frame<Trust>, truth: bool) -> String {
    let Some(step) = &frame.step else {
        return String::new();
    };
    let sentence = if truth || !step.adversarial {
        text::reason(step)
    } else {
        // The agent learns whether the answer was right, not that it was poison.
        let outcome = if step.success == Some(true) {
            "done"
        } else {
            "a wrong answer"
        };
        format!(
            "{}: {} led to {outcome}.",
            text::NodeId(step.node),
            step.action
        )
    };
    let miss = if frame.missed {
        "<strong class=\"miss\"> Replay miss: the file has no row for this step; the heuristic acted.</strong>"
    } else {
        ""
    };
    format!("<p class=\"happened\">{sentence}{miss}</p>")
}

/// What the player weighed for its next action.
fn thoughts(scene: Scene<Trust>) -> String {
    let cursor = scene.page.cursor();
    scene.run.with(|run| {
        let next = run.frames.get(cursor + 1);
        let next = next.and_then(|frame| Some((frame.step?.action, frame.own)));
        let mind = &run.at(cursor).mind;
        if next.is_none() && mind.probabilities.is_none() {
            return String::new();
        }
        let mut out = "<div class=\"thoughts\">".to_owned();
        if let Some((action, own)) = next {
            let who = match scene.which {
                Which::Main => "Next",
                Which::Versus => "Its next",
            };
            let yours = if own { " (yours)" } else { "" };
            out += &format!("<p>{who}: <strong>{action}</strong>{yours}</p>");
        }
        if let Some(values) = mind.values {
            let best = values.iter().fold(f64::NEG_INFINITY, |best, v| best.max(*v));
            let less = |value: f64| format!("{:+.3}", value - best);
            out += &ranked(Action::ALL.into_iter().zip(values), less, "Weighed against the best:", "Expected reward of the rest of the episode, as the look-ahead sees it, less that of the best action");
        }
        if let Some(all) = mind.probabilities {
            out += &ranked(Action::ALL.into_iter().zip(all), percent, "The player’s likeliest:", "Probability that the player gives each action, from what it saw so far; all twelve stand beside the specialists");
        }
        out + "</div>"
    })
}
