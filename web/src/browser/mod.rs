//! What the page asks of the browser. Everything here may fail, and nothing here panics.

mod files;

pub use files::{fetch_bytes, fetch_text, read_file};

use leptos::prelude::window;
use wasm_bindgen::JsCast;

/// Removes what `index.html` shows until the page is there.
pub fn clear_placeholder() {
    let document = window().document();
    if let Some(placeholder) = document.and_then(|d| d.get_element_by_id("loading")) {
        placeholder.remove();
    }
}

/// The query of the address, with `?`.
pub fn query() -> String {
    window().location().search().unwrap_or_default()
}

/// Sets the query of the address without loading anything: as a new entry that the back button
/// leaves, or in place of the current one.
pub fn set_query(query: &str, entry: bool) {
    let Ok(path) = window().location().pathname() else {
        return;
    };
    let Ok(history) = window().history() else {
        return;
    };
    let fragment = window().location().hash().unwrap_or_default();
    let address = format!("{path}?{query}{fragment}");
    let state = wasm_bindgen::JsValue::NULL;
    // A page inside a sandboxed frame may not be allowed to; the view works all the same.
    let _ = if entry {
        history.push_state_with_url(&state, "", Some(&address))
    } else {
        history.replace_state_with_url(&state, "", Some(&address))
    };
}

/// The whole address.
pub fn address() -> String {
    window().location().href().unwrap_or_default()
}

/// Puts text on the clipboard, where that is allowed.
pub fn copy(text: &str) {
    let _ = window().navigator().clipboard().write_text(text);
}

/// Sets the title of the window and of the history's entry.
pub fn set_title(title: &str) {
    if let Some(document) = window().document() {
        document.set_title(title);
    }
}

/// Sets an attribute of the document's root.
pub fn set_root_attribute(name: &str, value: &str) {
    if let Some(root) = window().document().and_then(|d| d.document_element()) {
        let _ = root.set_attribute(name, value);
    }
}

/// A seed that nobody chose: 32 random bits, short enough to read out.
pub fn random_seed() -> Option<u64> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).ok()?;
    Some(u64::from(u32::from_le_bytes(bytes)))
}

/// Whether a key event belongs to the element that it came from.
pub fn is_typing(event: &web_sys::KeyboardEvent) -> bool {
    let element = event
        .target()
        .and_then(|t| t.dyn_into::<web_sys::Element>().ok());
    element.is_some_and(|e| {
        let tag = e.tag_name();
        let range = e.get_attribute("type").is_some_and(|t| t == "range");
        (tag == "INPUT" && !range) || tag == "SELECT" || tag == "TEXTAREA"
    })
}

/// Whether the space bar would press the element that has the focus.
pub fn on_button(event: &web_sys::KeyboardEvent) -> bool {
    let element = event
        .target()
        .and_then(|t| t.dyn_into::<web_sys::Element>().ok());
    element.is_some_and(|e| ["BUTTON", "A", "SUMMARY"].contains(&e.tag_name().as_str()))
}
