//! The page as a whole: what follows the signals by itself, and where the parts stand.

use leptos::prelude::*;

use crate::browser;
use crate::page::Page;
use crate::state::{Theme, parse_query, to_query};
use crate::ui::{
    Controls, Footer, Header, Help, Notices, Pane, Stage, Standings, Training, Transport, Which,
    keys, listen_for_drops,
};
use crate::world::{World, has_training};

/// Keeps the address in step with the view; late enough that dragging does not flood the history.
/// Only another screen is an entry of its own, which the back button leaves.
fn sync_address<W: World>(page: Page<W>) {
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let written = StoredValue::new(page.view.with_untracked(|view| view.screen));
    let back = window_event_listener(leptos::ev::popstate, move |_| {
        let (view, problems) = parse_query(&browser::query());
        written.set_value(view.screen);
        page.playing.set(false);
        page.view.set(view);
        problems.into_iter().for_each(|problem| page.tell(problem));
    });
    on_cleanup(move || back.remove());
    Effect::new(move |_| {
        let (query, screen) = page.view.with(|view| (to_query(view), view.screen));
        if let Some(handle) = timer.get_value() {
            handle.clear();
        }
        let write = move || {
            browser::set_query(&query, screen != written.get_value());
            written.set_value(screen);
        };
        let handle = set_timeout_with_handle(write, std::time::Duration::from_millis(120));
        timer.set_value(handle.ok());
    });
}

/// Lets time run: one action per tick until the end.
fn run_clock<W: World>(page: Page<W>) {
    let speed = Memo::new(move |_| page.still.with(|view| view.speed));
    Effect::new(move |before: Option<Option<IntervalHandle>>| {
        if let Some(handle) = before.flatten() {
            handle.clear();
        }
        let period = std::time::Duration::from_millis(speed.get().period_ms());
        let tick = move || {
            if page.cursor() < page.last() {
                page.view.update(|view| view.cursor += 1);
            } else {
                page.playing.set(false);
            }
        };
        page.playing
            .get()
            .then(|| set_interval_with_handle(tick, period).ok())
            .flatten()
    });
}

/// The page.
#[component]
pub fn App<W: Stage>(
    /// The page.
    page: Page<W>,
) -> impl IntoView {
    page.watch_files();
    sync_address(page);
    run_clock(page);
    keys::listen(page);
    listen_for_drops(page);
    let training = Memo::new(move |_| page.on_training());
    Effect::new(move |_| {
        let title = if training.get() {
            "Training · Sentinel"
        } else {
            "Sentinel"
        };
        browser::set_title(title);
        page.playing.set(false);
    });
    Effect::new(move |_| {
        let theme = page.still.with(|view| view.theme);
        let word = match theme {
            Theme::Auto => "auto",
            Theme::Light => "light",
            Theme::Dark => "dark",
        };
        browser::set_root_attribute("data-theme", word);
    });
    let embed = page.view.with_untracked(|view| view.embed);
    let body = move || {
        if has_training::<W>() && training.get() {
            view! { <Notices page/><Training page/> }.into_any()
        } else {
            view! { <Episodes page embed/> }.into_any()
        }
    };
    view! {
        {(!W::STYLE.is_empty()).then(|| view! { <style>{W::STYLE}</style> })}
        <div class="page" class:embed=embed data-of=W::NAME>
            {(!W::WARNING.is_empty()).then(|| view! { <p class="warning" role="note">{W::WARNING}</p> })}
            {(!embed).then(|| view! { <Header page/> })}
            {body}
            {(!embed).then(|| view! { <Footer/> })}
            <Help page/>
        </div>
    }
}

/// One episode or two, and what is played.
#[component]
fn Episodes<W: Stage>(
    /// The page.
    page: Page<W>,
    /// Whether the page stands inside another one.
    embed: bool,
) -> impl IntoView {
    let double = Memo::new(move |_| page.still.with(|view| view.versus.is_some()));
    view! {
        <Controls page/>
        <Notices page/>
        <main class="panes" class:double=double>
            <Pane page which=Which::Main/>
            {move || double.get().then(|| view! { <Pane page which=Which::Versus/> })}
        </main>
        {(!embed).then(|| view! { <Standings page/> })}
        <Transport page/>
    }
}
