//! A labeled menu.

use leptos::prelude::*;

/// An item of a menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The word.
    pub value: String,
    /// The text.
    pub label: String,
    /// The explanation.
    pub help: String,
}

impl Item {
    /// Makes an item.
    #[must_use]
    pub fn new(value: &str, label: &str, help: &str) -> Self {
        Self {
            value: value.to_owned(),
            label: label.to_owned(),
            help: help.to_owned(),
        }
    }
}

/// A menu with its label. A chosen word that is no item is shown as it is.
pub fn select(
    id: String,
    label: String,
    help: String,
    items: Memo<Vec<Item>>,
    chosen: Memo<String>,
    change: impl Fn(String) + 'static,
) -> AnyView {
    let options = move || {
        let chosen = chosen.get();
        let mut items = items.get();
        if !chosen.is_empty() && !items.iter().any(|item| item.value == chosen) {
            items.push(Item::new(&chosen, &chosen, ""));
        }
        let option = |item: Item| {
            let selected = item.value == chosen;
            let title = Some(item.help).filter(|help| !help.is_empty());
            view! { <option value=item.value prop:selected=selected title=title>{item.label}</option> }.into_any()
        };
        items.into_iter().map(option).collect::<Vec<AnyView>>()
    };
    let target = id.clone();
    view! {
        <div class="field">
            <label class="label" for=target data-help=help>{label}</label>
            <select id=id on:change=move |event| change(event_target_value(&event))>{move || options()}</select>
        </div>
    }
    .into_any()
}
