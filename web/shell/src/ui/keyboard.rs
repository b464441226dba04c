//! Keyboard shortcuts of the page.

use leptos::prelude::{on_cleanup, window_event_listener};

use super::controls::new_seed;
use super::timeline::seek_notable;
use crate::browser;
use crate::page::Page;
use crate::state::Screen;

/// Keys with their effects, as the help lists them.
pub const KEYS: [(&str, &str); 13] = [
    ("Space", "Play or pause"),
    ("← →", "One action back or forward"),
    ("Shift ← →", "Five actions back or forward"),
    ("Home End", "First or last action"),
    ("[ ]", "Previous or next notable action"),
    (
        "b B",
        "Next or previous mistake, once the episode is analyzed",
    ),
    (
        "u U",
        "Undo or redo your last action; also Ctrl Z and Ctrl Shift Z",
    ),
    ("T", "Show or hide the truth"),
    ("N", "New seed"),
    ("?", "Open this help"),
    ("Esc", "Close the help or an explanation"),
    ("0 to 4", "Name a suspect, while the page asks its question"),
    ("other keys", "Take the action with this key on its button"),
];

/// Starts to handle keys that are pressed anywhere in the window, except in form fields.
pub fn listen(page: Page) {
    let handle = window_event_listener(leptos::ev::keydown, move |event| {
        // Shortcuts are off behind an open dialog.
        let blocked = page.help.get_untracked()
            || page.files.dialog.get_untracked()
            || page.own.shows_results.get_untracked();
        if blocked || event.default_prevented() || browser::is_typing(&event) {
            return;
        }
        let key = event.key();
        let control = event.ctrl_key() || event.meta_key();
        if control && !event.alt_key() && key.eq_ignore_ascii_case("z") && shows_episode(page) {
            event.prevent_default();
            return if event.shift_key() {
                page.redo();
            } else {
                page.undo();
            };
        }
        if control || event.alt_key() || !page.shortcuts.get_untracked() {
            return;
        }
        if (key == " " || key == "Enter") && browser::is_pressable(&event) {
            return;
        }
        if press(page, &key, event.shift_key()) {
            event.prevent_default();
        }
    });
    on_cleanup(move || handle.remove());
}

/// Returns `true` if an episode is shown, and not a screen of recorded results.
fn shows_episode(page: Page) -> bool {
    page.state
        .with_untracked(|state| state.screen == Screen::Episode)
}

/// Performs the shortcut of a key; returns `false` if the key has none.
fn press(page: Page, key: &str, shift: bool) -> bool {
    if key == "?" {
        page.help.set(true);
        return true;
    }
    let spot = page
        .state
        .with_untracked(|state| state.screen == Screen::Spot);
    if !shows_episode(page) && !spot {
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
        digit if spot => match digit.parse() {
            Ok(suspect) => page.name_suspect(suspect),
            Err(_) => return false,
        },
        "[" => seek_notable(page, false),
        "]" => seek_notable(page, true),
        "b" | "B" => {
            if let Some(deferred) = page.deferred.get_untracked() {
                (deferred.seek_mistake)(page, key == "b");
            }
        }
        "u" => page.undo(),
        "U" => page.redo(),
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
