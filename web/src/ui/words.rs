//! What a language model was shown and said for the action at the cursor, and how that was read.

use leptos::prelude::*;

use super::Scene;
use crate::play::Said;
use crate::state::{Source, View};
use crate::world::World;

/// The panel before anything is in it.
const PARTS: &str = "<details open><summary></summary><h3>Shown</h3><pre></pre><h3>Said</h3><pre></pre><h3>Done</h3><pre></pre></details>";
/// The places of the summary and of the three texts among its children.
const TEXTS: [u32; 4] = [0, 2, 4, 6];

/// The panel. What a file says goes through text nodes.
#[component]
pub fn Words<W: World>(scene: Scene<W>) -> impl IntoView {
    let place = NodeRef::<leptos::html::Section>::new();
    Effect::new(move |_| {
        let Some(panel) = place.get() else { return };
        let said = said(scene);
        let _ = panel.toggle_attribute_with_force("hidden", said.is_none());
        let parts = panel.first_element_child();
        for (text, child) in said.iter().flatten().zip(TEXTS) {
            let part = parts
                .as_ref()
                .and_then(|parts| parts.children().item(child));
            if let Some(part) = part {
                part.set_text_content(Some(text));
            }
        }
    });
    view! { <section class="card rewards words" node_ref=place inner_html=PARTS></section> }
}

/// What was said for the action at the cursor.
fn said<W: World>(scene: Scene<W>) -> Option<Said> {
    let Source::Replay(name) = scene.source() else {
        return None;
    };
    let replay = scene.page.shelf.with(|shelf| shelf.ready(&name))?;
    let cursor = scene.page.cursor();
    scene.run.with(|run| {
        let frames = run.frames.get(..=cursor)?;
        let before = frames.get(cursor.checked_sub(1)?)?;
        // After an action of one's own the file speaks of another episode.
        let own = frames.iter().any(|frame| frame.own);
        let read = |view: &View<W>| W::said(&replay, view, &before.episode);
        scene.page.still.with(read).filter(|_| !own)
    })
}
