//! The tour: five stops over the page, each with a sentence or two.

use std::time::Duration;

use leptos::prelude::{GetValue, StoredValue, UpdateValue, document, set_timeout};
use web_sys::Element;

use crate::browser;
use crate::dom::html::{button, div, h2, p, section, span};
use crate::dom::{El, IntoView, NodeRef, View};
use crate::page::Page;
use crate::reactive::effect;
use crate::state::Screen;

/// Selectors of the stops, in the order of `WorldInfo::tour`.
const STOPS: [&str; 5] = [".headline", ".focal", ".charts", ".analysis", ".timeline"];

/// Returns the tour; nothing while it is not taken.
#[must_use]
pub fn tour(page: Page) -> View {
    let marked = StoredValue::new_local(None::<Element>);
    let node = NodeRef::new_local(None);
    effect(move || {
        let stop = page.tour.get();
        if let Some(old) = marked.try_update_value(Option::take).flatten() {
            let _ = old.remove_attribute("data-toured");
        }
        if stop == 0 {
            return;
        }
        page.state.update(|state| {
            state.screen = Screen::Episode;
            state.watch = false;
        });
        // The screen may have to be drawn first.
        set_timeout(
            move || {
                let found = document().query_selector(STOPS[(stop - 1) % STOPS.len()]);
                if let Some(found) = found.ok().flatten() {
                    // First, since the mark has a margin for scrolling.
                    let _ = found.set_attribute("data-toured", "true");
                    found.scroll_into_view();
                    marked.update_value(|marked| *marked = Some(found));
                }
                // On the first stop the button for going back cannot have the focus.
                if stop == 1 {
                    browser::focus(node.get_value());
                }
            },
            Duration::ZERO,
        );
    });
    let view = move || (page.tour.get() > 0).then(|| popover(page, node));
    view.into_view()
}

fn end(page: Page) {
    page.tour.set(0);
    browser::focus(document().get_element_by_id("main"));
}

fn popover(page: Page, node: NodeRef) -> El {
    let move_by = move |forward: bool| {
        let stop = page.tour.get_untracked();
        match (forward, stop) {
            (true, stop) if stop >= STOPS.len() => end(page),
            (true, stop) => page.tour.set(stop + 1),
            (false, stop) => page.tour.set(stop.max(2) - 1),
        }
    };
    let of_stop = move |of: fn(&(String, String)) -> &String| {
        let index = page.tour.get().saturating_sub(1);
        page.info.with(|info| {
            let stop = info.as_ref().and_then(|info| info.tour.get(index));
            stop.map(|stop| of(stop).clone()).unwrap_or_default()
        })
    };
    let is_last = move || page.tour.get() == STOPS.len();
    let buttons = div()
        .class("control-row")
        .child(
            button()
                .id("tour-back")
                .attr("disabled", move || page.tour.get() < 2)
                .on_press(move || move_by(false))
                .child("Back"),
        )
        .child(
            button()
                .id("tour-next")
                .class("primary")
                .node(node)
                .on_press(move || move_by(true))
                .child(move || if is_last() { "Done" } else { "Next" }),
        )
        .child(
            button()
                .id("tour-end")
                .attr("data-escape", true)
                .on_press(move || end(page))
                .child("End the tour"),
        )
        .child(
            button()
                .class("quiet-button")
                .id("tour-terms")
                .on_press(move || {
                    end(page);
                    page.help.set(true);
                })
                .child("Glossary"),
        );
    let count = move || format!("{} of {}", page.tour.get(), STOPS.len());
    section()
        .class("tour")
        .attr("role", "dialog")
        .attr("aria-labelledby", "tour-title")
        .attr("aria-describedby", "tour-text")
        .attr("data-stop", move || page.tour.get().to_string())
        .child(
            div()
                .class("dialog-head")
                .child(h2().id("tour-title").child(move || of_stop(|stop| &stop.0)))
                .child(span().class("quiet").child(count)),
        )
        .child(
            p().id("tour-text")
                .attr("aria-live", "polite")
                .child(move || of_stop(|stop| &stop.1)),
        )
        .child(buttons)
}
