//! What a language model was shown and answered for the next action.

use leptos::prelude::*;
use sentinel_page_protocol::Transcript;

use crate::lane::Lane;
use crate::reactive::memo;

/// The transcript of the moment, if there is one.
#[component]
pub fn TranscriptView(lane: Lane) -> impl IntoView {
    let transcript = memo(move |_| {
        lane.moment
            .with(|m| m.as_ref().and_then(|m| m.transcript.clone()))
    });
    let is_there = memo(move |_| transcript.with(Option::is_some));
    let text = move |of: fn(&Transcript) -> &String| {
        transcript.with(|t| t.as_ref().map_or_else(String::new, |t| of(t).clone()))
    };
    let part = move |name: &'static str, of: fn(&Transcript) -> &String| {
        view! { <div hidden=move || text(of).is_empty()><h3>{name}</h3><pre tabindex="0">{move || text(of)}</pre></div> }
            .into_any()
    };
    move || {
        is_there.get().then(|| {
            view! {
                <section class="card words" aria-label="Language model">
                    <details open>
                        <summary><h2>"What the model was shown and answered"</h2></summary>
                        <p class="quiet">{move || text(|t| &t.reading)}</p>
                        {part("Prompt", |t| &t.prompt)}
                        {part("Completion", |t| &t.completion)}
                        {part("Action", |t| &t.action)}
                    </details>
                </section>
            }
            .into_any()
        })
    }
}
