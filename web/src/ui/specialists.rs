//! The five slots: what is known of each, what the player believes, and the buttons to act.

use leptos::prelude::*;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{Action, Behaviour, Domain};

use super::probability::odds;
use super::scene::{Scene, Which};
use super::three;
use super::tip::Tip;
use crate::play::Frame;

/// A short name for a behaviour.
const fn short(behaviour: Behaviour) -> &'static str {
    match behaviour {
        Behaviour::AccurateSlow => "slow",
        Behaviour::OverconfidentFast => "overconfident",
        Behaviour::DomainBound => "domain-bound",
        Behaviour::Adversarial => "adversarial",
        Behaviour::Degrading => "degrading",
    }
}

/// What a behaviour does.
const fn describe(behaviour: Behaviour) -> &'static str {
    match behaviour {
        Behaviour::AccurateSlow => "Right 9 times of 10, but takes two steps",
        Behaviour::OverconfidentFast => "Right 6 times of 10 and always sure of it",
        Behaviour::DomainBound => "Right in analyze and verify, useless elsewhere",
        Behaviour::Adversarial => "Good until stakes reach its threshold, then poisons",
        Behaviour::Degrading => "Starts well and loses 15 % with each call",
    }
}

/// All five, and the actions that need none of them.
#[component]
pub fn Specialists(scene: Scene) -> impl IntoView {
    let can_act =
        move || scene.which == Which::Main && scene.with_frame(|f| !f.episode.observation().done());
    let act = move |action: Action| {
        let cursor = scene.page.cursor();
        let played = scene.run.with_untracked(|run| run.actions(cursor));
        scene.page.playing.set(false);
        scene
            .page
            .view
            .update(|view| *view = std::mem::take(view).with_action(&played, action));
    };
    let alone = move || {
        can_act().then(|| {
            view! {
                <div class="alone">
                    <button id="solve" on:click=move |_| act(Action::SolveIndependently)>"Solve alone"</button>
                    <button on:click=move |_| act(Action::Skip)>"Skip"</button>
                    <span class="quiet">"Take any action at any point: the episode branches there."</span>
                </div>
            }
        })
    };
    view! {
        <section class="card specialists" aria-label="Specialists">
            <h3>"Specialists"</h3>
            <ul class="slots">
                {Slot::ALL.map(|slot| view! {
                    <li class=format!("slot s{}", slot.index())>
                        {move || scene.with_frame(|frame| card(frame, slot, scene.truth()))}
                        {move || can_act().then(|| view! {
                            <div class="slot-buttons">
                                <button data-act=format!("d{}", slot.index()) aria-label=format!("Delegate to {slot}")
                                    on:click=move |_| act(Action::Delegate(slot))>"Delegate"</button>
                                <button data-act=format!("v{}", slot.index()) aria-label=format!("Verify {slot}")
                                    on:click=move |_| act(Action::Verify(slot))>"Verify"</button>
                            </div>
                        })}
                    </li>
                }).collect_view()}
            </ul>
            <div class="alone-odds" inner_html=move || scene.with_frame(|frame| shown(frame, &[Action::SolveIndependently, Action::Skip]))></div>
            {alone}
        </section>
    }
}

/// How likely the player is to take these actions now, where it says so.
fn shown(frame: &Frame, actions: &[Action]) -> String {
    let all = frame.probabilities.as_ref();
    all.map_or_else(String::new, |all| odds(all, actions))
}

fn card(frame: &Frame, slot: Slot, truth: bool) -> impl IntoView + use<> {
    let evidence = &frame.episode.observation().ledger[slot];
    let trust = evidence.trust();
    let behaviour = frame.episode.hidden().assignment[slot];
    let called = frame
        .step
        .is_some_and(|step| step.action.slot() == Some(slot));
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
                domain.name().to_lowercase(),
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
    let width = format!("width:{:.1}%", trust * 100.0);
    let identity = truth.then(|| {
        let reliability = behaviour.reliability();
        view! {
            <p class="identity">
                <Tip label=behaviour.name() text=describe(behaviour)/>
                <span class="quiet">{format!(" true reliability {reliability:.2}")}</span>
            </p>
        }
    });
    view! {
        <div class="slot-head" class:called=called>
            <span class="dot" aria-hidden="true"></span>
            <strong>{slot.name()}</strong>
            <Tip label=format!("trust {}", three(trust)) text=trust_tip/>
        </div>
        <div class="meter trust" role="img" aria-label=format!("Trust in {slot}: {}", three(trust))>
            <span style=width></span>
        </div>
        <Tip label=record text=detail/>
        {identity}
        {frame.belief.map(|belief| believed(&belief[slot.index()]))}
        <div class="odds" inner_html=shown(frame, &[Action::Delegate(slot), Action::Verify(slot)])></div>
    }
}

/// The player's belief about one slot as a bar of five parts and its largest part in words.
fn believed(belief: &[f64; 5]) -> impl IntoView + use<> {
    let parts = Behaviour::ALL.map(|b| (b, belief[b as usize]));
    let mut ranked = parts;
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
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
    let bars = parts.map(|(b, p)| {
        view! { <span class=format!("b{}", b as usize) style=format!("flex-grow:{p:.3}")></span> }
    });
    view! {
        <div class="belief" role="img" aria-label=format!("Belief: {text}")>{bars.collect_view()}</div>
        <Tip label=words text=format!("What the player believes: {text}")/>
    }
}
