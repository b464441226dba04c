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
    let view = move || {
        let stop = page.tour.get();
        let texts = page.info.with(|info| {
            let texts = info.as_ref()?.tour.get(stop.checked_sub(1)?);
            texts.cloned()
        });
        texts.map(|texts| popover(page, node, stop, texts))
    };
    view.into_view()
}

/// Goes to a stop; before the first and after the last one the tour ends.
fn go(page: Page, stop: usize) {
    let ends = stop > STOPS.len();
    page.tour.set(if ends { 0 } else { stop });
    if stop == 0 || ends {
        browser::focus(document().get_element_by_id("main"));
    }
}

/// Returns the text of a stop with its buttons. They stay from stop to stop, and so does the focus.
fn popover(page: Page, node: NodeRef, stop: usize, (title, text): (String, String)) -> El {
    let choice = |id: &'static str, name: &'static str, to: usize| {
        button().id(id).on_press(move || go(page, to)).child(name)
    };
    let name = if stop == STOPS.len() { "Done" } else { "Next" };
    let next = choice("tour-next", name, stop + 1).class("primary");
    let end = choice("tour-end", "End the tour", 0).attr("data-escape", true);
    let terms = button().id("tour-terms").on_press(move || {
        go(page, 0);
        page.help.set(true);
    });
    let buttons = div()
        .class("control-row")
        .child(choice("tour-back", "Back", stop.max(2) - 1).attr("disabled", stop == 1))
        .child(next.node(node))
        .child(end)
        .child(terms.class("quiet-button").child("Glossary"));
    let count = format!("{stop} of {}", STOPS.len());
    let head = div()
        .class("dialog-head")
        .child(h2().id("tour-title").child(title))
        .child(span().class("quiet").child(count));
    section()
        .class("tour")
        .attr("role", "dialog")
        .attr("aria-labelledby", "tour-title")
        .attr("aria-describedby", "tour-text")
        .attr("data-stop", stop.to_string())
        .child(head)
        .child(p().id("tour-text").attr("aria-live", "polite").child(text))
        .child(buttons)
}
