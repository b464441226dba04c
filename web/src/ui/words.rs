//! What a language model was shown and said for the action at the cursor, and how that was read.

use leptos::prelude::*;

use super::Scene;
use crate::state::Source;
use crate::world::World;

/// The panel. What a file says goes through text nodes.
#[component]
pub fn Words<W: World>(scene: Scene<W>) -> impl IntoView {
    let said = Memo::new(move |_| {
        let Source::Replay(name) = scene.source() else {
            return None;
        };
        let replay = scene.page.shelf.with(|shelf| shelf.ready(&name))?;
        let cursor = scene.page.cursor();
        scene.run.with(|run| {
            let frames = run.frames.get(..=cursor)?;
            let before = frames.len().checked_sub(2)?;
            // After an action of one's own another moment is asked about.
            let own = frames.iter().any(|frame| frame.own);
            let view = scene.page.still.get();
            W::said(&replay, &view, &frames[before].episode).filter(|_| !own)
        })
    });
    let part = move |index: usize| {
        move || said.with(|said| said.as_ref().map_or_else(String::new, |s| s[index].clone()))
    };
    view! {
        <details class="card rewards words" open hidden=move || said.with(Option::is_none)>
            <summary>"In words: "{part(0)}</summary>
            {["Shown", "Said", "Done"].into_iter().enumerate().map(|(index, label)| view! {
                <h3>{label}</h3><pre>{part(index + 1)}</pre>
            }).collect_view()}
        </details>
    }
}
