//! The playback bar at the bottom of the page: play, step, seek, speed, and the Truth switch.

use leptos::prelude::untrack;

use super::difference::difference_of_episodes;
use super::icons::{BACK, FIRST, FORWARD, LAST, NEXT_NOTABLE, PAUSE, PLAY, PREVIOUS_NOTABLE, icon};
use super::widgets::{action_slider, css_percent, tone_name};
use crate::dom::El;
use crate::dom::html::{button, div, i, section, span};
use crate::episode_view::find_notable;
use crate::page::Page;
use crate::reactive::memo;
use crate::state::Speed;

/// Returns the playback bar.
#[must_use]
pub fn timeline(page: Page) -> El {
    let back = move || page.seek(page.cursor_untracked().saturating_sub(1));
    let forward = move || page.seek(page.cursor_untracked() + 1);
    let play_sign = move || icon(if page.playing.get() { PAUSE } else { PLAY });
    let play_word = move || if page.playing.get() { "Pause" } else { "Play" };
    let speed = move || {
        page.state.update(|state| {
            let now = Speed::ALL
                .iter()
                .position(|speed| *speed == state.speed)
                .unwrap_or(0);
            state.speed = Speed::ALL[(now + 1) % Speed::ALL.len()];
        });
    };
    let speed_word = move || page.without_cursor.with(|state| state.speed.as_str());
    let truth = move || page.without_cursor.with(|state| state.truth);
    let flip_truth = move || page.state.update(|state| state.truth = !state.truth);
    let count = move || format!("{} / {}", page.cursor(), page.action_count());
    let pressed = move || if truth() { "true" } else { "false" };
    let truth_word = move || {
        if truth() {
            "Truth: shown"
        } else {
            "Truth: hidden"
        }
    };
    let scrubber = move || {
        let place = (page.cursor(), page.action_count());
        action_slider("scrubber", "Action", place, move |action| page.seek(action))
    };
    let marks = span()
        .class("marks")
        .attr("aria-hidden", "true")
        .child(move || marks(page));
    let play = button()
        .class("primary")
        .id("play")
        .attr("disabled", move || page.action_count() == 0)
        .on_press(move || page.toggle_play())
        .child(play_sign)
        .child(span().child(play_word));
    let notable = move |forward| move || seek_notable(page, forward);
    let buttons = div()
        .class("buttons")
        .child(step(page, "first", "First", FIRST, move || page.seek(0)))
        .child(step(
            page,
            "previous-notable",
            "Previous notable action",
            PREVIOUS_NOTABLE,
            notable(false),
        ))
        .child(step(page, "back", "Back", BACK, back))
        .child(play)
        .child(step(page, "forward", "Forward", FORWARD, forward))
        .child(step(
            page,
            "next-notable",
            "Next notable action",
            NEXT_NOTABLE,
            notable(true),
        ))
        .child(step(page, "last", "Last", LAST, move || {
            page.seek(usize::MAX);
        }));
    let speed = button()
        .id("speed")
        .label(move || format!("Speed {}", speed_word()))
        .on_press(speed)
        .child(speed_word)
        .child("×");
    let is_spot = memo(move || page.is_spot());
    let truth = button()
        .id("truth")
        .hidden(move || is_spot.get())
        .attr("aria-pressed", pressed)
        .on_press(flip_truth)
        .child(truth_word);
    section()
        .class("timeline")
        .label("Playback")
        .child(div().class("seek").child(marks).child(scrubber))
        .child(span().class("count").id("count").child(count))
        .child(buttons)
        .child(speed)
        .child(truth)
}

/// Returns a button that moves the cursor.
fn step(
    page: Page,
    id: &'static str,
    name: &'static str,
    path: &'static str,
    press: impl Fn() + 'static,
) -> El {
    button()
        .id(id)
        .class("icon-button")
        .label(name)
        .attr("title", name)
        .attr("disabled", move || page.action_count() == 0)
        .on_press(press)
        .child(icon(path))
}

/// Moves the cursor to the next or previous notable action, or to the end or start if there is
/// none.
pub fn seek_notable(page: Page, forward: bool) {
    let lines = untrack(move || page.main.step_lines());
    let found = find_notable(&lines, page.cursor_untracked(), forward);
    page.seek(found.unwrap_or(if forward { usize::MAX } else { 0 }));
}

fn marks(page: Page) -> Vec<El> {
    let (lines, last) = (page.main.step_lines(), page.action_count().max(1));
    // What is ahead would give the answer to the question away.
    let shown = if page.is_spot() { page.cursor() } else { last };
    let notable = lines
        .iter()
        .enumerate()
        .filter(|(index, line)| *index < shown && (line.notable || line.missed));
    let mark = |(index, line): (usize, &sentinel_page_protocol::StepLine)| {
        let left = css_percent((index + 1) as f32 / last as f32);
        i().attr("data-tone", tone_name(line.tone))
            .style("left", left)
    };
    let difference = difference_of_episodes(page).filter(|_| !page.is_spot());
    let first = difference.map(|action| {
        let left = css_percent(action as f32 / last as f32);
        i().class("first-difference").style("left", left)
    });
    let mistakes = page.main.mistakes().into_iter().enumerate();
    let mistakes = mistakes.filter(|(_, loss)| loss.is_some() && !page.is_spot());
    let mistakes = mistakes.map(|(index, _)| {
        let left = css_percent((index + 1) as f32 / last as f32);
        i().class("mistake").style("left", left)
    });
    notable.map(mark).chain(first).chain(mistakes).collect()
}
