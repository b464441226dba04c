//! What to play: task, seed, streams, player, and whom to compare with.

use leptos::prelude::*;
use sentinel_env::rng::Streams;
use sentinel_env::trust::Task;
use sentinel_policy::PolicyName;
use wasm_bindgen::JsCast;

use super::keys::new_seed;
use crate::page::Page;
use crate::state::{Source, parse_seed};

/// The row of choices.
#[component]
pub fn Controls() -> impl IntoView {
    view! {
        <section class="controls" aria-label="Episode">
            <TaskChoice/>
            <SeedField/>
            <PlayerMenu versus=false/>
            <PlayerMenu versus=true/>
            <StreamsMenu/>
            <TruthSwitch/>
            <FileButton/>
        </section>
    }
}

#[component]
fn TaskChoice() -> impl IntoView {
    let page = expect_context::<Page>();
    let button = move |task: Task| {
        let chosen = move || page.view.with(|view| view.task == task);
        let title = format!("{} subtasks, {}", task.nodes(), task.difficulty());
        let label = format!("{}", task as u8 + 1);
        view! {
            <button title=title class:chosen=chosen aria-pressed=move || chosen().to_string()
                on:click=move |_| page.restart(|view| view.task = task)>{label}</button>
        }
    };
    view! {
        <div class="field">
            <span class="label">"Task"</span>
            <div class="segmented" role="group" aria-label="Task">{Task::ALL.map(button).collect_view()}</div>
        </div>
    }
}

#[component]
fn SeedField() -> impl IntoView {
    let page = expect_context::<Page>();
    let change = move |event: leptos::ev::Event| {
        let text = event_target_value(&event);
        match parse_seed(&text) {
            Some(seed) => page.restart(|view| view.seed = seed),
            None => {
                page.tell(format!(
                    "“{text}” is no seed: use a whole number from 0 to 2^63 − 1."
                ));
                // The field shows what is played, not what was refused.
                if let Some(input) = input_of(&event) {
                    input.set_value(&page.view.with_untracked(|view| view.seed.to_string()));
                }
            }
        }
    };
    let step = move |by: i64| {
        page.restart(|view| {
            view.seed = view
                .seed
                .saturating_add_signed(by)
                .min(sentinel_policy::SEED_MAX);
        });
    };
    view! {
        <div class="field">
            <label class="label" for="seed">"Seed"</label>
            <div class="joined">
                <button on:click=move |_| step(-1) aria-label="Previous seed">"−"</button>
                <input id="seed" inputmode="numeric" size="7"
                    prop:value=move || page.view.with(|view| view.seed.to_string())
                    on:change=change/>
                <button on:click=move |_| step(1) aria-label="Next seed">"+"</button>
                <button on:click=move |_| new_seed(page) aria-label="Random seed" title="Another seed (N)">"new"</button>
            </div>
        </div>
    }
}

/// All players: the trained one, scripted ones, the person, and the replay files known so far.
fn sources(page: Page, versus: bool) -> Vec<Source> {
    let scripted = PolicyName::ALL.into_iter().rev().map(Source::Policy);
    let mut sources: Vec<Source> = [Source::Trained].into_iter().chain(scripted).collect();
    if !versus {
        sources.push(Source::You);
    }
    let current = page.view.with(|view| {
        [Some(view.source.clone()), view.versus.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    });
    page.shelf.with(|shelf| {
        sources.extend(shelf.names().map(|name| Source::Replay(name.to_owned())));
    });
    // A replay that the address names is in the menu before the list of files has come.
    for source in current {
        if matches!(source, Source::Replay(_)) && !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}

#[component]
fn PlayerMenu(
    /// Whether this is the menu of the second episode.
    versus: bool,
) -> impl IntoView {
    let page = expect_context::<Page>();
    let (id, label) = if versus {
        ("versus", "Compare with")
    } else {
        ("player", "Player")
    };
    let chosen = move || {
        page.view.with(|view| {
            if versus {
                view.versus.as_ref().map(Source::id)
            } else {
                Some(view.source.id())
            }
            .unwrap_or_default()
        })
    };
    let change = move |event| {
        let source = Source::parse(&event_target_value(&event));
        if versus {
            page.view.update(|view| view.versus = source);
        } else if let Some(source) = source {
            page.restart(|view| {
                if let Source::Replay(name) = &source {
                    page.shelf.with_untracked(|shelf| shelf.aim(name, view));
                }
                view.source = source;
            });
        }
    };
    let option = move |source: Source| {
        let (id, title) = (source.id(), source.describe());
        let value = id.clone();
        view! { <option value=value title=title selected=move || chosen() == id>{source.label()}</option> }
    };
    view! {
        <div class="field">
            <label class="label" for=id>{label}</label>
            <select id=id on:change=change>
                {versus.then(|| view! { <option value="" selected=move || chosen().is_empty()>"nobody"</option> })}
                {move || sources(page, versus).into_iter().map(option).collect_view()}
            </select>
        </div>
    }
}

#[component]
fn StreamsMenu() -> impl IntoView {
    let page = expect_context::<Page>();
    let chosen = move |streams: Streams| page.view.with(|view| view.streams == streams);
    let change = move |event| {
        if let Some(streams) = Streams::parse(&event_target_value(&event)) {
            page.restart(|view| view.streams = streams);
        }
    };
    let title = "Reference: all random streams share the seed, as in the Python original, which betrays one identity through the scenario number. Independent: each has its own.";
    view! {
        <div class="field extra">
            <label class="label" for="streams" title=title>"Streams"</label>
            <select id="streams" on:change=change title=title>
                <option value="independent" selected=move || chosen(Streams::Independent)>"independent"</option>
                <option value="reference" selected=move || chosen(Streams::Reference)>"reference"</option>
            </select>
        </div>
    }
}

#[component]
fn TruthSwitch() -> impl IntoView {
    let page = expect_context::<Page>();
    let truth = move || page.view.with(|view| view.truth);
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

#[component]
fn FileButton() -> impl IntoView {
    let page = expect_context::<Page>();
    let change = move |event: leptos::ev::Event| {
        if let Some(input) = input_of(&event) {
            page.open_files(list(input.files()));
            input.set_value("");
        }
    };
    view! {
        <div class="field extra">
            <span class="label">"Replay file"</span>
            <label class="file">"Open or drop…"
                <input type="file" accept=".jsonl,.json,.txt" multiple on:change=change aria-label="Open a replay file"/>
            </label>
        </div>
    }
}

fn input_of(event: &leptos::ev::Event) -> Option<web_sys::HtmlInputElement> {
    event.target()?.dyn_into().ok()
}

fn list(files: Option<web_sys::FileList>) -> Vec<web_sys::File> {
    files.map_or_else(Vec::new, |files| {
        (0..files.length()).filter_map(|i| files.get(i)).collect()
    })
}

/// Files may be dropped anywhere.
pub fn listen_for_drops(page: Page) {
    let over = window_event_listener(leptos::ev::dragover, |event| event.prevent_default());
    let drop = window_event_listener(leptos::ev::drop, move |event| {
        event.prevent_default();
        page.open_files(list(event.data_transfer().and_then(|data| data.files())));
    });
    on_cleanup(move || {
        over.remove();
        drop.remove();
    });
}
