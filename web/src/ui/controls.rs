//! What to play: task, seed, streams, player, and whom to compare with.

use leptos::prelude::*;
use sentinel_env::TaskName as _;
use wasm_bindgen::JsCast;

use super::keys::new_seed;
use super::stage::Stage;
use super::switches::{RulesMenu, StreamsMenu, TruthSwitch};
use crate::page::Page;
use crate::state::{Source, parse_seed};
use crate::world::{Named, World};

/// The row of choices.
#[component]
pub fn Controls<W: Stage>(page: Page<W>) -> impl IntoView {
    view! {
        <section class="controls" aria-label="Episode">
            {W::task_choice(page)}
            <SeedField page/>
            <PlayerMenu page versus=false/>
            <PlayerMenu page versus=true/>
            {(W::STREAMS.len() > 1).then(|| view! { <StreamsMenu page/> })}
            <RulesMenu page/>
            <TruthSwitch page/>
            {W::REPLAYS.then(|| view! { <FileButton page/> })}
        </section>
    }
}

/// A button for each task.
#[component]
pub(super) fn TaskButtons<W: World>(page: Page<W>) -> impl IntoView {
    let button = move |(index, task): (usize, &W::Task)| {
        let task = *task;
        let chosen = move || page.still.with(|view| view.task == task);
        let (title, label) = (W::task_title(task), index + 1);
        view! {
            <button title=title class:chosen=chosen aria-pressed=move || chosen().to_string()
                on:click=move |_| page.restart(|view| view.task = task)>{label}</button>
        }
    };
    view! {
        <div class="field">
            <span class="label">"Task"</span>
            <div class="segmented" role="group" aria-label="Task">{W::Task::ALL.iter().enumerate().map(button).collect_view()}</div>
        </div>
    }
}

#[component]
fn SeedField<W: World>(page: Page<W>) -> impl IntoView {
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
                    prop:value=move || page.still.with(|view| view.seed.to_string())
                    on:change=change/>
                <button on:click=move |_| step(1) aria-label="Next seed">"+"</button>
                <button on:click=move |_| new_seed(page) aria-label="Random seed" title="Another seed (N)">"new"</button>
            </div>
        </div>
    }
}

/// An entry of a menu. All that is shown there is plain: words of ours, and names that fit into an address.
#[must_use]
pub fn option(value: &str, label: &str, title: &str, chosen: bool) -> String {
    let selected = if chosen { " selected" } else { "" };
    format!("<option value=\"{value}\" title=\"{title}\"{selected}>{label}</option>")
}

/// All players: the trained one, scripted ones, the person, and the replay files known so far.
fn sources<W: World>(page: Page<W>, versus: bool) -> Vec<Source<W>> {
    let scripted = W::Policy::all()
        .iter()
        .rev()
        .map(|policy| Source::Policy(*policy));
    let trained = W::LEARNED.map(|_| Source::Trained);
    let mut sources: Vec<Source<W>> = trained.into_iter().chain(scripted).collect();
    if !versus {
        sources.push(Source::You);
    }
    let current = page.still.with(|view| {
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
fn PlayerMenu<W: World>(
    /// The page.
    page: Page<W>,
    /// Whether this is the menu of the second episode.
    versus: bool,
) -> impl IntoView {
    let (id, label) = if versus {
        ("versus", "Compare with")
    } else {
        ("player", "Player")
    };
    let chosen = move || {
        page.still.with(|view| {
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
    let options = move || {
        let chosen = chosen();
        let nobody = versus.then(|| option("", "nobody", "", chosen.is_empty()));
        let all = sources(page, versus).into_iter().map(|source| {
            let id = source.id();
            option(&id, &source.label(), source.describe(), id == chosen)
        });
        nobody.into_iter().chain(all).collect::<String>()
    };
    view! {
        <div class="field">
            <label class="label" for=id>{label}</label>
            <select id=id on:change=change inner_html=options></select>
        </div>
    }
}

#[component]
fn FileButton<W: World>(page: Page<W>) -> impl IntoView {
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
pub fn listen_for_drops<W: World>(page: Page<W>) {
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
