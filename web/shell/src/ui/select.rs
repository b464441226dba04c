//! A menu with a label.

use leptos::prelude::event_target_value;

use crate::dom::El;
use crate::dom::html::{div, label, optgroup, option};
use crate::reactive::Memo;

/// An item of a menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Value that is reported when the item is chosen.
    pub value: String,
    /// Text of the item.
    pub label: String,
    /// Explanation of the item; empty for none.
    pub help: String,
    /// Title of the group that the item is in; empty for none. Items of a group follow each other.
    pub group: &'static str,
}

impl Item {
    /// Creates an item from its value, text and explanation.
    #[must_use]
    pub fn new(value: &str, label: &str, help: &str) -> Self {
        Self {
            value: value.to_owned(),
            label: label.to_owned(),
            help: help.to_owned(),
            group: "",
        }
    }

    /// Puts the item into a group.
    #[must_use]
    pub fn in_group(mut self, group: &'static str) -> Self {
        self.group = group;
        self
    }
}

/// Returns a menu with its label. A chosen value that is not among the items is added to them.
pub fn select(
    id: impl Into<String>,
    name: impl Into<String>,
    help: impl Into<String>,
    items: Memo<Vec<Item>>,
    chosen: Memo<String>,
    change: impl Fn(String) + 'static,
) -> El {
    let options = move || {
        let chosen = chosen.get();
        let mut items = items.get();
        if !chosen.is_empty() && !items.iter().any(|item| item.value == chosen) {
            items.push(Item::new(&chosen, &chosen, ""));
        }
        let item = |item: Item| {
            let selected = item.value == chosen;
            let title = Some(item.help).filter(|help| !help.is_empty());
            option()
                .attr("value", item.value)
                .prop("selected", selected)
                .attr("title", title)
                .child(item.label)
        };
        let groups = items.chunk_by(|a, b| a.group == b.group);
        let groups = groups.flat_map(|items| {
            let group = items[0].group;
            let items: Vec<El> = items.iter().cloned().map(item).collect();
            match group {
                "" => items,
                title => vec![optgroup().attr("label", title).child(items)],
            }
        });
        groups.collect::<Vec<El>>()
    };
    let id = id.into();
    let name = label()
        .class("label")
        .attr("for", id.clone())
        .attr("data-help", help.into())
        .child(name.into());
    let menu = crate::dom::html::select()
        .id(id)
        .on("change", move |event| change(event_target_value(&event)))
        .child(options);
    div().class("field").child(name).child(menu)
}
