//! Buttons that take an action, with the probability or value that the player assigns to it.

use sentinel_page_protocol::Button;

use super::widgets::bar;
use crate::dom::El;
use crate::dom::html::{button, div, kbd, p, span};
use crate::number_format::{percent, signed};
use crate::page::Page;

/// Returns the buttons of a card, followed by the warnings about them.
#[must_use]
pub fn buttons(page: Page, buttons: &[Button]) -> Vec<El> {
    if buttons.is_empty() {
        return Vec::new();
    }
    let all = buttons.iter().map(|button| action_button(page, button));
    let group = div().class("acts").attr("role", "group").label("Actions");
    let warned = buttons.iter().filter(|button| !button.warning.is_empty());
    let warnings = warned.map(|button| {
        let text = button.label.clone() + ": " + &button.warning;
        p().class("note").attr("data-tone", "warn").child(text)
    });
    let group = group.child(all.collect::<Vec<El>>());
    std::iter::once(group).chain(warnings).collect()
}

fn action_button(page: Page, action: &Button) -> El {
    let key = action.key.map(|key| key.to_string());
    let thought = match (action.chance, action.value) {
        (Some(chance), _) => percent(chance),
        (None, Some(value)) => signed(f64::from(value), 3),
        (None, None) => String::new(),
    };
    let mut name = action.name.clone();
    if action.next {
        name.push_str(", the player’s next action");
    }
    if action.chance.is_some() {
        name = name + ", chance " + &thought;
    }
    let sign = key
        .clone()
        .map(|key| kbd().attr("aria-hidden", "true").child(key));
    let label = span().class("act-label").child(action.label.clone());
    let code = action.code.clone();
    button()
        .class("act")
        .toggle_class("next", action.next)
        .toggle_class("warns", !action.warning.is_empty())
        .attr("data-act", action.code.clone())
        .label(name)
        .attr("aria-keyshortcuts", key)
        .on_press(move || page.take_action(&code))
        .child(label.child(sign))
        .child(span().class("act-thought").child(thought))
        .child(action.chance.map(bar))
}
