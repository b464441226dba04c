//! The head of the page: worlds, screens, and the page's own switches.

use std::time::Duration;

use leptos::prelude::*;

use super::icons::icon;
use crate::address::query_of;
use crate::browser;
use crate::engines::Program;
use crate::page::Page;
use crate::state::{Screen, View};

/// The head of the page.
#[component]
pub fn Header(page: Page) -> impl IntoView {
    let has_training = move || {
        page.info
            .with(|info| info.as_ref().is_some_and(|i| !i.curves.is_empty()))
    };
    let on_training = move || page.screen() == Screen::Training;
    let worlds: Vec<AnyView> = page.programs.with_value(|programs| {
        programs
            .iter()
            .map(|program| world_link(page, program))
            .collect()
    });
    let theme = move |_| page.view.update(|view| view.theme = view.theme.next());
    let theme_name = move || format!("Theme: {}", page.still.with(|view| view.theme.word()));
    view! {
        <header class="top">
            <a class="brand" href="?" aria-label="Sentinel, start">
                <svg viewBox="-13 -13 26 26" width="26" height="26" aria-hidden="true">
                    <path class="lid" d="M-12 0Q0-13 12 0Q0 13-12 0Z"/><circle r="4.6"/>
                </svg>
                "Sentinel"
            </a>
            <nav class="tabs" aria-label="Worlds">{worlds}</nav>
            <nav class="tabs screens" aria-label="Screens">
                {screen_link(page, Screen::Episode, "Episode")}
                <span hidden=move || !(has_training() || on_training())>
                    {screen_link(page, Screen::Training, "Training")}
                </span>
            </nav>
            <div class="tools">
                <Share page/>
                <button type="button" id="theme" class="icon-button" aria-label=move || theme_name() title=move || theme_name() on:click=theme>
                    {icon("M8 1.5A6.5 6.5 0 1 0 8 14.5V1.5Z")}
                </button>
                <button type="button" id="help-open" class="icon-button" aria-label="Help" title="Help" on:click=move |_| page.help.set(true)>
                    "?"
                </button>
            </div>
        </header>
    }
}

/// Copies the address; says so when it is on the clipboard.
#[component]
fn Share(page: Page) -> impl IntoView {
    let copied = RwSignal::new(false);
    let share = move |_| {
        leptos::task::spawn_local(async move {
            if browser::copy(&browser::address()).await {
                copied.set(true);
                set_timeout(move || copied.set(false), Duration::from_secs(2));
            } else {
                page.tell("The browser did not allow copying. The address bar holds the link to this view.".to_owned());
            }
        });
    };
    let label = move || if copied.get() { "Link copied" } else { "Share" };
    view! {
        <button type="button" id="share" on:click=share data-help="Copies a link to exactly this view.">
            <span aria-live="polite">{move || label()}</span>
        </button>
    }
}

/// Returns `true` if a click means this page and not another tab.
fn is_plain(event: &web_sys::MouseEvent) -> bool {
    !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.button() != 0)
}

fn world_link(page: Page, program: &Program) -> AnyView {
    let (a, b, c) = (
        program.world.clone(),
        program.world.clone(),
        program.world.clone(),
    );
    let href = move || {
        page.still.track();
        format!("?{}", query_of(page, &page.view_of(&a)))
    };
    let here = move || page.still.with(|view| view.world == b);
    let go = move |event: web_sys::MouseEvent| {
        if is_plain(&event) {
            event.prevent_default();
            page.go_to_world(&c);
        }
    };
    let (world, title) = (program.world.clone(), program.title.clone());
    view! {
        <a href=move || href() data-world=world on:click=go aria-current=move || here().then_some("true")>{title}</a>
    }
    .into_any()
}

/// A way to another screen, which is also a link that can be copied.
fn screen_link(page: Page, screen: Screen, label: &'static str) -> AnyView {
    let href = move || {
        let there = page.still.with(|view| View {
            screen,
            ..view.clone()
        });
        format!("?{}", query_of(page, &there))
    };
    let here = move || page.screen() == screen;
    let go = move |event: web_sys::MouseEvent| {
        if is_plain(&event) {
            event.prevent_default();
            page.playing.set(false);
            page.view.update(|view| view.screen = screen);
        }
    };
    let word = if screen == Screen::Training {
        "training"
    } else {
        "episode"
    };
    view! {
        <a href=move || href() data-screen=word on:click=go aria-current=move || here().then_some("page")>{label}</a>
    }
    .into_any()
}
