//! The moment at the cursor: what is to be done, what it takes, and what the player makes of it.

use leptos::prelude::*;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::trust::{Action, text};

use super::probability::percent;
use super::scene::{Scene, Which};
use super::three;
use super::tip::Tip;
use crate::play::Frame;

/// The current subtask, the budget, and the counters.
#[component]
pub fn Situation(scene: Scene) -> impl IntoView {
    view! {
        <section class="card situation" aria-label="Situation">
            {move || scene.with_frame(subtask)}
            {move || scene.with_frame(|frame| counters(frame, scene.truth()))}
            {move || happened(scene)}
            {move || thoughts(scene)}
        </section>
    }
}

fn subtask(frame: &Frame) -> AnyView {
    let o = frame.episode.observation();
    let total = o.task.nodes();
    let Some(domain) = o.domain else {
        let score = three(frame.episode.tally().score());
        let done = format!(
            "{} of {total} subtasks completed, score {score}",
            o.progress.completed()
        );
        return view! { <h3>"The episode has ended"</h3><p>{done}</p> }.into_any();
    };
    let number = o.progress.position() + 1;
    let again = if o.progress.failed_attempts() > 0 {
        ", second attempt"
    } else {
        ""
    };
    let stakes = o.stakes;
    let class = if stakes >= HIGH_STAKES {
        "meter stakes high"
    } else {
        "meter stakes"
    };
    let width = format!("width:{:.0}%", stakes * 100.0);
    let tip = "What is at risk, 0 to 1. From .70 on, answers count as high-stakes evidence, and by default the adversary poisons; believed poison at .85 or more ends the episode.";
    view! {
        <h3>{format!("Subtask {number} of {total}: {}{again}", domain.name().to_lowercase())}</h3>
        <div class="row">
            <Tip label=format!("Stakes {stakes:.2}") text=tip/>
            <div class=class><span style=width></span></div>
        </div>
    }
    .into_any()
}

fn counters(frame: &Frame, truth: bool) -> impl IntoView + use<> {
    let (o, tally) = (frame.episode.observation(), frame.episode.tally());
    let used = o.step_count.min(o.max_steps);
    let over = o.step_count - used;
    let budget = if over > 0 {
        format!("{used} / {} (+{over})", o.max_steps)
    } else {
        format!("{used} / {}", o.max_steps)
    };
    let width = format!(
        "width:{:.0}%",
        100.0 * f64::from(used) / f64::from(o.max_steps)
    );
    let poison = if truth {
        format!("{} caught, {} let in", tally.detections, tally.poisonings)
    } else {
        "not told to the agent".to_owned()
    };
    let budget_tip = "Steps used: 1 to delegate (2 to the slow specialist), 1 more to verify, 2 to solve alone, 1 to skip. The last action may overshoot.";
    view! {
        <div class="row">
            <Tip label=format!("Budget {budget}") text=budget_tip/>
            <div class="meter"><span style=width></span></div>
        </div>
        <dl class="counters">
            <div><dt>"Completed"</dt><dd>{o.progress.completed()}</dd></div>
            <div><dt>"Actions"</dt><dd>{tally.actions}</dd></div>
            <div><dt>"Poison"</dt><dd>{poison}</dd></div>
        </dl>
    }
}

/// The sentence about the action that led here.
fn happened(scene: Scene) -> Option<impl IntoView> {
    let truth = scene.truth();
    scene.with_frame(|frame| {
        let step = frame.step.as_ref()?;
        let sentence = if truth || !step.adversarial {
            text::reason(step)
        } else {
            // The agent learns whether the answer was right, not that it was poison.
            let outcome = if step.success == Some(true) { "done" } else { "a wrong answer" };
            format!("{}: {} led to {outcome}.", text::NodeId(step.node), step.action)
        };
        let miss = frame.missed.then(|| {
            view! { <strong class="miss">" Replay miss: the file has no row for this step; the heuristic acted."</strong> }
        });
        Some(view! { <p class="happened">{sentence}{miss}</p> })
    })
}

/// What the player weighed for its next action.
fn thoughts(scene: Scene) -> Option<impl IntoView> {
    let cursor = scene.page.cursor();
    let (frame, next) = scene.run.with(|run| {
        let next = run.frames.get(cursor + 1);
        let next = next.and_then(|frame| Some((frame.step?.action, frame.own)));
        let frame = run.at(cursor);
        ((frame.values, frame.probabilities), next)
    });
    let (values, probabilities) = frame;
    let who = if scene.which == Which::Main {
        "Next"
    } else {
        "Its next"
    };
    if next.is_none() && probabilities.is_none() {
        return None;
    }
    let next = next.map(|(action, own)| {
        let yours = if own { " (yours)" } else { "" };
        view! { <p>{who}": "<strong>{action.to_string()}</strong>{yours}</p> }
    });
    let weighed = values.map(|values| {
        let best = values.iter().fold(f64::NEG_INFINITY, |best, v| best.max(*v));
        let less = move |value: f64| format!("{:+.3}", value - best);
        first_three(values, less, "Weighed against the best:", "Expected reward of the rest of the episode, as the look-ahead sees it, less that of the best action")
    });
    let likely = probabilities.map(|all| {
        first_three(all, percent, "The player’s likeliest:", "Probability that the player gives each action, from what it saw so far; all twelve stand beside the specialists")
    });
    Some(view! { <div class="thoughts">{next}{weighed}{likely}</div> })
}

/// The three actions with the largest numbers.
fn first_three(
    values: [f64; 12],
    text: impl Fn(f64) -> String,
    label: &'static str,
    tip: &'static str,
) -> AnyView {
    let mut ranked: Vec<(Action, f64)> = Action::ALL.into_iter().zip(values).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let row = |(action, value): &(Action, f64)| {
        let number = text(*value);
        format!("<li><span>{action}</span><span class=\"num\">{number}</span></li>")
    };
    let rows: String = ranked.iter().take(3).map(row).collect();
    view! { <Tip label=label text=tip/><ol class="ranked" inner_html=rows></ol> }.into_any()
}
