//! Explanations: one tooltip for every text that has one, by mouse, touch and keyboard.

use std::time::Duration;

use leptos::prelude::{
    SetValue, StoredValue, UpdateValue, WithValue, on_cleanup, set_interval_with_handle, window,
    window_event_listener,
};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::browser;
use crate::dom::El;
use crate::dom::html::div;
use crate::number_format::css;
use crate::reactive::Signal;

/// Largest width of the tooltip in pixels.
const WIDTH: f64 = 300.0;

/// Distance between an element and its explanation in pixels.
const GAP: f64 = 6.0;

/// Content and position of the tooltip; an empty text hides it.
#[derive(Clone, Debug, Default, PartialEq)]
struct TooltipState {
    text: String,
    left: f64,
    top: f64,
    /// `true` if it stays until it is closed.
    pinned: bool,
}

/// Returns the tooltip. It explains every element with `data-help`, while the mouse is over the
/// element or after the element was pressed.
#[must_use]
pub fn tooltip() -> El {
    let shown = Signal::new(TooltipState::default());
    let anchor = StoredValue::new_local(None::<Element>);
    let hide = move || {
        if let Some(old) = anchor.try_update_value(Option::take).flatten() {
            let _ = old.remove_attribute("aria-describedby");
            shown.set(TooltipState::default());
        }
    };
    let show = move |element: Element, pinned: bool| {
        let text = help(&element);
        let place = element.get_bounding_client_rect();
        let width = window().inner_width().ok().and_then(|width| width.as_f64());
        let room = width.unwrap_or(WIDTH) - WIDTH - 12.0;
        hide();
        let _ = element.set_attribute("aria-describedby", "tip");
        anchor.set_value(Some(element));
        let (left, top) = (place.left().min(room).max(8.0), place.bottom() + GAP);
        shown.set(TooltipState {
            text,
            left,
            top,
            pinned,
        });
    };
    let is_pinned = move || shown.with_untracked(|shown| shown.pinned);
    // What an explanation is about may change, or be removed, hidden or scrolled away under it.
    let check = set_interval_with_handle(
        move || {
            let Some(element) = anchor.with_value(Option::clone) else {
                return;
            };
            if !is_in_place(&element, &shown) {
                hide();
            } else if shown.with_untracked(|shown| shown.text != help(&element)) {
                show(element, is_pinned());
            }
        },
        Duration::from_millis(200),
    );
    let click = window_event_listener(leptos::ev::click, move |event| {
        let found = explained(&event);
        let again = is_pinned() && anchor.with_value(|anchor| *anchor == found);
        match found.filter(|_| !again) {
            Some(element) => show(element, true),
            None => hide(),
        }
    });
    let over = window_event_listener(leptos::ev::pointerover, move |event| {
        if event.pointer_type() == "mouse" && !is_pinned() {
            let found = explained(&event);
            if anchor.with_value(|anchor| *anchor != found) {
                match found {
                    Some(element) => show(element, false),
                    None => hide(),
                }
            }
        }
    });
    let key = window_event_listener(leptos::ev::keydown, move |event| {
        if event.key() == "Escape" {
            hide();
        }
    });
    let scroll = window_event_listener(leptos::ev::scroll, move |_| hide());
    on_cleanup(move || {
        if let Ok(check) = check {
            check.clear();
        }
        click.remove();
        over.remove();
        key.remove();
        scroll.remove();
    });
    let px = move |of: fn(&TooltipState) -> f64| move || css(shown.with(of)) + "px";
    div()
        .id("tip")
        .attr("role", "tooltip")
        .attr("aria-live", "polite")
        .hidden(move || shown.with(|shown| shown.text.is_empty()))
        .style("left", px(|shown| shown.left))
        .style("top", px(|shown| shown.top))
        .child(move || shown.with(|shown| shown.text.clone()))
}

/// Returns the explanation of an element.
fn help(element: &Element) -> String {
    element.get_attribute("data-help").unwrap_or_default()
}

/// Returns `true` if an element is still where its explanation points to.
fn is_in_place(anchor: &Element, shown: &Signal<TooltipState>) -> bool {
    let place = anchor.get_bounding_client_rect();
    let moved = shown.with_untracked(|shown| (place.bottom() + GAP - shown.top).abs());
    place.width() > 0.0 && moved < 2.0
}

/// Returns the closest element with an explanation that an event is about.
fn explained(event: &web_sys::Event) -> Option<Element> {
    let element = browser::event_target(event)?
        .closest("[data-help]")
        .ok()??;
    (!help(&element).is_empty())
        .then(|| element.dyn_into::<HtmlElement>().ok().map(Into::into))
        .flatten()
}
