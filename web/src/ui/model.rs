//! What the trained policy's weights say of themselves, or why they are not there.

use leptos::prelude::*;

use crate::fetched::Fetched;
use crate::page::Page;
use crate::weights::{ADDRESS, words};

/// One quiet line; in place of it, what is missing and a button to try again.
#[component]
pub(super) fn ModelNote() -> impl IntoView {
    let page = expect_context::<Page>();
    let text = move || match page.model.get() {
        Fetched::Ready(model) => words(&model),
        Fetched::Unasked | Fetched::Loading => format!("Loading {ADDRESS}…"),
        Fetched::Failed(reason) => reason,
    };
    let failed = move || page.model.with(|model| matches!(model, Fetched::Failed(_)));
    view! {
        <div class="note" class:bad=failed data-note="model" role="status">
            <span>{text}</span>" "
            <button hidden=move || !failed() on:click=move |_| page.fetch_model()>"Try again"</button>
        </div>
    }
}
