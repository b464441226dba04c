//! The keyboard.

use leptos::prelude::*;

use super::stage::Stage;
use crate::browser;
use crate::page::Page;
use crate::world::World;

/// Keys and what they do, for the help.
pub const KEYS: [(&str, &str); 9] = [
    ("Space", "play or pause"),
    ("← →", "one action back or forward"),
    ("Shift ← →", "five actions back or forward"),
    ("Home End", "first or last"),
    ("[ ]", "previous or next mistake, catch or skip"),
    ("T", "agent's view or hidden truth"),
    ("N", "another seed"),
    ("?", "this help"),
    ("Esc", "close it"),
];

/// Listens to the whole window, but not to what is typed into a field.
pub fn listen<W: Stage>(page: Page<W>) {
    let handle = window_event_listener(leptos::ev::keydown, move |event| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || browser::is_typing(&event) {
            return;
        }
        let key = event.key();
        if key == " " && browser::on_button(&event) {
            return;
        }
        if press(page, &key, event.shift_key()) {
            event.prevent_default();
        }
    });
    on_cleanup(move || handle.remove());
}

/// Does what a key stands for; whether it stands for anything.
fn press<W: Stage>(page: Page<W>, key: &str, shift: bool) -> bool {
    // Behind an open dialog nothing moves.
    if page.help.get_untracked() && !["?", "Escape"].contains(&key) {
        return false;
    }
    // There is no episode on the training page; its charts take their own keys.
    if page.on_training() && !["?", "Escape"].contains(&key) {
        return false;
    }
    let cursor = page.cursor();
    let far = if shift { 5 } else { 1 };
    match key {
        " " => page.toggle_play(),
        "ArrowLeft" => page.seek(cursor.saturating_sub(far)),
        "ArrowRight" => page.seek(cursor + far),
        "Home" => page.seek(0),
        "End" => page.seek(usize::MAX),
        "[" => page.seek(notable(page, cursor, false).unwrap_or(0)),
        "]" => page.seek(notable(page, cursor, true).unwrap_or(usize::MAX)),
        "t" | "T" => page.view.update(|view| view.truth = !view.truth),
        "n" | "N" => new_seed(page),
        "?" => page.help.update(|open| *open = !*open),
        "Escape" => page.help.set(false),
        other => return W::press(page, other),
    }
    true
}

/// Plays another seed.
pub fn new_seed<W: World>(page: Page<W>) {
    match browser::random_seed() {
        Some(seed) => page.restart(|view| view.seed = seed),
        None => page.tell("The browser gives no random numbers; type a seed instead.".to_owned()),
    }
}

/// The next or previous action that is worth a look.
fn notable<W: World>(page: Page<W>, cursor: usize, forward: bool) -> Option<usize> {
    let truth = page.view.with_untracked(|view| view.truth);
    page.run.with_untracked(|run| {
        let is_notable = |i: &usize| {
            let frame = &run.frames[*i];
            frame.missed
                || frame
                    .step
                    .as_ref()
                    .is_some_and(|step| W::mark(step, truth).notable)
        };
        if forward {
            (cursor + 1..run.frames.len()).find(is_notable)
        } else {
            (1..cursor.min(run.frames.len())).rev().find(is_notable)
        }
    })
}
