//! The drop zone for files, which covers the whole page.

use leptos::prelude::{on_cleanup, window_event_listener};

use crate::browser;
use crate::dom::El;
use crate::dom::html::{div, p};
use crate::page::Page;

/// Highlights the page while files are dragged over it, and opens the files that are dropped.
#[must_use]
pub fn drop_zone(page: Page) -> El {
    let over = window_event_listener(leptos::ev::dragover, move |event| {
        // Dragged text is none of ours.
        let kinds = event.data_transfer().map(|data| data.types());
        if !kinds.is_some_and(|kinds| kinds.includes(&"Files".into(), 0)) {
            return;
        }
        event.prevent_default();
        if !page.dragging.get_untracked() {
            page.dragging.set(true);
        }
    });
    let leave = window_event_listener(leptos::ev::dragleave, move |event| {
        // There is no related element when the pointer leaves the window.
        if event.related_target().is_none() {
            page.dragging.set(false);
        }
    });
    let drop = window_event_listener(leptos::ev::drop, move |event| {
        event.prevent_default();
        page.dragging.set(false);
        page.open_files(browser::files_of_list(
            event.data_transfer().and_then(|data| data.files()),
        ));
    });
    on_cleanup(move || {
        over.remove();
        leave.remove();
        drop.remove();
    });
    let text = p().child("Drop replays, models, training logs and evaluations to open them");
    let zone = div().id("drop").hidden(move || !page.dragging.get());
    zone.child(text)
}
