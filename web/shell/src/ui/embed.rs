//! The page inside another one.

use leptos::prelude::*;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

use crate::address::query_of;
use crate::browser;
use crate::page::Page;

/// Tells the page around this one the height of the content, whenever it changes.
pub fn report_height() {
    let Some(body) = document().body() else {
        return;
    };
    let report = {
        let body = body.clone();
        move || {
            let height = JsValue::from_f64(f64::from(body.offset_height()));
            let kind = JsValue::from_str("sentinel-height");
            browser::tell_parent(&[("type", kind), ("height", height)], "*");
        }
    };
    let on_resize = Closure::<dyn FnMut()>::new(report);
    if let Ok(observer) = web_sys::ResizeObserver::new(on_resize.as_ref().unchecked_ref()) {
        observer.observe(&body);
        // As long as the page.
        on_resize.forget();
    }
}

/// A link to the same moment on the whole page.
#[component]
pub fn FullPageLink(page: Page) -> impl IntoView {
    let href = move || {
        let mut view = page.view.get();
        view.embed = false;
        format!("?{}", query_of(page, &view))
    };
    view! { <p class="full-page"><a href=move || href() target="_blank" rel="noopener">"Open the full page"</a></p> }
}
