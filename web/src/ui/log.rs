//! All actions in order; each leads to its moment.

use std::fmt::Write;

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::Scene;
use crate::play::Frames;
use crate::world::World;

/// The list of actions. Its rows are one piece of markup, so that a long episode is there at once; moving the
/// cursor only moves a class.
#[component]
pub fn Log<W: World>(scene: Scene<W>) -> impl IntoView {
    let page = scene.page;
    let rows = Memo::new(move |_| scene.run.with(|run| markup(run, scene.truth())));
    let list = NodeRef::<leptos::html::Ol>::new();
    Effect::new(move |before: Option<u32>| {
        let cursor = u32::try_from(page.cursor()).unwrap_or(0);
        rows.track();
        if let Some(list) = list.get() {
            if let Some(before) = before {
                set_current(&list, before, false);
            }
            set_current(&list, cursor, true);
            // When everything of this moment is drawn: asking for heights before would lay out the page twice.
            request_animation_frame(move || keep_in_sight(&list, cursor));
        }
        cursor
    });
    let choose = move |event: leptos::ev::MouseEvent| {
        let target = event
            .target()
            .and_then(|t| t.dyn_into::<web_sys::Element>().ok());
        let button = target.and_then(|t| t.closest("[data-index]").ok().flatten());
        let index = button.and_then(|b| b.get_attribute("data-index")?.parse().ok());
        if let Some(index) = index {
            page.seek(index);
        }
    };
    view! {
        <section class="card actions" aria-label="Actions">
            <h3>"Actions"</h3>
            <ol class="log" node_ref=list on:click=choose inner_html=rows></ol>
        </section>
    }
}

/// Marks the row of an action as the current one, or not.
fn set_current(list: &web_sys::Element, action: u32, current: bool) {
    let row = action
        .checked_sub(1)
        .and_then(|row| list.children().item(row));
    let Some(row) = row else { return };
    let _ = row.class_list().toggle_with_force("current", current);
    if let Some(button) = row.first_element_child() {
        let _ = if current {
            button.set_attribute("aria-current", "step")
        } else {
            button.remove_attribute("aria-current")
        };
    }
}

/// Scrolls the list, and only the list, so that the current action stands in its middle.
fn keep_in_sight(list: &web_sys::Element, cursor: u32) {
    let rows = i32::try_from(list.child_element_count())
        .unwrap_or(1)
        .max(1);
    let height = list.scroll_height() / rows;
    let middle = i32::try_from(cursor).unwrap_or(0) * height - list.client_height() / 2;
    list.set_scroll_top(middle);
}

/// One row for each action; words and numbers of ours only, so nothing needs escaping.
fn markup<W: World>(run: &Frames<W>, truth: bool) -> String {
    let mut out = String::new();
    for (index, frame, step) in run.steps() {
        let mark = W::mark(step, truth);
        let text = W::line(step);
        let missed = if frame.missed {
            "<span class=\"miss\" title=\"The replay has no row for this step\">miss</span>"
        } else {
            ""
        };
        let own = if frame.own {
            "<span class=\"own\" title=\"Your action\">you</span>"
        } else {
            ""
        };
        // A `String` takes all that is written to it.
        let _ = write!(
            out,
            "<li><button data-index=\"{index}\" aria-label=\"Action {index}: {text}, {word}\">\
            <span class=\"index\">{index}</span><span class=\"sign {class}\" title=\"{word}\">{sign}</span>\
            <span class=\"what\">{text}</span>{missed}{own}<span class=\"num\">{reward:.3}</span></button></li>",
            word = mark.word,
            class = mark.class,
            sign = mark.sign,
            reward = W::reward(step),
        );
    }
    out
}
