//! What the trained policy's weights say of themselves, or why they are not there.

use leptos::prelude::*;

use crate::fetched::Fetched;
use crate::page::Page;
use crate::world::World;

/// One quiet line; in place of it, what is missing and a button to try again.
#[component]
pub(super) fn ModelNote<W: World>(page: Page<W>) -> impl IntoView {
    let address = W::LEARNED.map_or("", |learned| learned.weights);
    let text = move || match page.model.get() {
        Fetched::Ready(model) => W::model_words(&model),
        Fetched::Unasked | Fetched::Loading => format!("Loading {address}…"),
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
