//! The five slots: what is known of each, what the player believes, and the buttons to act.

use leptos::prelude::*;
use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{Action, Behavior, Domain};

use super::Trust;
use super::probability::odds;
use crate::play::Frame;
use crate::text::three;
use crate::ui::{Scene, tip};
use sentinel_policy::insertion_sort::sort;

/// A short name for a behavior.
const fn short(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::AccurateSlow => "slow",
        Behavior::OverconfidentFast => "overconfident",
        Behavior::DomainBound => "domain-bound",
        Behavior::Adversarial => "adversarial",
        Behavior::Degrading => "degrading",
    }
}

/// Returns the description of a behavior for visitors.
const fn describe(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::AccurateSlow => "Right 9 times of 10, but takes two steps",
        Behavior::OverconfidentFast => "Right 6 times of 10 and always sure of it",
        Behavior::DomainBound => "Right in analyze and verify, useless elsewhere",
        Behavior::Adversarial => "Good until stakes reach its threshold, then poisons",
        Behavior::Degrading => "Starts well and loses 15 % with each call",
    }
}

/// All five, and the actions that need none of them.
pub(super) fn specialists(scene: Scene<Trust>) -> impl IntoView {
    let can_act = Memo::new(move |_| scene.can_act());
    let act = move |action: Action| scene.page.act(action);
    let alone = move || {
        can_act.get().then(|| {
            view! {
                <div class="alone">
                    <button id="solve" on:click=move |_| act(Action::SolveIndependently)>"Solve alone"</button>
                    <button on:click=move |_| act(Action::Skip)>"Skip"</button>
                    <span class="quiet">"Take any action at any point: the episode branches there."</span>
                </div>
            }
        })
    };
    let slot = move |slot: Slot| {
        let head = Memo::new(move |_| scene.with_frame(|frame| card(frame, slot, scene.truth())));
        let buttons = move || {
            can_act.get().then(|| {
                view! {
                    <div class="slot-buttons">
                        <button data-act=format!("d{}", slot.index()) aria-label=format!("Delegate to {slot}")
                            on:click=move |_| act(Action::Delegate(slot))>"Delegate"</button>
                        <button data-act=format!("v{}", slot.index()) aria-label=format!("Verify {slot}")
                            on:click=move |_| act(Action::Verify(slot))>"Verify"</button>
                    </div>
                }
            })
        };
        view! {
            <li class=format!("slot s{}", slot.index())>
                <div class="slot-known" inner_html=head></div>
                {buttons}
            </li>
        }
    };
    let both = [Action::SolveIndependently, Action::Skip];
    view! {
        <section class="card specialists" aria-label="Specialists">
            <h3>"Specialists"</h3>
            <ul class="slots">{Slot::ALL.map(slot).collect_view()}</ul>
            <div class="alone-odds" inner_html=move || scene.with_frame(|frame| shown(frame, &both))></div>
            {alone}
        </section>
    }
}

/// How likely the player is to take these actions now, where it says so.
fn shown(frame: &Frame<Trust>, actions: &[Action]) -> String {
    let all = frame.mind.probabilities.as_ref();
    all.map_or_else(String::new, |all| odds(all, actions))
}

/// What is known of a slot; words and numbers of ours only, so nothing needs escaping.
fn card(frame: &Frame<Trust>, slot: Slot, truth: bool) -> String {
    let evidence = &frame.episode.observation().ledger[slot];
    let trust = evidence.trust();
    let called = frame
        .step
        .is_some_and(|step| step.action.slot() == Some(slot));
    let called = if called { " called" } else { "" };
    let right: u16 = evidence.domains.iter().map(|rate| rate.successes).sum();
    let record = match evidence.calls {
        0 => "not called yet".to_owned(),
        calls => format!("right {right} of {calls}"),
    };
    let by_domain: Vec<String> = Domain::ALL
        .iter()
        .zip(&evidence.domains)
        .filter(|(_, rate)| rate.count > 0)
        .map(|(domain, rate)| {
            format!(
                "{} {}/{}",
                domain.name().to_ascii_lowercase(),
                rate.successes,
                rate.count
            )
        })
        .collect();
    let detail = format!(
        "By domain: {}. Mean overconfidence {:.3}.",
        if by_domain.is_empty() {
            "nothing yet".to_owned()
        } else {
            by_domain.join(", ")
        },
        evidence.confidence_gap()
    );
    let trust_tip = format!(
        "alpha / (alpha + beta) = {:.2} / {:.2}; each answer weighs 1 + 2 × stakes",
        evidence.alpha,
        evidence.alpha + evidence.beta
    );
    let behavior = frame.episode.hidden().assignment[slot];
    let identity = if truth {
        format!(
            "<p class=\"identity\">{}<span class=\"quiet\"> true reliability {:.2}</span></p>",
            tip(behavior.name(), describe(behavior)),
            behavior.reliability()
        )
    } else {
        String::new()
    };
    let belief = frame
        .mind
        .belief
        .map(|belief| believed(&belief[slot.index()]));
    format!(
        "<div class=\"slot-head{called}\"><span class=\"dot\" aria-hidden=\"true\"></span><strong>{slot}</strong>{}</div>\
        <div class=\"meter trust\" role=\"img\" aria-label=\"Trust in {slot}: {}\"><span style=\"width:{:.1}%\"></span></div>\
        {}{identity}{}<div class=\"odds\">{}</div>",
        tip(&format!("trust {}", three(trust)), &trust_tip),
        three(trust),
        trust * 100.0,
        tip(&record, &detail),
        belief.unwrap_or_default(),
        shown(frame, &[Action::Delegate(slot), Action::Verify(slot)])
    )
}

/// The player's belief about one slot as a bar of five parts and its largest part in words.
fn believed(belief: &[f64; 5]) -> String {
    let parts = Behavior::ALL.map(|b| (b, belief[b as usize]));
    let mut ranked = parts;
    sort(&mut ranked, |a, b| a.1 > b.1);
    let (likely, chance) = ranked[0];
    let text = ranked
        .map(|(b, p)| format!("{} {:.0} %", short(b), p * 100.0))
        .join(", ");
    let words = if chance > 0.995 {
        format!("believed {}", short(likely))
    } else if chance < 0.25 {
        "no idea yet".to_owned()
    } else {
        format!("{} {:.0} %", short(likely), chance * 100.0)
    };
    let bar = |(b, p): (Behavior, f64)| {
        format!(
            "<span class=\"b{}\" style=\"flex-grow:{p:.3}\"></span>",
            b as usize
        )
    };
    format!(
        "<div class=\"belief\" role=\"img\" aria-label=\"Belief: {text}\">{}</div>{}",
        parts.map(bar).concat(),
        tip(&words, &format!("What the player believes: {text}"))
    )
}
