//! How an episode is played and shown: streams, rules, and whether hidden state is seen.

use leptos::prelude::*;
use sentinel_env::rng::Streams;
use sentinel_env::rules::RuleChange;

use super::controls::option;
use crate::page::Page;
use crate::world::{RulesOf, World, streams_of};

#[component]
pub(super) fn StreamsMenu<W: World>(page: Page<W>) -> impl IntoView {
    let options = move || {
        let now = page.still.with(|view| view.streams);
        let all = [Streams::Independent, Streams::Reference].into_iter();
        all.filter(|s| W::STREAMS.contains(s))
            .map(|s| option(s.name(), s.name(), "", s == now))
            .collect::<String>()
    };
    let change = move |event| {
        if let Some(streams) = streams_of::<W>(&event_target_value(&event)) {
            page.restart(|view| view.streams = streams);
        }
    };
    let title = "Reference: all random streams share the seed, as in the Python original, which betrays one identity through the scenario number. Independent: each has its own.";
    view! {
        <div class="field extra">
            <label class="label" for="streams" title=title>"Streams"</label>
            <select id="streams" on:change=change title=title inner_html=options></select>
        </div>
    }
}

#[component]
pub(super) fn TruthSwitch<W: World>(page: Page<W>) -> impl IntoView {
    let truth = move || page.still.with(|view| view.truth);
    let set = move |to| page.view.update(|view| view.truth = to);
    view! {
        <div class="field">
            <span class="label">"Show"</span>
            <div class="segmented" role="group" aria-label="Show">
                <button class:chosen=move || !truth() aria-pressed=move || (!truth()).to_string()
                    on:click=move |_| set(false)>"Agent’s view"</button>
                <button id="truth" class:chosen=truth aria-pressed=move || truth().to_string()
                    on:click=move |_| set(true)>"Truth"</button>
            </div>
        </div>
    }
}

/// The two sets of rules, and what else the address names.
#[component]
pub(super) fn RulesMenu<W: World>(page: Page<W>) -> impl IntoView {
    let rules = move || page.still.with(|view| view.rules);
    let change = move |event| {
        if let Ok(rules) = RulesOf::<W>::parse(&event_target_value(&event)) {
            page.restart(|view| view.rules = rules);
        }
    };
    let options = move || {
        let now = rules();
        let mut all = vec![RulesOf::<W>::REFERENCE, RulesOf::<W>::HARDENED];
        if !all.contains(&now) {
            all.push(now);
        }
        let text = |set: RulesOf<W>| {
            let word = set.to_string();
            option(&word, &word, "", set == now)
        };
        all.into_iter().map(text).collect::<String>()
    };
    let title = move || {
        let made: Vec<&str> = rules().changes().map(RuleChange::describe).collect();
        if made.is_empty() {
            format!(
                "The rules of {}. Hardened rules close its exploits.",
                W::ORIGIN
            )
        } else {
            format!("Unlike {}: {}.", W::ORIGIN, made.join("; "))
        }
    };
    view! {
        <div class="field extra">
            <label class="label" for="rules" title=title>"Rules"</label>
            <select id="rules" on:change=change title=title inner_html=options></select>
        </div>
    }
}
