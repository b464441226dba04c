//! Play, pause, step and scrub.

use leptos::prelude::*;

use crate::page::Page;
use crate::state::Speed;
use crate::world::World;

// Drawn, because not every system has a font with these signs.
const PLAY: &str = "M4 2 13 8 4 14Z";
const PAUSE: &str = "M3 2H7V14H3ZM9 2H13V14H9Z";
const FIRST: &str = "M2 2H4V14H2ZM14 2 5 8 14 14Z";
const BACK: &str = "M11 2 3 8 11 14Z";
const FORWARD: &str = "M3 2 10 8 3 14ZM11 2H13V14H11Z";
const LAST: &str = "M2 2 11 8 2 14ZM12 2H14V14H12Z";

fn icon(path: &'static str) -> impl IntoView {
    view! { <svg class="icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d=path/></svg> }
}

/// The bar at the bottom.
#[component]
pub fn Transport<W: World>(page: Page<W>) -> impl IntoView {
    let play_label = move || if page.playing.get() { "Pause" } else { "Play" };
    let play_sign = move || icon(if page.playing.get() { PAUSE } else { PLAY });
    let next_speed = move |_| {
        page.view.update(|view| {
            view.speed = Speed::ALL[(view.speed as usize + 1) % Speed::ALL.len()];
        });
    };
    let speed_label = move || format!("{}×", page.still.with(|view| view.speed.id()));
    let scrub = move |event| {
        if let Ok(action) = event_target_value(&event).parse() {
            page.seek(action);
        }
    };
    view! {
        <nav class="transport" aria-label="Playback">
            <button on:click=move |_| page.seek(0) aria-label="First">{icon(FIRST)}</button>
            <button on:click=move |_| page.seek(page.cursor().saturating_sub(1)) aria-label="Back">{icon(BACK)}</button>
            <button class="play" id="play" on:click=move |_| page.toggle_play() aria-label=play_label>
                {play_sign}
            </button>
            <button id="forward" on:click=move |_| page.seek(page.cursor() + 1) aria-label="Forward">{icon(FORWARD)}</button>
            <button on:click=move |_| page.seek(usize::MAX) aria-label="Last">{icon(LAST)}</button>
            <input type="range" min="0" aria-label="Action" id="scrubber"
                max=move || page.last().to_string()
                prop:value=move || page.cursor().to_string()
                on:input=scrub/>
            <span class="count" id="count">{move || format!("{} / {}", page.cursor(), page.last())}</span>
            <button on:click=next_speed aria-label="Speed">{speed_label}</button>
        </nav>
    }
}
