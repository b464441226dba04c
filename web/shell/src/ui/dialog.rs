//! Modal dialogs; the browser keeps the focus in them and restores it afterwards.

use leptos::prelude::GetValue;
use wasm_bindgen::JsCast;
use web_sys::HtmlDialogElement;

use crate::browser;
use crate::dom::html::{button, dialog, div, h2};
use crate::dom::{El, NodeRef, View};
use crate::reactive::{Signal, effect};

/// Returns a dialog that is shown while `open` is `true`; `content` is drawn when it opens.
pub fn modal(
    id: &'static str,
    title_id: &'static str,
    open: Signal<bool>,
    content: impl Fn() -> View + 'static,
) -> El {
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
        .attr("aria-labelledby", title_id)
        .on("close", move |_| open.set(false))
        .on("click", press)
        .child(move || open.get().then(&content))
}

/// Returns the title of a dialog with a button that closes it.
pub fn dialog_head(
    title_id: &'static str,
    title: String,
    close_id: &'static str,
    open: Signal<bool>,
) -> El {
    let close = button().id(close_id).on_press(move || open.set(false));
    div()
        .class("dialog-head")
        .child(h2().id(title_id).child(title))
        .child(close.child("Close"))
}
