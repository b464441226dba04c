//! Keyboard shortcuts of the page.

use leptos::prelude::{on_cleanup, window_event_listener};

use super::analysis::seek_mistake;
use super::controls::new_seed;
use super::timeline::seek_notable;
use crate::browser;
use crate::page::Page;
use crate::state::Screen;

/// Keys with their effects, as the help lists them.
pub const KEYS: [(&str, &str); 11] = [
    ("Space", "Play or pause"),
    ("← →", "One action back or forward"),
    ("Shift ← →", "Five actions back or forward"),
    ("Home End", "First or last action"),
    ("[ ]", "Previous or next notable action"),
    (
        "b B",
        "Next or previous mistake, once the episode is analyzed",
    ),
    ("T", "Show or hide the truth"),
    ("N", "New seed"),
    ("?", "Open this help"),
    ("Esc", "Close the help or an explanation"),
    ("other keys", "Take the action with this key on its button"),
];

/// Starts to handle keys that are pressed anywhere in the window, except in form fields.
pub fn listen(page: Page) {
    let handle = window_event_listener(leptos::ev::keydown, move |event| {
        let foreign = event.ctrl_key() || event.meta_key() || event.alt_key();
        // Shortcuts are off behind an open dialog.
        let dialog = page.help.get_untracked() || page.files.dialog.get_untracked();
        let blocked = dialog || !page.shortcuts.get_untracked();
        if foreign || blocked || event.default_prevented() || browser::is_typing(&event) {
            return;
        }
        let key = event.key();
        if (key == " " || key == "Enter") && browser::is_pressable(&event) {
            return;
        }
        if press(page, &key, event.shift_key()) {
            event.prevent_default();
        }
    });
    on_cleanup(move || handle.remove());
}

/// Performs the shortcut of a key; returns `false` if the key has none.
fn press(page: Page, key: &str, shift: bool) -> bool {
    if key == "?" {
        page.help.set(true);
        return true;
    }
    if page
        .state
        .with_untracked(|state| state.screen == Screen::Training)
    {
        return false;
    }
    let cursor = page.cursor_untracked();
    let far = if shift { 5 } else { 1 };
    match key {
        " " => page.toggle_play(),
        "ArrowLeft" => page.seek(cursor.saturating_sub(far)),
        "ArrowRight" => page.seek(cursor + far),
        "Home" => page.seek(0),
        "End" => page.seek(usize::MAX),
        "[" => seek_notable(page, false),
        "]" => seek_notable(page, true),
        "b" => seek_mistake(page, true),
        "B" => seek_mistake(page, false),
        "t" | "T" => page.state.update(|state| state.truth = !state.truth),
        "n" | "N" => new_seed(page),
        other => return act(page, other),
    }
    true
}

/// Takes the action whose button has this key; returns `false` if there is none.
fn act(page: Page, pressed: &str) -> bool {
    let mut chars = pressed.chars();
    let (Some(key), None) = (chars.next(), chars.next()) else {
        return false;
    };
    let Some(frame) = page.main.frame.get_untracked() else {
        return false;
    };
    let cards = frame.panels.iter().flat_map(|panel| &panel.cards);
    let mut buttons = cards.flat_map(|card| &card.buttons);
    let found = buttons.find(|button| button.key == Some(key));
    if let Some(button) = found {
        page.take_action(&button.code);
    }
    found.is_some()
}
