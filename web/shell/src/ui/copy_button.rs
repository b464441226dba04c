//! Buttons that copy a text and report when it is on the clipboard.

use std::rc::Rc;
use std::time::Duration;

use leptos::prelude::set_timeout;

use crate::browser;
use crate::dom::El;
use crate::dom::html::{button, span};
use crate::page::Page;
use crate::reactive::Signal;

/// Notice about a link that the browser did not allow to copy.
pub(super) const LINK_REFUSED: &str =
    "The browser did not allow copying. The address bar holds the link to this view.";

/// Returns a button that copies the text that `text` returns. `word` is on the button, `done` is
/// there for a moment afterwards, and the notice `refused` appears if the browser does not allow
/// copying.
pub fn copy_button(
    page: Page,
    word: &'static str,
    done: &'static str,
    refused: &'static str,
    text: impl Fn() -> String + 'static,
) -> El {
    let copied = Signal::new(false);
    let text: Rc<dyn Fn() -> String> = Rc::new(text);
    let copy = move || {
        let text = text();
        leptos::task::spawn_local(async move {
            if browser::copy_to_clipboard(&text).await {
                copied.set(true);
                set_timeout(move || copied.set(false), Duration::from_secs(2));
            } else {
                page.report(refused.to_owned());
            }
        });
    };
    let word = move || if copied.get() { done } else { word };
    button()
        .on_press(copy)
        .child(span().attr("aria-live", "polite").child(word))
}
