//! What went wrong, in words; never in the way of what works.

use leptos::prelude::*;

use crate::page::Page;

/// The notices, and the way on after an engine failed.
#[component]
pub fn Notices(page: Page) -> impl IntoView {
    let list = move || {
        let all = page.notices.get().into_iter();
        all.map(|sentence| view! { <li>{sentence}</li> }.into_any())
            .collect::<Vec<AnyView>>()
    };
    let none = move || page.notices.with(Vec::is_empty);
    let failure = move || {
        let sentence = page.failure.get();
        (!sentence.is_empty()).then(|| failed(page, sentence))
    };
    view! {
        <div id="notices" role="status" aria-live="polite">
            <div class="notices" hidden=move || none()>
                <ul>{move || list()}</ul>
                <button type="button" on:click=move |_| page.notices.set(Vec::new())>"Dismiss"</button>
            </div>
            {move || failure()}
        </div>
    }
}

fn failed(page: Page, sentence: String) -> AnyView {
    let report = sentence.clone();
    let copy = move |_| {
        let text = format!("{report}\n{}", crate::browser::address());
        leptos::task::spawn_local(async move {
            let done = crate::browser::copy(&text).await;
            page.tell(if done {
                "The report is on the clipboard: please send it to the project.".to_owned()
            } else {
                format!("The browser did not allow copying. The report: {text}")
            });
        });
    };
    view! {
        <div class="notices failure">
            <p><b>"The world stopped. "</b>{sentence}" The rest of the page works on."</p>
            <button type="button" id="restart" class="primary" on:click=move |_| page.restart_engine()>"Restart"</button>
            <button type="button" on:click=copy>"Copy a report"</button>
        </div>
    }
    .into_any()
}
