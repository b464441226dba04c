//! The page embedded in another one.

use std::time::Duration;

use leptos::prelude::{document, set_timeout};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

use crate::address::query_of;
use crate::browser;
use crate::dom::El;
use crate::dom::html::{a, p};
use crate::page::Page;
use crate::reactive::effect;

/// Reports the height of the content to the parent page, once `ready` returns true and whenever it
/// changes.
pub fn report_height(ready: impl Fn() -> bool + 'static) {
    let Some(body) = document().body() else {
        return;
    };
    let report = {
        let body = body.clone();
        move || {
            let height = JsValue::from_f64(f64::from(body.offset_height()));
            let kind = JsValue::from_str("sentinel-height");
            browser::post_to_parent(&[("type", kind), ("height", height)], "*");
        }
    };
    let on_ready = report.clone();
    effect(move || {
        if ready() {
            // After the other effects of the change. Browsers do not lay out a frame of another site that is
            // out of sight, so that its observers may stay silent.
            set_timeout(on_ready.clone(), Duration::ZERO);
        }
    });
    let on_resize = Closure::<dyn FnMut()>::new(report);
    if let Ok(observer) = web_sys::ResizeObserver::new(on_resize.as_ref().unchecked_ref()) {
        observer.observe(&body);
        // It lives as long as the page.
        on_resize.forget();
    }
}

/// Returns a link that opens the same frame on the full page.
#[must_use]
pub fn full_page_link(page: Page) -> El {
    let href = move || {
        let mut state = page.state.get();
        state.embed = false;
        format!("?{}", query_of(page, &state))
    };
    let link = a().attr("href", href).attr("target", "_blank");
    let link = link.attr("rel", "noopener").child("Open the full page");
    p().class("full-page").child(link)
}
