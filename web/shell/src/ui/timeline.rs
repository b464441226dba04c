//! The bar at the foot: play, step, seek, and what is shown while doing so.

use leptos::prelude::*;

use super::icons::{BACK, FIRST, FORWARD, LAST, NEXT_NOTABLE, PAUSE, PLAY, PREVIOUS_NOTABLE, icon};
use super::parts::{percent_of, tone};
use crate::lane::notable;
use crate::page::Page;
use crate::state::Speed;

/// The bar.
#[component]
pub fn Timeline(page: Page) -> impl IntoView {
    let back = move |_| page.seek(page.cursor_now().saturating_sub(1));
    let forward = move |_| page.seek(page.cursor_now() + 1);
    let play_sign = move || icon(if page.playing.get() { PAUSE } else { PLAY });
    let play_word = move || if page.playing.get() { "Pause" } else { "Play" };
    let scrub = move |event| {
        if let Ok(action) = event_target_value(&event).parse() {
            page.seek(action);
        }
    };
    // The value is set again when the end moves, since the browser limits it by the end.
    let value = move || page.cursor().min(page.last());
    let speed = move |_| {
        page.view.update(|view| {
            let now = Speed::ALL
                .iter()
                .position(|speed| *speed == view.speed)
                .unwrap_or(0);
            view.speed = Speed::ALL[(now + 1) % Speed::ALL.len()];
        });
    };
    let speed_word = move || page.still.with(|view| view.speed.word());
    let truth = move || page.still.with(|view| view.truth);
    let flip_truth = move |_| page.view.update(|view| view.truth = !view.truth);
    let count = move || format!("{} / {}", page.cursor(), page.last());
    let value_text = move || format!("{} of {} actions", page.cursor(), page.last());
    let pressed = move || if truth() { "true" } else { "false" };
    let truth_word = move || {
        if truth() {
            "Truth: shown"
        } else {
            "Truth: hidden"
        }
    };
    view! {
        <section class="timeline" aria-label="Playback">
            <div class="seek">
                <span class="marks" aria-hidden="true">{move || marks(page)}</span>
                <input type="range" min="0" id="scrubber" aria-label="Action" aria-valuetext=move || value_text()
                    max=move || page.last().to_string()
                    prop:value=move || value().to_string()
                    on:input=scrub/>
            </div>
            <span class="count" id="count">{move || count()}</span>
            <div class="buttons">
                {button("first", "First", FIRST, move |_| page.seek(0))}
                {button("previous-notable", "Previous notable action", PREVIOUS_NOTABLE, move |_| seek_notable(page, false))}
                {button("back", "Back", BACK, back)}
                <button type="button" class="primary" id="play" on:click=move |_| page.toggle_play()>
                    {move || play_sign()}<span>{move || play_word()}</span>
                </button>
                {button("forward", "Forward", FORWARD, forward)}
                {button("next-notable", "Next notable action", NEXT_NOTABLE, move |_| seek_notable(page, true))}
                {button("last", "Last", LAST, move |_| page.seek(usize::MAX))}
            </div>
            <button type="button" id="speed" on:click=speed aria-label=move || format!("Speed {}", speed_word())>
                {speed_word}"×"
            </button>
            <button type="button" id="truth" aria-pressed=move || pressed() on:click=flip_truth>{move || truth_word()}</button>
        </section>
    }
}

fn button(
    id: &'static str,
    name: &'static str,
    path: &'static str,
    press: impl Fn(web_sys::MouseEvent) + 'static,
) -> AnyView {
    view! {
        <button type="button" id=id class="icon-button" aria-label=name title=name on:click=press>{icon(path)}</button>
    }
    .into_any()
}

/// Goes to the next or previous action that a viewer may want to see, or to an end.
pub fn seek_notable(page: Page, forward: bool) {
    let lines = untrack(move || page.main.lines());
    let found = notable(&lines, page.cursor_now(), forward);
    page.seek(found.unwrap_or(if forward { usize::MAX } else { 0 }));
}

fn marks(page: Page) -> Vec<AnyView> {
    let (lines, last) = (page.main.lines(), page.last().max(1));
    let notable = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.notable || line.missed);
    let mark = |(index, line): (usize, &sentinel_page_protocol::StepLine)| {
        let left = percent_of((index + 1) as f32 / last as f32);
        view! { <i data-tone=tone(line.tone) style:left=left></i> }.into_any()
    };
    notable.map(mark).collect()
}
