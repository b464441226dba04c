//! A word that explains itself when pointed at or focused.

use leptos::prelude::*;

/// `label` with `text` beside it on hover and focus.
#[component]
pub fn Tip(
    /// What is always shown.
    #[prop(into)]
    label: String,
    /// The explanation.
    #[prop(into)]
    text: String,
) -> impl IntoView {
    let described = format!("{label}: {text}");
    view! {
        <span class="tip" tabindex="0" aria-label=described>
            {label}
            <span class="tip-text" role="tooltip">{text}</span>
        </span>
    }
}
