//! Keeps the address of the page and its state in step, including the Back and Forward buttons.

use leptos::prelude::*;

use crate::browser;
use crate::page::Page;
use crate::query::{Defaults, to_query};
use crate::reactive::effect;
use crate::state::PageState;

/// Time after the last move of the cursor until the address is updated.
const DELAY: std::time::Duration = std::time::Duration::from_millis(120);

/// Returns the query of the address for `state`, without `?`.
#[must_use]
pub fn query_of(page: Page, state: &PageState) -> String {
    let info = page
        .info
        .get_untracked()
        .filter(|info| info.name == state.world);
    page.programs.with_value(|programs| {
        let defaults = Defaults {
            world: programs.first().map_or("", |program| &program.world),
            streams: info.as_ref().map_or("", |info| &info.default_streams),
        };
        to_query(state, defaults)
    })
}

/// Writes the query into the address.
///
/// An embedded page adds no entry to the history, which it shares with the page around it: Back leaves
/// that page.
fn write_query(page: Page, query: &str, new_entry: bool) {
    let is_embedded = page.state.with_untracked(|state| state.embed);
    browser::set_query(query, new_entry && !is_embedded);
    if !is_embedded {
        browser::report_query(query);
    }
}

/// Starts to keep address and state in step.
///
/// A change of world, screen or episode, or an action of the visitor, adds an entry to the
/// browser's history, unless the page is embedded. Every other change replaces the current entry,
/// after a delay so that dragging the cursor does not flood the history.
pub fn sync_with_page(page: Page) {
    let waiting = StoredValue::new(None::<(TimeoutHandle, String)>);
    let take_waiting = move || waiting.try_update_value(Option::take).flatten();
    let back = window_event_listener(leptos::ev::popstate, move |_| {
        if let Some((timer, _)) = take_waiting() {
            timer.clear();
        }
        page.cache_state();
        let (mut state, problems) = page.parse(&browser::query());
        page.keep_training_form(&mut state);
        page.history_entry.set_value(state.history_entry());
        page.playing.set(false);
        page.state.set(state);
        problems
            .into_iter()
            .for_each(|problem| page.add_notice(problem));
    });
    on_cleanup(move || back.remove());
    effect(move || {
        let (query, entry) = page
            .state
            .with(|state| (query_of(page, state), state.history_entry()));
        page.info.track();
        let before = take_waiting();
        if let Some((timer, _)) = &before {
            timer.clear();
        }
        if page.history_entry.with_value(|old| *old != entry) {
            // The previous entry keeps its last cursor position.
            if let Some((_, query)) = before {
                write_query(page, &query, false);
            }
            page.history_entry.set_value(entry);
            write_query(page, &query, true);
            return;
        }
        let late = query.clone();
        let write = move || {
            waiting.set_value(None);
            write_query(page, &late, false);
        };
        let timer = set_timeout_with_handle(write, DELAY).ok();
        waiting.set_value(timer.map(|timer| (timer, query)));
    });
}
