//! The help: how an episode works, terms, and keys.

use leptos::html;
use leptos::prelude::*;

use super::keys::KEYS;
use crate::browser;
use crate::page::Page;
use crate::reactive::effect;

/// The help as a dialog, which the browser keeps the focus in and returns it from.
#[component]
pub fn HelpDialog(page: Page) -> impl IntoView {
    let node = NodeRef::<html::Dialog>::new();
    effect(move |_| {
        let open = page.help.get();
        let Some(dialog) = node.get() else { return };
        if open && !dialog.open() {
            let _ = dialog.show_modal();
        } else if !open && dialog.open() {
            dialog.close();
        }
    });
    // A press beside the dialog comes from the dialog itself.
    let press = move |event: web_sys::MouseEvent| {
        if browser::target(&event).is_some_and(|target| target.tag_name() == "DIALOG") {
            page.help.set(false);
        }
    };
    view! {
        <dialog id="help" node_ref=node aria-labelledby="help-title" on:close=move |_| page.help.set(false) on:click=press>
            {move || page.help.get().then(|| content(page))}
        </dialog>
    }
}

fn content(page: Page) -> AnyView {
    let info = page.info.get_untracked();
    let title = info
        .as_ref()
        .map_or_else(|| "Help".to_owned(), |info| info.title.clone());
    let paragraphs = info.iter().flat_map(|info| &info.help);
    let paragraphs: Vec<AnyView> = paragraphs
        .map(|text| view! { <p>{text.clone()}</p> }.into_any())
        .collect();
    let terms = info.iter().flat_map(|info| &info.glossary);
    let terms: Vec<AnyView> = terms
        .map(|(term, text)| view! { <dt>{term.clone()}</dt><dd>{text.clone()}</dd> }.into_any())
        .collect();
    let no_terms = terms.is_empty();
    let tagline = info
        .as_ref()
        .map_or_else(String::new, |info| info.tagline.clone());
    let keys: Vec<AnyView> = KEYS
        .iter()
        .map(|(key, does)| {
            view! { <tr><th scope="row"><kbd>{*key}</kbd></th><td>{*does}</td></tr> }.into_any()
        })
        .collect();
    let change = move |event| page.set_shortcuts(event_target_checked(&event));
    view! {
        <div class="dialog-head">
            <h2 id="help-title">{title}</h2>
            <button type="button" id="help-close" on:click=move |_| page.help.set(false)>"Close"</button>
        </div>
        <p>{tagline}</p>
        {paragraphs}
        <div hidden=no_terms><h3>"Terms"</h3><dl class="glossary">{terms}</dl></div>
        <h3>"Keys"</h3>
        <label class="check">
            <input type="checkbox" id="shortcuts" prop:checked=move || page.shortcuts.get() on:change=change/>
            "Single-key shortcuts"
        </label>
        <table class="keys"><tbody>{keys}</tbody></table>
        <p class="quiet">"Every number is computed in this tab, by the environment that training uses, compiled to WebAssembly. Drop a replay, a model or a training log anywhere on the page to open it."</p>
    }
    .into_any()
}
