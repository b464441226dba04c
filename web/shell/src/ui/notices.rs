//! Notices about what went wrong, shown above the episode without blocking it.

use crate::dom::El;
use crate::dom::html::{b, button, div, li, p, ul};
use crate::page::Page;

/// Returns the notices, with ways to recover after an engine failed.
#[must_use]
pub fn notices(page: Page) -> El {
    let list = move || {
        let all = page.notices.get().into_iter();
        all.map(|sentence| li().child(sentence))
            .collect::<Vec<El>>()
    };
    let failure = move || {
        let sentence = page.failure.get();
        (!sentence.is_empty()).then(|| failed(page, sentence))
    };
    let dismiss = button().on_press(move || page.notices.set(Vec::new()));
    let notices = div()
        .class("notices")
        .hidden(move || page.notices.with(Vec::is_empty))
        .child(ul().child(list))
        .child(dismiss.child("Dismiss"));
    let region = div().id("notices").attr("role", "status");
    region
        .attr("aria-live", "polite")
        .child(notices)
        .child(failure)
}

fn failed(page: Page, sentence: String) -> El {
    let report = sentence.clone();
    let copy = move || {
        let text = format!("{report}\n{}", crate::browser::address());
        leptos::task::spawn_local(async move {
            let done = crate::browser::copy_to_clipboard(&text).await;
            page.add_notice(if done {
                "The report is on the clipboard. Please send it to the project.".to_owned()
            } else {
                format!("The browser did not allow copying. Report: {text}")
            });
        });
    };
    let text = p()
        .child(b().child("The engine of this world stopped. "))
        .child(sentence + " The rest of the page still works.");
    let restart = button().id("restart").class("primary");
    let restart = restart.on_press(move || page.restart_engine());
    div()
        .class("notices failure")
        .child(text)
        .child(restart.child("Restart"))
        .child(button().on_press(copy).child("Copy report"))
}
