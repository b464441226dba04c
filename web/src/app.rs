//! The page as a whole: what follows the signals by itself, and where the parts stand.

use leptos::prelude::*;

use crate::browser;
use crate::page::Page;
use crate::state::{Theme, to_query};
use crate::ui::{Controls, Footer, Header, Help, Notices, Pane, Standings, Transport, Which, keys};

/// Keeps the address in step with the view; late enough that dragging does not flood the history.
fn sync_address(page: Page) {
    let timer = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        let query = page.view.with(to_query);
        if let Some(handle) = timer.get_value() {
            handle.clear();
        }
        let write = move || browser::set_query(&query);
        let handle = set_timeout_with_handle(write, std::time::Duration::from_millis(120));
        timer.set_value(handle.ok());
    });
}

/// Lets time run: one action per tick until the end.
fn run_clock(page: Page) {
    let speed = Memo::new(move |_| page.view.with(|view| view.speed));
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
pub fn App() -> impl IntoView {
    let page = Page::new();
    provide_context(page);
    page.watch_replays();
    sync_address(page);
    run_clock(page);
    keys::listen(page);
    Effect::new(move |_| {
        let theme = page.view.with(|view| view.theme);
        let word = match theme {
            Theme::Auto => "auto",
            Theme::Light => "light",
            Theme::Dark => "dark",
        };
        browser::set_root_attribute("data-theme", word);
    });
    let embed = page.view.with_untracked(|view| view.embed);
    let double = move || page.versus.with(Option::is_some);
    view! {
        <div class="page" class:embed=embed>
            {(!embed).then(|| view! { <Header/> })}
            <Controls/>
            <Notices/>
            <main class="panes" class:double=double>
                <Pane which=Which::Main/>
                {move || double().then(|| view! { <Pane which=Which::Versus/> })}
            </main>
            {(!embed).then(|| view! { <Standings/> })}
            <Transport/>
            {(!embed).then(|| view! { <Footer/> })}
            <Help/>
        </div>
    }
}
