//! Prompt and completion of a language model for the next action.

use sentinel_page_protocol::Transcript;

use crate::dom::html::{details, div, h2, h3, p, pre, section, summary};
use crate::dom::{IntoView, View};
use crate::episode_view::EpisodeView;
use crate::reactive::memo;

/// Returns the transcript at the cursor; nothing if there is none.
#[must_use]
pub fn transcript(episode: EpisodeView) -> View {
    let transcript = memo(move || {
        episode
            .frame
            .with(|m| m.as_ref().and_then(|m| m.transcript.clone()))
    });
    let is_there = memo(move || transcript.with(Option::is_some));
    let text = move |of: fn(&Transcript) -> &String| {
        transcript.with(|t| t.as_ref().map_or_else(String::new, |t| of(t).clone()))
    };
    let part = move |name: &'static str, of: fn(&Transcript) -> &String| {
        let content = pre().attr("tabindex", "0").child(move || text(of));
        let part = div().hidden(move || text(of).is_empty());
        part.child(h3().child(name)).child(content)
    };
    let card = move || {
        is_there.get().then(|| {
            let title = h2().child("Prompt and completion");
            let reading = p().class("quiet").child(move || text(|t| &t.reading));
            let fold = details()
                .attr("open", true)
                .child(summary().child(title))
                .child(reading)
                .child(part("Prompt", |t| &t.prompt))
                .child(part("Completion", |t| &t.completion))
                .child(part("Action", |t| &t.action));
            section()
                .class("card words")
                .label("Language model")
                .child(fold)
        })
    };
    card.into_view()
}
