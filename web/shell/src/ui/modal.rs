//! A modal dialog with its heading.

use leptos::prelude::GetValue;
use wasm_bindgen::JsCast;
use web_sys::HtmlDialogElement;

use crate::browser;
use crate::dom::html::{button, dialog, div, h2};
use crate::dom::{El, NodeRef, View};
use crate::reactive::{Signal, effect};

/// Returns a modal dialog that is shown while `open` is `true`; the browser keeps the focus in it
/// and restores it afterwards. `content` is drawn when the dialog opens. Its heading is that of
/// [`modal_head`] with the same `id`.
#[must_use]
pub fn modal(id: &'static str, open: Signal<bool>, content: impl Fn() -> View + 'static) -> El {
    let node = NodeRef::new_local(None);
    effect(move || {
        let open = open.get();
        let Some(Ok(dialog)) = node
            .get_value()
            .map(|node| node.dyn_into::<HtmlDialogElement>())
        else {
            return;
        };
        if open && !dialog.open() {
            let _ = dialog.show_modal();
        } else if !open && dialog.open() {
            dialog.close();
        }
    });
    // A click on the backdrop has the dialog itself as its target.
    let press = move |event| {
        if browser::event_target(&event).is_some_and(|target| target.tag_name() == "DIALOG") {
            open.set(false);
        }
    };
    dialog()
        .id(id)
        .node(node)
        .attr("aria-labelledby", format!("{id}-title"))
        .on("close", move |_| open.set(false))
        .on("click", press)
        .child(move || open.get().then(&content))
}

/// Returns the heading of the dialog `id`, with the button that closes it.
#[must_use]
pub fn modal_head(id: &'static str, title: String, open: Signal<bool>) -> El {
    let close = button()
        .id(format!("{id}-close"))
        .on_press(move || open.set(false));
    div()
        .class("dialog-head")
        .child(h2().id(format!("{id}-title")).child(title))
        .child(close.child("Close"))
}
