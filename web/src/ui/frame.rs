//! What stands around an episode: header, footer, notices, help.

use leptos::prelude::*;

use super::keys::KEYS;
use crate::browser;
use crate::page::Page;
use crate::state::{Screen, Theme, View, to_query};

/// Name, what this is, and the page's own switches.
#[component]
pub fn Header() -> impl IntoView {
    let page = expect_context::<Page>();
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
    let theme_label = move || match page.view.with(|view| view.theme) {
        Theme::Auto => "Theme: auto",
        Theme::Light => "Theme: light",
        Theme::Dark => "Theme: dark",
    };
    view! {
        <header class="top">
            <div>
                <h1>"Sentinel"</h1>
                <p class="tagline">
                    "An orchestrator has work to hand out and five specialists to choose from. One of them lies when it matters."
                </p>
            </div>
            <div class="top-buttons">
                <nav class="screens" aria-label="Pages">
                    <ScreenLink screen=Screen::Episode label="Episodes"/>
                    <ScreenLink screen=Screen::Training label="Training"/>
                </nav>
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
fn ScreenLink(screen: Screen, label: &'static str) -> impl IntoView {
    let page = expect_context::<Page>();
    let href = move || {
        let there = |view: &View| {
            to_query(&View {
                screen,
                ..view.clone()
            })
        };
        format!("?{}", page.view.with(there))
    };
    let here = move || page.view.with(|view| view.screen == screen);
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

/// What went wrong, in words; never in the way of what works.
#[component]
pub fn Notices() -> impl IntoView {
    let page = expect_context::<Page>();
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
                "Replay files hold seeds and actions only; drop a "<code>".jsonl"</code>" anywhere on the page to play it."
            </p>
        </footer>
    }
}

/// Keys, and how an episode works.
#[component]
pub fn Help() -> impl IntoView {
    let page = expect_context::<Page>();
    let close = move |_| page.help.set(false);
    let button = NodeRef::<leptos::html::Button>::new();
    Effect::new(move |_| {
        if let Some(button) = button.get() {
            let _ = button.focus();
        }
    });
    let rows = || {
        KEYS.map(
            |(key, does)| view! { <tr><th scope="row"><kbd>{key}</kbd></th><td>{does}</td></tr> },
        )
        .collect_view()
    };
    view! {
        <Show when=move || page.help.get()>
            <div class="veil" on:click=close>
                <div class="help" role="dialog" aria-modal="true" aria-label="Help"
                    on:click=|event| event.stop_propagation()>
                    <h2>"How it works"</h2>
                    <p>
                        "Each subtask can be delegated to a specialist, verified (one step more, catches poison), "
                        "solved alone (two steps, always right) or skipped. Behind the slots S0 to S4 sit five behaviours, "
                        "shuffled in every episode: slow but right, fast and overconfident, good in its field only, "
                        "adversarial once stakes reach .70, and wearing out with use. "
                        "The score is the mean of all rewards, the final one included."
                    </p>
                    <h2>"Keys"</h2>
                    <table>{rows}</table>
                    <button on:click=close node_ref=button>"Close"</button>
                </div>
            </div>
        </Show>
    }
}
