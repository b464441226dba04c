//! The workers: trust in each, and the evidence behind it.

use leptos::prelude::*;
use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::cluster::{Behavior, Episode, JobStatus};
use sentinel_env::slot::Slot;

use super::Cluster;
use super::pick::Hand;
use crate::text::three;
use crate::ui::{Scene, tip};

/// Returns the description of a behavior for visitors.
const fn describe(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::Reliable => "Says what is",
        Behavior::Overreporter => "Says 40 points more than there is",
        Behavior::Slow => "Says what is, and works at half speed",
        Behavior::Adversarial => "Claims completion once stakes reach its threshold",
        Behavior::Degrading => "Starts honest; from the sixth report on each one is further off",
    }
}

/// All five.
pub(super) fn workers(scene: Scene<Cluster>, hand: Hand) -> impl IntoView {
    let slot = move |slot: Slot| {
        let markup = Memo::new(move |_| {
            let truth = scene.truth();
            scene.with_frame(|frame| {
                let called = frame
                    .step
                    .is_some_and(|step| step.report.is_some_and(|report| report.worker == slot));
                card(&frame.episode, slot, called, truth)
            })
        });
        let picked = move || hand.own && hand.choice.with(|choice| choice.worker == Some(slot));
        let choose = hand.own.then(|| {
            view! {
                <div class="slot-buttons">
                    <button data-pick=format!("w{}", slot.index()) class:chosen=picked
                        aria-pressed=move || picked().to_string() aria-label=format!("Choose {slot}")>"Choose"</button>
                </div>
            }
        });
        view! {
            <li class=format!("slot s{}", slot.index())>
                <div class="slot-known" inner_html=markup></div>
                {choose}
            </li>
        }
    };
    view! {
        <section class="card specialists workers" aria-label="Workers">
            <h3>"Workers"</h3>
            <ul class="slots" on:click=move |event| hand.click(&event)>{Slot::ALL.map(slot).collect_view()}</ul>
        </section>
    }
}

/// What is known of a worker; words and numbers of ours only, so nothing needs escaping.
fn card(episode: &Episode, slot: Slot, called: bool, truth: bool) -> String {
    let o = episode.observation();
    let evidence = &o.ledger[slot];
    let trust = evidence.trust();
    let called = if called { " called" } else { "" };
    let honest = evidence.domains[0].successes;
    let record = match evidence.calls {
        0 => "no report yet".to_owned(),
        calls => format!("honest {honest} of {calls}"),
    };
    let rate =
        |rate: Option<f64>| rate.map_or_else(|| "none yet".to_owned(), |r| format!("{r:.2}"));
    let detail = format!(
        "Honest at low stakes: {}, at stakes of .70 or more: {}. Mean overconfidence {:.3}.",
        rate(evidence.low.value()),
        rate(evidence.high.value()),
        evidence.confidence_gap()
    );
    let trust_tip = format!(
        "alpha / (alpha + beta) = {:.2} / {:.2}; each report weighs 1 + 2 × stakes",
        evidence.alpha,
        evidence.alpha + evidence.beta
    );
    let at_work = o.jobs.rows().iter();
    let at_work = at_work
        .filter(|job| job.status == JobStatus::Running && job.worker == Some(slot))
        .count();
    let behavior = episode.hidden().assignment[slot];
    let identity = if truth {
        format!(
            "<p class=\"identity\">{}<span class=\"quiet\"> true reliability {:.2}</span></p>",
            tip(behavior.name(), describe(behavior)),
            behavior.reliability()
        )
    } else {
        String::new()
    };
    format!(
        "<div class=\"slot-head{called}\"><span class=\"dot\" aria-hidden=\"true\"></span><strong>{slot}</strong>{}</div>\
        <div class=\"meter trust\" role=\"img\" aria-label=\"Trust in {slot}: {}\"><span style=\"width:{:.1}%\"></span></div>\
        {}<span class=\"quiet\">runs {at_work}</span>{identity}",
        tip(&format!("trust {}", three(trust)), &trust_tip),
        three(trust),
        trust * 100.0,
        tip(&record, &detail),
    )
}
