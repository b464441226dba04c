//! A button that takes an action, with what the player thinks of it.

use leptos::prelude::*;
use sentinel_page_protocol::Button;

use crate::num::{percent, scale, signed};
use crate::page::Page;

/// The buttons of a card, and what is known to go wrong with them.
#[must_use]
pub fn buttons(page: Page, buttons: &[Button]) -> Option<AnyView> {
    if buttons.is_empty() {
        return None;
    }
    let all: Vec<AnyView> = buttons
        .iter()
        .map(|button| action_button(page, button))
        .collect();
    let warned = buttons.iter().filter(|button| !button.warning.is_empty());
    let warnings: Vec<AnyView> = warned
        .map(|button| {
            let text = button.label.clone() + ": " + &button.warning;
            view! { <p class="note" data-tone="warn">{text}</p> }.into_any()
        })
        .collect();
    Some(
        view! { <div class="acts" role="group" aria-label="Actions">{all}</div>{warnings} }
            .into_any(),
    )
}

fn action_button(page: Page, button: &Button) -> AnyView {
    let (code, label) = (button.code.clone(), button.label.clone());
    let key = button
        .key
        .map(|key| view! { <kbd aria-hidden="true">{key.to_string()}</kbd> });
    let thought = match (button.chance, button.value) {
        (Some(chance), _) => percent(chance),
        (None, Some(value)) => signed(f64::from(value), 3),
        (None, None) => String::new(),
    };
    let chance = button.chance.map(|chance| {
        let length = scale(chance);
        view! { <span class="bar" aria-hidden="true"><i style:transform=length></i></span> }
    });
    let mut name = button.name.clone();
    if button.next {
        name.push_str(", the player’s next action");
    }
    if button.chance.is_some() {
        name = name + ", chance " + &thought;
    }
    let shortcut = button.key.map(|key| key.to_string());
    let act = {
        let code = code.clone();
        move |_| page.act(&code)
    };
    view! {
        <button type="button" class="act" class:next=button.next class:warns=!button.warning.is_empty()
            data-act=code aria-label=name aria-keyshortcuts=shortcut on:click=act>
            <span class="act-label">{label}{key}</span>
            <span class="act-thought">{thought}</span>
            {chance}
        </button>
    }
    .into_any()
}
