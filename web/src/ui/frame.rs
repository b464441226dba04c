//! What stands around an episode: header, footer, notices, help.

use leptos::prelude::*;

use super::keys::KEYS;
use super::stage::Stage;
use crate::browser;
use crate::page::Page;
use crate::state::{Screen, Theme, View, elsewhere, to_query};
use crate::world::{WORLDS, World, has_training};

/// Name, what this is, and the page's own switches.
#[component]
pub fn Header<W: Stage>(page: Page<W>) -> impl IntoView {
    let copied = RwSignal::new(false);
    let copy = move |_| {
        browser::copy(&browser::address());
        copied.set(true);
        set_timeout(move || copied.set(false), std::time::Duration::from_secs(2));
    };
    let theme = move |_| {
        page.view.update(|view| {
            view.theme = match view.theme {
                Theme::Auto => Theme::Dark,
                Theme::Dark => Theme::Light,
                Theme::Light => Theme::Auto,
            };
        });
    };
    let theme_label = move || match page.still.with(|view| view.theme) {
        Theme::Auto => "Theme: auto",
        Theme::Light => "Theme: light",
        Theme::Dark => "Theme: dark",
    };
    view! {
        <header class="top">
            <div>
                <h1>"Sentinel"</h1>
                <p class="tagline">{W::TAGLINE}</p>
            </div>
            <div class="top-buttons">
                <WorldLinks page/>
                {has_training::<W>().then(|| view! {
                    <nav class="screens" aria-label="Pages">
                        <ScreenLink page screen=Screen::Episode label="Episodes"/>
                        <ScreenLink page screen=Screen::Training label="Training"/>
                    </nav>
                })}
                <button on:click=copy title="Copy a link to exactly this view">
                    {move || if copied.get() { "Copied" } else { "Copy link" }}
                </button>
                <button on:click=theme>{theme_label}</button>
                <button on:click=move |_| page.help.set(true) aria-label="Help and keys">"?"</button>
            </div>
        </header>
    }
}

/// A way to another screen; also as a link that can be copied or opened beside.
#[component]
fn ScreenLink<W: World>(page: Page<W>, screen: Screen, label: &'static str) -> impl IntoView {
    let href = move || {
        let there = |view: &View<W>| {
            to_query(&View {
                screen,
                ..view.clone()
            })
        };
        format!("?{}", page.view.with(there))
    };
    let here = move || page.still.with(|view| view.screen == screen);
    let go = move |event: leptos::ev::MouseEvent| {
        if !(event.ctrl_key() || event.meta_key() || event.shift_key()) {
            event.prevent_default();
            page.view.update(|view| view.screen = screen);
        }
    };
    view! {
        <a href=href on:click=go class:chosen=here aria-current=move || here().then_some("page")>{label}</a>
    }
}

/// A way to each world. Another world is another module, so these load the page anew: with what makes sense
/// in every world, and without the rest.
#[component]
fn WorldLinks<W: World>(page: Page<W>) -> impl IntoView {
    let link = move |(name, label): (&'static str, &'static str)| {
        let href = move || format!("?{}", page.still.with(|view| elsewhere(view, name)));
        let here = name == W::NAME;
        view! { <a href=href class:chosen=here aria-current=here.then_some("true") data-world=name>{label}</a> }
    };
    view! { <nav class="worlds" aria-label="Worlds">{WORLDS.map(link).collect_view()}</nav> }
}

/// What went wrong, in words; never in the way of what works.
#[component]
pub fn Notices<W: World>(page: Page<W>) -> impl IntoView {
    let any = move || page.notices.with(|notices| !notices.is_empty());
    view! {
        <div role="status" aria-live="polite" id="notices">
            {move || any().then(|| view! {
                <div class="notices">
                    <ul>
                        {page.notices.get().into_iter().map(|n| view! { <li>{n}</li> }).collect_view()}
                    </ul>
                    <button on:click=move |_| page.notices.set(Vec::new())>"Dismiss"</button>
                </div>
            })}
        </div>
    }
}

/// What the page is made of.
#[component]
pub fn Footer() -> impl IntoView {
    view! {
        <footer>
            <p>
                "Every number is computed in this tab, by the environment that training uses, compiled to WebAssembly. "
                "Replay files hold seeds and actions; drop a "<code>".jsonl"</code>" anywhere on the page to play it."
            </p>
        </footer>
    }
}

/// Keys, and how an episode works.
#[component]
pub fn Help<W: Stage>(page: Page<W>) -> impl IntoView {
    let close = move |_| page.help.set(false);
    let button = NodeRef::<leptos::html::Button>::new();
    Effect::new(move |_| {
        if let Some(button) = button.get() {
            let _ = button.focus();
        }
    });
    let rows = || {
        let all = W::KEYS.iter().chain(&KEYS);
        all.map(
            |(key, does)| view! { <tr><th scope="row"><kbd>{*key}</kbd></th><td>{*does}</td></tr> },
        )
        .collect_view()
    };
    view! {
        <Show when=move || page.help.get()>
            <div class="veil" on:click=close>
                <div class="help" role="dialog" aria-modal="true" aria-label="Help"
                    on:click=|event| event.stop_propagation()>
                    <h2>"How it works"</h2>
                    <p>{W::HELP}</p>
                    <h2>"Keys"</h2>
                    <table>{rows}</table>
                    <button on:click=close node_ref=button>"Close"</button>
                </div>
            </div>
        </Show>
    }
}
