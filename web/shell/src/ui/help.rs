//! The help: explanation of an episode, glossary and keys.

use leptos::prelude::event_target_checked;

use super::keyboard::KEYS;
use super::modal::{modal, modal_head};
use super::widgets::checkbox;
use crate::deferred::deferred_view;
use crate::dom::html::{dd, div, dl, dt, h3, kbd, label, p, table, tbody, td, th, tr};
use crate::dom::{El, IntoView, View};
use crate::page::Page;

/// Returns the help as a modal dialog.
#[must_use]
pub fn help_dialog(page: Page) -> El {
    modal("help", page.help, move || {
        deferred_view(page, move |deferred| (deferred.help)(page))
    })
}

/// Returns the content of the help.
#[must_use]
pub fn content(page: Page) -> View {
    let info = page.info.get_untracked();
    let info = info.as_deref();
    let title = info.map_or_else(|| "Help".to_owned(), |info| info.title.clone());
    let tagline = info.map_or_else(String::new, |info| info.tagline.clone());
    let paragraphs = info.iter().flat_map(|info| &info.help);
    let paragraphs: Vec<El> = paragraphs.map(|text| p().child(text.clone())).collect();
    let terms = info.iter().flat_map(|info| &info.glossary);
    let terms: Vec<View> = terms
        .map(|(term, text)| {
            let (term, text) = (dt().child(term.clone()), dd().child(text.clone()));
            View::Fragment(vec![term.into_view(), text.into_view()])
        })
        .collect();
    let glossary = div().hidden(terms.is_empty()).child(h3().child("Terms"));
    let key = |(key, does): &(&'static str, &'static str)| {
        let key = th().attr("scope", "row").child(kbd().child(*key));
        tr().child(key).child(td().child(*does))
    };
    let keys: Vec<El> = KEYS.iter().map(key).collect();
    let set = move |event| page.set_shortcuts(event_target_checked(&event));
    let switch = checkbox(move || page.shortcuts.get(), set).id("shortcuts");
    let head = modal_head("help", title, page.help);
    let note = "Every number is computed in this tab, by the environment that training uses, compiled to WebAssembly. Drop replays, models, training logs and evaluations anywhere on the page to open them.";
    View::Fragment(vec![
        head.into_view(),
        p().child(tagline).into_view(),
        paragraphs.into_view(),
        glossary
            .child(dl().class("glossary").child(terms))
            .into_view(),
        h3().child("Keys").into_view(),
        label()
            .class("check")
            .child(switch)
            .child("Single-key shortcuts")
            .into_view(),
        table().class("keys").child(tbody().child(keys)).into_view(),
        p().class("quiet").child(note).into_view(),
    ])
}
